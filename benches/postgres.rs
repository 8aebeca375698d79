//! How fast the Postgres board is, asked by one dispatcher and by two at once: `cargo bench --bench postgres [tasks]`, on the
//! server that `TASKYARD_TEST_POSTGRES` names (`scripts/postgres run cargo bench --bench postgres` brings one). The tables
//! stand in the schema `taskyard_bench`, which must not be there before and is not afterwards.

use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard::core::dispatch::Outcome;
use taskyard::core::id::PoolId;
use taskyard::core::router::Router;
use taskyard::core::store::{
    Answer, Ask, Asker, Claimed, NewRow, OwnerId, PoolRoom, Posted, Registration, Request, Room, Settle,
    Settlement,
};
use taskyard::core::task::{DueAt, TaskDefaults};
use taskyard::core::time::{Instant64, Timestamp};
use taskyard::core::{Now, wire};
use taskyard::store::postgres::Options;
use taskyard::store::{Durability, Postgres, Setup, Store as _};

const POOL: PoolId = PoolId(0);
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
        let mut router = Router::default();
        let (pattern, name) = ("#".parse().expect("valid"), "app.bench.echo".parse().expect("valid"));
        router.bind(POOL, &[pattern], Some(&[name]));
        let schema = SCHEMA.parse().expect("valid");
        let options = Options { schema, durability, ..Options::new(url.parse().expect("an address")) };
        let store = Postgres::open(options, Setup::new(router), || {}).expect("opens");
        let mut new = Self { store, owner: OwnerId::SOLE, no: 0 };
        let lease = Duration::from_hours(1);
        match new.ask([Request::Register(Registration { lease, ..Registration::default() })]) {
            [Answer::Registered(owner)] => new.owner = owner,
            other => panic!("{other:?}"),
        }
        new
    }

    fn ask<const N: usize>(&mut self, requests: [Request; N]) -> [Answer; N] {
        let asks = requests.map(|request| {
            self.no += 1;
            let (owner, no) = (self.owner, self.no);
            Ask { owner, from: Asker::Conductor, no, request: Arc::new(request), oldest_open: no }
        });
        let wall = Timestamp::from(std::time::SystemTime::now());
        let replies = self.store.answer(Now { mono: Instant64(wall.0), wall }, &asks);
        let answers: Vec<_> =
            replies.into_iter().map(|reply| reply.answer.expect("the store is well")).collect();
        answers.try_into().expect("one reply a request")
    }

    fn post(&mut self, tasks: usize) {
        for _ in 0..tasks / BATCH {
            let rows = (0..BATCH).map(|_| row()).collect();
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
        for _ in 0..tasks / BATCH {
            let rows = (0..BATCH).map(|_| row()).collect();
            let pools = vec![PoolRoom { pool: POOL, ready: BATCH, near: 0 }];
            let post = Request::Post { rows, room: Room { pools, total: BATCH, before: Timestamp(0) } };
            let [posted, _] = self.ask([post, Request::Settle(std::mem::take(&mut open))]);
            open = settlements(claims(posted));
        }
        self.ask([Request::Settle(open)]);
    }
}

/// A task with a body of a hundred bytes.
fn row() -> NewRow {
    let body = format!(r#"{{"task":"app.bench.echo","args":["{:x>64}"]}}"#, "");
    let task = wire::parse_task(&body, taskyard::fresh_id(), &|_| TaskDefaults::default()).expect("valid");
    NewRow { task: Arc::new(task), due: DueAt::Now, expires: None, exempt: false, batch: None }
}

fn claims(answer: Answer) -> Vec<Claimed> {
    match answer {
        Answer::Claimed { rows, .. } => rows,
        Answer::Posted(posted) => {
            let claimed = |posted| match posted {
                Posted::Claimed(claimed) => claimed,
                other => panic!("not claimed: {other:?}"),
            };
            posted.into_iter().map(claimed).collect()
        }
        other => panic!("no claim: {other:?}"),
    }
}

fn settlements(claims: Vec<Claimed>) -> Vec<Settlement> {
    let settlement = |claimed: Claimed| Settlement {
        id: claimed.task.id,
        sequence: claimed.order.sequence,
        epoch: claimed.epoch,
        settle: Settle::Done(Outcome::Succeeded("null".into())),
        posts: Vec::new(),
    };
    claims.into_iter().map(settlement).collect()
}
