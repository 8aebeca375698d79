//! Supervisors are struck at random moments until a file of tasks is done; then the board is held against the journal.

use std::time::{Duration, Instant};

use taskyard::core::TaskId;
use taskyard::core::store::{AttemptEnd, TaskView};

use crate::board::Board;
use crate::dice::Dice;
use crate::harness::Run;
use crate::journal::{Journal, Passes};
use crate::plan::Plan;
use crate::site::{LEASE, Running, Site};
use crate::team::Team;
use crate::verdict::Case;

/// How often it is looked how far the tasks are.
const LOOK: Duration = Duration::from_millis(1);
/// From what is seen of the tasks to the strike, at most; now and then five times that.
const HASTE: Duration = Duration::from_millis(20);
/// Nothing that goes on rests for so long.
const STILL: Duration = Duration::from_mins(1);

/// How much of it.
pub(crate) struct Scale {
    pub(crate) kills: usize,
    pub(crate) tasks: usize,
    /// How long a task takes.
    pub(crate) seconds: f64,
}

impl Scale {
    /// As the environment says.
    pub(crate) fn or_more(self) -> Self {
        let number = |name: &str, usual: usize| match std::env::var(name) {
            Ok(number) => number.parse().unwrap_or_else(|_| panic!("{name} is a number")),
            Err(_) => usual,
        };
        if std::env::var_os("KILLS").is_none() {
            println!(
                "not run: 200 kills over 20000 tasks, which take minutes: KILLS=200 TASKS=20000 runs them"
            );
        }
        Self { kills: number("KILLS", self.kills), tasks: number("TASKS", self.tasks), ..self }
    }
}

/// When a supervisor is struck: so long after the strike before, or when so many more runs began, and a little later.
#[derive(Debug)]
struct Moment {
    after: Duration,
    starts: usize,
    later: Duration,
}

/// Tasks whose supervisors are struck.
pub(crate) struct Campaign<'a> {
    site: &'a Site,
    dice: Dice,
    plan: Plan,
    journal: Journal,
    kills: usize,
}

impl<'a> Campaign<'a> {
    pub(crate) fn draw(site: &'a Site, scale: &Scale) -> Self {
        let (seed, mut dice) = Dice::seeded();
        println!("{} kills over {} tasks: KILL_SEED={seed} draws them again", scale.kills, scale.tasks);
        let plan = Plan::draw(site, &mut dice, scale.tasks, scale.seconds);
        Self { site, dice, plan, journal: site.journal(), kills: scale.kills }
    }

    /// Strikes until it was enough or all is done, lets the team finish, and judges. How many strikes there were.
    pub(crate) fn fight(mut self, two: bool) -> usize {
        let file = self.site.scratch.file("tasks.jsonl", &self.plan.text());
        let mut team = Team::start(self.site, &file, two);
        let mut struck = 0;
        while struck < self.kills {
            let moment = self.moment(self.kills - struck);
            if !self.wait(team.leader(), &moment) {
                break;
            }
            team.strike(struck, &mut self.dice);
            struck += 1;
        }
        self.check_summary(&team.finish());
        self.site.finish();
        self.judge(struck);
        struck
    }

    /// The strikes come evenly over what is left to do. Some come whatever is done by then: while the board is opened, while
    /// the file is posted, while a lease is waited for.
    fn moment(&mut self, left: usize) -> Moment {
        let unfinished = self.plan.tasks.saturating_sub(self.journal.passes().len());
        let after = if self.dice.one_in(4) { self.dice.span(LEASE * 5 / 4) } else { STILL };
        let later = if self.dice.one_in(4) { HASTE * 5 } else { HASTE };
        Moment {
            after,
            starts: self.dice.up_to((unfinished / left) as u64) as usize,
            later: self.dice.span(later),
        }
    }

    /// Waits until it is time. `false`: all was done before.
    fn wait(&mut self, leader: &Running, moment: &Moment) -> bool {
        let (began, goal) = (Instant::now(), self.journal.starts().len() + moment.starts);
        while self.journal.starts().len() < goal && began.elapsed() < moment.after {
            if leader.ends_within(LOOK) {
                return false;
            }
        }
        !leader.ends_within(moment.later)
    }

    fn check_summary(&self, run: &Run) {
        let all_succeed = self.plan.succeeding() == self.plan.tasks;
        assert_eq!(run.code, Some(i32::from(!all_succeed)), "{run:#?}");
        assert_eq!(run.total("all"), self.plan.tasks as u64, "{run:#?}");
    }

    fn judge(&mut self, struck: usize) {
        let passes = self.journal.passes();
        let ids: Vec<TaskId> = passes.keys().copied().collect();
        assert_eq!(ids.len(), self.plan.tasks + self.plan.followers, "each task ran, and what follows once");
        assert!(self.plan.known().all(|id| passes.contains_key(&id)), "each under its own id");
        let board = Board::open(self.site.store());
        let counts = board.counts();
        let unfinished = counts.parked + counts.behind + counts.unjudged + counts.ready + counts.claimed;
        assert_eq!((unfinished, counts.trashed), (0, self.plan.tasks - self.plan.succeeding()), "{counts:?}");
        let views = board.tasks(&ids);
        let wrong: Vec<_> = views.iter().filter_map(|view| self.wrong(view, &passes[&view.id])).collect();
        assert!(wrong.is_empty(), "{} tasks: {}", wrong.len(), wrong.join("\n"));
        let logs = views.iter().flat_map(|view| &view.log);
        let lost = logs.filter(|record| record.end == AttemptEnd::OwnerLost).count();
        println!(
            "{struck} strikes: {} tasks ended once, {} of them in the trash as planned; they ran {} times; \
             {lost} passes were lost with their dispatcher",
            ids.len(),
            counts.trashed,
            passes.values().map(Passes::len).sum::<usize>(),
        );
    }

    fn wrong(&self, view: &TaskView, ran: &Passes) -> Option<String> {
        let why = Case { fate: self.plan.fate(view.id), ran, view }.judge().err()?;
        Some(format!("{}: {why}; it ran as {ran:?}; {view:#?}", view.id))
    }
}
