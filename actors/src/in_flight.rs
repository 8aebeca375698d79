//! Counts the mail that was sent and not yet handled, and the shells that have not begun, so that a test knows when a yard
//! is quiet. Decides nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How much mail is between sender and addressee, over all actors of one yard.
#[derive(Clone, Debug, Default)]
pub struct InFlight(Arc<Count>);

#[derive(Debug, Default)]
struct Count {
    flying: AtomicUsize,
    quiet: Notify,
}

impl InFlight {
    /// One more is on its way, until the returned [`Flight`] is dropped.
    pub fn launch(&self) -> Flight {
        self.0.flying.fetch_add(1, Ordering::Relaxed);
        Flight(Arc::clone(&self.0))
    }

    /// How much is on its way.
    pub fn count(&self) -> usize {
        self.0.flying.load(Ordering::Acquire)
    }

    /// Resolves once nothing is on its way: every message was handled, and so were those that this caused.
    pub async fn quiet(&self) {
        loop {
            let landed = self.0.quiet.notified();
            if self.count() == 0 {
                return;
            }
            landed.await;
        }
    }
}

/// One message on its way. Whoever handles the message drops this *after* it has sent what follows from it, so that the
/// count never touches zero in between. A message that is lost with its addressee lands too.
#[derive(Debug)]
pub struct Flight(Arc<Count>);

impl Drop for Flight {
    fn drop(&mut self) {
        if self.0.flying.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.quiet.notify_waiters();
        }
    }
}
