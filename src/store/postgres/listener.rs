//! Hears that something changed on a board and has the store look. A notice is only a hint: it may be late, be about nothing,
//! or never come; the store looks each second anyway. Between two notices the same connection sweeps the table.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::poll_fn;
use tokio::sync::{Notify, oneshot};
use tokio_postgres::AsyncMessage;

use super::address::Address;
use super::schema::SchemaName;

/// After a connection that broke.
const PAUSE: Duration = Duration::from_secs(1);

/// A thread that listens until this is dropped.
pub(super) struct Listener {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Asks for the table to be swept, while nobody waits for it.
pub(super) struct Sweeper(Arc<Notify>);

impl Sweeper {
    /// Soon; if it is being asked for already, once.
    pub(super) fn sweep(&self) {
        self.0.notify_one();
    }
}

/// What is listened to, and who is told.
struct Ear<F> {
    address: Address,
    channel: String,
    /// Whoever says this is the store itself.
    own: String,
    hint: F,
    table: String,
    sweeps: Arc<Notify>,
}

impl Listener {
    pub(super) fn start(
        address: Address,
        schema: &SchemaName,
        own: String,
        hint: impl Fn() + Send + 'static,
    ) -> io::Result<(Self, Sweeper)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (channel, table, sweeps) = (schema.channel(), format!("{schema}.tasks"), Arc::new(Notify::new()));
        let sweeper = Sweeper(Arc::clone(&sweeps));
        let ear = Ear { address, channel, own, hint, table, sweeps };
        let listen = move || {
            runtime.block_on(async move {
                tokio::select! { () = ear.listen_on() => {} _ = stopped => {} }
            });
        };
        let thread = thread::Builder::new().name("taskyard-hints".to_owned()).spawn(listen)?;
        Ok((Self { stop: Some(stop), thread: Some(thread) }, sweeper))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.take();
        // It ends at once, and a panic there is no reason for another here.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

impl<F: Fn()> Ear<F> {
    async fn listen_on(&self) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::debug!(%error, "hints of other dispatchers are not heard for now");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Listens until the connection breaks.
    async fn listen(&self) -> Result<(), tokio_postgres::Error> {
        let Address { config, tls } = self.address.clone();
        let (client, mut connection) = config.connect(tls).await?;
        let mut messages = poll_fn(move |cx| connection.poll_message(cx));
        let listen = format!("LISTEN \"{}\"", self.channel);
        let listening = async {
            client.batch_execute(&listen).await?;
            // What was said before this was not heard.
            (self.hint)();
            self.sweep(&client).await
        };
        let hearing = async {
            while let Some(message) = messages.next().await {
                self.hear(&message?);
            }
            Ok(())
        };
        tokio::select! { done = hearing => done, done = listening => done }
    }

    /// Sweeps the table as often as it is asked for. Nobody waits for it, but for a hint that comes meanwhile.
    async fn sweep(&self, client: &tokio_postgres::Client) -> Result<(), tokio_postgres::Error> {
        let sweep = format!("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) {}", self.table);
        loop {
            self.sweeps.notified().await;
            client.batch_execute(&sweep).await?;
        }
    }

    fn hear(&self, message: &AsyncMessage) {
        if let AsyncMessage::Notification(notice) = message
            && notice.payload() != self.own
        {
            (self.hint)();
        }
    }
}
