//! The shell around a machine: turns, order, the one timer, and what becomes of a yard whose shell breaks.

use std::sync::Arc;
use std::time::Duration;

use actix::Actor;
use taskyard_actors::clock::{Clock, RealClock};
use taskyard_actors::guardian::{Closed, Guardian};
use taskyard_actors::in_flight::InFlight;
use taskyard_actors::inlet::Inlet;
use taskyard_actors::post::{Edge, Post, Roles};
use taskyard_actors::shell::{Shell, Surroundings};
use taskyard_actors::tell::Tell;
use taskyard_actors::testing::{Probe, VirtualClock};
use taskyard_actors::thread;
use taskyard_core::conductor::{Answer, Happened};
use taskyard_core::id::{PoolId, Token};
use taskyard_core::pool::Event as P;
use taskyard_core::time::{Instant64, Timestamp};
use taskyard_core::{Machine, Now, Wakeup, blocker, conductor, delayer, in_progress, pool, queuer};

/// Stands for any neighbour: only its event type counts.
macro_rules! neighbour {
    ($name:ident, $event:ty) => {
        struct $name;
        impl Machine for $name {
            type Event = $event;
            type Effect = ();
            fn handle(&mut self, _: Now, _: $event, _: &mut Vec<()>) {}
        }
    };
}
neighbour!(AnyConductor, conductor::Event);
neighbour!(AnyDelayer, delayer::Event);
neighbour!(AnyBlocker, blocker::Event);
neighbour!(AnyInProgress, in_progress::Event);
neighbour!(AnyQueuer, queuer::Event);
neighbour!(AnyPool, pool::Event);

struct Nowhere;

impl Edge for Nowhere {
    fn answer(&self, _: Vec<(Token, Answer)>) {}
    fn tell(&self, _: Vec<Happened>) {}
}

/// Probes in every place.
struct Neighbours {
    conductor: Probe<AnyConductor>,
    delayer: Probe<AnyDelayer>,
    blocker: Probe<AnyBlocker>,
    in_progress: Probe<AnyInProgress>,
    queuer: Probe<AnyQueuer>,
    pool: Probe<AnyPool>,
}

impl Neighbours {
    fn start() -> Self {
        Self {
            conductor: Probe::start(),
            delayer: Probe::start(),
            blocker: Probe::start(),
            in_progress: Probe::start(),
            queuer: Probe::start(),
            pool: Probe::start(),
        }
    }

    fn roles(&self, in_flight: &InFlight) -> Roles {
        Roles {
            conductor: self.conductor.recipient(),
            lease: None,
            board: None,
            delayer: self.delayer.recipient(),
            blocker: self.blocker.recipient(),
            in_progress: self.in_progress.recipient(),
            queuer: self.queuer.recipient(),
            pools: vec![self.pool.recipient()],
            edge: Arc::new(Nowhere),
            in_flight: in_flight.clone(),
        }
    }
}

fn surroundings(clock: impl Clock) -> Surroundings {
    Surroundings { clock: Arc::new(clock), guardian: Guardian::default(), in_flight: InFlight::default() }
}

/// A Queuer that says the number of events of each turn as a demand, and panics at a drain mark.
#[derive(Default)]
struct Tally(usize);

impl Machine for Tally {
    type Event = queuer::Event;
    type Effect = queuer::Effect;
    fn handle(&mut self, _: Now, event: queuer::Event, effects: &mut Vec<queuer::Effect>) {
        assert!(!matches!(event, queuer::Event::Drain), "made to panic");
        self.0 += 1;
        effects.push(queuer::Effect::Drain(PoolId(0)));
    }
    fn end_turn(&mut self, _: Now, effects: &mut Vec<queuer::Effect>) {
        effects.push(queuer::Effect::Demand(PoolId(0), std::mem::take(&mut self.0)));
    }
}

fn known(pool: u8) -> queuer::Event {
    queuer::Event::Learned { pool: PoolId(pool), names: Vec::new() }
}

