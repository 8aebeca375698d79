//! How fast the Postgres board is, asked by one dispatcher and by two at once: `cargo bench --bench postgres [tasks]`, on the
//! server that `TASKYARD_TEST_POSTGRES` names (`scripts/postgres run cargo bench --bench postgres` brings one). The tables
//! stand in the schema `taskyard_bench`, which must not be there before and is not afterwards.

mod common;

use std::time::{Duration, Instant};

use common::{POOL, answers, asks, batches, claims, router, row, settlements};
use taskyard::core::Now;
use taskyard::core::store::{Answer, OwnerId, PoolRoom, Registration, Request, Room};
use taskyard::core::task::DueAt;
use taskyard::core::time::{Instant64, Timestamp};
use taskyard::store::postgres::Options;
use taskyard::store::{Durability, Postgres, Setup, Store as _};

const SCHEMA: &str = "taskyard_bench";
/// How many rows one request claims or posts.
const BATCH: usize = 500;

fn main() {
    let tasks = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(100_000);
    let Ok(url) = std::env::var("TASKYARD_TEST_POSTGRES") else {
        eprintln!(
            "TASKYARD_TEST_POSTGRES names no server: nothing is measured. scripts/postgres starts one."
        );
        return;
    };
    for durability in [Durability::Full, Durability::Normal] {
        println!("{durability:?}");
        run(&url, durability, tasks);
    }
}

fn run(url: &str, durability: Durability, tasks: usize) {
    drop_schema(url);
    let mut one = Dispatcher::new(url, durability);
    let mut two = Dispatcher::new(url, durability);
    let rate = |what: &str, span: Duration| {
        println!("  {what}: {:.0} tasks a second", tasks as f64 / span.as_secs_f64());
    };
    rate("posted", timed(|| one.post(tasks)));
    rate("claimed and settled by one", timed(|| one.work()));
    one.post(tasks);
    let both = timed(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| one.work());
            scope.spawn(|| two.work());
        });
    });
    rate("claimed and settled by two at once", both);
    rate("posted and claimed in one write, then settled", timed(|| one.pass_through(tasks)));
    drop((one, two));
    drop_schema(url);
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}

fn drop_schema(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the server is there");
        tokio::spawn(connection);
        let drop = format!("SET client_min_messages TO warning; DROP SCHEMA IF EXISTS {SCHEMA} CASCADE");
        client.batch_execute(&drop).await.expect("it can be dropped");
    });
}

struct Dispatcher {
    store: Postgres,
    owner: OwnerId,
    no: u64,
}

impl Dispatcher {
    fn new(url: &str, durability: Durability) -> Self {
        let schema = SCHEMA.parse().expect("valid");
        let options = Options { schema, durability, ..Options::new(url.parse().expect("an address")) };
        let store = Postgres::open(options, Setup::new(router()), || {}).expect("opens");
        let mut new = Self { store, owner: OwnerId::SOLE, no: 0 };
        let lease = Duration::from_hours(1);
        match new.ask([Request::Register(Registration { lease, ..Registration::default() })]) {
            [Answer::Registered(owner)] => new.owner = owner,
            other => panic!("{other:?}"),
        }
        new
    }

    fn ask<const N: usize>(&mut self, requests: [Request; N]) -> [Answer; N] {
        let asks = asks(self.owner, &mut self.no, requests);
        let wall = Timestamp::from(std::time::SystemTime::now());
        answers(self.store.answer(Now { mono: Instant64(wall.0), wall }, &asks))
    }

    fn post(&mut self, tasks: usize) {
        for rows in batches(tasks, BATCH) {
            let rows = rows.map(|_| row(100, DueAt::Now)).collect();
            self.ask([Request::Post { rows, room: Room::default() }]);
        }
    }

    /// Claims and settles, what was claimed before in the same write, until nothing is left.
    fn work(&mut self) {
        let mut open = Vec::new();
        loop {
            let claim = Request::Claim { pool: POOL, ready: BATCH, unjudged: 0 };
            let [_, claimed] = self.ask([Request::Settle(std::mem::take(&mut open)), claim]);
            open = settlements(claims(claimed));
            if open.is_empty() {
                break;
            }
        }
    }

    fn pass_through(&mut self, tasks: usize) {
        let mut open = Vec::new();
        for rows in batches(tasks, BATCH) {
            let rows = rows.map(|_| row(100, DueAt::Now)).collect();
            let pools = vec![PoolRoom { pool: POOL, ready: BATCH, near: 0 }];
            let post = Request::Post { rows, room: Room { pools, total: BATCH, before: Timestamp(0) } };
            let [posted, _] = self.ask([post, Request::Settle(std::mem::take(&mut open))]);
            open = settlements(claims(posted));
        }
        self.ask([Request::Settle(open)]);
    }
}
