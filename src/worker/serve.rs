//! The thread that runs handlers in a worker process: takes in, starts, runs, and writes in batches.

use std::io;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use super::pulse::Pulse;
use super::stand_in;
use super::station::Station;
use super::wire::Found;
use crate::protocol::from_worker;
use crate::readiness::forget_readiness;

/// The exit status of a worker that does not understand its yard.
const PROTOCOL_ERROR: i32 = 76;

/// Serves until the yard says stop or is gone.
pub(super) fn serve(station: &Arc<Station>) -> io::Result<()> {
    let pulse = Arc::new(Pulse::default());
    let runtime = runtime(&pulse)?;
    let (beside, its_pulse) = (Arc::clone(station), Arc::clone(&pulse));
    std::thread::Builder::new()
        .name("taskyard-stand-in".into())
        .spawn(move || stand_in::run(&beside, &its_pulse))?;
    pulse.wake();
    let running = FuturesUnordered::new();
    LocalSet::new().block_on(&runtime, Service { station, pulse: &pulse, running }.work())
}

fn runtime(pulse: &Arc<Pulse>) -> io::Result<Runtime> {
    let (before, after) = (Arc::clone(pulse), Arc::clone(pulse));
    let mut builder = Builder::new_current_thread();
    builder.enable_all().on_thread_park(move || before.rest()).on_thread_unpark(move || after.wake()).build()
}

/// The connection broke, or what came over it makes no sense: either way there is no work any more.
pub(super) fn leave(error: &io::Error) -> ! {
    let gone = matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
    if !gone {
        eprintln!("this worker process leaves: {error}");
    }
    std::process::exit(if gone { 0 } else { PROTOCOL_ERROR });
}

struct Service<'a> {
    station: &'a Arc<Station>,
    pulse: &'a Pulse,
    running: FuturesUnordered<LocalBoxFuture<'static, io::Result<()>>>,
}

impl Service<'_> {
    async fn work(mut self) -> io::Result<()> {
        let socket = UnixStream::from_std(self.station.wire.socket()?)?;
        self.station.ready()?;
        loop {
            self.start_what_may()?;
            while let Some(Some(written)) = self.running.next().now_or_never() {
                written?;
                self.pulse.beat();
                self.start_what_may()?;
            }
            self.station.wire.flush()?;
            if self.station.is_stopping() && self.running.is_empty() && self.station.is_clear() {
                self.station.wire.put(from_worker::bye)?;
                return self.station.wire.flush();
            }
            tokio::select! {
                Some(written) = self.running.next(), if !self.running.is_empty() => written?,
                read = read(&socket, self.station) => if !read? { return Ok(()) },
                () = self.station.taken_in.notified() => {}
            }
        }
    }

    /// Starts tasks while there is room. Their starts go out with whatever comes next: the end of a short task, the flush
    /// before this thread rests, or the stand-in's within two milliseconds.
    fn start_what_may(&mut self) -> io::Result<()> {
        while self.running.len() < self.station.options.concurrency as usize {
            let Some(run) = self.station.start()? else { break };
            self.running.push(run);
        }
        Ok(())
    }
}

async fn read(socket: &UnixStream, station: &Station) -> io::Result<bool> {
    loop {
        socket.readable().await?;
        match socket.try_io(Interest::READABLE, || station.read()) {
            // The stand-in was faster.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
            Ok(Found::End) => return Ok(false),
            Ok(Found::Some) => return Ok(true),
            Ok(Found::All) => {
                forget_readiness(socket);
                return Ok(true);
            }
        }
    }
}
