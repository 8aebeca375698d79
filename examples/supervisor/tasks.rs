//! Runs the tasks of a file of JSON lines, all of them to their end, and prints a summary.

use std::time::Duration;

use taskyard::core::store::Filter;
use taskyard::producers::file::{JsonLines, Source};
use taskyard::service::Service;
use taskyard::{AskError, Closed, Yard};
use tokio::sync::mpsc;

use crate::Exit;
use crate::drain::{Signals, broken, drain};
use crate::live::Live;
use crate::summary::Summary;
use crate::tracker::Tracker;

/// How many reports of the reader may wait.
const NEWS: usize = 16;
/// How often it is looked for what ends unseen: tasks that no worker turned out to know, and callbacks.
const LOOK: Duration = Duration::from_millis(100);

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
    source: Source,
    live: &Live,
) -> anyhow::Result<Exit> {
    let yard = service.yard().clone();
    let mut tracker = Tracker::new(yard.clone());
    let total = tracker.total();
    let over = tokio::select! {
        over = work(&service, source, &mut tracker) => over?,
        signal = signals.next() => Over::Signal(signal),
        why = yard.closed() => Over::Closed(why),
        () = live.follow(&yard, move || total.get().copied()) => Over::Done,
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
    let summary = tracker.into_summary();
    println!("{summary}");
    Ok(worst([exit, drained, verdict(&summary)]))
}

async fn work(service: &Service, source: Source, tracker: &mut Tracker) -> Result<Over, AskError> {
    let (news, mut told) = mpsc::channel(NEWS);
    let reading = service.pull_once(JsonLines::new(source, news));
    tokio::pin!(reading);
    let mut read = None;
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            end = &mut reading, if read.is_none() => read = Some(end),
            Some(news) = told.recv() => tracker.hear(news),
            Some(ended) = tracker.next(), if tracker.is_following() => tracker.take_in(ended),
            _ = look.tick(), if read.is_some() && told.is_empty() => {
                tracker.all_read();
                give_up_unroutable(service.yard(), tracker).await?;
                if !tracker.is_following() && is_empty(service.yard()).await? {
                    return Ok(match read {
                        Some(Err(error)) => Over::Unreadable(error.to_string()),
                        _ => Over::Done,
                    });
                }
            }
        }
    }
}

/// Whether all is done, callbacks and what handlers submitted included.
async fn is_empty(yard: &Yard) -> Result<bool, AskError> {
    let counts = yard.counts().await?;
    Ok(counts.parked + counts.behind + counts.unjudged + counts.ready + counts.claimed == 0)
}

/// Most unroutable tasks are refused at once. What a pool might have run that did not know its names yet is found later.
async fn give_up_unroutable(yard: &Yard, tracker: &mut Tracker) -> Result<(), AskError> {
    let learned = yard.pools().await?.iter().all(|(_, pool)| pool.learned);
    if !learned || yard.counts().await?.unroutable == 0 {
        return Ok(());
    }
    let (all, _) = yard.list(Filter { all: true, ..Filter::default() }, 0, usize::MAX).await?;
    let ids: Vec<_> = all.into_iter().filter(|view| view.unroutable).map(|view| view.id).collect();
    tracker.unroutable(&ids);
    if !ids.is_empty() {
        drop(yard.cancel(Filter { ids, ..Filter::default() }).await);
    }
    Ok(())
}

fn verdict(summary: &Summary) -> Exit {
    if summary.is_good() { Exit::Success } else { Exit::Failed }
}

fn worst(exits: [Exit; 3]) -> Exit {
    exits.into_iter().max_by_key(|exit| *exit as u8).unwrap_or(Exit::Success)
}
