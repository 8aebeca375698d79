use std::time::Duration;

use taskyard_core::time::Timestamp;

use super::*;

const ID: &str = "9760671a-6261-45aa-881a-f66929ff9725";

#[track_caller]
fn check(text: &str, expected: ControlCommand) {
    assert_eq!(parse_control(text).map(|control| control.command), Ok(expected), "{text}");
}

/// The field that is to blame, and a part of what is said of it.
#[track_caller]
fn refuse(text: &str, field: &str, reason: &str) {
    let rejected = parse_control(text).expect_err(text);
    assert_eq!(rejected.field.as_deref().unwrap_or_default(), field, "{rejected}");
    assert!(rejected.reason.contains(reason), "{rejected}");
}

#[track_caller]
fn refuse_data(command: &str, data: &str, field: &str, reason: &str) {
    refuse(&format!(r#"{{"control":"{command}","control_data":{data}}}"#), field, reason);
}

fn id() -> TaskId {
    ID.parse().unwrap()
}

#[test]
fn each_command_is_understood() {
    use ControlCommand as C;
    let pool = || "nlp".to_owned();
    check(r#"{"control":"alive"}"#, C::Alive);
    check(r#"{"control":"status","control_data":{}}"#, C::Status);
    check(r#"{"control":"workers"}"#, C::Workers);
    check(r#"{"control":"producers"}"#, C::Producers);
    check(r#"{"control":"owners"}"#, C::Owners);
    check(r#"{"control":"schedules"}"#, C::Schedules);
    check(r#"{"control":"drain"}"#, C::Drain);
    check(r#"{"control":"shutdown"}"#, C::Shutdown);
    let log = r#"{"control":"set_log_level","control_data":{"level":"debug"}}"#;
    check(log, C::SetLogLevel(LevelFilter::DEBUG));
    check(r#"{"control":"pause","control_data":{"pool":"nlp"}}"#, C::Pause { pool: pool() });
    check(r#"{"control":"resume","control_data":{"pool":"nlp"}}"#, C::Resume { pool: pool() });
    let scale = C::Scale { pool: pool(), min: 0, max: 4 };
    check(r#"{"control":"scale","control_data":{"pool":"nlp","min":0,"max":4}}"#, scale);
    check(r#"{"control":"run","control_data":{"task":{"task":"t"}}}"#, C::Run(r#"{"task":"t"}"#.into()));
    let with_id = |command: &str, more: &str| {
        format!(r#"{{"control":"{command}","control_data":{{"uuid":"{ID}"{more}}}}}"#)
    };
    check(&with_id("task_show", ""), C::TaskShow { id: id() });
    let due = |due| C::Reschedule { id: id(), due };
    check(&with_id("reschedule", r#","delay":1.5"#), due(Due::In(Duration::from_millis(1_500))));
    check(&with_id("reschedule", r#","delay":0"#), due(Due::Now));
    check(&with_id("reschedule", r#","eta":"1970-01-01T00:00:01Z""#), due(Due::At(Timestamp(1_000_000))));
}

#[test]
fn each_command_about_a_schedule_is_understood() {
    use ControlCommand as C;
    let name = || "nightly".to_owned();
    let named = |command: &str| format!(r#"{{"control":"{command}","control_data":{{"name":"nightly"}}}}"#);
    check(&named("schedule_pause"), C::SchedulePause { name: name() });
    check(&named("schedule_resume"), C::ScheduleResume { name: name() });
    check(&named("schedule_run"), C::ScheduleRun { name: name() });
}

fn all() -> Filter {
    Filter { all: true, ..Filter::default() }
}

#[test]
fn each_command_about_the_trash_is_understood() {
    use ControlCommand as C;
    check(r#"{"control":"trash_list"}"#, C::TrashList { filter: all(), after: 0, limit: 100 });
    let page =
        r#"{"control":"trash_list","control_data":{"task":"t","after":18446744073709551615,"limit":7}}"#;
    let filter = || Filter { task: "t".parse().ok(), ..Filter::default() };
    check(page, C::TrashList { filter: filter(), after: u64::MAX, limit: 7 });
    check(
        &format!(r#"{{"control":"trash_show","control_data":{{"uuid":"{ID}"}}}}"#),
        C::TrashShow { id: id() },
    );
    check(r#"{"control":"trash_requeue","control_data":{"task":"t"}}"#, C::TrashRequeue(filter()));
    check(r#"{"control":"trash_purge","control_data":{"all":true}}"#, C::TrashPurge(all()));
}

#[test]
fn filters_are_understood() {
    use ControlCommand as C;
    check(r#"{"control":"running"}"#, C::Running(all()));
    check(r#"{"control":"cancel","control_data":{"all":true}}"#, C::Cancel(all()));
    let ids = || Filter { ids: vec![id()], ..Filter::default() };
    check(&format!(r#"{{"control":"cancel","control_data":{{"uuid":"{ID}"}}}}"#), C::Cancel(ids()));
    check(&format!(r#"{{"control":"running","control_data":{{"uuid":["{ID}"]}}}}"#), C::Running(ids()));
    let filter = Filter { task: "t".parse().ok(), namespace: "a.#".parse().ok(), ..Filter::default() };
    check(r#"{"control":"cancel","control_data":{"task":"t","namespace":"a.#"}}"#, C::Cancel(filter));
}

/// P5.
#[test]
fn an_unknown_command_is_refused_with_those_that_are_known() {
    let known = r#"must be one of "alive", "status", "running", "cancel""#;
    refuse(r#"{"control":"logging"}"#, "control", known);
    refuse(r#"{"control":"logging"}"#, "control", r#"not "logging""#);
    refuse(r#"{"control":7}"#, "control", known);
    refuse(r#"{"control":""}"#, "control", known);
    refuse(r#"{"control":null}"#, "control", known);
    refuse("{}", "control", "is missing");
    refuse("[]", "", "not a JSON object");
}

/// P5.
#[test]
fn bad_parameters_are_refused_by_name() {
    refuse_data("running", "[]", "control_data", "must be an object, not an array");
    refuse_data("alive", "null", "control_data", "must be an object, not null");
    refuse_data(
        "alive",
        r#"{"x":1}"#,
        "control_data",
        r#""x" is not a parameter of this command; allowed: none"#,
    );
    refuse_data("cancel", r#"{"uid":1}"#, "control_data", "allowed: uuid, task, namespace, all");
    refuse_data("cancel", r#"{"uuid":"7"}"#, "control_data.uuid", "not a UUID");
    refuse_data("cancel", r#"{"uuid":[]}"#, "control_data.uuid", "1 to 10000 ids, not 0");
    refuse_data("cancel", r#"{"uuid":[7]}"#, "control_data.uuid", "must be a string, not 7");
    refuse_data("running", r#"{"namespace":"a*"}"#, "control_data.namespace", "mixes a wildcard");
    refuse_data("pause", "{}", "control_data.pool", "is missing");
    refuse_data("scale", r#"{"pool":"p","min":3,"max":2}"#, "control_data.min", "3 is more than max (2)");
    refuse_data("scale", r#"{"pool":"p","min":0,"max":0}"#, "control_data.max", "from 1 to");
    refuse_data("set_log_level", "{}", "control_data.level", "is missing");
    refuse_data("set_log_level", r#"{"level":"loud"}"#, "control_data.level", r#"one of "off", "error""#);
    refuse_data("trash_list", r#"{"limit":0}"#, "control_data.limit", "from 1 to 1000, not 0");
    refuse_data("trash_list", r#"{"after":-1}"#, "control_data.after", "must be a whole number");
    refuse_data("schedule_run", r#"{"name":7}"#, "control_data.name", "must be a string, not 7");
    refuse_data("run", r#"{"task":"t"}"#, "control_data.task", "must be a task");
    let both = format!(r#"{{"uuid":"{ID}","delay":1,"eta":"2027-01-01T00:00:00Z"}}"#);
    refuse_data("reschedule", &both, "control_data.eta", "either `delay` or `eta`");
    refuse_data("reschedule", &format!(r#"{{"uuid":"{ID}"}}"#), "control_data.eta", "either");
    refuse_data("reschedule", &format!(r#"{{"uuid":"{ID}","delay":"x"}}"#), "control_data.delay", "seconds");
}

/// P5.
#[test]
fn a_reply_channel_has_at_most_128_bytes() {
    let with = |length| format!(r#"{{"control":"alive","reply_to":"{}"}}"#, "r".repeat(length));
    refuse(&with(200), "reply_to", "1 to 128 bytes, not 200");
    assert_eq!(parse_control(&with(128)).unwrap().reply_to.map(|name| name.len()), Some(128));
}

/// P28.
#[test]
fn an_empty_filter_cancels_nothing_and_empties_no_trash() {
    for command in ["cancel", "trash_requeue", "trash_purge"] {
        for data in ["{}", r#"{"all":false}"#] {
            refuse_data(command, data, "control_data", "say `all: true`");
        }
        refuse(&format!(r#"{{"control":"{command}"}}"#), "control_data", "say `all: true`");
    }
}

#[test]
fn messages_are_told_apart() {
    let kind = |text: &str| match Incoming::parse(text) {
        Ok(Incoming::Task(_)) => "task",
        Ok(Incoming::Control(_)) => "control",
        Ok(Incoming::Chunk(_)) => "chunk",
        Err(_) => "refused",
    };
    assert_eq!(kind(r#"{"task":"t"}"#), "task");
    assert_eq!(kind(r#"{"task":"control","args":["control","__dispatcherd_chunk__"]}"#), "task");
    assert_eq!(kind(r#"{ "control" : "alive" }"#), "control");
    assert_eq!(kind(r#"{"__dispatcherd_chunk__":"v1","payload":"{\"control\":\"alive\"}"}"#), "chunk");
    assert_eq!(kind(r#"{"control":"logging"}"#), "refused");
    assert_eq!(kind(r#"{"control":"alive""#), "refused");
}

#[test]
fn replies_have_one_shape() {
    let json = |reply: Reply| serde_json::to_string(&reply).unwrap();
    assert_eq!(json(Ok(serde_json::json!({"alive": true})).into()), r#"{"ok":{"alive":true}}"#);
    let error = Err(Rejected::field("control", "no")).into();
    assert_eq!(json(error), r#"{"error":{"field":"control","message":"no"}}"#);
    assert_eq!(json(Reply::failed("no such pool")), r#"{"error":{"field":null,"message":"no such pool"}}"#);
}
