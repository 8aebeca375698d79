//! The frames that the yard sends to a worker: how the yard writes them and how the kit reads them.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use taskyard_core::TaskId;
use taskyard_core::id::Epoch;
use taskyard_core::live::Live;
use taskyard_core::worker::CancelReason;

use super::{FRAME_MAX, PROTOCOL, json, raw, text};

/// A frame to a worker.
#[derive(Debug)]
pub(crate) enum ToWorker<'a> {
    Hello { protocol: u32 },
    Run(Run<'a>),
    Cancel { id: TaskId, reason: CancelReason },
    Recall { id: TaskId },
    Reply { seq: u64, answer: Result<Value, String> },
    Stop,
}

/// What a worker is told of a task that it should run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) id: TaskId,
    pub(crate) epoch: Epoch,
    pub(crate) task: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) args: &'a str,
    pub(crate) kwargs: &'a str,
    pub(crate) attempt: u32,
    pub(crate) timeout: Option<Duration>,
    pub(crate) traceparent: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(default)]
    epoch: Option<Epoch>,
    #[serde(borrow, default)]
    task: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    kwargs: Option<&'a RawValue>,
    #[serde(default)]
    attempt: Option<u32>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(borrow, default)]
    traceparent: Option<Cow<'a, str>>,
    #[serde(default)]
    reason: Option<CancelReason>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(borrow, default)]
    ok: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    protocol: Option<u32>,
}

impl<'a> ToWorker<'a> {
    /// Reads a frame, or says what is wrong with it.
    pub(crate) fn parse(frame: &'a [u8]) -> Result<Self, String> {
        let fields: Fields<'a> = serde_json::from_slice(frame).map_err(|error| error.to_string())?;
        Ok(match &*fields.kind {
            "run" => Self::Run(fields.run()?),
            "cancel" => {
                Self::Cancel { id: fields.id()?, reason: fields.reason.unwrap_or(CancelReason::User) }
            }
            "recall" => Self::Recall { id: fields.id()? },
            "reply" => Self::Reply { seq: fields.seq.ok_or("a reply without seq")?, answer: fields.answer() },
            "stop" => Self::Stop,
            "hello" => Self::Hello { protocol: fields.protocol.unwrap_or(PROTOCOL) },
            kind => return Err(format!("a frame of unknown type {kind:?}")),
        })
    }
}

impl<'a> Fields<'a> {
    fn id(&self) -> Result<TaskId, String> {
        let id = self.id.as_deref().ok_or("a frame without id")?;
        id.parse().map_err(|error| format!("{error}"))
    }

    fn run(self) -> Result<Run<'a>, String> {
        let id = self.id()?;
        let task = self.task.ok_or("a run without task")?;
        let timeout = self.timeout.map(Duration::try_from_secs_f64).transpose();
        Ok(Run {
            id,
            epoch: self.epoch.unwrap_or(1),
            namespace: self.namespace.unwrap_or_else(|| task.clone()),
            task,
            args: self.args.map_or("[]", RawValue::get),
            kwargs: self.kwargs.map_or("{}", RawValue::get),
            attempt: self.attempt.unwrap_or(1),
            timeout: timeout.map_err(|error| format!("timeout: {error}"))?,
            traceparent: self.traceparent,
        })
    }

    fn answer(self) -> Result<Value, String> {
        match self.error {
            Some(error) => Err(error),
            None => self.ok.map_or(Ok(Value::Null), |ok| {
                serde_json::from_str(ok.get()).map_err(|error| format!("an answer that is not JSON: {error}"))
            }),
        }
    }
}

