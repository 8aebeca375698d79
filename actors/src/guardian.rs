//! The guardian knows whether the yard goes on and, if not, why. It never restarts anything: a broken stage ends the yard.

use std::sync::Arc;

use tokio::sync::watch;

/// Why a yard has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// It was drained.
    #[error("the yard was drained")]
    Drained,
    /// The last handle to it was dropped.
    #[error("the last handle to the yard was dropped")]
    Abandoned,
    /// One of its actors panicked or stopped unasked: a bug. What it held on a durable board runs again elsewhere.
    #[error("the yard's {role} stopped unexpectedly")]
    Broken {
        /// Which.
        role: &'static str,
    },
}

#[derive(Debug, Clone, Copy)]
enum State {
    Open,
    Closing(Closed),
    Closed(Closed),
}

/// Shared by all that may end the yard and all that wait for its end.
#[derive(Debug, Clone)]
pub struct Guardian(Arc<watch::Sender<State>>);

impl Default for Guardian {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::Open)))
    }
}

impl Guardian {
    /// Ends the yard. The first reason stands.
    pub fn close(&self, why: Closed) {
        self.0.send_if_modified(|state| {
            let open = matches!(state, State::Open);
            if open {
                *state = State::Closing(why);
            }
            open
        });
    }

    /// Resolves as soon as the yard is to end.
    pub async fn closing(&self) -> Closed {
        self.reason_once(|state| match state {
            State::Open => None,
            State::Closing(why) | State::Closed(why) => Some(why),
        })
        .await
    }

    /// Resolves once the yard's thread has let go of everything.
    pub async fn closed(&self) -> Closed {
        self.reason_once(|state| match state {
            State::Open | State::Closing(_) => None,
            State::Closed(why) => Some(why),
        })
        .await
    }

    /// Why the yard ends or has ended; `None` while it goes on.
    pub fn reason(&self) -> Option<Closed> {
        match *self.0.borrow() {
            State::Open => None,
            State::Closing(why) | State::Closed(why) => Some(why),
        }
    }

    /// The yard's thread, told to end by [`close`](Self::close), has let go of everything.
    pub(crate) fn ended(&self) {
        self.0.send_if_modified(|state| match *state {
            State::Closing(why) => {
                *state = State::Closed(why);
                true
            }
            State::Open | State::Closed(_) => false,
        });
    }

    /// A wire for an actor to hold.
    pub fn tripwire(&self, role: &'static str) -> Tripwire {
        Tripwire { guardian: self.clone(), role }
    }

    async fn reason_once(&self, reason: impl Fn(State) -> Option<Closed>) -> Closed {
        let mut states = self.0.subscribe();
        loop {
            let state = *states.borrow_and_update();
            if let Some(why) = reason(state) {
                return why;
            }
            // An error would mean that the sender is gone, and `self` holds it.
            if states.changed().await.is_err() {
                return Closed::Abandoned;
            }
        }
    }
}

/// A field of an actor without which the yard can't go on. `actix` is silent about an actor that panicked: mail to it
/// vanishes, and only the drop of its fields shows what happened.
#[derive(Debug)]
pub struct Tripwire {
    guardian: Guardian,
    role: &'static str,
}

impl Drop for Tripwire {
    fn drop(&mut self) {
        self.guardian.close(Closed::Broken { role: self.role });
    }
}
