//! What a builder says before it starts anything.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use taskyard_core::task::{KeyLimits, TaskDefaults};

use super::Builder;
use crate::Yard;
use crate::context::Context;
use crate::handler::{HandlerError, TaskHandler};
use crate::registry::Registry;
use crate::store::StoreChoice;

#[derive(Serialize, Deserialize)]
struct Sync;

impl TaskHandler for Sync {
    const NAME: &'static str = "app.sync";
    type Output = ();

    fn defaults() -> TaskDefaults {
        TaskDefaults { limits: Some(KeyLimits::SERIAL), ..TaskDefaults::default() }
    }

    async fn run(self, _cx: Context) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn warnings(store: StoreChoice) -> String {
    let log = Log::default();
    let to = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || to.clone()).finish();
    let builder: Builder =
        Yard::builder().registry(Registry::new().register::<Sync>().expect("valid")).store(store);
    tracing::subscriber::with_default(subscriber, || builder.warn_of_keys());
    let written = log.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    String::from_utf8(written).expect("text")
}

#[test]
fn limits_that_a_shared_board_does_not_share_are_named() {
    let warnings_on_a_server = warnings(StoreChoice::postgres("postgres://127.0.0.1/board"));
    assert!(warnings_on_a_server.contains("app.sync"), "{warnings_on_a_server:?}");
    assert_eq!(warnings(StoreChoice::sqlite("board.db")), "");
}