/// The first frame.
pub(crate) fn hello(out: &mut Vec<u8>, worker: &str, pool: &str) {
    text(out, format_args!(r#"{{"type":"hello","protocol":{PROTOCOL},"worker":"#));
    json(out, worker);
    out.extend_from_slice(br#","pool":"#);
    json(out, pool);
    out.extend_from_slice(b"}\n");
}

/// Run this.
pub(crate) fn run(out: &mut Vec<u8>, live: &Live, timeout: Option<Duration>) {
    let task = &live.task;
    out.extend_from_slice(br#"{"type":"run","id":""#);
    super::id(out, task.id);
    text(out, format_args!(r#"","epoch":{},"task":"#, live.epoch));
    json(out, &task.lane.name);
    out.extend_from_slice(br#","namespace":"#);
    json(out, &task.lane.namespace);
    out.extend_from_slice(br#","args":"#);
    raw(out, task.body.args());
    out.extend_from_slice(br#","kwargs":"#);
    raw(out, task.body.kwargs());
    text(out, format_args!(r#","attempt":{}"#, live.attempt));
    if let Some(timeout) = timeout {
        text(out, format_args!(r#","timeout":{}"#, timeout.as_secs_f64()));
    }
    if let Some(extras) = &task.extras {
        if extras.bind {
            out.extend_from_slice(br#","bind":true"#);
        }
        if let Some(traceparent) = &extras.traceparent {
            out.extend_from_slice(br#","traceparent":"#);
            json(out, traceparent);
        }
    }
    out.extend_from_slice(b"}\n");
}

/// End this.
pub(crate) fn cancel(out: &mut Vec<u8>, id: TaskId, reason: CancelReason) {
    text(out, format_args!(r#"{{"type":"cancel","id":"{id}","reason":"#));
    json(out, &reason);
    out.extend_from_slice(b"}\n");
}

/// Give this back, if it has not started.
pub(crate) fn recall(out: &mut Vec<u8>, id: TaskId) {
    text(out, format_args!("{{\"type\":\"recall\",\"id\":\"{id}\"}}\n"));
}

/// The answer to a call. One that is too long becomes an error that says so.
pub(crate) fn reply(out: &mut Vec<u8>, seq: u64, answer: &Result<Value, String>) {
    let start = out.len();
    write_reply(out, seq, answer);
    let bytes = out.len() - start;
    if bytes > FRAME_MAX {
        out.truncate(start);
        let error = format!("the answer is {bytes} bytes long, at most {FRAME_MAX} are allowed");
        write_reply(out, seq, &Err(error));
    }
}

fn write_reply(out: &mut Vec<u8>, seq: u64, answer: &Result<Value, String>) {
    text(out, format_args!(r#"{{"type":"reply","seq":{seq},"#));
    match answer {
        Ok(value) => {
            out.extend_from_slice(br#""ok":"#);
            json(out, value);
        }
        Err(error) => {
            out.extend_from_slice(br#""error":"#);
            json(out, error);
        }
    }
    out.extend_from_slice(b"}\n");
}

/// End when nothing runs.
pub(crate) fn stop(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"stop\"}\n");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use taskyard_actors::testing::live;
    use taskyard_core::task::{Extras, Task};

    use super::*;

    /// P13.
    #[test]
    fn a_task_is_read_as_it_was_written() {
        let live = live(9, "résumé.\"make\"", "[1,\n {\"a\": \"\\n😀\\u0000\"}]", "{\r\n}");
        let mut out = Vec::new();
        run(&mut out, &live, Some(Duration::from_millis(2500)));
        assert_eq!(out.iter().position(|byte| *byte == b'\n'), Some(out.len() - 1), "one frame is one line");
        let Ok(ToWorker::Run(read)) = ToWorker::parse(&out[..out.len() - 1]) else {
            panic!("not a run frame")
        };
        assert_eq!((read.id, read.epoch, read.attempt), (TaskId(9), 1, 1));
        assert_eq!((&*read.task, &*read.namespace), ("résumé.\"make\"", "résumé.\"make\""));
        assert_eq!(read.args, "[1,  {\"a\": \"\\n😀\\u0000\"}]");
        assert_eq!(read.kwargs, "{  }");
        assert_eq!(read.timeout, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn what_else_was_said_of_a_task_reaches_its_worker() {
        let mut live = live(9, "make", "[]", "{}");
        let mut task = Task::clone(&live.task);
        let extras = Extras { bind: true, traceparent: Some("00-a-b-01".into()), ..Extras::default() };
        task.extras = Some(Box::new(extras));
        Arc::get_mut(&mut live).unwrap().task = Arc::new(task);
        let mut out = Vec::new();
        run(&mut out, &live, None);
        assert!(String::from_utf8_lossy(&out).contains(r#","bind":true,"#));
        let Ok(ToWorker::Run(read)) = ToWorker::parse(&out) else { panic!("not a run frame") };
        assert_eq!(read.traceparent.as_deref(), Some("00-a-b-01"));
    }

    #[test]
    fn answers_are_read_as_they_were_written() {
        for answer in [Ok(Value::Null), Ok(serde_json::json!({"a": [1, "\n"]})), Err("no\nroom".to_owned())] {
            let mut out = Vec::new();
            reply(&mut out, 3, &answer);
            let Ok(ToWorker::Reply { seq: 3, answer: read }) = ToWorker::parse(&out[..out.len() - 1]) else {
                panic!("not a reply frame");
            };
            assert_eq!(read, answer);
        }
    }

    #[test]
    fn an_answer_that_is_too_long_is_an_error_that_says_so() {
        let mut out = Vec::new();
        reply(&mut out, 3, &Ok("x".repeat(FRAME_MAX).into()));
        let Ok(ToWorker::Reply { seq: 3, answer: Err(error) }) = ToWorker::parse(&out[..out.len() - 1])
        else {
            panic!("not an error");
        };
        assert!(error.contains("at most 1048576"), "{error}");
    }
}
