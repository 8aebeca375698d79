//! Eight dispatchers on one board whose tasks all fall due at once, of which one dies and one is held up past its lease.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use taskyard::core::TaskId;
use taskyard::core::rfc3339::Rfc3339;
use taskyard::core::store::AttemptEnd;
use taskyard::core::time::Timestamp;

use crate::board::Board;
use crate::harness::Server;
use crate::journal::{Journal, Start};
use crate::owners::{ends, goes_on_anew, is_over, status, submit, until};
use crate::plan::Fate;
use crate::site::{LEASE, Site};
use crate::verdict::Case;

const CROWD: usize = 8;
/// So many lines are sent before their answers are read.
const LINES: usize = 100;
/// From the end of the leases until the rest is done, on a machine where nothing else takes long.
const BOUND: Duration = Duration::from_secs(5);

/// D6
#[test]
fn eight_dispatchers_do_each_task_that_falls_due_at_once_though_one_dies_and_one_is_held_up() {
    check(&Site::on_disk());
}

/// D6
#[cfg(feature = "postgres")]
#[test]
fn eight_dispatchers_on_one_server_do_so_too() {
    let Some(schema) = crate::server::Schema::new() else { return };
    check(&Site::on_postgres(schema));
}

fn check(site: &Site) {
    let crowd: Vec<_> = (0..CROWD).map(|_| site.serve()).collect();
    let mut fight = Fight::begin(site, crowd, tasks());
    fight.strike();
    fight.go_on();
    fight.end();
    fight.judge();
}

/// How many fall due at once.
fn tasks() -> usize {
    if let Ok(number) = std::env::var("TASKS") {
        return number.parse().expect("TASKS is a number");
    }
    println!("not run: 100000 tasks at one instant, which take minutes: TASKS=100000 runs them");
    800
}

fn now() -> Timestamp {
    SystemTime::now().into()
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_micros(to.since(from).max(0) as u64)
}

/// Whose worker began this.
fn whose(crowd: &[Server], start: &Start) -> Option<usize> {
    let worker = Pid::from_raw(start.pid)?;
    crowd.iter().position(|server| server.descendants().contains(&worker))
}

struct Fight<'a> {
    site: &'a Site,
    journal: Journal,
    /// Those that are alive and well.
    crowd: Vec<Server>,
    tasks: usize,
    due: Timestamp,
    /// A task that goes on when it is told to: whoever has it then is the one that is held up.
    gated: TaskId,
    /// Who is held up, and what it was about then.
    late: Option<(Server, Start)>,
    /// As whom that one was registered.
    registered: Value,
    struck: Timestamp,
}

impl<'a> Fight<'a> {
    /// All is on the board, for an instant soon.
    fn begin(site: &'a Site, crowd: Vec<Server>, tasks: usize) -> Self {
        let due = now() + Duration::from_secs(2) + Duration::from_micros(200) * tasks as u32;
        let eta = Rfc3339(due).to_string();
        let mut gated = until(site, "go on");
        gated["eta"] = eta.clone().into();
        gated["priority"] = 9.into();
        let gated = submit(&crowd[0], &gated);
        let mut plain = site.task(json!({}));
        plain["eta"] = eta.into();
        let mut connection = crowd[0].connect();
        for chunk in vec![plain.to_string(); tasks].chunks(LINES) {
            connection.send(&chunk.join("\n"));
            for _ in chunk {
                connection.reply().expect("the connection stays");
            }
        }
        Self {
            site,
            journal: site.journal(),
            crowd,
            tasks,
            due,
            gated,
            late: None,
            registered: Value::Null,
            struck: due,
        }
    }

    /// Half-way who has the gated task is stopped, and another, the last one that began a task, is killed.
    fn strike(&mut self) {
        let (gated, half, crowd) = (self.gated, self.tasks / 2, &self.crowd);
        // On a machine that is too busy a lease may be lost before, and the task be another's by now.
        let (held, late) = self.journal.until(|starts| {
            let held = starts.get(half..).and_then(|_| starts.iter().rfind(|start| start.uuid == gated))?;
            Some((held.clone(), whose(crowd, held)?))
        });
        let late = self.crowd.remove(late);
        self.registered = status(&late)["store"]["owner"].clone();
        self.site.hold_up(&late);
        let last = self.journal.until(|starts| starts.last().cloned());
        let mut dead = self.crowd.remove(whose(&self.crowd, &last).unwrap_or(0));
        dead.signal(Signal::KILL);
        self.struck = now();
        dead.end();
        self.late = Some((late, held));
    }

    /// What the stopped one had is done elsewhere, and what its worker has done meanwhile comes too late.
    fn go_on(&mut self) {
        let (mut late, held) = self.late.take().expect("one is stopped");
        // On a busy machine who takes it over may lose its own lease before it runs there.
        let again = |start: &Start| start.uuid == held.uuid && start.epoch > held.epoch;
        self.journal.until(|starts| starts.iter().any(again).then_some(()));
        std::fs::write(self.site.scratch.path("go on"), "").expect("written");
        ends(&self.crowd[0], self.gated);
        // What it had may have been another's before it was stopped; so that need not mean that its lease is over.
        is_over(&self.crowd[0], late.pid());
        late.signal(Signal::CONT);
        goes_on_anew(self.site, &mut late, &self.registered);
        self.crowd.push(late);
    }

    fn end(&mut self) {
        Board::open(self.site.store()).all_end();
        for server in &mut self.crowd {
            server.signal(Signal::TERM);
            assert_eq!(server.end().code(), Some(0), "{}", server.log());
        }
    }

    fn judge(&mut self) {
        let passes = self.journal.passes();
        let workers: BTreeSet<_> = self.journal.starts().iter().map(|start| start.pid).collect();
        assert!(workers.len() > CROWD, "few had a part in it: {workers:?}");
        let early = self.journal.starts().iter().find(|start| start.began() < self.due);
        assert!(early.is_none(), "{early:?} before {}", Rfc3339(self.due));
        // Before the strike they all took half of it, so that is what this machine needs.
        let half = between(self.due, self.struck);
        let until = self.struck + LEASE + BOUND + half * 2;
        let late = self.journal.starts().iter().find(|start| start.began() > until);
        assert!(late.is_none(), "{late:?} after {}", Rfc3339(until));

        let board = Board::open(self.site.store());
        let ids: Vec<TaskId> = passes.keys().copied().collect();
        let views = board.tasks(&ids);
        for view in &views {
            let case = Case { fate: Fate::PLAIN, ran: &passes[&view.id], view };
            case.judge().unwrap_or_else(|why| panic!("{why}: {view:#?}"));
        }
        let taken_over =
            views.iter().flat_map(|view| &view.log).filter(|record| record.end == AttemptEnd::OwnerLost);
        let last = self.journal.starts().iter().map(Start::began).max().expect("some ran");
        println!(
            "{} tasks were due at once; half of them had begun {half:?} later; {} were taken over, and the last one began \
             {:?} after the strike",
            self.tasks,
            taken_over.count(),
            between(self.struck, last),
        );
    }
}
