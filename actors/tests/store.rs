//! The gateway and the store's own thread: order, group commit, the Lease beside it, faults, and the end.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{Actor, Addr};
use taskyard_actors::guardian::{Closed, Guardian};
use taskyard_actors::in_flight::InFlight;
use taskyard_actors::inlet::Inlet;
use taskyard_actors::shell::Surroundings;
use taskyard_actors::store::{self, Bell, Closing, Gateway, Store};
use taskyard_actors::tell::Tell;
use taskyard_actors::testing::{Faults, Faulty, Probe, VirtualClock};
use taskyard_core::conductor::Event;
use taskyard_core::store::{
    Answer, Ask, Asker, Counts, OwnerId, Registration, Renewal, Reply, Request, Status, StoreError,
};
use taskyard_core::time::Timestamp;
use taskyard_core::{Machine, Now, lease};

const LEASE: Duration = Duration::from_secs(10);

struct AnyConductor;

impl Machine for AnyConductor {
    type Event = Event;
    type Effect = ();
    fn handle(&mut self, _: Now, _: Event, _: &mut Vec<()>) {}
}

/// Says what it is asked, commit by commit, and answers without keeping anything.
struct Recorder {
    commits: Sender<Vec<Asked>>,
    changed: Arc<Mutex<Option<Status>>>,
    /// How long it may take, as it was told last.
    limit: Arc<Mutex<Option<Duration>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Register,
    Renew,
    Release,
    Other(u64),
}

impl Recorder {
    fn answer_one(ask: &Ask) -> (Asked, Answer) {
        match *ask.request {
            Request::Register(_) => (Asked::Register, Answer::Registered(OwnerId(1))),
            Request::Renew => (Asked::Renew, Answer::Renewed(Renewal::default())),
            Request::Release => (Asked::Release, Answer::Released),
            _ => (Asked::Other(ask.no), Answer::Counts(Counts::default())),
        }
    }
}

impl Store for Recorder {
    fn answer(&mut self, _: Now, asks: &[Ask]) -> Vec<Reply> {
        let (asked, answers): (Vec<_>, Vec<_>) = asks.iter().map(Self::answer_one).unzip();
        self.commits.send(asked).expect("the test listens");
        let reply = |(ask, answer): (&Ask, _)| Reply {
            to: ask.from,
            no: ask.no,
            answer: Ok(answer),
            status: Status::default(),
        };
        asks.iter().zip(answers).map(reply).collect()
    }

    fn look(&mut self, _: Now) -> Option<Status> {
        self.changed.lock().expect("no panic").take()
    }

    fn limit(&mut self, span: Option<Duration>) {
        *self.limit.lock().expect("no panic") = span;
    }
}

struct Rig {
    conductor: Probe<AnyConductor>,
    gateway: Option<Addr<Gateway>>,
    closing: Closing,
    commits: Receiver<Vec<Asked>>,
    changed: Arc<Mutex<Option<Status>>>,
    limit: Arc<Mutex<Option<Duration>>>,
    bell: Bell,
    faults: Faults,
    clock: VirtualClock,
    guardian: Guardian,
    in_flight: InFlight,
}

impl Rig {
    fn start() -> Self {
        Self::with(Faults::default())
    }

    fn with(faults: Faults) -> Self {
        Self::leased(faults, settings())
    }

