//! Workers of this binary.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use taskyard::context::Calls;
use taskyard::registry::{Options, RESULT_MAX};
use taskyard_actors::testing::live;
use taskyard_core::TaskId;
use taskyard_core::dispatch::TaskError;
use taskyard_core::live::Progress;
use taskyard_core::worker::{Command, Report, Signal, WorkerEnd};

use crate::os::{resident, wait_gone};
use crate::rig::{Rig, launch, launch_with, on_the_yards_thread, own_binary};

fn worker(test: impl AsyncFnOnce(Rig)) {
    on_the_yards_thread(async {
        let mut rig = launch(own_binary());
        let names = rig.ready().await;
        assert!(names.iter().any(|name| name.as_str() == "echo"));
        test(rig).await;
    });
}

fn failed(end: WorkerEnd) -> TaskError {
    match end {
        WorkerEnd::Failed(error) => *error,
        end => panic!("it did not fail: {end:?}"),
    }
}

#[test]
fn a_task_runs_and_the_worker_stops_when_told_to() {
    worker(async |mut rig| {
        rig.run_with(1, "echo", r#"["hello"]"#, "{}");
        rig.started(1).await;
        assert_eq!(rig.done(1).await, WorkerEnd::Succeeded(r#""hello""#.into()));
        rig.works_and_stops().await;
    });
}

/// P13.
#[test]
fn payloads_of_all_sizes_and_letters_arrive_equal() {
    worker(async |mut rig| {
        let mut texts: Vec<String> = [7999, 8000, 8001, RESULT_MAX - 2].map(|size| "x".repeat(size)).into();
        texts.push("😀 \"quoted\" \\ \0 \u{1} \u{2028} \r\n".into());
        for (id, text) in (1..).zip(texts) {
            let json = Value::from(text).to_string();
            rig.run_with(id, "echo", &format!("[{json}]"), "{}");
            rig.started(id).await;
            let end = rig.done(id).await;
            assert!(end == WorkerEnd::Succeeded(json.as_str().into()), "{} bytes differ", json.len());
        }
        rig.works_and_stops().await;
    });
}

/// P6.
#[test]
fn a_result_that_can_not_be_carried_fails_and_the_worker_lives_on() {
    worker(async |mut rig| {
        assert_eq!(failed(rig.end_of(1, "oversized").await).kind, "result_too_large");
        assert_eq!(failed(rig.end_of(2, "not_json").await).kind, "result_not_json");
        rig.works_and_stops().await;
    });
}

#[test]
fn a_panic_an_unknown_name_and_bad_arguments_fail_the_task_alone() {
    worker(async |mut rig| {
        let error = failed(rig.end_of(1, "panic").await);
        assert_eq!((&*error.kind, &*error.message, error.retry), ("panic", "on purpose", true));
        let error = failed(rig.end_of(2, "nobody").await);
        assert_eq!((&*error.kind, error.retry), ("unknown_task", false));
        let error = failed(rig.end_of(3, "submits").await);
        assert_eq!((&*error.kind, error.retry), ("bad_arguments", false));
        rig.works_and_stops().await;
    });
}

#[test]
fn a_snooze_and_standard_input_are_as_the_handler_expects() {
    worker(async |mut rig| {
        let span = std::time::Duration::from_millis(1500);
        assert_eq!(rig.end_of(1, "snooze").await, WorkerEnd::Snoozed(span));
        assert_eq!(rig.end_of(2, "stdin").await, WorkerEnd::Succeeded("\"\"".into()));
        rig.works_and_stops().await;
    });
}

/// P24.
#[test]
fn an_exit_is_reported_with_status_and_last_output() {
    worker(async |mut rig| {
        let (status, output) = rig.death_by(1, "exit").await;
        assert_eq!(status, "exit status 3");
        assert!(output.ends_with("last words"), "{output}");
    });
}

/// P24.
#[test]
fn an_abort_is_reported_with_its_signal() {
    worker(async |mut rig| {
        assert_eq!(rig.death_by(1, "abort").await.0, "signal 6 (SIGABRT)");
    });
}

#[test]
fn an_async_handler_sees_its_cancel_and_tells_its_progress() {
    worker(async |mut rig| {
        let live = rig.run(1, "until_cancelled");
        rig.started(1).await;
        rig.cancel(1);
        assert_eq!(rig.done(1).await, WorkerEnd::Succeeded("\"User\"".into()));
        assert_eq!(live.progress(), Some(Progress { fraction: 0.25, note: Some("waits".into()) }));
        rig.works_and_stops().await;
    });
}

#[test]
fn recall_and_cancel_are_answered_while_a_handler_blocks() {
    worker(async |mut rig| {
        rig.run(1, "block");
        rig.started(1).await;
        (2..5).for_each(|id| drop(rig.run(id, "pid")));
        rig.recall(3);
        rig.returned(3).await;
        rig.cancel(4);
        rig.started(4).await;
        assert_eq!(rig.done(4).await, WorkerEnd::Cancelled);
        rig.recall(1);
        rig.cancel(1);
        assert_eq!(rig.done(1).await, WorkerEnd::Succeeded("\"blocked\"".into()));
        rig.started(2).await;
        rig.done(2).await;
        rig.works_and_stops().await;
    });
}

#[test]
fn a_start_is_told_while_the_handler_blocks_though_more_tasks_wait_behind_it() {
    worker(async |mut rig| {
        let (one, two) = (live(1, "block", "[]", "{}"), live(2, "pid", "[]", "{}"));
        rig.link.tell(Command::Run { live: one, timeout: None });
        rig.tell(Command::Run { live: two, timeout: None });
        rig.started(1).await;
        rig.cancel(1);
        rig.done(1).await;
        rig.started(2).await;
        rig.done(2).await;
    });
}

#[test]
fn many_tasks_run_at_once_where_the_pool_says_so() {
    on_the_yards_thread(async {
        let mut settings = own_binary();
        settings.options = Some(Options { concurrency: 3, ahead: 2 });
        let mut rig = launch(settings);
        assert!(matches!(rig.next().await, Report::Ready { concurrency: 3, ahead: 2, .. }));
        for id in 1..4 {
            rig.run(id, "until_cancelled");
            rig.started(id).await;
        }
        for id in [2, 1, 3] {
            rig.cancel(id);
            rig.done(id).await;
        }
        rig.works_and_stops().await;
    });
}

#[test]
fn a_stop_lets_what_was_told_finish() {
    worker(async |mut rig| {
        (1..50).for_each(|id| drop(rig.run(id, "pid")));
        rig.tell(Command::Stop);
        for id in 1..50 {
            rig.started(id).await;
            rig.done(id).await;
        }
        assert_eq!(rig.exited().await.0, "exit status 0");
    });
}

/// P26.
#[test]
fn a_flood_of_output_neither_stalls_nor_grows_memory() {
    worker(async |mut rig| {
        let before = resident();
        assert_eq!(rig.end_of(1, "flood").await, WorkerEnd::Succeeded("null".into()));
        assert!(resident().saturating_sub(before) < 32 << 20, "memory grew");
        rig.tell(Command::Stop);
        let (status, output) = rig.exited().await;
        assert_eq!(status, "exit status 0");
        assert!(output.len() <= 4096 && output.ends_with("yyy"), "{} bytes", output.len());
    });
}

/// P29.
#[test]
fn a_grandchild_goes_with_its_worker() {
    for signal in [Some(Signal::Term), Some(Signal::Kill), None] {
        worker(async |mut rig| {
            let live = rig.run(1, "grandchild");
            rig.started(1).await;
            let grandchild = loop {
                match live.progress() {
                    Some(progress) => break progress.note.unwrap().parse().unwrap(),
                    None => tokio::task::yield_now().await,
                }
            };
            match signal {
                Some(signal) => {
                    rig.tell(Command::Signal(signal));
                    assert!(rig.exited().await.0.starts_with("signal "));
                }
                None => drop(rig),
            }
            // With the link gone, the attendant still has to see the death.
            tokio::task::yield_now().await;
            wait_gone(grandchild, std::time::Duration::from_secs(10));
        });
    }
}

#[test]
fn resident_memory_is_reported_where_it_is_watched() {
    on_the_yards_thread(async {
        let mut settings = own_binary();
        settings.watch_memory = true;
        let mut rig = launch(settings);
        rig.ready().await;
        rig.run(1, "pid");
        loop {
            match rig.next().await {
                Report::Resident { bytes } => break assert!(bytes > 100_000),
                Report::Started { .. } | Report::Done { .. } => {}
                report => panic!("{report:?}"),
            }
        }
    });
}

/// Takes every task that is submitted.
#[derive(Default)]
struct Takes(Mutex<Vec<(TaskId, String, Value)>>);

impl Calls for Takes {
    fn call(&self, from: TaskId, command: String, data: Value) -> BoxFuture<'static, Result<Value, String>> {
        let answer = data["uuid"].clone();
        self.0.lock().unwrap().push((from, command, data));
        Box::pin(async { Ok(answer) })
    }
}

#[test]
fn a_handler_submits_a_task_whose_id_is_derived() {
    on_the_yards_thread(async {
        let calls = Arc::new(Takes::default());
        let mut rig = launch_with(own_binary(), Arc::clone(&calls) as Arc<dyn Calls>);
        rig.ready().await;
        rig.run_with(1, "submits", "[]", r#"{"text":"\u0000"}"#);
        rig.started(1).await;
        let child = TaskId(1).derived(b"child").to_string();
        assert_eq!(rig.done(1).await, WorkerEnd::Succeeded(json!(child).to_string().into()));
        let wire = json!({"task": "echo", "args": ["\0"], "delay": 2.0, "uuid": child});
        assert_eq!(*calls.0.lock().unwrap(), [(TaskId(1), "submit".into(), wire)]);
    });
}

#[test]
fn a_refused_submit_is_the_handlers_error() {
    worker(async |mut rig| {
        rig.run_with(1, "submits", "[]", r#"{"text":""}"#);
        rig.started(1).await;
        let error = failed(rig.done(1).await);
        assert_eq!((&*error.kind, &*error.message), ("CallError", "\"submit\" can't be asked for here"));
    });
}
