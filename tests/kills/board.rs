//! What the board has recorded, read through the library as any program would.

use std::time::{Duration, Instant};

use futures::future::join_all;
use taskyard::core::TaskId;
use taskyard::core::store::{Counts, OwnerView, TaskView};
use taskyard::testing::Toys;
use taskyard::{Pool, StoreChoice, Yard};
use tokio::runtime::Runtime;

/// How many questions are asked at once.
const AT_ONCE: usize = 500;
/// Nothing that is waited for takes so long.
const PATIENCE: Duration = Duration::from_mins(1);

/// A yard on the board that runs nothing.
pub(crate) struct Board {
    runtime: Runtime,
    yard: Yard,
}

impl Board {
    pub(crate) fn open(store: StoreChoice) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let nobody = |_| Toys::instant(1, Vec::new()).launcher();
        let pool = Pool::custom("nobody", nobody).pattern("nothing.at.all");
        let yard = Yard::builder().store(store).pool(pool).start().expect("it opens");
        Self { runtime, yard }
    }

    /// These tasks, in order; each is known.
    pub(crate) fn tasks(&self, ids: &[TaskId]) -> Vec<TaskView> {
        let ask = async |id: TaskId| {
            let view = self.yard.get(id).await.expect("answered");
            view.unwrap_or_else(|| panic!("nobody knows {id}: it was lost"))
        };
        self.runtime.block_on(async {
            let mut views = Vec::with_capacity(ids.len());
            for ids in ids.chunks(AT_ONCE) {
                views.extend(join_all(ids.iter().map(|id| ask(*id))).await);
            }
            views
        })
    }

    pub(crate) fn task(&self, id: TaskId) -> TaskView {
        self.tasks(&[id]).pop().expect("one")
    }

    /// Waits until there is such a task.
    pub(crate) fn knows(&self, id: TaskId) {
        let until = Instant::now() + PATIENCE;
        while self.runtime.block_on(self.yard.get(id)).expect("answered").is_none() {
            assert!(Instant::now() < until, "nobody knows {id}");
        }
    }

    /// Waits until each task has ended.
    pub(crate) fn all_end(&self) {
        let mut until = Instant::now() + PATIENCE;
        let mut before = self.counts();
        loop {
            let now = self.counts();
            if now.parked + now.behind + now.unjudged + now.ready + now.claimed == 0 {
                return;
            }
            if now != before {
                until = Instant::now() + PATIENCE;
            }
            assert!(Instant::now() < until, "they do not end: {now:?}");
            before = now;
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.runtime.block_on(self.yard.counts()).expect("answered")
    }

    pub(crate) fn owners(&self) -> Vec<OwnerView> {
        self.runtime.block_on(self.yard.owners()).expect("answered")
    }
}