    fn leased(faults: Faults, lease: lease::Settings) -> Self {
        let clock = VirtualClock::at(Timestamp(0));
        let (guardian, in_flight) = (Guardian::default(), InFlight::default());
        let around = Surroundings {
            clock: Arc::new(clock.clone()),
            guardian: guardian.clone(),
            in_flight: in_flight.clone(),
        };
        let (commits, received) = channel();
        let (changed, limit) = (Arc::new(Mutex::default()), Arc::new(Mutex::default()));
        let recorder = Recorder { commits, changed: Arc::clone(&changed), limit: Arc::clone(&limit) };
        let store = Faulty::new(recorder, &faults);
        let (ring, bell) = channel();
        let open = move |bell| {
            ring.send(bell).expect("the test listens");
            Ok::<_, ()>(Box::new(store) as Box<dyn Store>)
        };
        let (opened, closing) = store::open(&around, lease, open).expect("a thread").expect("a store");
        let conductor = Probe::start();
        let inlet = Inlet::new(conductor.recipient(), in_flight.clone());
        Self {
            gateway: Some(opened.begin(&inlet).start()),
            bell: bell.recv().expect("sent"),
            commits: received,
            conductor,
            closing,
            changed,
            limit,
            faults,
            clock,
            guardian,
            in_flight,
        }
    }

    fn gateway(&self) -> &Addr<Gateway> {
        self.gateway.as_ref().expect("not ended")
    }

    /// Asks something of no consequence.
    fn ask(&self, numbers: impl IntoIterator<Item = u64>) {
        let asks = numbers.into_iter().map(|no| Ask {
            owner: OwnerId(1),
            from: Asker::Conductor,
            no,
            request: Arc::new(Request::Count),
            oldest_open: 1,
        });
        self.gateway().do_send(Tell::new(asks.collect(), &self.in_flight));
    }

    fn tell_lease(&self, event: lease::Event) {
        self.gateway().do_send(Tell::new(vec![event], &self.in_flight));
    }

    /// The gateway has passed all on once it answers for itself.
    async fn all_passed_on(&self) {
        let nothing = Tell::<Ask>::new(Vec::new(), &self.in_flight);
        self.gateway().send(nothing).await.expect("alive");
    }

    async fn quiet(&self) {
        let quiet = tokio::time::timeout(Duration::from_secs(10), self.in_flight.quiet()).await;
        quiet.expect("something is in flight for ever");
    }

    async fn advance(&self, span: Duration) {
        self.clock.advance(span);
        self.quiet().await;
    }

    /// What the store was asked since the last call.
    fn commits(&self) -> Vec<Vec<Asked>> {
        self.commits.try_iter().collect()
    }

    /// The numbers of the replies that came since the last call, and whether each is an answer.
    fn replies(&mut self) -> Vec<(u64, bool)> {
        let reply = |event| match event {
            Event::Reply(reply) => Some((reply.no, reply.answer.is_ok())),
            _ => None,
        };
        self.conductor.rest().into_iter().filter_map(reply).collect()
    }

    /// With a registration, and all heard that comes of it.
    async fn registered() -> Self {
        let mut rig = Self::start();
        rig.tell_lease(lease::Event::Pulse);
        rig.quiet().await;
        assert_eq!(rig.commits(), [[Asked::Register], [Asked::Renew]]);
        let told = rig.conductor.rest();
        assert!(matches!(told[..], [Event::Owned(OwnerId(1))]), "{told:?}");
        rig
    }
}

fn surroundings() -> Surroundings {
    Surroundings {
        clock: Arc::new(VirtualClock::at(Timestamp(0))),
        guardian: Guardian::default(),
        in_flight: InFlight::default(),
    }
}

fn settings() -> lease::Settings {
    let registration = Registration { lease: LEASE, ..Registration::default() };
    lease::Settings { registration, strict: false }
}

fn others(numbers: impl IntoIterator<Item = u64>) -> Vec<Asked> {
    numbers.into_iter().map(Asked::Other).collect()
}

#[actix::test]
async fn replies_come_in_the_order_of_the_requests() {
    let mut rig = Rig::start();
    (0..1_000).for_each(|no| rig.ask([no]));
    rig.quiet().await;
    assert_eq!(rig.replies(), (0..1_000).map(|no| (no, true)).collect::<Vec<_>>());
}

