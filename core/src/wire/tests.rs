use std::time::Duration;

use super::*;
use crate::defaults::MESSAGE_MAX;
use crate::task::{KeyLimits, Overflow, Retry};
use crate::time::Timestamp;

const FRESH: TaskId = TaskId(0x0192_e4a0_7c1b_7000_8000_0000_0000_0001);

fn parse(text: &str) -> Result<Task, Rejected> {
    parse_task(text, FRESH, &|_| TaskDefaults::default())
}

/// A task that says one thing more than its name.
fn with(said: &str) -> Result<Task, Rejected> {
    parse(&format!(r#"{{"task":"app.mail.send",{said}}}"#))
}

#[track_caller]
fn task(said: &str) -> Task {
    with(said).unwrap_or_else(|rejected| panic!("{said}: {rejected}"))
}

/// The field that is to blame, and a part of what is said of it.
#[track_caller]
fn check(said: &str, field: &str, reason: &str) {
    check_text(&format!(r#"{{"task":"t",{said}}}"#), field, reason);
}

#[track_caller]
fn check_text(text: &str, field: &str, reason: &str) {
    let shown = text.get(..200).unwrap_or(text);
    let rejected = parse(text).expect_err(shown);
    assert_eq!(rejected.field.as_deref().unwrap_or_default(), field, "{shown}: {rejected}");
    assert!(rejected.reason.contains(reason), "{shown}: {rejected}");
}

#[test]
fn a_bare_task_gets_every_default() {
    let task = parse(r#"{"task":"app.mail.send"}"#).unwrap();
    assert_eq!(task.id, FRESH);
    assert_eq!((task.due, task.expires, task.timeout, task.key), (Due::Now, None, None, None));
    assert_eq!((task.limits, task.priority, task.retry), (KeyLimits::PARALLEL, Priority::default(), None));
    assert_eq!((task.body.args(), task.body.kwargs()), ("[]", "{}"));
    assert!(task.extras.is_none());
}

#[test]
fn what_is_said_is_what_is_meant() {
    let task = task(
        r#""uuid":"9760671a-6261-45aa-881a-f66929ff9725","args": [4, "x"] ,"kwargs":{"to":"…"},"namespace":"app.mail",
        "delay":2.5,"expires":600,"timeout":30,"on_duplicate":"serial","key":"k","priority":9,"bind":true,
        "retry":{"max_attempts":5,"backoff":{"initial":0.5,"factor":3,"max":60,"jitter":0}},
        "callbacks":[{"task":"after"}],"errbacks":[{"task":"failed","delay":1}],"reply_to":"r","traceparent":"00-1",
        "time_pub":1727354869.51,"guid":null"#,
    );
    assert_eq!(task.id.to_string(), "9760671a-6261-45aa-881a-f66929ff9725");
    assert_eq!(task.lane.namespace.as_str(), "app.mail");
    assert_eq!((task.body.args(), task.body.kwargs()), (r#"[4, "x"]"#, r#"{"to":"…"}"#));
    assert_eq!(task.due, Due::In(Duration::from_millis(2_500)));
    assert_eq!(task.expires, Some(Due::In(Duration::from_mins(10))));
    assert_eq!(task.timeout, Some(Duration::from_secs(30)));
    assert_eq!((task.limits, task.priority.get()), (KeyLimits::SERIAL, 9));
    let retry = Retry {
        max_attempts: 5,
        initial: Duration::from_millis(500),
        factor: 3.0,
        max: Duration::from_mins(1),
        jitter: 0.0,
    };
    assert_eq!(task.retry.as_deref(), Some(&retry));
    let extras = task.extras.unwrap();
    assert_eq!(extras.callbacks[0].body.text(), r#"{"task":"after"}"#);
    assert_eq!(extras.errbacks[0].due, Due::In(Duration::from_secs(1)));
    assert!(extras.bind && extras.callbacks[0].id != extras.errbacks[0].id);
    assert_eq!((extras.reply_to.as_deref(), extras.traceparent.as_deref()), (Some("r"), Some("00-1")));
}

#[test]
fn what_is_not_said_comes_from_the_handlers_defaults() {
    let defaults = || TaskDefaults {
        namespace: "elsewhere".parse().ok(),
        timeout: Some(Duration::from_secs(7)),
        retry: Some(Retry { max_attempts: 9, ..Retry::default() }),
        limits: Some(KeyLimits::DISCARD),
        priority: Priority::new(1),
    };
    let parse = |text| parse_task(text, FRESH, &|_| defaults()).unwrap();
    let task = parse(r#"{"task":"t"}"#);
    assert_eq!((task.lane.namespace.as_str(), task.priority.get()), ("elsewhere", 1));
    assert_eq!((task.timeout, task.limits), (Some(Duration::from_secs(7)), KeyLimits::DISCARD));
    assert!(task.key.is_some());
    let task =
        parse(r#"{"task":"t","timeout":1,"on_duplicate":"parallel","retry":{"backoff":{"jitter":1}}}"#);
    assert_eq!((task.timeout, task.key), (Some(Duration::from_secs(1)), None));
    assert_eq!(task.retry.as_deref(), Some(&Retry { max_attempts: 9, jitter: 1.0, ..Retry::default() }));
}

/// P4.
#[test]
fn a_value_of_the_wrong_type_or_out_of_range_is_rejected_by_name() {
    for bad in
        [r#""abc""#, "null", "NaN", "Infinity", "-1", "-0.1", "1e308", "1e999", "{}", "[]", "true", "\"5\""]
    {
        for field in ["delay", "timeout", "priority", "eta", "expires"] {
            check(&format!(r#""{field}":{bad}"#), field, "");
        }
    }
    check(r#""delay":"abc""#, "delay", r#"must be a number of seconds from 0 to 3155760000, not "abc""#);
    check(r#""delay":{"a":"secret"}"#, "delay", "not an object");
    check(r#""delay":NaN,"priority":1"#, "delay", "not JSON");
    check(r#""timeout":0"#, "timeout", "more than 0");
    check(r#""priority":10"#, "priority", "a whole number from 0 to 9, not 10");
    check(r#""priority":4.5"#, "priority", "whole number");
    check(r#""eta":1727354869"#, "eta", "a time with an offset");
    check(r#""eta":"tomorrow""#, "eta", r#"not "tomorrow""#);
    check(r#""delay":1,"eta":"2027-01-01T00:00:00Z""#, "eta", "not both");
    check(r#""uuid":"7""#, "uuid", "is not a UUID");
    check(r#""uuid":7"#, "uuid", "must be a string, not 7");
    check(r#""key":"""#, "key", "1 to 255 bytes");
    check(r#""key":7"#, "key", "must be a string");
    check(r#""bind":"yes""#, "bind", "true or false");
    check(r#""traceparent":{}"#, "traceparent", "must be a string");
    check(&format!(r#""key":"{}""#, "k".repeat(256)), "key", "1 to 255 bytes, not 256");
    check(&format!(r#""reply_to":"{}""#, "r".repeat(200)), "reply_to", "1 to 128 bytes, not 200");
}

/// P4: after a bad one, a good one.
#[test]
fn a_message_that_is_no_task_is_rejected() {
    for text in ["", "7", "[]", "null", "\"{}\"", "nonsense"] {
        check_text(text, "", "not a JSON object");
    }
    check_text(r#"{"task":"t""#, "", "not JSON");
    check_text(r#"{"task":"t"}}"#, "", "not JSON");
    check_text(r#"{"task":"t","delay":1,"delay":2}"#, "", "duplicate field `delay`");
    check_text("{}", "task", "is missing");
    check_text(r#"{"task":null}"#, "task", "must be a string, not null");
    check_text(r#"{"task":""}"#, "task", "empty");
    check_text(r#"{"task":"a\u0000b"}"#, "task", "control character");
}

/// Arguments may hold secrets.
#[test]
fn a_refused_argument_is_not_shown() {
    for (said, field) in [(r#""args":"secret""#, "args"), (r#""args":{"secret":1}"#, "args")] {
        check(said, field, "must be an array, not ");
    }
    check(r#""kwargs":["secret"]"#, "kwargs", "must be an object, not an array");
    check(r#""callbacks":"secret""#, "callbacks", "must be an array, not a string");
    let shown = with(r#""args":"secret""#).unwrap_err().to_string();
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn on_duplicate_is_a_name_or_limits() {
    let limits = |said: &str| task(&format!(r#""on_duplicate":{said}"#)).limits;
    assert_eq!(limits(r#""queue_one""#), KeyLimits::QUEUE_ONE);
    assert_eq!(limits(r#""replace""#), KeyLimits::REPLACE);
    assert_eq!(limits(r#"{"limit":3}"#), KeyLimits::new(3, KeyLimits::UNLIMITED, Overflow::DropNew));
    let dropping = KeyLimits::new(2, 1_000, Overflow::DropWaiting);
    assert_eq!(limits(r#"{"limit":2,"waiting":1000,"overflow":"drop_waiting"}"#), dropping);
    let names = r#"one of "parallel", "serial", "discard", "queue_one", "replace", not "queue""#;
    for (said, field, reason) in [
        (r#""queue""#, "on_duplicate", names),
        ("null", "on_duplicate", "not null"),
        ("{}", "on_duplicate.limit", "missing"),
        (r#"{"limit":0}"#, "on_duplicate.limit", "from 1 to"),
        (r#"{"limit":1,"waiting":1001}"#, "on_duplicate.waiting", "from 0 to 1000, not 1001"),
        (r#"{"limit":1,"waiting":null}"#, "on_duplicate.waiting", "null"),
        (r#"{"limit":1,"overflow":"drop"}"#, "on_duplicate.overflow", r#"one of "drop_new", "drop_waiting""#),
        (r#"{"limit":1,"waitng":1}"#, "on_duplicate", "unknown field `waitng`"),
    ] {
        check(&format!(r#""on_duplicate":{said}"#), field, reason);
    }
}

#[test]
fn retry_is_bounded_field_by_field() {
    for (said, field, reason) in [
        ("3", "retry", "must be an object, not 3"),
        (r#"{"max_attempts":0}"#, "retry.max_attempts", "from 1 to 10000"),
        (r#"{"attempts":1}"#, "retry", "unknown field `attempts`"),
        (r#"{"backoff":{"initial":-1}}"#, "retry.backoff.initial", "seconds"),
        (r#"{"backoff":{"factor":0.5}}"#, "retry.backoff.factor", "from 1 to 1000"),
        (r#"{"backoff":{"max":"1"}}"#, "retry.backoff.max", "seconds"),
        (r#"{"backoff":{"jitter":1.1}}"#, "retry.backoff.jitter", "from 0 to 1"),
        (r#"{"backoff":5}"#, "retry.backoff", "object"),
    ] {
        check(&format!(r#""retry":{said}"#), field, reason);
    }
}

/// D14, D12: the table of readings is in `rfc3339`.
#[test]
fn times_go_through_the_one_reading() {
    assert_eq!(task(r#""eta":"1970-01-01T05:30:01+05:30""#).due, Due::At(Timestamp(1_000_000)));
    assert_eq!(task(r#""eta":"9999-12-31T23:59:59.999999Z""#).due, Due::At(crate::rfc3339::MAX));
    assert_eq!(task(r#""expires":"1970-01-01T00:00:01Z""#).expires, Some(Due::At(Timestamp(1_000_000))));
    check(r#""eta":"+262142-01-01T00:00:00Z""#, "eta", "of the years 0000 to 9999");
    check(r#""eta":"2024-02-30T00:00:00Z""#, "eta", "must be a time with an offset");
    check(r#""expires":"2024-01-01T00:00:00""#, "expires", "must be a time with an offset");
}

/// D1: never early.
#[test]
fn seconds_are_rounded_up_to_a_microsecond() {
    for (said, micros) in
        [("0", 0), ("-0.0", 0), ("0.5", 500_000), ("1e-9", 1), ("0.0000015", 2), ("0.000123", 123)]
    {
        let due = if micros == 0 { Due::Now } else { Due::In(Duration::from_micros(micros)) };
        assert_eq!(task(&format!(r#""delay":{said}"#)).due, due, "{said}");
    }
    assert_eq!(task(r#""delay":3155760000"#).due, Due::In(crate::options::SPAN_MAX));
    check(r#""delay":3155760001"#, "delay", "3155760000");
}

/// R15.
#[test]
fn a_namespace_is_accepted_or_rejected_by_name() {
    let long = "x".repeat(256);
    for bad in ["", ".", "a..b", "a.", ".a", "a.*", "a#", "a b", "#", long.as_str()] {
        check(&format!(r#""namespace":"{bad}""#), "namespace", "");
    }
    let longest = "x".repeat(255);
    for good in ["a", "Ä.Ö", "数据.共享", "UPPER.lower", longest.as_str()] {
        assert_eq!(task(&format!(r#""namespace":"{good}""#)).lane.namespace.as_str(), good);
    }
}

/// R18.
#[test]
fn the_name_is_the_namespace_unless_it_cannot_be_one() {
    assert_eq!(parse(r#"{"task":"app.mail.send"}"#).unwrap().lane.namespace.as_str(), "app.mail.send");
    check_text(r#"{"task":"send a mail"}"#, "namespace", "must be given");
    let task = parse(r#"{"task":"send a mail","namespace":"app"}"#).unwrap();
    assert_eq!(task.name().as_str(), "send a mail");
}

/// P16.
#[test]
fn missing_arguments_and_empty_ones_make_the_same_key() {
    let key = |text: &str| parse(text).unwrap().key;
    let bare = key(r#"{"task":"t","on_duplicate":"discard"}"#);
    assert!(bare.is_some());
    assert_eq!(bare, key(r#"{"task":"t","on_duplicate":"discard","args":[]}"#));
    assert_eq!(bare, key(r#"{"task":"t","on_duplicate":"serial","kwargs":{}}"#));
    assert_ne!(bare, key(r#"{"task":"t","on_duplicate":"discard","args":[1]}"#));
    assert_ne!(bare, key(r#"{"task":"t","on_duplicate":"discard","namespace":"n"}"#));
    let given = key(r#"{"task":"t","key":"k"}"#);
    assert!(given.is_some() && given == key(r#"{"task":"u","key":"k","args":[1],"on_duplicate":"serial"}"#));
}

/// P13.
#[test]
fn a_body_is_kept_byte_for_byte() {
    let odd = r#"{ "task" : "t", "x-unknown": {"a":[1.50, -0, 1e5]}, "args":["🦀","\"","\u0000\ud83e\udd80"] , "kwargs":{"b":1,"a":2} }"#;
    let task = parse(odd).unwrap();
    assert_eq!(task.body.text(), odd);
    assert_eq!(task.body.args(), r#"["🦀","\"","\u0000\ud83e\udd80"]"#);
    assert_eq!(task.body.kwargs(), r#"{"b":1,"a":2}"#);
    let around = r#"{"task":"t","args":[""]}"#.len();
    for bytes in [7_999, 8_000, 8_001, MESSAGE_MAX] {
        let filling = "x".repeat(bytes - around);
        let text = format!(r#"{{"task":"t","args":["{filling}"]}}"#);
        let task = parse(&text).unwrap();
        assert_eq!((task.body.text().len(), task.body.args().len()), (bytes, filling.len() + 4));
        assert_eq!(task.body.text(), text);
    }
    let filling = "x".repeat(MESSAGE_MAX + 1 - around);
    check_text(
        &format!(r#"{{"task":"t","args":["{filling}"]}}"#),
        "",
        "has 1048577 bytes, at most 1048576 are allowed",
    );
}

#[test]
fn a_message_nests_at_most_128_levels() {
    let nested =
        |levels: usize| format!(r#"{{"task":"t","args":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&nested(127)).is_ok());
    check_text(&nested(128), "", "nests deeper than 128 levels");
    check_text(&"[".repeat(MESSAGE_MAX), "", "nests deeper");
    let wide = format!(r#"{{"task":"t","args":[{}"[[[\"[[["]}}"#, "[],".repeat(1_000));
    assert!(parse(&wide).is_ok(), "brackets beside each other and in strings do not nest");
}

#[test]
fn callbacks_are_tasks_and_are_checked_as_such() {
    check(r#""callbacks":{}"#, "callbacks", "must be an array");
    check(r#""callbacks":[7]"#, "callbacks[0]", "not a JSON object");
    check(r#""callbacks":[{"task":"a"},{"task":"b","delay":"x"}]"#, "callbacks[1].delay", "seconds");
    check(r#""errbacks":[{"task":"a","callbacks":[{}]}]"#, "errbacks[0].callbacks[0].task", "missing");
    let many = |count| format!(r#""callbacks":[{}]"#, vec![r#"{"task":"a"}"#; count].join(","));
    assert_eq!(task(&many(100)).extras.unwrap().callbacks.len(), 100);
    check(&many(101), "callbacks", "at most 100 tasks, not 101");
    let deep = |levels| {
        format!("{}{{\"task\":\"z\"}}{}", r#"{"task":"t","callbacks":["#.repeat(levels), "]}".repeat(levels))
    };
    assert!(parse(&deep(8)).is_ok());
    assert!(parse(&deep(9)).unwrap_err().to_string().contains("nest at most 8 deep"));
}
