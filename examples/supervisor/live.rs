//! The live line on a terminal: what is going on, and how far it is once the number of tasks is known. Elsewhere nothing.

use std::io::{IsTerminal as _, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taskyard::Yard;
use tracing_subscriber::fmt::MakeWriter;

/// How often it is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// The line. Clones are the same line.
#[derive(Clone)]
pub(crate) struct Live(ProgressBar);

impl Live {
    /// A line on standard error, if that is a terminal.
    pub(crate) fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style("{spinner} {wide_msg}"));
        Self(bar)
    }

    /// Shows what goes on in the yard, until this is dropped. With a total, how far it is.
    pub(crate) async fn follow(&self, yard: &Yard, total: impl Fn() -> Option<u64>) {
        if self.0.is_hidden() {
            return std::future::pending().await;
        }
        let mut frames = tokio::time::interval(FRAME);
        let mut before = (Instant::now(), 0);
        let mut rate = 0.0;
        loop {
            frames.tick().await;
            let (Ok(counts), Ok(totals)) = (yard.counts().await, yard.totals().await) else {
                return std::future::pending().await;
            };
            let (now, done) = (Instant::now(), totals.sum());
            let span = now.duration_since(before.0).as_secs_f64();
            if span > 0.0 {
                // Smoothed over a second or so, to be readable.
                rate += ((done - before.1) as f64 / span - rate) * 0.3;
            }
            before = (now, done);
            self.draw(&taskyard::control::show::tasks(&counts, yard.stages()), done, rate, total());
        }
    }

    fn draw(&self, tasks: &serde_json::Value, done: u64, rate: f64, total: Option<u64>) {
        let now = format!(
            "running {} · queued {} · blocked {} · delayed {}",
            tasks["running"], tasks["queued"], tasks["blocked"], tasks["delayed"],
        );
        match total {
            Some(total) => {
                if self.0.length() != Some(total) {
                    self.0.set_style(style("{spinner} {bar:20} {pos}/{len} · {wide_msg}"));
                    self.0.set_length(total);
                }
                // Callbacks are done too, but are not on the list.
                self.0.set_position(done.min(total));
                self.0.set_message(format!("{now} · {rate:.0}/s"));
            }
            None => self.0.set_message(format!("{now} · {done} done · {rate:.0}/s")),
        }
        self.0.tick();
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Log lines go above the line.
impl Write for Live {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.suspend(|| std::io::stderr().write(bytes))
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
