//! What a worker says, checked against what it was told: whole frames become reports, and the first that makes no sense is a
//! fault. It reads no socket and sends nothing.

use std::sync::Arc;

use taskyard_core::TaskId;
use taskyard_core::live::Live;
use taskyard_core::map::Map;
use taskyard_core::worker::Report;

use crate::protocol::FRAME_MAX;
use crate::protocol::from_worker::FromWorker;
use crate::protocol::lines::{Lines, TooLong};

/// The tasks that a worker was told to run and has not answered.
#[derive(Default)]
pub(super) struct Unanswered(Map<TaskId, Sent>);

struct Sent {
    live: Arc<Live>,
    started: bool,
}

impl Unanswered {
    pub(super) fn add(&mut self, live: Arc<Live>) {
        self.0.insert(live.task.id, Sent { live, started: false });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&mut self, id: TaskId) -> Result<&mut Sent, String> {
        self.0.get_mut(&id).ok_or_else(|| unknown(id))
    }

    /// The task that a call comes from, if the worker did not say: the only one that runs.
    fn only_started(&self) -> Option<TaskId> {
        let mut started = self.0.iter().filter(|(_, sent)| sent.started).map(|(id, _)| *id);
        let only = started.next()?;
        started.next().is_none().then_some(only)
    }
}

fn unknown(id: TaskId) -> String {
    format!("a frame about task {id}, which it does not have")
}

/// A handler asks the yard.
pub(super) struct Asked {
    pub(super) seq: u64,
    pub(super) from: TaskId,
    pub(super) command: String,
    pub(super) data: serde_json::Value,
}

/// What came of one read.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) reports: Vec<Report>,
    pub(super) calls: Vec<Asked>,
    /// Whether a task ended.
    pub(super) ended: bool,
    /// Why the worker's command could not be executed.
    pub(super) unstartable: Option<String>,
}

/// The frames of one worker, in order.
pub(super) struct Conversation {
    pub(super) lines: Lines,
    /// It said that it is ready.
    pub(super) ready: bool,
    /// It said that it ends; it may take its time.
    pub(super) bye: bool,
}

impl Conversation {
    pub(super) fn new() -> Self {
        Self { lines: Lines::new(FRAME_MAX), ready: false, bye: false }
    }

    /// Takes in all whole frames that were read. The error is the fault after which nothing more is taken; what was heard
    /// before it counts.
    pub(super) fn take_in(&mut self, unanswered: &mut Unanswered, heard: &mut Heard) -> Result<(), String> {
        loop {
            match self.lines.next() {
                Ok(Some(line)) => {
                    let frame = FromWorker::parse(line)?;
                    self.bye |= matches!(frame, FromWorker::Bye);
                    Self::hear(&mut self.ready, frame, unanswered, heard)?;
                }
                Ok(None) => return Ok(()),
                Err(TooLong { limit }) => return Err(format!("a frame of more than {limit} bytes")),
            }
        }
    }

    /// The end of the stream; a fault if it cut a frame.
    pub(super) fn end(&self) -> Result<(), String> {
        match self.lines.rest().len() {
            0 => Ok(()),
            bytes => Err(format!("the connection ended within a frame, after {bytes} bytes")),
        }
    }

