//! Stores for tests: a board that several yards of one process share, and stores that fail.

use std::sync::Arc;

use taskyard_actors::testing::{Faults, Faulty, Shared};
use taskyard_core::board::Board;

use crate::store::StoreChoice;
use crate::store::choice::Place;

impl StoreChoice {
    /// On a memory board that yards of this process share, and that outlives them. All of them must have the same pools; the
    /// first one says how the board is set up.
    ///
    /// ```
    /// # use taskyard::{Pool, StoreChoice, Yard, testing::{Shared, Toys}};
    /// let board = Shared::default();
    /// let yards = [(); 2].map(|()| {
    ///     let pool = Pool::custom("all", |_| Toys::instant(1, Vec::new()).launcher()).pattern("#");
    ///     Yard::builder().store(StoreChoice::shared(&board)).pool(pool).start()
    /// });
    /// ```
    pub fn shared(board: &Shared) -> Self {
        let board = board.clone();
        Self::custom(move |setup, bell| Ok(board.open(bell, || Board::new(setup.board, setup.router))))
    }

    /// The same store, which fails as it is told.
    pub fn faulty(self, faults: &Faults) -> Self {
        let (store, faults) = (self.clone(), faults.clone());
        let open =
            move |setup, bell| Ok(Box::new(Faulty::new(store.clone().open_here(setup, bell)?, &faults)) as _);
        Self { place: Place::Custom { open: Arc::new(open), remote: self.is_remote() }, ..self }
    }
}
