//! A line to the store that loses requests and replies and lets late ones through twice: whatever it does, the store ends up
//! where a [plain one](crate::suite::model) does that is asked once, and answers the same.

use std::time::Duration;

use taskyard_core::Now;
use taskyard_core::board::Settings;
use taskyard_core::store::{Ask, OwnerId, Posted, Reply, Request};

use crate::suite::model::{End, Model, Ms};
use crate::suite::rig::{
    A, LEASE, Rig, Store, all, claimed, done, give_back, ids, numbers, only, retry, settlement, trash,
};
use crate::suite::task::{START, at, task};

/// How many tasks a script has at most.
const TASKS: u64 = 25;
/// What expires then never does so in a script.
const NEVER: Ms = 1_000_000_000;

/// A small generator: a seed is a script.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The store behind a line that does wrong.
struct Line {
    store: Box<dyn Store>,
    rng: Rng,
    /// Sent a second time because the first answer was late, and not there yet.
    late: Option<Ask>,
}

impl Store for Line {
    fn answer(&mut self, now: Now, ask: Ask) -> Reply {
        if let Some(late) = self.late.take() {
            // Its answer interests nobody any more.
            self.store.answer(now, late);
        }
        loop {
            let (request_lost, reply_lost) = (self.rng.one_in(6), self.rng.one_in(6));
            if request_lost {
                continue;
            }
            let reply = self.store.answer(now, ask.clone());
            if reply_lost {
                continue;
            }
            // A lease that is renewed late would be another script.
            let again = self.rng.one_in(6) && !matches!(*ask.request, Request::Renew);
            self.late = again.then_some(ask);
            return reply;
        }
    }

    fn check_invariants(&mut self) {
        self.store.check_invariants();
    }

    fn pass_lease(&mut self, span: Duration) {
        self.store.pass_lease(span);
    }
}

/// A script under way: two owners at a store, and the model that is told the same.
struct Script {
    rig: Rig,
    model: Model,
    rng: Rng,
    owners: [OwnerId; 2],
}

impl Script {
    fn new(seed: u64) -> Self {
        let mut rig = Rig::through(Settings::default(), |store| {
            Box::new(Line { store, rng: Rng(seed ^ 0xFAu64), late: None })
        });
        let owners = [rig.owner(), rig.register()];
        Self { rig, model: Model::default(), rng: Rng(seed), owners }
    }

    fn now(&self) -> Ms {
        (self.rig.now.wall.since(START) / 1_000) as Ms
    }

    fn soon(&mut self) -> Ms {
        self.now() + self.rng.below(300)
    }

    fn step(&mut self) {
        let owner = self.owners[self.rng.below(2) as usize];
        self.rig.as_owner(owner);
        match self.rng.below(16) {
            0..=3 => self.post(),
            4..=5 => self.claim(owner),
            6 => self.preload(owner),
            7..=9 => self.settle(owner),
            10 => self.promote(),
            11 => self.cancel(owner),
            12 => self.reschedule(owner),
            13 => self.look(owner),
            14 => drop(self.rig.pass(100)),
            _ => self.die(),
        }
    }

    fn post(&mut self) {
        let (now, n) = (self.now(), self.rng.below(TASKS));
        let due = if self.rng.one_in(2) { now } else { self.soon() };
        let expires = if self.rng.one_in(4) { due + 50 + self.rng.below(200) } else { NEVER };
        let new = self.model.post(now, n, due, expires);
        let posted = self.rig.post([task(n).due_at(due).expires_at(expires)]).remove(0);
        // Asked again, what was new is known.
        assert!(new || matches!(posted, Posted::Known(_)), "{posted:?}");
    }

    fn claim(&mut self, owner: OwnerId) {
        let up_to = 1 + self.rng.below(3) as usize;
        let expected = self.model.claim(self.now(), owner, up_to);
        self.took(Request::Claim { pool: A, ready: up_to, unjudged: 0 }, expected);
    }

    fn preload(&mut self, owner: OwnerId) {
        let (now, before) = (self.now(), self.soon());
        let expected = self.model.preload(now, owner, before, 2);
        self.took(Request::Preload { pool: A, before: at(before), up_to: 2 }, expected);
    }

