//! How fast the SQLite board alone is, asked on one thread, and how large a parked task is in its file:
//! `cargo bench --bench board [tasks] [word]`, of all or of those whose name has the word. The files are made in the folder
//! that `BOARD_FOLDER` names, or in the temporary one. Beside the rate stands the one that the store's own computing would
//! allow, without the waiting for disk and other programs.

mod common;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{POOL, answers, asks, batches, claims, router, settlements, typed};
use taskyard::core::Now;
use taskyard::core::store::{Answer, NewRow, OwnerId, PoolRoom, Request, Room};
use taskyard::core::task::DueAt;
use taskyard::core::time::Timestamp;
use taskyard::store::sqlite::Options;
use taskyard::store::{Durability, Setup, Sqlite, Store as _};

const START: Timestamp = Timestamp(1_700_000_000_000_000);

fn main() {
    let tasks = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let word = std::env::args().skip(1).find(|arg| !arg.starts_with('-') && arg.parse::<usize>().is_err());
    let folder = std::env::var_os("BOARD_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    for durability in [Durability::Full, Durability::Normal] {
        let run = |what: &str, tasks: usize, run: fn(&mut Bench, usize)| {
            let name = format!("{durability:?}, {what}");
            if word.as_ref().is_none_or(|word| name.contains(word)) {
                Bench::new(&folder, durability).report(&name, tasks, run);
            }
        };
        run("posted and claimed, settled, by 64", tasks, Bench::pass_through);
        run("parked by 1000, due one after the other", tasks, Bench::park_near);
        run("due at once: promoted, claimed, settled", tasks / 5, Bench::burst);
        run("parked by 1000, 300 bytes, due within a year", tasks, Bench::park_far);
        run("one by one, on an empty board", tasks / 50, Bench::one_by_one);
        run("one by one, beside 200 000 that cannot be taken", tasks / 50, Bench::one_by_one_beside_many);
    }
}

struct Bench {
    path: PathBuf,
    store: Sqlite,
    now: Now,
    no: u64,
    /// In the store alone: by the clock, and on the processor.
    spent: Duration,
    computed: Duration,
}

impl Bench {
    fn new(folder: &Path, durability: Durability) -> Self {
        let path = folder.join(format!("taskyard-bench-{}.db", std::process::id()));
        remove(&path);
        let options = Options { durability, ..Options::new(Setup::new(router())) };
        let store = Sqlite::open(&path, options).expect("opens");
        let now = Now { wall: START, ..Now::default() };
        Self { path, store, now, no: 0, spent: Duration::ZERO, computed: Duration::ZERO }
    }

    fn report(&mut self, name: &str, tasks: usize, run: fn(&mut Self, usize)) {
        run(self, tasks);
        let rate = |span: Duration| tasks as f64 / span.as_secs_f64();
        println!("{name}: {:.0} tasks a second ({:.0})", rate(self.spent), rate(self.computed));
    }

    fn ask<const N: usize>(&mut self, requests: [Request; N]) -> [Answer; N] {
        let asks = asks(OwnerId::SOLE, &mut self.no, requests);
        let (start, computed) = (Instant::now(), computed());
        let replies = self.store.answer(self.now, &asks);
        self.spent += start.elapsed();
        self.computed += self::computed().saturating_sub(computed);
        answers(replies)
    }

    /// A round posts and claims 64 and settles those of the round before, in one commit.
    fn pass_through(&mut self, tasks: usize) {
        let mut open = Vec::new();
        for rows in batches(tasks, 64) {
            let rows = rows.map(|_| row(100, Duration::ZERO)).collect();
            let pools = vec![PoolRoom { pool: POOL, ready: 64, near: 0 }];
            let post = Request::Post { rows, room: Room { pools, total: 64, before: self.now.wall } };
            let [posted, _] = self.ask([post, Request::Settle(std::mem::take(&mut open))]);
            open = settlements(claims(posted));
        }
        self.ask([Request::Settle(open)]);
    }

    fn park_near(&mut self, tasks: usize) {
        self.park(tasks, 100, |n| Duration::from_hours(1) + Duration::from_millis(n));
    }

    fn park_far(&mut self, tasks: usize) {
        self.park(tasks, 300, |n| Duration::from_secs(scattered(n) % (365 * 86_400)));
        let size =
            |end: &str| std::fs::metadata(format!("{}{end}", self.path.display())).map_or(0, |it| it.len());
        let (file, log) = (size("") / tasks as u64, size("-wal") >> 20);
        println!("{file} bytes a task in the file, and {log} MiB of log beside it");
    }

    fn park(&mut self, tasks: usize, bytes: usize, due: impl Fn(u64) -> Duration) {
        for rows in batches(tasks, 1_000) {
            let rows = rows.map(|n| row(bytes, due(n as u64))).collect();
            self.ask([Request::Post { rows, room: Room::default() }]);
        }
    }

    fn one_by_one(&mut self, tasks: usize) {
        for _ in 0..tasks {
            let rows = vec![row(100, Duration::ZERO)];
            let claim = Request::Claim { pool: POOL, ready: 1, unjudged: 0 };
            let [_, claimed] = self.ask([Request::Post { rows, room: Room::default() }, claim]);
            self.ask([Request::Settle(settlements(claims(claimed)))]);
        }
    }

    /// Half of them wait behind two of their key that run, half of them nobody here knows.
    fn one_by_one_beside_many(&mut self, tasks: usize) {
        let twin = r#"{"task":"app.bench.echo","on_duplicate":"serial","key":"k"}"#;
        for text in [twin, r#"{"task":"app.unknown"}"#] {
            let rows = (0..100_000).map(|_| typed(text, DueAt::Now)).collect();
            self.ask([Request::Post { rows, room: Room::default() }]);
        }
        self.ask([Request::Claim { pool: POOL, ready: 2, unjudged: 0 }]);
        (self.spent, self.computed) = (Duration::ZERO, Duration::ZERO);
        self.one_by_one(tasks);
    }

    fn burst(&mut self, tasks: usize) {
        self.park(tasks, 100, |_| Duration::from_secs(1));
        self.now.wall = START + Duration::from_secs(2);
        (self.spent, self.computed) = (Duration::ZERO, Duration::ZERO);
        let (mut left, mut open) = (tasks, Vec::new());
        while left > 0 {
            let claim = Request::Claim { pool: POOL, ready: 256, unjudged: 0 };
            let promote = Request::Promote { up_to: 1_000 };
            let [_, _, claimed] = self.ask([promote, Request::Settle(open), claim]);
            open = settlements(claims(claimed));
            left -= open.len();
        }
        self.ask([Request::Settle(open)]);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// What this thread has computed so far.
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn remove(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        // There may be none.
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
}

/// A task with a body of so many bytes, due after a while.
fn row(bytes: usize, delay: Duration) -> NewRow {
    common::row(bytes, if delay.is_zero() { DueAt::Now } else { DueAt::Wall(START + delay) })
}

/// A number that looks drawn.
fn scattered(n: u64) -> u64 {
    let z = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 11
}