#[actix::test]
async fn what_comes_during_a_commit_shares_the_next_one() {
    let mut rig = Rig::start();
    rig.faults.hold();
    rig.ask([1]);
    rig.faults.holds_one().await;
    (2..=9).for_each(|no| rig.ask([no]));
    rig.all_passed_on().await;
    rig.faults.let_go();
    rig.quiet().await;
    assert_eq!(rig.commits(), [others([1]), others(2..=9)]);
    assert_eq!(rig.replies().len(), 9);
}

#[actix::test]
async fn a_request_is_in_flight_until_its_reply_is_delivered() {
    let mut rig = Rig::start();
    rig.faults.hold();
    rig.ask([1]);
    rig.faults.holds_one().await;
    assert_eq!(rig.in_flight.count(), 1);
    rig.faults.let_go();
    rig.quiet().await;
    assert_eq!(rig.replies(), [(1, true)]);
}

#[actix::test]
async fn the_lease_goes_first() {
    let rig = Rig::registered().await;
    rig.faults.hold();
    rig.ask([1]);
    rig.faults.holds_one().await;
    rig.ask([2, 3]);
    rig.all_passed_on().await;
    rig.clock.advance(LEASE / 3);
    rig.faults.let_go();
    rig.quiet().await;
    assert_eq!(rig.commits(), [others([1]), vec![Asked::Renew, Asked::Other(2), Asked::Other(3)]]);
}

/// B4: the yard's thread is the one that this test blocks.
#[actix::test]
async fn the_lease_is_renewed_while_the_yards_thread_is_blocked_but_not_for_ever() {
    let rig = Rig::registered().await;
    for _ in 0..2 {
        rig.clock.advance(LEASE / 3);
        let renewal = rig.commits.recv_timeout(Duration::from_secs(10)).expect("renewed");
        assert_eq!(renewal, [Asked::Renew]);
    }
    // A lease has passed since the last pulse.
    rig.advance(LEASE / 2).await;
    rig.advance(LEASE * 100).await;
    assert_eq!(rig.commits(), [[]; 0], "nobody says that the yard is alive");
    rig.tell_lease(lease::Event::Pulse);
    rig.quiet().await;
    assert_eq!(rig.commits(), [[Asked::Renew]]);
}

/// B17: a server that was not heard of kept the thread so long that others ran what still ran here.
#[actix::test]
async fn a_store_may_take_no_longer_than_until_a_strict_lease_is_taken_for_lost() {
    for (strict, left) in [(true, Some(Duration::from_secs(6))), (false, None)] {
        let rig = Rig::leased(Faults::default(), lease::Settings { strict, ..settings() });
        rig.tell_lease(lease::Event::Pulse);
        rig.quiet().await;
        rig.advance(Duration::from_secs(3)).await;
        rig.ask([1]);
        rig.quiet().await;
        assert_eq!(*rig.limit.lock().expect("no panic"), left);
    }
}

/// B17
#[actix::test]
async fn that_a_lease_is_lost_is_told_before_the_store_is_asked_for_the_next() {
    let mut rig = Rig::leased(Faults::default(), lease::Settings { strict: true, ..settings() });
    rig.tell_lease(lease::Event::Pulse);
    rig.quiet().await;
    rig.conductor.rest();
    rig.faults.hold();
    rig.clock.advance(Duration::from_secs(9));
    rig.faults.holds_one().await;
    let told = tokio::time::timeout(Duration::from_secs(10), rig.conductor.next()).await;
    assert!(matches!(told, Ok(Event::Disowned)), "{told:?}");
    rig.faults.let_go();
    rig.quiet().await;
    assert_eq!(rig.commits().last(), Some(&vec![Asked::Renew]), "registered anew");
}

#[actix::test]
async fn a_registration_that_is_given_up_is_told() {
    let mut rig = Rig::registered().await;
    rig.tell_lease(lease::Event::Release);
    rig.quiet().await;
    assert_eq!(rig.commits(), [[Asked::Release]]);
    assert!(matches!(rig.conductor.rest()[..], [Event::Released]));
}

