//! The yard on a board that others share: the test is the Lease, and another dispatcher.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::Machine;
use taskyard_core::conductor::{Effect, Event, Settings};
use taskyard_core::store::{
    self, Ask, Asker, NewRow, OwnerId, Registration, Request, Room, Settle, Settlement, StoreError,
};
use taskyard_core::task::{DueAt, Task};

use crate::yard::{POOL, Yard};

pub(crate) const LEASE: Duration = Duration::from_secs(10);

pub(crate) fn settings() -> Settings {
    Settings { shared: true, ..Settings::default() }
}

/// Registered, on an empty board.
pub(crate) fn yard(slots: usize) -> Yard {
    let mut yard = Yard::with(slots, settings());
    yard.register();
    yard
}

impl Yard {
    /// The board's answer to somebody else.
    pub(crate) fn as_owner(
        &mut self,
        owner: OwnerId,
        from: Asker,
        request: Request,
    ) -> Result<store::Answer, StoreError> {
        self.others += 1;
        let ask = Ask { owner, from, no: self.others, request: Arc::new(request), oldest_open: self.others };
        let mut replies = Vec::new();
        self.board.handle(self.now, ask, &mut replies);
        replies.pop().expect("one reply a request").answer
    }

    /// Somebody becomes an owner.
    pub(crate) fn other(&mut self) -> OwnerId {
        let registration = Registration { lease: LEASE, ..Registration::default() };
        match self.as_owner(OwnerId::SOLE, Asker::Lease, Request::Register(registration)) {
            Ok(store::Answer::Registered(owner)) => owner,
            other => panic!("{other:?}"),
        }
    }

    /// The Lease registers the yard.
    pub(crate) fn register(&mut self) -> OwnerId {
        let owner = self.other();
        self.tell(Event::Owned(owner));
        owner
    }

    /// The yard's lease ends and another takes its tasks over; the yard has not heard of it.
    pub(crate) fn lapse(&mut self) -> OwnerId {
        let span = LEASE + Duration::from_secs(1);
        (self.now.mono, self.now.wall) = (self.now.mono + span, self.now.wall + span);
        let other = self.other();
        let taken = self.as_owner(other, Asker::Lease, Request::TakeOver { up_to: 1_000 });
        assert!(matches!(taken, Ok(store::Answer::TakenOver { .. })), "{taken:?}");
        other
    }

    /// The yard's lease ended, and it heard of it.
    pub(crate) fn lose_lease(&mut self) -> OwnerId {
        let other = self.lapse();
        self.tell(Event::Disowned);
        other
    }

    /// Another claims all that is ready. What it has then, by number, with the pass.
    pub(crate) fn claim_all(&mut self, owner: OwnerId) -> Vec<(u64, u32)> {
        let request = Request::Claim { pool: POOL, ready: 100, unjudged: 100 };
        match self.as_owner(owner, Asker::Conductor, request) {
            Ok(store::Answer::Claimed { rows, .. }) => {
                rows.iter().map(|claimed| (claimed.task.id.0 as u64, claimed.epoch)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Another posts tasks.
    pub(crate) fn post_elsewhere<const N: usize>(&mut self, owner: OwnerId, tasks: [Task; N]) {
        let now = self.now;
        let row = |task: Task| NewRow {
            due: match task.due {
                taskyard_core::task::Due::In(delay) => DueAt::Wall(now.wall + delay),
                _ => DueAt::Now,
            },
            expires: None,
            exempt: false,
            batch: None,
            task: Arc::new(task),
        };
        let rows = tasks.map(row).into();
        let posted = self.as_owner(owner, Asker::Conductor, Request::Post { rows, room: Room::default() });
        assert!(posted.is_ok());
    }

    /// Another settles a pass of task `n`.
    pub(crate) fn settle_elsewhere(&mut self, owner: OwnerId, n: u64, epoch: u32, settle: Settle) {
        let id = crate::yard::id(n);
        let sequence = match self.as_owner(owner, Asker::Conductor, Request::Get(id)) {
            Ok(store::Answer::Task(Some(view))) => view.order.expect("it is unfinished").sequence,
            other => panic!("{other:?}"),
        };
        let item = Settlement { id, sequence, epoch, settle, posts: Vec::new() };
        match self.as_owner(owner, Asker::Conductor, Request::Settle(vec![item])) {
            Ok(store::Answer::Settled(settled)) => assert!(settled[0].accepted),
            other => panic!("{other:?}"),
        }
    }

    /// What was asked and not answered, by name.
    pub(crate) fn asked(&self) -> Vec<&'static str> {
        let name = |ask: &Ask| match &*ask.request {
            Request::Post { .. } => "post",
            Request::Claim { .. } => "claim",
            Request::Preload { .. } => "preload",
            Request::Settle(_) => "settle",
            Request::MarkStart(_) => "mark",
            Request::Promote { .. } => "promote",
            Request::Cancel { .. } => "cancel",
            Request::Reschedule { .. } => "reschedule",
            Request::Get(_) => "get",
            Request::List { .. } => "list",
            Request::Outcomes(_) => "outcomes",
            Request::Held => "held",
            Request::Prune { .. } => "prune",
            _ => "something else",
        };
        self.asks.iter().map(name).collect()
    }

    /// How often the Lease was told that the yard is alive, since the last look.
    pub(crate) fn pulses(&mut self) -> usize {
        self.said.extract_if(.., |effect| matches!(effect, Effect::Pulse)).count()
    }
}
