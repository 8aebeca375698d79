//! What Taskyard relies on in actix, fact by fact: an upgrade that breaks one of these breaks a test here, and not a yard.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message, System};

#[derive(Message)]
#[rtype(result = "usize")]
enum Say {
    Number(usize),
    Stop,
    Panic,
}

/// Keeps the numbers that it was told, and says what became of it.
struct Ear {
    heard: mpsc::Sender<usize>,
    _drop: Option<OnDrop>,
}

struct OnDrop(mpsc::Sender<bool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.send(std::thread::panicking()).expect("the test listens");
    }
}

impl Actor for Ear {
    type Context = Context<Self>;
}

impl Handler<Say> for Ear {
    type Result = usize;

    fn handle(&mut self, say: Say, ctx: &mut Context<Self>) -> usize {
        match say {
            Say::Number(number) => self.heard.send(number).map_or(0, |()| number),
            Say::Stop => {
                ctx.stop();
                0
            }
            Say::Panic => panic!("made to panic"),
        }
    }
}

fn ear() -> (Addr<Ear>, mpsc::Receiver<usize>) {
    let (heard, numbers) = mpsc::channel();
    (Ear { heard, _drop: None }.start(), numbers)
}

/// A mailbox holds 16 by default; `do_send` does not care, so a mailbox is no bound.
#[actix::test]
async fn do_send_ignores_the_capacity_and_keeps_the_order() {
    let (ear, numbers) = ear();
    (1..=1000).for_each(|number| ear.do_send(Say::Number(number)));
    ear.send(Say::Number(0)).await.expect("alive");
    assert!(numbers.try_iter().eq((1..=1000).chain([0])));
}

#[actix::test]
async fn a_recipient_keeps_the_order_of_its_senders_across_threads() {
    let (ear, numbers) = ear();
    let recipient = ear.clone().recipient();
    let other =
        std::thread::spawn(move || (1..=100).for_each(|number| recipient.do_send(Say::Number(number))));
    other.join().expect("no panic");
    ear.send(Say::Number(0)).await.expect("alive");
    assert!(numbers.try_iter().eq((1..=100).chain([0])));
}

/// The crew knows all addresses before anybody starts, and what was sent meanwhile waits.
#[actix::test]
async fn a_context_has_an_address_before_its_actor_runs() {
    let (heard, numbers) = mpsc::channel();
    let context = Context::<Ear>::new();
    let ear = context.address();
    ear.do_send(Say::Number(1));
    context.run(Ear { heard, _drop: None });
    ear.send(Say::Number(2)).await.expect("alive");
    assert!(numbers.try_iter().eq([1, 2]));
}

/// The tripwire: `do_send` to the dead is silent, only the drop of a field tells.
#[actix::test]
async fn a_panic_kills_that_actor_only_and_its_fields_are_dropped_while_panicking() {
    let (heard, _numbers) = mpsc::channel();
    let (dropped, drops) = mpsc::channel();
    let broken = Ear { heard, _drop: Some(OnDrop(dropped)) }.start();
    let (sound, _) = ear();

    assert!(broken.send(Say::Panic).await.is_err());
    assert_eq!(drops.try_recv(), Ok(true));
    assert!(!broken.connected());
    broken.do_send(Say::Number(1));
    assert!(sound.send(Say::Stop).await.is_ok());
}

/// So a drain is a protocol of messages, and a stopped worker's address shows that it is gone.
#[actix::test]
async fn a_stop_drops_what_is_queued() {
    let (ear, numbers) = ear();
    ear.do_send(Say::Number(1));
    ear.do_send(Say::Stop);
    assert!(ear.send(Say::Number(2)).await.is_err());
    assert!(numbers.try_iter().eq([1]));
    assert!(!ear.connected());
}

/// Why nothing that must happen is sent with `send`.
#[actix::test]
async fn dropping_the_future_of_send_unsends_the_message() {
    let (ear, numbers) = ear();
    drop(ear.send(Say::Number(1)));
    ear.send(Say::Number(2)).await.expect("alive");
    assert!(numbers.try_iter().eq([2]));
}

/// A worker's reports hold a weak address: a strong one would keep the actor for ever.
#[actix::test]
async fn an_actor_without_addresses_ends_and_a_weak_address_does_not_keep_it() {
    let (heard, _numbers) = mpsc::channel();
    let (dropped, drops) = mpsc::channel();
    let ear = Ear { heard, _drop: Some(OnDrop(dropped)) }.start();
    ear.send(Say::Number(1)).await.expect("alive");
    let weak = ear.downgrade();
    drop(ear);
    while drops.try_recv().is_err() {
        actix_rt::task::yield_now().await;
    }
    assert!(weak.upgrade().is_none());
}

/// Wakes its own context and counts how often a future that is never ready was polled.
struct Sleeper {
    polls: Arc<AtomicUsize>,
}

impl Actor for Sleeper {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let polls = Arc::clone(&self.polls);
        let never = std::future::poll_fn(move |_| {
            polls.fetch_add(1, Ordering::Relaxed);
            std::task::Poll::Pending
        });
        ctx.spawn(actix::fut::wrap_future(never));
    }
}

impl Handler<Say> for Sleeper {
    type Result = usize;

    fn handle(&mut self, _: Say, _: &mut Context<Self>) -> usize {
        0
    }
}

/// One timer an actor: each wake polls every future of the context, due or not.
#[actix::test]
async fn each_message_polls_all_futures_of_the_context() {
    let polls = Arc::new(AtomicUsize::new(0));
    let sleeper = Sleeper { polls: Arc::clone(&polls) }.start();
    for _ in 0..10 {
        sleeper.send(Say::Stop).await.expect("alive");
    }
    assert!(polls.load(Ordering::Relaxed) >= 10);
}

/// A yard lives beside its host: a `System` on a thread of its own is that thread's only, and ends with its runner.
#[actix::test]
async fn a_system_on_another_thread_leaves_this_one_alone() {
    let host = System::current().id();
    let other = std::thread::spawn(|| {
        let runner = System::new();
        let id = runner.block_on(async { System::current().id() });
        let (heard, _numbers) = mpsc::channel();
        let (dropped, drops) = mpsc::channel();
        runner.block_on(async { Ear { heard, _drop: Some(OnDrop(dropped)) }.start() });
        drop(runner);
        (id, drops.try_recv())
    });
    let (other, dropped) = other.join().expect("no panic");
    assert_ne!(host, other);
    assert_eq!(System::current().id(), host);
    assert_eq!(dropped, Ok(false), "all actors go with the runner");
}
