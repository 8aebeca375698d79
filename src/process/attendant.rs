//! Accompanies one worker process from its start to its burial: reads what it says and prints, writes what it is told, and
//! reports in order. It carries out; what follows from a report is the Pool's to decide.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard_actors::Reports;
use taskyard_core::worker::{Report, Signal};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::sleep_until;

use super::capture::{Capture, Tail};
use super::child::{Death, Leader, resident, signal_group};
use super::conversation::{Asked, Conversation, Heard};
use super::launcher_thread::{LauncherThread, Spawned};
use super::link::Shared;
use crate::context::Calls;
use crate::readiness::forget_readiness;

/// While so many calls of its handlers are being answered, nothing more is read from a worker.
const CALLS_MAX: usize = 64;
/// How long a worker may live after it closed its connection, unless it said that it ends.
const AFTER_EOF: Duration = Duration::from_millis(500);
/// How often the memory of a busy worker is looked at.
const MEMORY_EVERY: Duration = Duration::from_secs(1);
/// How many reads of each kind the dead are granted; who outlives them may hold their connections and write on.
const LAST_READS_MAX: usize = 64;

/// Who accompanies a worker process.
pub(super) struct Attendant {
    pub(super) shared: Rc<Shared>,
    pub(super) reports: Reports,
    pub(super) calls: Arc<dyn Calls>,
    pub(super) name: String,
    pub(super) watch_memory: bool,
    /// Held so that the thread outlives the worker: the kernel kills its children when it ends.
    pub(super) _thread: LauncherThread,
}

/// The process and the yard's ends of what connects it.
struct Charge {
    leader: Leader,
    death: Death,
    socket: Rc<UnixStream>,
    conversation: Conversation,
    /// Whether the worker is still listened to.
    reading: bool,
    closed: Option<tokio::time::Instant>,
    unstartable: Option<String>,
    stdout: Stream,
    stderr: Stream,
    tail: Tail,
}

/// One output stream.
struct Stream {
    name: &'static str,
    pipe: Option<pipe::Receiver>,
    capture: Capture,
}

impl Attendant {
    /// Stays until the worker is buried.
    pub(super) async fn attend(self, spawned: oneshot::Receiver<io::Result<Spawned>>) {
        let charge = match spawned.await {
            Ok(Ok(spawned)) => Charge::adopt(spawned),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::other("the launcher's thread is gone")),
        };
        let (status, output) = match charge {
            Ok(charge) => self.accompany(charge).await,
            Err(error) => (could_not_start(&error), String::new()),
        };
        self.reports.send(Report::Exited { status, output });
    }

    async fn accompany(&self, mut charge: Charge) -> (String, String) {
        self.shared.born(charge.leader.pid());
        self.shared.outbox.borrow_mut().connect(Rc::clone(&charge.socket));
        self.shared.flush();
        let mut memory = tokio::time::interval(MEMORY_EVERY);
        memory.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let writing = !self.shared.outbox.borrow().is_empty();
            let reading = charge.reading && self.shared.calls.get() < CALLS_MAX;
            let closed = charge.closed;
            let busy = self.watch_memory && !self.shared.unanswered.borrow().is_empty();
            tokio::select! {
                () = charge.death.wait() => break,
                _ = charge.socket.readable(), if reading => {
                    let socket = Rc::clone(&charge.socket);
                    self.listen(&mut charge, |free| {
                        let count = socket.try_read(free)?;
                        if count < free.len() {
                            forget_readiness(&socket);
                        }
                        Ok(count)
                    });
                }
                _ = charge.socket.writable(), if writing => self.shared.outbox.borrow_mut().flush(),
                () = charge.stdout.readable() => drop(self.capture(&mut charge.stdout, &mut charge.tail, try_read)),
                () = charge.stderr.readable() => drop(self.capture(&mut charge.stderr, &mut charge.tail, try_read)),
                () = self.shared.changed.notified() => self.check_hearing(&mut charge),
                _ = memory.tick(), if busy => self.weigh(&charge),
                () = passed(closed) => {
                    charge.closed = None;
                    self.fault(&mut charge, "it closed its connection and goes on".into());
                }
            }
        }
        self.bury(charge)
    }

    /// Reads once and reports what was said. False if there was nothing to read.
    fn listen(&self, charge: &mut Charge, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> bool {
        let mut heard = Heard::default();
        let count = match charge.conversation.lines.fill(read) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => 0,
        };
        let fault = if count == 0 {
            charge.reading = false;
            let patience = (!charge.conversation.bye).then_some(AFTER_EOF);
            charge.closed = patience.map(|patience| tokio::time::Instant::now() + patience);
            charge.conversation.end()
        } else {
            charge.conversation.take_in(&mut self.shared.unanswered.borrow_mut(), &mut heard)
        };
        self.reports.send_all(heard.reports);
        heard.calls.into_iter().for_each(|asked| self.answer(asked));
        if heard.unstartable.is_some() {
            charge.unstartable = heard.unstartable;
        }
        if heard.ended && self.watch_memory {
            self.weigh(charge);
        }
        if let Err(what) = fault {
            self.fault(charge, what);
        }
        true
    }

    fn fault(&self, charge: &mut Charge, what: String) {
        charge.reading = false;
        tracing::warn!(worker = %self.name, fault = %what, "a worker broke the protocol");
        self.reports.send(Report::Fault { what });
    }

    fn check_hearing(&self, charge: &mut Charge) {
        if self.shared.deaf.replace(false) && charge.reading {
            self.fault(charge, "it does not read the answers to its calls".into());
        }
    }

    fn answer(&self, asked: Asked) {
        let shared = Rc::clone(&self.shared);
        shared.calls.set(shared.calls.get() + 1);
        let answer = self.calls.call(asked.from, asked.command, asked.data);
        tokio::task::spawn_local(async move { shared.answer(asked.seq, &answer.await) });
    }

    fn weigh(&self, charge: &Charge) {
        if let Some(bytes) = resident(charge.leader.pid()) {
            self.reports.send(Report::Resident { bytes });
        }
    }

    fn capture(&self, stream: &mut Stream, tail: &mut Tail, read: ReadPipe) -> bool {
        let name = stream.name;
        stream.read(read, tail, &mut |line| self.log(name, line))
    }

    /// The process is dead: what it said and printed before still counts.
    fn bury(&self, mut charge: Charge) -> (String, String) {
        signal_group(charge.leader.pid(), Signal::Kill);
        let socket = Rc::clone(&charge.socket);
        let mut reads = 0;
        while charge.reading
            && reads < LAST_READS_MAX
            && self.listen(&mut charge, |free| Ok(rustix::io::read(&*socket, free)?))
        {
            reads += 1;
        }
        for stream in [&mut charge.stdout, &mut charge.stderr] {
            let mut reads = 0;
            while reads < LAST_READS_MAX && self.capture(stream, &mut charge.tail, read_now) {
                reads += 1;
            }
            stream.capture.end(Instant::now(), &mut charge.tail, &mut |line| self.log(stream.name, line));
        }
        self.shared.died();
        let status = charge.leader.bury();
        let status = charge.unstartable.map_or(status, |why| could_not_start(&why));
        let output = charge.tail.text();
        if !charge.conversation.ready && !was_asked_to_end(&status) {
            tracing::warn!(worker = %self.name, status, output, "a worker ended before it was ready");
        }
        (status, output)
    }

    fn log(&self, stream: &str, line: &str) {
        tracing::info!(target: "taskyard::output", worker = %self.name, stream, "{line}");
    }
}