    fn took(&mut self, request: Request, expected: (Vec<(u64, u32)>, Vec<u64>)) {
        let (rows, expired) = claimed(self.rig.ask(request));
        let rows = ids(&rows).into_iter().zip(rows.iter().map(|row| row.epoch)).collect();
        assert_eq!((rows, expired), expected);
    }

    fn settle(&mut self, owner: OwnerId) {
        let now = self.now();
        let held = self.model.held(owner);
        let stale = (self.rng.below(TASKS), self.rng.below(3) as u32 + 1);
        let pick = self.rng.next() as usize;
        let name = *held.get(pick % (held.len() + 1)).unwrap_or(&stale);
        let (end, settle) = match self.rng.below(6) {
            0 => (End::Trash, trash()),
            1 => (End::GiveBack, give_back()),
            2 => {
                let due = self.soon();
                (End::Retry(due), retry(due))
            }
            _ => (End::Done, done()),
        };
        let expected = self.model.settle(now, owner, name, end);
        assert_eq!(self.rig.settle(name.0, name.1, settle), expected, "{name:?} {end:?}");
    }

    fn promote(&mut self) {
        let mut expired = self.rig.promote();
        expired.sort_unstable();
        assert_eq!(expired, self.model.promote(self.now()));
    }

    fn cancel(&mut self, owner: OwnerId) {
        let tasks: Vec<_> = (0..2).map(|_| self.rng.below(TASKS)).collect();
        let expected = self.model.cancel(owner, &sorted(tasks.clone()));
        let filter = only(&tasks);
        let (gone, ended) = self.rig.cancel(filter.clone());
        assert_eq!([sorted(gone), sorted(ended)], [expected[0].clone(), expected[2].clone()]);
        // What others have is still theirs when it is asked for under another number.
        let (gone, elsewhere, _) = self.rig.cancel_from(filter, 0);
        assert_eq!([sorted(gone), sorted(elsewhere)], [vec![], expected[1].clone()]);
    }

    fn reschedule(&mut self, owner: OwnerId) {
        let (now, n, due) = (self.now(), self.rng.below(TASKS), self.soon());
        let expected = self.model.reschedule(now, owner, n, due);
        assert_eq!(self.rig.reschedule(n, due), expected);
    }

    fn look(&mut self, owner: OwnerId) {
        assert_eq!(self.rig.held(), self.model.held(owner));
        assert_eq!(numbers(&self.rig.renew().marked), self.model.marked(owner));
        assert_eq!(self.rig.list(all(), 4).len(), self.model.unfinished());
        for n in 0..TASKS {
            let view = self.rig.view(n);
            self.model.check(n, view.as_ref());
        }
    }

    /// The first owner dies and the second takes over, in small steps; a third comes in its place.
    fn die(&mut self) {
        let [dead, heir] = self.owners;
        self.rig.pass_lease(LEASE).as_owner(heir).renew();
        let held = self.model.held(dead);
        self.rig.take_over_all(2);
        self.model.take_over(self.now(), dead);
        self.rig.as_owner(dead);
        for (n, epoch) in held {
            assert!(self.rig.is_refused(settlement(n, epoch, done())), "a zombie settled {n}");
        }
        self.rig.as_owner(heir);
        self.owners = [heir, self.rig.register()];
    }

    /// Nothing new comes, all runs to its end.
    fn finish(&mut self) {
        for owner in self.owners {
            self.rig.as_owner(owner);
            for name in self.model.held(owner) {
                assert!(self.rig.settle(name.0, name.1, done()));
                self.model.settle(self.now(), owner, name, End::Done);
            }
        }
        self.rig.pass(10_000);
        self.promote();
        while self.model.unfinished() > 0 {
            let owner = self.owners[1];
            self.rig.as_owner(owner);
            self.claim(owner);
            for name in self.model.held(owner) {
                assert!(self.rig.settle(name.0, name.1, done()));
                self.model.settle(self.now(), owner, name, End::Done);
            }
        }
        self.look(self.owners[1]);
    }
}

fn sorted(mut tasks: Vec<u64>) -> Vec<u64> {
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}

/// B5, B6, B8, B16, D8, D9, D13, D19
#[test]
fn a_line_that_loses_and_repeats_loses_no_task_and_does_nothing_twice() {
    for seed in 0..crate::SCRIPTS {
        let mut script = Script::new(seed);
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..150 {
                script.step();
            }
            script.finish();
        }));
        assert!(passed.is_ok(), "seed {seed}");
    }
}