    fn hear(
        ready: &mut bool,
        frame: FromWorker<'_>,
        unanswered: &mut Unanswered,
        heard: &mut Heard,
    ) -> Result<(), String> {
        match frame {
            FromWorker::Started { id } => {
                let sent = unanswered.get(id)?;
                if std::mem::replace(&mut sent.started, true) {
                    return Err(format!("task {id} started twice"));
                }
                heard.reports.push(Report::Started { id });
            }
            FromWorker::Done { id, end } => {
                let sent = unanswered.0.remove(&id).ok_or_else(|| unknown(id))?;
                if !sent.started {
                    heard.reports.push(Report::Started { id });
                }
                heard.ended = true;
                heard.reports.push(Report::Done { id, end });
            }
            FromWorker::Returned { id } => {
                if unanswered.get(id)?.started {
                    return Err(format!("task {id} came back after its start"));
                }
                unanswered.0.remove(&id);
                heard.reports.push(Report::Returned { id });
            }
            FromWorker::Progress { id, progress } => unanswered.get(id)?.live.set_progress(progress),
            FromWorker::Call { seq, id, command, data } => {
                let from = id.or_else(|| unanswered.only_started());
                let from = from.ok_or("a call that does not say from which task")?;
                unanswered.get(from)?;
                let data = serde_json::from_str(data).map_err(|error| format!("a call's data: {error}"))?;
                heard.calls.push(Asked { seq, from, command: command.into_owned(), data });
            }
            FromWorker::Ready { concurrency, ahead, names } => {
                if std::mem::replace(ready, true) {
                    return Err("it got ready twice".into());
                }
                heard.reports.push(Report::Ready { concurrency, ahead, names });
            }
            FromWorker::Unstartable { why } => heard.unstartable = Some(why),
            FromWorker::Bye => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taskyard_actors::testing::live;

    use super::*;

    fn told(ids: std::ops::Range<u128>) -> Unanswered {
        let mut unanswered = Unanswered::default();
        ids.for_each(|id| unanswered.add(live(id, "t", "[]", "{}")));
        unanswered
    }

    fn hear(unanswered: &mut Unanswered, frames: &str) -> (Heard, Result<(), String>) {
        let mut conversation = Conversation::new();
        let fill = |free: &mut [u8]| {
            free[..frames.len()].copy_from_slice(frames.as_bytes());
            Ok(frames.len())
        };
        conversation.lines.fill(fill).unwrap();
        let mut heard = Heard::default();
        let fault = conversation.take_in(unanswered, &mut heard);
        (heard, fault)
    }

    fn frame(kind: &str, id: u128) -> String {
        let id = TaskId(id);
        format!("{{\"type\":\"{kind}\",\"id\":\"{id}\",\"outcome\":\"succeeded\"}}\n")
    }

    #[test]
    fn a_whole_batch_is_heard_in_order() {
        let frames = frame("started", 1) + &frame("done", 1) + &frame("returned", 2);
        let mut unanswered = told(1..3);
        let (heard, fault) = hear(&mut unanswered, &frames);
        assert_eq!(fault, Ok(()));
        let [Report::Started { .. }, Report::Done { .. }, Report::Returned { .. }] = heard.reports[..] else {
            panic!("{:?}", heard.reports);
        };
        assert!(unanswered.is_empty());
    }

    #[test]
    fn an_end_without_a_start_is_reported_with_one() {
        let (heard, _) = hear(&mut told(1..2), &frame("done", 1));
        assert!(matches!(heard.reports[..], [Report::Started { .. }, Report::Done { .. }]));
    }

    /// P25.
    #[test]
    fn a_second_end_is_a_fault_and_the_first_counts() {
        let (heard, fault) = hear(&mut told(1..2), &(frame("done", 1) + &frame("done", 1)));
        assert_eq!(heard.reports.len(), 2);
        assert!(fault.unwrap_err().contains("does not have"));
    }

    /// P25.
    #[test]
    fn frames_that_contradict_what_came_before_are_faults() {
        assert!(hear(&mut told(1..2), &frame("started", 5)).1.is_err());
        let twice = frame("started", 1) + &frame("started", 1);
        assert!(hear(&mut told(1..2), &twice).1.unwrap_err().contains("twice"));
        let back = frame("started", 1) + &frame("returned", 1);
        assert!(hear(&mut told(1..2), &back).1.unwrap_err().contains("after its start"));
    }

    #[test]
    fn a_call_without_a_task_is_from_the_only_one_that_runs() {
        let call = "{\"type\":\"call\",\"seq\":1,\"command\":\"submit\",\"data\":{}}\n";
        let (heard, _) = hear(&mut told(1..3), &(frame("started", 2) + call));
        assert_eq!(heard.calls[0].from, TaskId(2));
        assert!(hear(&mut told(1..3), call).1.is_err());
    }
}
