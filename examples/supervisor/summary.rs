//! The summary of a run: a row for each task that did not succeed, and how many ended in which way.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use taskyard::control::show::failure_word;
use taskyard::core::TaskId;
use taskyard::core::dispatch::{Outcome, Trash};

/// So many problems are shown; the others are counted.
const SHOWN: usize = 100;
/// A line below the heads and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::new('─', '─', '─', '─'));
/// The longest reason that is shown.
const REASON_MAX: usize = 120;

/// How a line of the file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    Succeeded,
    DoneBefore,
    Failed,
    TimedOut,
    Lost,
    Cancelled,
    Discarded,
    Expired,
    BadLine,
    Unroutable,
    NotTaken,
    NotRun,
    Unknown,
}

/// All of them: what they are called, whether they are always shown, and whether they are failures.
const ALL: [(How, &str, bool, bool); 13] = [
    (How::Succeeded, "succeeded", true, false),
    (How::DoneBefore, "done before", false, false),
    (How::Failed, "failed", true, true),
    (How::TimedOut, "timed out", true, true),
    (How::Lost, "lost", true, true),
    (How::Cancelled, "cancelled", true, false),
    (How::Discarded, "discarded", true, false),
    (How::Expired, "expired", true, false),
    (How::BadLine, "bad lines", true, true),
    (How::Unroutable, "unroutable", true, true),
    (How::NotTaken, "not taken", false, true),
    (How::NotRun, "not run", false, true),
    (How::Unknown, "unknown", false, true),
];

impl How {
    /// What an outcome is called, and why it is so.
    pub(crate) fn read(outcome: Option<&Outcome>) -> (Self, String) {
        match outcome {
            Some(Outcome::Succeeded(_) | Outcome::ValueGone) => (Self::Succeeded, String::new()),
            Some(Outcome::Cancelled) => (Self::Cancelled, String::new()),
            Some(Outcome::Expired) => (Self::Expired, "not started in time".into()),
            Some(Outcome::Discarded { lost_to }) => (Self::Discarded, format!("lost to {lost_to}")),
            Some(Outcome::Trashed(trash)) => {
                let how = match failure_word(trash) {
                    "timed_out" => Self::TimedOut,
                    "lost" => Self::Lost,
                    "unroutable" => Self::Unroutable,
                    _ => Self::Failed,
                };
                (how, reason(trash))
            }
            None => (Self::Unknown, "it ended so long ago that nobody remembers how".into()),
        }
    }

    fn name(self) -> &'static str {
        if self == Self::BadLine { "bad line" } else { ALL[self as usize].1 }
    }
}

/// A line whose task did not succeed.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) line: u64,
    pub(crate) id: Option<TaskId>,
    pub(crate) task: String,
    pub(crate) how: How,
    pub(crate) why: String,
    pub(crate) attempts: Option<u32>,
    pub(crate) took: Option<Duration>,
}

impl Problem {
    /// A line that did not become a task.
    pub(crate) fn of_line(line: u64, how: How, why: String) -> Self {
        Self { line, id: None, task: String::new(), how, why, attempts: None, took: None }
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.line.to_string(),
            self.id.map(|id| id.to_string()).unwrap_or_default(),
            self.task.clone(),
            self.how.name().into(),
            self.attempts.map(|attempts| attempts.to_string()).unwrap_or_default(),
            self.took.map(|took| format!("{:.2} s", took.as_secs_f64())).unwrap_or_default(),
            one_line(&self.why),
        ]
    }
}

/// What became of all lines.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    counts: BTreeMap<How, u64>,
    problems: Vec<Problem>,
}

impl Summary {
    /// How many ended so.
    pub(crate) fn counted(&self, how: How) -> u64 {
        self.counts.get(&how).copied().unwrap_or_default()
    }

    /// One more ended so, and there is no more to say.
    pub(crate) fn count(&mut self, how: How) {
        *self.counts.entry(how).or_default() += 1;
    }

    /// One more did not succeed.
    pub(crate) fn problem(&mut self, problem: Problem) {
        self.count(problem.how);
        if self.problems.len() < SHOWN {
            self.problems.push(problem);
        }
    }

    /// Those that are shown.
    pub(crate) fn problems_mut(&mut self) -> impl Iterator<Item = &mut Problem> {
        self.problems.iter_mut()
    }

    /// Whether nothing failed.
    pub(crate) fn is_good(&self) -> bool {
        ALL.iter().all(|(how, _, _, failure)| !failure || !self.counts.contains_key(how))
    }

    fn problems(&self) -> Table {
        let mut table = table();
        table.set_header(["line", "id", "task", "how it ended", "attempts", "time", "why"]);
        let mut problems: Vec<_> = self.problems.iter().collect();
        problems.sort_by_key(|problem| problem.line);
        table.add_rows(problems.into_iter().map(Problem::row));
        for column in [0, 4, 5] {
            right(&mut table, column);
        }
        table
    }

    fn totals(&self) -> Table {
        let mut table = table();
        table.set_header(["outcome", "tasks"]);
        for (how, name, always, _) in ALL {
            let count = self.counted(how);
            if always || count > 0 {
                table.add_row([name.to_owned(), count.to_string()]);
            }
        }
        table.add_row(["all".to_owned(), self.counts.values().sum::<u64>().to_string()]);
        right(&mut table, 1);
        table
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.problems.is_empty() {
            writeln!(f, "{}\n", self.problems())?;
        }
        let succeeded = self.counted(How::Succeeded) + self.counted(How::DoneBefore);
        let unsuccessful = self.counts.values().sum::<u64>() - succeeded;
        let hidden = unsuccessful - self.problems.len() as u64;
        if hidden > 0 {
            writeln!(f, "… and {hidden} more\n")?;
        }
        self.totals().fmt(f)
    }
}

/// The last failure; how many there were stands in a column of its own.
fn reason(trash: &Trash) -> String {
    match trash {
        Trash::Exhausted { last: failure, .. } | Trash::Refused(failure) => failure.to_string(),
        Trash::Unroutable | Trash::Crashed { .. } | Trash::Unreadable(_) => trash.to_string(),
    }
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(REASON_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