#[actix::test]
async fn a_store_that_fails_is_told_of_once_and_loses_no_request() {
    let mut rig = Rig::start();
    rig.faults.break_down(StoreError::Unavailable("made to fail".into()));
    (1..=3).for_each(|no| rig.ask([no]));
    rig.quiet().await;
    let told = rig.conductor.rest();
    assert!(
        matches!(&told[..], [Event::StoreDown(StoreError::Unavailable(_)), rest @ ..] if rest.len() == 3),
        "{told:?}"
    );

    rig.faults.mend();
    (4..=5).for_each(|no| rig.ask([no]));
    rig.quiet().await;
    let told = rig.conductor.rest();
    assert!(matches!(&told[..], [Event::StoreUp, Event::Reply(_), Event::Reply(_)]), "{told:?}");
}

#[actix::test]
async fn each_request_gets_its_reply_whatever_goes_wrong_and_in_order() {
    for seed in 0..20 {
        let mut rig = Rig::with(Faults::seeded(seed, 2));
        (0..50).for_each(|no| rig.ask([no]));
        rig.quiet().await;
        let replies = rig.replies();
        assert!(replies.iter().map(|(no, _)| *no).eq(0..50), "{replies:?}");
    }
}

#[actix::test]
async fn the_store_is_looked_at_each_second_and_when_it_rings() {
    let mut rig = Rig::start();
    // An answer shows that the thread has begun to count the time.
    rig.ask([1]);
    rig.quiet().await;
    rig.replies();
    let status = Status { next_due: Some(Timestamp(7)), ..Status::default() };
    let tell = || *rig.changed.lock().expect("no panic") = Some(status);
    let is_hint = |told: &[Event]| matches!(told, [Event::Hint(said)] if *said == status);

    tell();
    rig.advance(Duration::from_millis(999)).await;
    assert!(rig.conductor.rest().is_empty());
    rig.clock.advance(Duration::from_millis(1));
    rig.quiet().await;
    let told = rig.conductor.rest();
    assert!(is_hint(&told), "{told:?}");

    *rig.changed.lock().expect("no panic") = Some(status);
    rig.bell.ring();
    rig.quiet().await;
    let told = rig.conductor.rest();
    assert!(is_hint(&told), "{told:?}");
}

#[actix::test]
async fn the_end_answers_what_was_asked_before_and_closes_the_store() {
    let mut rig = Rig::start();
    rig.faults.hold();
    (1..=3).for_each(|no| rig.ask([no]));
    rig.all_passed_on().await;
    rig.faults.holds_one().await;
    // The last address: the actor ends, and its tripwire with it.
    rig.gateway = None;
    rig.guardian.closing().await;
    rig.faults.let_go();
    rig.closing.wait();

    let asked: Vec<_> = rig.commits.iter().flatten().collect();
    assert_eq!(asked, others(1..=3), "and the store is gone, or this would wait for more");
}

#[actix::test]
async fn a_store_that_panics_ends_the_yard_and_leaves_nothing_in_flight() {
    let rig = Rig::start();
    rig.faults.panic();
    rig.ask([1]);
    assert_eq!(rig.guardian.closing().await, Closed::Broken { role: "store" });
    rig.quiet().await;
    rig.closing.wait();
}

#[test]
fn a_store_that_does_not_open_says_why() {
    let around = surroundings();
    let refused = store::open(&around, settings(), |_| Err("no such file"));
    assert_eq!(refused.expect("a thread").err(), Some("no such file"));
    let panicked = store::open(&around, settings(), |_| -> Result<_, ()> { panic!("made to panic") });
    assert!(panicked.is_err());
}

#[test]
fn a_store_that_nobody_uses_is_closed() {
    let (commits, closed) = channel();
    let store = Recorder { commits, changed: Arc::default(), limit: Arc::default() };
    let opened = store::open(&surroundings(), settings(), |_| Ok::<_, ()>(Box::new(store) as _));
    let (opened, closing) = opened.expect("a thread").expect("a store");
    drop(opened);
    closing.wait();
    assert!(closed.recv().is_err());
}