#[actix::test]
async fn a_batch_is_one_turn_and_reaches_the_neighbour_in_order() {
    let around = surroundings(RealClock::start());
    let mut neighbours = Neighbours::start();
    let post = Post::new(&neighbours.roles(&around.in_flight));
    let shell = Shell::new("Queuer", Tally::default(), post, &around).start();

    shell.send(Tell::new(vec![known(0), known(1)], &around.in_flight)).await.expect("the shell is alive");
    around.in_flight.quiet().await;

    let told = neighbours.pool.rest();
    assert!(matches!(told[..], [P::Demand(0), P::Drain, P::Drain, P::Demand(2)]), "{told:?}");
}

/// Seen: a yard that had not begun to register was quiet.
#[actix::test]
async fn a_shell_is_in_flight_until_it_has_begun() {
    let around = surroundings(RealClock::start());
    let mut neighbours = Neighbours::start();
    let shell = || {
        let post = Post::new(&neighbours.roles(&around.in_flight));
        Shell::new("Queuer", Tally::default(), post, &around)
            .opening(|_, _, effects| effects.push(queuer::Effect::Drain(PoolId(0))))
    };
    drop(shell());
    assert_eq!(around.in_flight.count(), 0, "one that never begins is not waited for");

    let _shell = shell().start();
    assert_eq!(around.in_flight.count(), 1);
    around.in_flight.quiet().await;

    let told = neighbours.pool.rest();
    assert!(matches!(told[..], [P::Drain, P::Demand(0)]), "{told:?}");
}

