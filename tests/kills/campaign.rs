//! B22, D5: supervisors die at random moments until a file of tasks is done; then the board is held against the journal.
//!
//! `KILLS=200 TASKS=20000 cargo test --test kills campaign` for more of it; `KILL_SEED` for the same again.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use taskyard::core::TaskId;
use taskyard::core::store::AttemptEnd;

use crate::board::Board;
use crate::dice::Dice;
use crate::journal::Journal;
use crate::plan::Plan;
use crate::site::{LEASE, Running, Site};
use crate::verdict::Case;

/// How often it is looked how far the tasks are.
const LOOK: Duration = Duration::from_millis(1);
/// From what is seen of the tasks to the kill, at most; now and then five times that.
const HASTE: Duration = Duration::from_millis(20);
/// Nothing that goes on rests for so long.
const STILL: Duration = Duration::from_mins(1);

/// How much of it.
struct Scale {
    kills: usize,
    tasks: usize,
    /// How long a task takes.
    seconds: f64,
}

impl Scale {
    fn of_environment() -> Self {
        let number = |name: &str, usual: usize| match std::env::var(name) {
            Ok(number) => number.parse().unwrap_or_else(|_| panic!("{name} is a number")),
            Err(_) => usual,
        };
        let scale = Self { kills: number("KILLS", 20), tasks: number("TASKS", 400), seconds: 0.01 };
        if std::env::var_os("KILLS").is_none() {
            println!("{} kills over {} tasks: set KILLS and TASKS for more", scale.kills, scale.tasks);
        }
        scale
    }
}

/// When a supervisor dies: so long after its start, or when so many more runs began, and a little later.
#[derive(Debug)]
struct Moment {
    after: Duration,
    starts: usize,
    later: Duration,
}

struct Campaign {
    site: Site,
    dice: Dice,
    plan: Plan,
    file: String,
    journal: Journal,
    kills: usize,
}

impl Campaign {
    fn new(site: Site, scale: &Scale) -> Self {
        let (seed, mut dice) = Dice::seeded();
        println!("KILL_SEED={seed}");
        let plan = Plan::draw(&site, &mut dice, scale.tasks, scale.seconds);
        let file = site.scratch.file("tasks.jsonl", plan.lines());
        let journal = site.journal();
        Self { site, dice, plan, file, journal, kills: scale.kills }
    }

    /// The kills come evenly over what is left to do. Some come whatever is done by then: while the board is opened, while
    /// the file is posted, while a lease is waited for.
    fn draw(&mut self, left: usize) -> Moment {
        let unfinished = self.plan.tasks.saturating_sub(self.journal.passes().len());
        let after = if self.dice.one_in(4) { self.dice.span(LEASE * 5 / 4) } else { STILL };
        let later = if self.dice.one_in(4) { HASTE * 5 } else { HASTE };
        Moment {
            after,
            starts: self.dice.up_to((unfinished / left) as u64) as usize,
            later: self.dice.span(later),
        }
    }

    /// Waits until it is time. `false`: it ended by itself.
    fn wait(&mut self, run: &Running, moment: &Moment) -> bool {
        let (began, goal) = (Instant::now(), self.journal.starts().len() + moment.starts);
        while self.journal.starts().len() < goal && began.elapsed() < moment.after {
            if run.ends_within(LOOK) {
                return false;
            }
        }
        !run.ends_within(moment.later)
    }

    /// Kills them one after the other, and lets the last one finish.
    fn fight(&mut self) {
        for left in (1..=self.kills).rev() {
            let moment = self.draw(left);
            let run = self.site.run(&self.file);
            assert!(self.wait(&run, &moment), "it was done with {left} kills left: {:#?}", run.end());
            run.signal(Signal::KILL);
            drop(run);
        }
    }

    fn finish(&mut self) {
        let run = self.site.run(&self.file).end();
        let all_succeed = self.plan.succeeding() == self.plan.tasks;
        assert_eq!(run.code, Some(i32::from(!all_succeed)), "{run:#?}");
        assert_eq!(run.total("all"), self.plan.tasks as u64, "{run:#?}");
    }

    fn judge(&mut self) {
        let passes = self.journal.passes();
        let ids: Vec<TaskId> = passes.keys().copied().collect();
        assert_eq!(ids.len(), self.plan.tasks, "each task ran");
        assert!(self.plan.known().all(|id| passes.contains_key(&id)), "each under its own id");
        let board = Board::open(self.site.store());
        let counts = board.counts();
        let unfinished = counts.parked + counts.behind + counts.unjudged + counts.ready + counts.claimed;
        assert_eq!((unfinished, counts.trashed), (0, self.plan.tasks - self.plan.succeeding()), "{counts:?}");
        let views = board.tasks(&ids);
        let wrong: Vec<_> = views
            .iter()
            .filter_map(|view| {
                let case = Case { fate: self.plan.fate(view.id), ran: &passes[&view.id], view };
                let why = case.judge().err()?;
                Some(format!("{}: {why}; it ran as {:?}; {view:#?}", view.id, case.ran))
            })
            .collect();
        assert!(wrong.is_empty(), "{} tasks: {}", wrong.len(), wrong.join("\n"));
        let logs = views.iter().flat_map(|view| &view.log);
        let lost = logs.filter(|record| record.end == AttemptEnd::OwnerLost).count();
        let again = passes.values().map(|ran| ran.len() - 1).sum::<usize>();
        println!(
            "{} kills: {} tasks ended once, {} in the trash as planned; {} runs, {again} of them repetitions; \
             {lost} passes were lost with their dispatcher",
            self.kills,
            ids.len(),
            counts.trashed,
            ids.len() + again,
        );
    }
}

/// B22, D5
#[test]
fn supervisors_that_are_killed_at_random_lose_nothing_and_record_what_ran() {
    let mut campaign = Campaign::new(Site::on_disk(), &Scale::of_environment());
    campaign.fight();
    campaign.finish();
    campaign.judge();
}
