//! The frames that a worker sends: how the kit writes them and how the yard reads them. A frame that can't be read is
//! described for a person; what follows from that is decided elsewhere.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use taskyard_core::TaskId;
use taskyard_core::dispatch::TaskError;
use taskyard_core::live::Progress;
use taskyard_core::names::TaskName;
use taskyard_core::worker::WorkerEnd;

use super::{PROTOCOL, excerpt, json, text};

/// A frame from a worker.
#[derive(Debug)]
pub(crate) enum FromWorker<'a> {
    Ready {
        concurrency: u32,
        ahead: u32,
        names: Vec<TaskName>,
    },
    Started {
        id: TaskId,
    },
    Done {
        id: TaskId,
        end: WorkerEnd,
    },
    Returned {
        id: TaskId,
    },
    Progress {
        id: TaskId,
        progress: Progress,
    },
    /// A handler wants something of the yard. `id` is the task; a kit that runs one task at a time may leave it out.
    Call {
        seq: u64,
        id: Option<TaskId>,
        command: Cow<'a, str>,
        data: &'a str,
    },
    Bye,
    /// From the shim alone: the command could not be executed.
    Unstartable {
        why: String,
    },
}

/// All fields of all frames: one flat struct is read several times faster than a tagged enum.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    outcome: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<TaskError>,
    #[serde(default)]
    seconds: Option<f64>,
    #[serde(default)]
    protocol: Option<u32>,
    #[serde(default)]
    concurrency: Option<u16>,
    #[serde(default)]
    ahead: Option<u16>,
    #[serde(default)]
    tasks: Option<Vec<TaskName>>,
    #[serde(default)]
    fraction: Option<f64>,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(borrow, default)]
    command: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    why: Option<String>,
}

impl<'a> FromWorker<'a> {
    /// Reads a frame, or says what is wrong with it.
    pub(crate) fn parse(frame: &'a [u8]) -> Result<Self, String> {
        let fields: Fields<'a> = serde_json::from_slice(frame)
            .map_err(|error| format!("not a frame: {error}: {}", excerpt(frame)))?;
        Self::from_fields(fields).map_err(|what| format!("{what}: {}", excerpt(frame)))
    }

    fn from_fields(fields: Fields<'a>) -> Result<Self, String> {
        Ok(match &*fields.kind {
            "started" => Self::Started { id: fields.id()? },
            "done" => Self::Done { id: fields.id()?, end: fields.end()? },
            "returned" => Self::Returned { id: fields.id()? },
            "progress" => Self::Progress { id: fields.id()?, progress: fields.progress()? },
            "call" => Self::Call {
                seq: needed(fields.seq, "seq")?,
                id: fields.id.is_some().then(|| fields.id()).transpose()?,
                command: needed(fields.command, "command")?,
                data: fields.data.map_or("null", RawValue::get),
            },
            "ready" => fields.ready()?,
            "bye" => Self::Bye,
            "unstartable" => Self::Unstartable { why: fields.why.unwrap_or_default() },
            kind => return Err(format!("a frame of unknown type {kind:?}")),
        })
    }
}

impl<'a> Fields<'a> {
    fn id(&self) -> Result<TaskId, String> {
        let id = self.id.as_deref().ok_or_else(|| missing("id"))?;
        id.parse().map_err(|error| format!("a bad id: {error}"))
    }

    fn end(self) -> Result<WorkerEnd, String> {
        match self.outcome.as_deref() {
            Some("succeeded") => Ok(WorkerEnd::Succeeded(self.value.map_or("null", RawValue::get).into())),
            Some("failed") => Ok(WorkerEnd::Failed(Box::new(needed(self.error, "error")?))),
            Some("cancelled") => Ok(WorkerEnd::Cancelled),
            Some("snooze") => {
                let seconds = needed(self.seconds, "seconds")?;
                let span = Duration::try_from_secs_f64(seconds);
                span.map(WorkerEnd::Snoozed).map_err(|error| format!("seconds {seconds}: {error}"))
            }
            Some(outcome) => Err(format!("an unknown outcome {outcome:?}")),
            None => Err(missing("outcome")),
        }
    }

    fn progress(self) -> Result<Progress, String> {
        let fraction = needed(self.fraction, "fraction")?.clamp(0.0, 1.0);
        Ok(Progress { fraction, note: self.note })
    }

    fn ready(self) -> Result<FromWorker<'a>, String> {
        let protocol = needed(self.protocol, "protocol")?;
        if protocol != PROTOCOL {
            return Err(format!("the worker speaks protocol {protocol}, this yard speaks {PROTOCOL}"));
        }
        let concurrency = self.concurrency.unwrap_or(1);
        if concurrency == 0 {
            return Err("a concurrency of 0".into());
        }
        let names = needed(self.tasks, "tasks")?;
        let ahead = self.ahead.unwrap_or(0).into();
        Ok(FromWorker::Ready { concurrency: concurrency.into(), ahead, names })
    }
}

