//! Runs the tasks of a file of JSON lines, all of them to their end, and prints a summary. What else the board holds runs
//! beside them, and does not count.

use std::time::Duration;

use taskyard::core::TaskId;
use taskyard::core::store::Filter;
use taskyard::producers::ProducerError;
use taskyard::producers::batch::Run;
use taskyard::producers::file::{JsonLines, Source};
use taskyard::service::Service;
use taskyard::{AskError, CancelError, Closed, Yard};
use tokio::sync::mpsc;

use crate::drain::{Signals, broken, drain};
use crate::live::Live;
use crate::patience::patiently;
use crate::summary::Summary;
use crate::tracker::Tracker;
use crate::{Exit, print};

/// How many reports of the reader may wait.
const NEWS: usize = 16;
/// How often it is looked for what ends unseen: tasks that no worker turned out to know, and what handlers submitted.
const LOOK: Duration = Duration::from_millis(100);
/// How many are cancelled together.
const CANCELLED_AT_ONCE: usize = 1_000;

/// What is run.
pub(crate) struct Batch {
    pub(crate) source: Source,
    /// Whether the board outlives the program.
    pub(crate) durable: bool,
}

/// Why the run is over.
enum Over {
    Done,
    Signal(&'static str),
    Closed(Closed),
    Unreadable(String),
}

/// Runs them.
pub(crate) async fn run(
    mut service: Service,
    mut signals: Signals,
    batch: Batch,
    live: &Live,
) -> anyhow::Result<Exit> {
    let yard = service.yard().clone();
    let mut tracker = Tracker::new(yard.clone());
    let progress = tracker.progress();
    let over = tokio::select! {
        over = work(&service, &batch, &mut tracker) => over?,
        signal = signals.next() => Over::Signal(signal),
        why = yard.closed() => Over::Closed(why),
        () = live.follow(&yard, Some(progress)) => Over::Done,
    };
    let exit = match &over {
        Over::Done => Exit::Success,
        Over::Signal(signal) => {
            tracing::info!("{signal}: draining");
            Exit::Failed
        }
        Over::Closed(why) => broken(*why),
        Over::Unreadable(why) => {
            tracing::error!("{why}");
            Exit::Failed
        }
    };
    tracker.ask_for_attempts().await;
    let drained = if exit == Exit::Fault { Exit::Fault } else { drain(&mut service, &mut signals).await };
    tracker.follow_to_the_end().await;
    live.clear();
    let summary = tracker.into_summary(why_not_run(&batch));
    Ok(worst([exit, drained, verdict(&summary), print(&summary)]))
}

async fn work(service: &Service, batch: &Batch, tracker: &mut Tracker) -> Result<Over, AskError> {
    let yard = service.yard();
    let opened = patiently(|| async {
        match Run::open(yard, &batch.source).await {
            Err(ProducerError::Ask(error)) => Err(error),
            opened => Ok(opened),
        }
    });
    let run = match opened.await? {
        Ok(run) => run,
        Err(error) => return Ok(Over::Unreadable(error.to_string())),
    };
    announce(&run);
    let (news, mut told) = mpsc::channel(NEWS);
    let reading = service.pull_once(JsonLines::new(batch.source.clone(), news).of_run(run));
    tokio::pin!(reading);
    let mut read = None;
    let mut look = tokio::time::interval(LOOK);
    let mut before = Some(run).filter(Run::is_resumed);
    loop {
        tokio::select! {
            end = &mut reading, if read.is_none() => read = Some(end),
            Some(news) = told.recv() => tracker.hear(news),
            Some(next) = tracker.next(), if tracker.is_following() => tracker.take_in(next),
            _ = look.tick(), if read.is_some() && told.is_empty() => {
                tracker.progress().all_read();
                if let Some((done, lines)) = before.and_then(|_| tracker.done_before()) {
                    tracing::info!("run {} of this file: {done} of {lines} done before", run.number());
                    before = None;
                }
                give_up_unroutable(yard, tracker).await?;
                if !tracker.is_following() && (batch.durable || is_empty(yard).await?) {
                    return Ok(match read {
                        Some(Err(error)) => Over::Unreadable(error.to_string()),
                        _ => Over::Done,
                    });
                }
            }
        }
    }
}

fn announce(run: &Run) {
    let number = run.number();
    if run.is_resumed() {
        tracing::info!("resuming run {number} of this file, which was not finished");
    } else if number > 1 {
        tracing::info!("this file was run to its end before: run {number} begins");
    }
}

/// Whether all is done, what handlers submitted included: a board in memory would lose it.
async fn is_empty(yard: &Yard) -> Result<bool, AskError> {
    Ok(yard.counts().await?.unfinished() == 0)
}

/// Most unroutable tasks are refused at once. What a pool might have run that did not know its names yet is found later, and
/// what was posted when there were other pools.
async fn give_up_unroutable(yard: &Yard, tracker: &mut Tracker) -> Result<(), AskError> {
    if !yard.pools().await?.iter().all(|(_, pool)| pool.learned) {
        return Ok(());
    }
    for task in tracker.new_lanes() {
        if patiently(|| yard.get(task)).await?.is_some_and(|view| view.unroutable) {
            for ids in tracker.unroutable(task).chunks(CANCELLED_AT_ONCE) {
                patiently(|| cancel(yard, ids)).await?;
            }
        }
    }
    Ok(())
}

async fn cancel(yard: &Yard, ids: &[TaskId]) -> Result<(), AskError> {
    match yard.cancel(Filter::ids(ids.iter().copied())).await {
        Err(CancelError::Ask(why)) => Err(why),
        // What became of each is told by its end.
        Ok(_) | Err(CancelError::EmptyFilter(_)) => Ok(()),
    }
}

fn why_not_run(batch: &Batch) -> &'static str {
    match (&batch.source, batch.durable) {
        (_, false) => "the supervisor ended first",
        (Source::File(_), true) => "it stays on the board: run the file again to go on",
        (Source::Stdin, true) => "it stays on the board",
    }
}

fn verdict(summary: &Summary) -> Exit {
    if summary.is_good() { Exit::Success } else { Exit::Failed }
}

fn worst(exits: [Exit; 4]) -> Exit {
    exits.into_iter().max_by_key(|exit| *exit as u8).unwrap_or(Exit::Success)
}
