//! What every kind of worker offers the yard: a launcher for each pool, a link to each worker, and where its reports go.

use std::fmt;
use std::sync::Arc;

use taskyard_core::id::WorkerId;
use taskyard_core::worker::{Command, Report};

/// Brings the workers of one pool to life. One per pool.
///
/// It lives on the yard's arbiter thread: `actix_rt::spawn` and `tokio::task::spawn_local` work there.
pub trait Launcher: 'static {
    /// Starts the worker called `name` ("nlp-3"). It reports by `reports`, first [`Report::Ready`] or
    /// [`Report::Exited`]. Must not block.
    fn launch(&mut self, worker: WorkerId, name: &str, reports: Reports) -> Box<dyn Link>;
}

/// The yard's end of one worker. Dropping it ends the worker, at once where that can be.
pub trait Link: 'static {
    /// Tells the worker; never [`Command::Launch`], which is [`Launcher::launch`]. May be kept until [`Link::flush`].
    fn tell(&mut self, command: Command);

    /// Sends what was kept. Called after each batch of `tell`.
    fn flush(&mut self) {}
}

/// Where the reports of one worker go. Reports are delivered in the order in which they were made.
#[derive(Clone)]
pub struct Reports(Arc<dyn Fn(Vec<Report>) + Send + Sync>);

impl Reports {
    /// Reports go to `deliver`, which must not block; it may be called from any thread.
    pub fn new(deliver: impl Fn(Vec<Report>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(deliver))
    }

    /// Makes one report.
    pub fn send(&self, report: Report) {
        (self.0)(vec![report]);
    }

    /// Makes many reports in one go.
    pub fn send_all(&self, reports: Vec<Report>) {
        if !reports.is_empty() {
            (self.0)(reports);
        }
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reports")
    }
}
