//! The live line on a terminal: what is going on, and how far it is once the number of tasks is known. Elsewhere nothing.

use std::io::{IsTerminal as _, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use taskyard::Yard;
use tracing_subscriber::fmt::MakeWriter;

use crate::patience::patiently;
use crate::progress::Progress;

/// How often it is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// The line. Clones are the same line.
#[derive(Clone)]
pub(crate) struct Live {
    bar: ProgressBar,
    /// What is worth knowing beside the numbers.
    note: Arc<Mutex<Option<String>>>,
}

impl Live {
    /// A line on standard error, if that is a terminal.
    pub(crate) fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(false, false));
        Self { bar, note: Arc::default() }
    }

    /// What is worth knowing now, if anything is.
    pub(crate) fn note(&self, note: Option<String>) {
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = note;
    }

    /// Shows what goes on in the yard, until this is dropped; of a run, how far it is.
    pub(crate) async fn follow(&self, yard: &Yard, run: Option<Arc<Progress>>) {
        if self.bar.is_hidden() {
            return std::future::pending().await;
        }
        let mut frames = tokio::time::interval(FRAME);
        let mut speed = Speed { at: Instant::now(), done: 0, rate: 0.0 };
        loop {
            frames.tick().await;
            let (Ok(counts), Ok(totals)) = (patiently(|| yard.counts()).await, yard.totals().await) else {
                return std::future::pending().await;
            };
            let done = run.as_ref().map_or(totals.sum(), |run| run.done());
            let rate = speed.passed(done);
            let now = going_on(&taskyard::control::show::tasks(&counts, yard.stages()));
            self.draw(&now, done, rate, run.as_ref().and_then(|run| run.total()));
        }
    }

    fn draw(&self, now: &str, done: u64, rate: f64, total: Option<u64>) {
        let note = self.note.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.bar.set_style(style(total.is_some(), note.is_some()));
        match total {
            Some(total) => {
                self.bar.set_length(total);
                self.bar.set_position(done);
                self.bar.set_message(format!("{now} · {rate:.0}/s"));
            }
            None => self.bar.set_message(format!("{now} · {done} done · {rate:.0}/s")),
        }
        self.bar.set_prefix(note.unwrap_or_default());
        self.bar.tick();
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn going_on(tasks: &Value) -> String {
    format!(
        "running {} · queued {} · blocked {} · delayed {}",
        tasks["running"], tasks["queued"], tasks["blocked"], tasks["delayed"],
    )
}

/// How many tasks a second end.
struct Speed {
    at: Instant,
    done: u64,
    rate: f64,
}

impl Speed {
    /// So many have ended by now.
    fn passed(&mut self, done: u64) -> f64 {
        let now = Instant::now();
        let span = now.duration_since(self.at).as_secs_f64();
        if span > 0.0 {
            // Smoothed over a second or so, to be readable.
            self.rate += (done.saturating_sub(self.done) as f64 / span - self.rate) * 0.3;
        }
        (self.at, self.done) = (now, done);
        self.rate
    }
}

/// The line; with a bar where it is known how far it can go, and with a second line for what is noted.
fn style(has_total: bool, has_note: bool) -> ProgressStyle {
    let template = match (has_total, has_note) {
        (true, false) => "{spinner} {bar:20} {pos}/{len} · {wide_msg}",
        (true, true) => "{spinner} {bar:20} {pos}/{len} · {wide_msg}\n  {prefix}",
        (false, false) => "{spinner} {wide_msg}",
        (false, true) => "{spinner} {wide_msg}\n  {prefix}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Log lines go above the line.
impl Write for Live {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bar.suspend(|| std::io::stderr().write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

impl<'a> MakeWriter<'a> for Live {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
