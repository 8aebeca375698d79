//! A yard lives beside whatever its host runs, and leaves the host alone when it ends.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{echo, pool, soon, task, yard};
use futures::future::LocalBoxFuture;
use taskyard::core::dispatch::Outcome;
use taskyard::core::{Now, Wakeup};
use taskyard::testing::Toys;
use taskyard::{AskError, Closed, NoOutcome, Yard, YardDown};
use taskyard_actors::clock::{Clock, RealClock};
use taskyard_actors::in_flight::{Flight, InFlight};

fn instant() -> Toys {
    Toys::instant(1, vec![echo()])
}

async fn run_one(yard: &Yard) {
    let mut handle = soon(yard.submit_task(Arc::new(task()))).await.expect("taken");
    assert_eq!(soon(handle.outcome()).await, Ok(Outcome::Succeeded("null".into())));
}

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(future)
}

#[test]
fn a_plain_thread_can_start_a_yard_and_wait_for_it() {
    let yard = yard(&instant());
    wait(run_one(&yard));
    wait(soon(yard.drain())).expect("drained");
    assert_eq!(wait(soon(yard.closed())), Closed::Drained);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_works_from_any_thread_of_a_tokio_runtime() {
    let yard = yard(&instant());
    let spawned: Vec<_> = (0..8)
        .map(|_| {
            let yard = yard.clone();
            tokio::spawn(async move { run_one(&yard).await })
        })
        .collect();
    for one in spawned {
        soon(one).await.expect("no panic");
    }
}

/// The host's `System` goes on after the yard has ended.
#[actix::test]
async fn an_actix_host_outlives_its_yard() {
    let host = actix::System::current().id();
    let yard = yard(&instant());
    run_one(&yard).await;
    soon(yard.drain()).await.expect("drained");
    soon(yard.closed()).await;
    assert_eq!(actix::System::current().id(), host);
    actix_rt::spawn(async {}).await.expect("the host's arbiter works");
}

#[actix_web::test]
async fn an_actix_web_handler_submits() {
    use actix_web::{App, HttpResponse, test, web};
    async fn submit(yard: web::Data<Yard>) -> HttpResponse {
        run_one(&yard).await;
        HttpResponse::Ok().finish()
    }
    let data = web::Data::new(yard(&instant()));
    let app = test::init_service(App::new().app_data(data).route("/", web::post().to(submit))).await;
    let response = test::call_service(&app, test::TestRequest::post().uri("/").to_request()).await;
    assert!(response.status().is_success());
}

#[tokio::test]
async fn the_last_handle_takes_the_yard_with_it() {
    let toys = Toys::by_hand(1, vec![echo()]);
    let yard = yard(&toys);
    let handle = soon(yard.submit_task(Arc::new(task()))).await.expect("taken");
    soon(toys.started(handle.id())).await;

    drop(yard);
    assert_eq!(toys.workers().len(), 1, "the task's handle holds the yard");
    drop(handle);
    soon(toys.let_go()).await;
}

/// A clock that stops the yard's heart when a test says so: the only way to break an actor from outside.
struct Brittle {
    clock: RealClock,
    broken: Arc<AtomicBool>,
}

impl Clock for Brittle {
    fn now(&self) -> Now {
        assert!(!self.broken.load(Ordering::Relaxed), "made to panic");
        self.clock.now()
    }

    fn sleep(&self, wakeup: Wakeup, in_flight: &InFlight) -> LocalBoxFuture<'static, Flight> {
        self.clock.sleep(wakeup, in_flight)
    }
}

/// P21, in a host: waiters learn it, the yard says which part broke, and the host goes on.
#[tokio::test]
async fn waiters_learn_that_the_yard_broke() {
    let broken = Arc::new(AtomicBool::new(false));
    let clock = Brittle { clock: RealClock::start(), broken: Arc::clone(&broken) };
    let toys = Toys::by_hand(1, vec![echo()]);
    let yard = Yard::builder().clock(Arc::new(clock), InFlight::default()).pool(pool(&toys));
    let yard = yard.start().expect("starts");
    let mut handle = soon(yard.submit_task(Arc::new(task()))).await.expect("taken");

    broken.store(true, Ordering::Relaxed);
    let waiting = soon(yard.counts()).await;

    let down = AskError::Down(YardDown { why: Closed::Broken { role: "Conductor" } });
    assert_eq!(waiting, Err(down.clone()));
    assert_eq!(soon(handle.outcome()).await, Err(NoOutcome::Ask(down)));
    assert_eq!(soon(yard.closed()).await, Closed::Broken { role: "Conductor" });
    soon(toys.let_go()).await;
}
