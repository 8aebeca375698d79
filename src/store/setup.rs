//! How a durable board is set up, whichever it is.

use std::sync::Arc;

use taskyard_core::board::Settings;
use taskyard_core::defaults::{BOARD_MAX_ON_DISK, RESULT_MAX};
use taskyard_core::names::TaskName;
use taskyard_core::router::Router;
use taskyard_core::task::TaskDefaults;

use crate::registry::Registry;

/// What a stored task is given that its body does not say, by its name: as when it was submitted.
pub type Defaults = Arc<dyn Fn(&TaskName) -> TaskDefaults + Send + Sync>;

/// How a durable board is set up.
#[derive(Clone)]
pub struct Setup {
    /// The board's bounds and its order. How many ended tasks are remembered is said by whoever prunes.
    pub board: Settings,
    /// The largest value that is kept, in bytes; of a task with a larger one is kept that it succeeded.
    pub result_max: usize,
    /// Which pools take which lanes.
    pub router: Router,
    /// What stored tasks are given that they do not say themselves.
    pub defaults: Defaults,
}

impl Setup {
    /// As usual on disk, with tasks routed by `router` and read with no defaults.
    pub fn new(router: Router) -> Self {
        Self {
            board: Settings { board_max: BOARD_MAX_ON_DISK, ..Settings::default() },
            result_max: RESULT_MAX,
            router,
            defaults: Arc::new(|_| TaskDefaults::default()),
        }
    }

    /// The same, with tasks read as the handlers of this binary want them.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.defaults = Arc::new(move |name| registry.defaults(name.as_str()).cloned().unwrap_or_default());
        self
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("board", &self.board).finish_non_exhaustive()
    }
}