/// The process is reaped by now or, if the yard ends, soon: nobody may signal its number any more.
impl Drop for Attendant {
    fn drop(&mut self) {
        self.shared.died();
    }
}

impl Charge {
    /// An error kills the process: its leader is dropped.
    fn adopt(Spawned { leader, stdout, stderr, socket }: Spawned) -> io::Result<Self> {
        Ok(Self {
            death: Death::of(leader.pid())?,
            leader,
            socket: Rc::new(UnixStream::from_std(socket)?),
            conversation: Conversation::new(),
            reading: true,
            closed: None,
            unstartable: None,
            stdout: Stream::new("stdout", stdout.map(OwnedFd::from))?,
            stderr: Stream::new("stderr", stderr.map(OwnedFd::from))?,
            tail: Tail::default(),
        })
    }
}

impl Stream {
    fn new(name: &'static str, pipe: Option<OwnedFd>) -> io::Result<Self> {
        let pipe = pipe.map(pipe::Receiver::from_owned_fd).transpose()?;
        Ok(Self { name, pipe, capture: Capture::new() })
    }

    async fn readable(&self) {
        match &self.pipe {
            Some(pipe) => drop(pipe.readable().await),
            None => pending().await,
        }
    }

    /// Reads once. False if there was nothing to read.
    fn read(&mut self, read: ReadPipe, tail: &mut Tail, log: &mut impl FnMut(&str)) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut bytes = [0; 16 * 1024];
        match read(pipe, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Ok(0) | Err(_) => {
                self.pipe = None;
                false
            }
            Ok(count) => {
                self.capture.feed(&bytes[..count], Instant::now(), tail, log);
                true
            }
        }
    }
}

/// Reads from a pipe without waiting.
type ReadPipe = fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>;

/// As far as the runtime knows that something is there.
fn try_read(pipe: &pipe::Receiver, bytes: &mut [u8]) -> io::Result<usize> {
    pipe.try_read(bytes)
}

/// Whatever is there: the news of a death may be ahead of the news that there is something to read.
fn read_now(pipe: &pipe::Receiver, bytes: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(pipe, bytes)?)
}

/// Whether it ended by a signal that asks to end, from the yard or from whoever ends its whole group: nothing to warn of.
fn was_asked_to_end(status: &str) -> bool {
    ["(SIGTERM)", "(SIGINT)", "(SIGHUP)"].iter().any(|signal| status.ends_with(signal))
}

async fn passed(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

fn could_not_start(why: &impl std::fmt::Display) -> String {
    format!("could not be started: {why}")
}