fn needed<T>(field: Option<T>, name: &str) -> Result<T, String> {
    field.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> String {
    format!("a frame without {name:?}")
}

/// The worker can take tasks.
pub(crate) fn ready<'n>(
    out: &mut Vec<u8>,
    concurrency: u32,
    ahead: u32,
    names: impl Iterator<Item = &'n TaskName>,
) {
    text(out, format_args!(r#"{{"type":"ready","protocol":{PROTOCOL},"concurrency":{concurrency},"#));
    text(out, format_args!(r#""ahead":{ahead},"tasks":"#));
    json(out, &names.collect::<Vec<_>>());
    out.extend_from_slice(b"}\n");
}

/// A task began to run.
pub(crate) fn started(out: &mut Vec<u8>, id: TaskId) {
    about(out, br#"{"type":"started","id":""#, id);
    out.extend_from_slice(b"}\n");
}

/// A task comes back, not started.
pub(crate) fn returned(out: &mut Vec<u8>, id: TaskId) {
    about(out, br#"{"type":"returned","id":""#, id);
    out.extend_from_slice(b"}\n");
}

/// A task ended.
pub(crate) fn done(out: &mut Vec<u8>, id: TaskId, end: &WorkerEnd) {
    about(out, br#"{"type":"done","id":""#, id);
    out.extend_from_slice(br#","outcome":"#);
    match end {
        WorkerEnd::Succeeded(value) => {
            out.extend_from_slice(br#""succeeded","value":"#);
            super::raw(out, value);
        }
        WorkerEnd::Failed(error) => {
            out.extend_from_slice(br#""failed","error":"#);
            json(out, error);
        }
        WorkerEnd::Cancelled => out.extend_from_slice(br#""cancelled""#),
        WorkerEnd::Snoozed(span) => {
            text(out, format_args!(r#""snooze","seconds":{}"#, span.as_secs_f64()));
        }
    }
    out.extend_from_slice(b"}\n");
}

/// How far a task is.
pub(crate) fn progress(out: &mut Vec<u8>, id: TaskId, progress: &Progress) {
    about(out, br#"{"type":"progress","id":""#, id);
    out.extend_from_slice(br#","fraction":"#);
    json(out, &progress.fraction);
    if let Some(note) = &progress.note {
        out.extend_from_slice(br#","note":"#);
        json(out, note);
    }
    out.extend_from_slice(b"}\n");
}

/// A handler wants something of the yard.
pub(crate) fn call(out: &mut Vec<u8>, seq: u64, id: TaskId, command: &str, data: &serde_json::Value) {
    text(out, format_args!(r#"{{"type":"call","seq":{seq},"id":"{id}","command":"#));
    json(out, command);
    out.extend_from_slice(br#","data":"#);
    json(out, data);
    out.extend_from_slice(b"}\n");
}

/// The worker ends as it was told to.
pub(crate) fn bye(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"bye\"}\n");
}

/// The shim could not execute the command.
pub(crate) fn unstartable(out: &mut Vec<u8>, why: &str) {
    out.extend_from_slice(br#"{"type":"unstartable","why":"#);
    json(out, why);
    out.extend_from_slice(b"}\n");
}

/// The beginning of a frame about a task.
fn about(out: &mut Vec<u8>, beginning: &[u8], id: TaskId) {
    out.extend_from_slice(beginning);
    super::id(out, id);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: TaskId = TaskId(7);

    fn wrong(frame: &str) -> String {
        FromWorker::parse(frame.as_bytes()).unwrap_err()
    }

    #[track_caller]
    fn ends(end: &WorkerEnd) {
        let mut out = Vec::new();
        done(&mut out, ID, end);
        assert_eq!(out.iter().position(|byte| *byte == b'\n'), Some(out.len() - 1), "one frame is one line");
        let Ok(FromWorker::Done { id, end: read }) = FromWorker::parse(&out[..out.len() - 1]) else {
            panic!("not a done frame: {}", String::from_utf8_lossy(&out));
        };
        assert_eq!((id, &read), (ID, end));
    }

    /// P13.
    #[test]
    fn every_end_is_read_as_it_was_written() {
        ends(&WorkerEnd::Succeeded("null".into()));
        ends(&WorkerEnd::Succeeded(r#"{"a":"😀 \" \u0000 \\ \n"}"#.into()));
        ends(&WorkerEnd::Cancelled);
        ends(&WorkerEnd::Snoozed(Duration::from_millis(1500)));
        let (kind, message) = ("io".into(), "no \"such\"\nfile\0".into());
        ends(&WorkerEnd::Failed(Box::new(TaskError {
            kind,
            message,
            trace: Some("a\nb".into()),
            retry: false,
        })));
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let frame = br#"{"type":"bye","since":{"protocol 2":[1]}}"#;
        assert!(matches!(FromWorker::parse(frame), Ok(FromWorker::Bye)));
    }

    #[test]
    fn another_protocol_is_refused_naming_both() {
        let what = wrong(r#"{"type":"ready","protocol":2,"tasks":[]}"#);
        assert!(what.starts_with("the worker speaks protocol 2, this yard speaks 1"), "{what}");
    }

    /// P25.
    #[test]
    fn what_is_wrong_with_a_frame_is_said() {
        let eager = r#"{"type":"ready","protocol":1,"concurrency":4000000000,"tasks":[]}"#;
        assert!(wrong(eager).contains("4000000000"));
        assert!(wrong("hello").starts_with("not a frame"));
        assert!(wrong(r#"{"type":"started"}"#).contains(r#"without "id""#));
        assert!(wrong(r#"{"type":"started","id":"seven"}"#).contains("a bad id"));
        assert!(wrong(r#"{"type":"dance"}"#).contains(r#"unknown type "dance""#));
        let snooze = format!(r#"{{"type":"done","id":"{ID}","outcome":"snooze","seconds":-1}}"#);
        assert!(wrong(&snooze).contains("seconds -1"));
        assert!(wrong(&"x".repeat(10_000)).len() < 400, "what is shown is cut");
    }
}