#[actix::test]
async fn events_from_another_thread_share_a_wake_up_and_keep_their_order() {
    let around = surroundings(RealClock::start());
    let mut neighbour = Probe::<AnyQueuer>::start();
    let inlet = Inlet::new(neighbour.recipient(), around.in_flight.clone());

    std::thread::spawn(move || {
        inlet.put([known(0), known(1)]);
        inlet.put([known(2)]);
    })
    .join()
    .expect("the thread does not panic");
    assert_eq!(around.in_flight.count(), 1, "one message for both");
    around.in_flight.quiet().await;

    let pools: Vec<_> = neighbour
        .rest()
        .into_iter()
        .map(|event| match event {
            queuer::Event::Learned { pool, .. } => pool.0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(pools, [0, 1, 2]);
}

/// A Delayer that says the drain mark when its time comes. Told a drain mark, it waits for an earlier time.
struct Alarm {
    due: Wakeup,
    earlier: Wakeup,
}

impl Machine for Alarm {
    type Event = delayer::Event;
    type Effect = delayer::Effect;
    fn handle(&mut self, _: Now, _: delayer::Event, _: &mut Vec<delayer::Effect>) {
        self.due = self.earlier;
    }
    fn wake(&mut self, now: Now, effects: &mut Vec<delayer::Effect>) {
        assert!(self.due.is_due(now), "a shell wakes its machine only when it is time");
        self.due = Wakeup::NEVER;
        effects.push(delayer::Effect::Drain);
    }
    fn next_wakeup(&self) -> Wakeup {
        self.due
    }
}

async fn alarm(
    due: Wakeup,
    earlier: Wakeup,
) -> (VirtualClock, Surroundings, Neighbours, actix::Addr<Shell<Alarm>>) {
    let clock = VirtualClock::at(Timestamp(0));
    let around = surroundings(clock.clone());
    let neighbours = Neighbours::start();
    let post = Post::new(&neighbours.roles(&around.in_flight));
    let shell = Shell::new("Delayer", Alarm { due, earlier }, post, &around).start();
    shell.send(Tell::new(Vec::new(), &around.in_flight)).await.expect("the shell is alive");
    (clock, around, neighbours, shell)
}

fn mono(seconds: i64) -> Wakeup {
    Wakeup::mono(Some(Instant64(seconds * 1_000_000)))
}

#[actix::test]
async fn a_machine_is_woken_once_at_its_time_and_not_before() {
    let (clock, around, mut neighbours, _shell) = alarm(mono(5), Wakeup::NEVER).await;

    clock.advance(Duration::from_micros(4_999_999));
    around.in_flight.quiet().await;
    assert!(neighbours.blocker.rest().is_empty());

    clock.advance(Duration::from_micros(1));
    around.in_flight.quiet().await;
    assert_eq!(neighbours.blocker.rest().len(), 1);

    clock.advance(Duration::from_mins(1));
    around.in_flight.quiet().await;
    assert!(neighbours.blocker.rest().is_empty());
}

#[actix::test]
async fn an_earlier_wish_rearms_the_timer() {
    let (clock, around, mut neighbours, shell) = alarm(mono(50), mono(5)).await;
    shell.send(Tell::new(vec![delayer::Event::Drain], &around.in_flight)).await.expect("the shell is alive");

    clock.advance(Duration::from_secs(5));
    around.in_flight.quiet().await;
    assert_eq!(neighbours.blocker.rest().len(), 1);
}

#[actix::test]
async fn a_later_wish_is_not_woken_at_the_old_time() {
    let (clock, around, mut neighbours, shell) = alarm(mono(5), mono(50)).await;
    shell.send(Tell::new(vec![delayer::Event::Drain], &around.in_flight)).await.expect("the shell is alive");

    clock.advance(Duration::from_secs(5));
    around.in_flight.quiet().await;
    assert!(neighbours.blocker.rest().is_empty());

    clock.advance(Duration::from_secs(45));
    around.in_flight.quiet().await;
    assert_eq!(neighbours.blocker.rest().len(), 1);
}

#[actix::test]
async fn a_step_of_the_wall_clock_wakes_what_waits_for_wall_time() {
    let noon = Timestamp(43_200_000_000);
    let (clock, around, mut neighbours, _shell) = alarm(Wakeup::wall(Some(noon)), Wakeup::NEVER).await;

    clock.step_wall(noon);
    around.in_flight.quiet().await;
    assert_eq!(neighbours.blocker.rest().len(), 1);
}

/// The real clock can't be stepped in a test; what can is how long it sleeps when it waits for wall time.
#[actix::test]
async fn the_real_clock_looks_again_at_the_wall_clock_within_a_second() {
    let clock = RealClock::start();
    let in_flight = InFlight::default();
    let tomorrow = clock.now().wall + Duration::from_hours(24);
    let before = clock.now().mono;

    drop(clock.sleep(Wakeup::wall(Some(tomorrow)), &in_flight).await);

    assert!(clock.now().mono.since(before) < 2_000_000);
}

/// A host without any runtime of its own to speak of.
fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// P21: a fatal error inside ends the yard, says which part broke, and leaves the host alone.
#[test]
fn a_shell_that_panics_ends_its_thread_and_nothing_else() {
    let guardian = Guardian::default();
    let around = Surroundings {
        clock: Arc::new(RealClock::start()),
        guardian: guardian.clone(),
        in_flight: InFlight::default(),
    };
    let (finished, done) = std::sync::mpsc::channel();
    let in_flight = around.in_flight.clone();
    let shell = thread::spawn(
        guardian.clone(),
        move || {
            let post = Post::new(&Neighbours::start().roles(&around.in_flight));
            Shell::new("Queuer", Tally::default(), post, &around).start()
        },
        move || finished.send(()).expect("the test waits"),
    )
    .expect("a thread can be started");

    shell.do_send(Tell::new(vec![queuer::Event::Drain], &in_flight));

    done.recv_timeout(Duration::from_secs(10)).expect("the thread ends");
    let why = wait(guardian.closed());
    assert_eq!(why, Closed::Broken { role: "Queuer" });
    assert!(!shell.connected());
}

#[test]
fn a_thread_whose_start_panics_says_so_and_is_closed() {
    let guardian = Guardian::default();
    let started = thread::spawn::<()>(guardian.clone(), || panic!("made to panic"), || {});
    assert!(started.is_err());
    assert_eq!(wait(guardian.closed()), Closed::Broken { role: "thread" });
}
