//! Hears that something changed on a board and has the store look. A notice is only a hint: it may be late, be about nothing,
//! or never come; the store looks each second anyway.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::poll_fn;
use tokio::sync::oneshot;
use tokio_postgres::AsyncMessage;

use super::address::Address;

/// After a connection that broke.
const PAUSE: Duration = Duration::from_secs(1);

/// A thread that listens until this is dropped.
pub(super) struct Listener {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is listened to, and who is told.
struct Ear<F> {
    address: Address,
    channel: String,
    /// Whoever says this is the store itself.
    own: String,
    hint: F,
}

impl Listener {
    pub(super) fn start(
        address: Address,
        channel: String,
        own: String,
        hint: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let ear = Ear { address, channel, own, hint };
        let listen = move || {
            runtime.block_on(async move {
                tokio::select! { () = ear.listen_on() => {} _ = stopped => {} }
            });
        };
        let thread = thread::Builder::new().name("taskyard-hints".to_owned()).spawn(listen)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
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
            std::future::pending::<Result<(), tokio_postgres::Error>>().await
        };
        let hearing = async {
            while let Some(message) = messages.next().await {
                self.hear(&message?);
            }
            Ok(())
        };
        tokio::select! { done = hearing => done, done = listening => done }
    }

    fn hear(&self, message: &AsyncMessage) {
        if let AsyncMessage::Notification(notice) = message
            && notice.payload() != self.own
        {
            (self.hint)();
        }
    }
}
