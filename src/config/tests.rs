use std::fmt::Write as _;
use std::time::Duration;

use taskyard_core::id::PoolId;
use taskyard_core::schedule::CatchUp;
use taskyard_core::task::Retry;

use super::*;
use crate::store::{Durability, Kept};

#[track_caller]
fn settings(text: &str) -> Settings {
    Settings::parse(text, Handlers::Own).unwrap_or_else(|error| panic!("{error}"))
}

/// What is refused, with `expected` in what is said of it.
#[track_caller]
fn check(text: &str, expected: &str) {
    let error = Settings::parse(text, Handlers::Own).expect_err(text).to_string();
    assert!(error.contains(expected), "{text}\n{error}\nshould contain\n{expected}");
}

/// The same for lines of a pool.
#[track_caller]
fn check_pool(lines: &str, expected: &str) {
    check(&format!("[pools.nlp]\n{lines}\n"), expected);
}

#[test]
fn a_bare_pool_gets_every_default() {
    let settings = settings("[pools.nlp]");
    let pool = &settings.pools[0];
    assert_eq!((pool.id, pool.name.as_str(), pool.kind), (PoolId(0), "nlp", Kind::Process));
    assert_eq!(pool.patterns, ["#".parse().unwrap()]);
    assert_eq!((pool.machine.min, pool.machine.max, pool.machine.grace), (0, 1, defaults::GRACE));
    assert!(pool.command.is_none() && pool.retry.is_none() && settings.socket.is_none());
    assert_eq!(settings.conductor.live_max, defaults::LIVE_MAX);
    assert_eq!(settings.board.board_max, defaults::BOARD_MAX);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a whole configuration, and what each of its keys means")]
fn what_is_said_is_what_is_meant() {
    let settings = settings(
        r#"
        [yard]
        live_max = 10
        board_max = 20
        near_max = 5
        horizon = "1s 500ms"
        aging = 0
        unroutable = "reject"
        drain_grace = "2m"

        [store]
        url = "sqlite:tasks.db"
        durability = "normal"
        lease = "5s"
        result_ttl = "1h"
        result_max = "1 MB"
        history = "48h"
        history_max = 7

        [socket]
        path = "/run/yard.sock"

        [pools.b]
        kind = "blocking"
        max_stuck = 2

        [pools.a]
        command = ["python3", "-m", "worker"]
        directory = "/srv"
        environment = { LANG = "C" }
        patterns = ["app.#", "mail.*"]
        min = 1
        max = 4
        concurrency = 8
        ahead = false
        timeout = 30
        grace = 0.5
        kill_after = "3s"
        idle_for = "1h"
        spare = 1
        max_age = "24h"
        max_tasks = 100
        memory_limit = "512 MiB"
        ready_within = "2m"
        restart_intensity = 7
        restart_period = 0.5
        retry = { max_attempts = 5, backoff = { initial = "1s", factor = 3, max = "1m", jitter = 0 } }

        [[schedules]]
        name = "nightly"
        task = "app.clean"
        cron = "30 2 * * *"
        time_zone = "Europe/Berlin"
        args = [1, { a = 1.5 }]
        kwargs = { day = 2024-01-01 }
        namespace = "app"
        catch_up = "all"
        jitter = "10s"

        [[schedules]]
        name = "often"
        task = "app.ping"
        every = "5s"

        [[on_start]]
        task = "app.warm"
        eta = 2027-01-01T00:00:00Z
        "#,
    );
    assert_eq!((settings.conductor.live_max, settings.conductor.near_max), (10, 5));
    assert_eq!(settings.conductor.horizon, Duration::from_millis(1_500));
    assert_eq!((settings.board.board_max, settings.board.aging), (20, Duration::ZERO));
    assert!(settings.board.reject_unroutable);
    let store = &settings.store;
    assert_eq!((store.to_string().as_str(), store.durability), ("sqlite:tasks.db", Durability::Normal));
    let (lease, hour) = (Duration::from_secs(5), Duration::from_hours(1));
    let kept = Kept { result_ttl: hour, result_max: 1_000_000, history: 48 * hour, history_max: 7 };
    assert_eq!((store.lease, store.kept), (lease, kept));
    assert_eq!(settings.socket, Some("/run/yard.sock".into()));
    let [a, b] = &settings.pools[..] else { panic!("two pools") };
    assert_eq!((a.id, a.name.as_str(), b.id, b.kind), (PoolId(0), "a", PoolId(1), Kind::Blocking));
    assert_eq!((b.machine.max_stuck, b.machine.killable), (2, false));
    let command = a.command.as_ref().unwrap();
    assert_eq!((command.program.as_str(), command.arguments.len()), ("python3", 2));
    assert_eq!((command.directory.clone(), command.environment["LANG"].as_str()), (Some("/srv".into()), "C"));
    let machine = &a.machine;
    assert_eq!((machine.min, machine.max, machine.concurrency, machine.send_ahead), (1, 4, 8, false));
    assert_eq!(machine.timeout, Some(Duration::from_secs(30)));
    assert_eq!((machine.grace, machine.kill_after), (Duration::from_millis(500), Duration::from_secs(3)));
    assert_eq!((machine.idle_for, machine.drain_grace), (Duration::from_hours(1), Duration::from_mins(2)));
    assert_eq!((machine.spare, machine.max_tasks), (1, Some(100)));
    assert_eq!((machine.ready_within, machine.restart_intensity), (Duration::from_mins(2), 7));
    assert_eq!(machine.restart_period, Duration::from_millis(500));
    assert_eq!((machine.max_age, machine.memory_limit), (Some(Duration::from_hours(24)), Some(512 << 20)));
    let retry = Retry {
        max_attempts: 5,
        initial: Duration::from_secs(1),
        factor: 3.0,
        max: Duration::from_mins(1),
        jitter: 0.0,
    };
    assert_eq!(settings.conductor.retry.get(&PoolId(0)), Some(&retry));
    assert_eq!(settings.conductor.retry.len(), 1);
    let [nightly, often] = &settings.schedules[..] else { panic!("two schedules") };
    assert_eq!(
        nightly.task,
        r#"{"args":[1,{"a":1.5}],"kwargs":{"day":"2024-01-01"},"namespace":"app","task":"app.clean"}"#
    );
    assert!(matches!(nightly.when, When::Cron(_)));
    assert_eq!((nightly.catch_up, nightly.jitter), (CatchUp::All, Duration::from_secs(10)));
    assert!(matches!(often.when, When::Every(every) if every == Duration::from_secs(5)));
    assert_eq!(settings.on_start, [r#"{"eta":"2027-01-01T00:00:00Z","task":"app.warm"}"#]);
}

#[test]
fn an_unknown_key_is_named_with_those_that_are_allowed() {
    check("[pool.nlp]\n", "pool: unknown field `pool`, expected one of `yard`, `store`, `pools`");
    check("[yard]\nlive = 1\n", "yard.live: unknown field `live`, expected one of `live_max`");
    check_pool("mni = 1", "pools.nlp.mni: unknown field `mni`");
    check_pool("retry = { backoff = { step = 1 } }", "pools.nlp.retry.backoff.step: unknown field");
    check("[[schedules]]\nnmae = 'x'\n", "schedules[0].nmae: unknown field `nmae`");
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    check("[pools.nlp", "TOML parse error at line 1");
    check_pool("min = 'two'", "pools.nlp.min: invalid type: string \"two\"");
    check_pool("min = -1", "pools.nlp.min: ");
    check_pool(
        "kind = 'thread'",
        "pools.nlp.kind: unknown variant `thread`, expected one of `process`, `blocking`",
    );
    check_pool("timeout = -1", "pools.nlp.timeout: must be seconds from 0 to 3155760000, or as in \"5s\"");
    check_pool("timeout = nan", "pools.nlp.timeout: must be seconds");
    check_pool("timeout = 1e308", "pools.nlp.timeout: must be seconds");
    check_pool("timeout = '5 parsecs'", "pools.nlp.timeout: must be seconds");
    check_pool("timeout = '-5s'", "pools.nlp.timeout: must be seconds");
    check_pool("timeout = '200y'", "pools.nlp.timeout: must be seconds");
    check_pool("memory_limit = '512 Mb'", "pools.nlp.memory_limit: must be bytes, or as in \"512 MiB\"");
    check_pool("memory_limit = '99999999999 GiB'", "pools.nlp.memory_limit: must be bytes");
    check(
        "[yard]\nunroutable = 'drop'\n",
        "yard.unroutable: unknown variant `drop`, expected `park` or `reject`",
    );
    check("[socket]\n", "socket: missing field `path`");
    check("[socket]\npath = ''\n", "socket.path: is empty");
    check_pool("memory_limit = 0", "pools.nlp.memory_limit: must be more than 0");
}

#[test]
fn a_pool_that_cannot_be_is_refused() {
    check("", "pools: there is none");
    check_pool("min = 5\nmax = 2", "pools.nlp.min: 5 is more than pools.nlp.max (2)");
    check_pool("max = 0", "pools.nlp.max: must be from 1 to 10000, not 0");
    check_pool("concurrency = 0", "pools.nlp.concurrency: must be from 1");
    check_pool("timeout = 0", "pools.nlp.timeout: must be more than 0");
    check_pool("ready_within = 0", "pools.nlp.ready_within: must be more than 0");
    check_pool("restart_intensity = 0", "pools.nlp.restart_intensity: must be at least 1");
    check_pool("max_tasks = 0", "pools.nlp.max_tasks: must be at least 1");
    check_pool("command = []", "pools.nlp.command: is empty");
    check_pool(
        "kind = 'inline'\ncommand = ['x']",
        "pools.nlp.command: only a pool of kind \"process\" has it",
    );
    check_pool("kind = 'inline'\nmax_stuck = 1", "pools.nlp.max_stuck: only a pool of kind \"blocking\"");
    check_pool("directory = '/'", "pools.nlp.directory: only a pool with a command has it");
    check_pool("max_attempts = 0", "pools.nlp.max_attempts: must be from 1 to 10000");
    check_pool("max_attempts = 1\nretry = { max_attempts = 2 }", "pools.nlp.max_attempts: give either");
    check_pool("retry = { backoff = { factor = 0.5 } }", "pools.nlp.retry.backoff.factor: must be from 1");
    check_pool(
        "retry = { backoff = { jitter = nan } }",
        "pools.nlp.retry.backoff.jitter: must be from 0 to 1",
    );
    check("[pools.'a b']", "pools.a b: a pool's name has 1 to 64 letters");
    check("[yard]\nlive_max = 0\n[pools.nlp]\n", "yard.live_max: must be at least 1");
    let many = (0..65).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "[pools.p{number}]");
        text
    });
    check(&many, "pools: there are 65, at most 64 are allowed");
}

#[test]
fn a_store_that_cannot_be_is_refused() {
    let check = |lines: &str, expected: &str| check(&format!("[store]\n{lines}\n[pools.nlp]"), expected);
    check("url = 'tasks.db'", "store.url: must be `memory`, `sqlite:PATH` or `postgres://");
    check("url = 'sqlite::memory:'", "store.url: a board in the memory of SQLite would be lost");
    check("durability = 'normal'", "store.durability: only a store that outlives the yard has it");
    check("schema = 's'", "store.schema: only a Postgres store has it");
    check("lease = '5s'", "store.lease: only a store that outlives the yard has it");
    check("history_max = 5", "store.history_max: only a store that outlives the yard has it");
    let sqlite = |line: &str| format!("url = 'sqlite:t.db'\n{line}");
    check(&sqlite("lease = 1"), "store.lease: must be from 2 s to 3600 s");
    check(&sqlite("durability = 'none'"), "store.durability: unknown variant `none`, expected `full` or");
    check(&sqlite("result_max = '1 GiB'"), "store.result_max: must be at most");
    check("url = 'postgres://h/d'\nschema = 'a-b'", "store.schema: must be 1 to 40 of a-z");
    check("url = 'postgres://h/d'\nschema = '1a'", "store.schema: must be 1 to 40 of a-z");
}

#[test]
fn a_board_on_disk_keeps_more_than_one_in_memory() {
    let on_disk = settings("[store]\nurl = 'sqlite:t.db'\n[pools.nlp]");
    assert_eq!(on_disk.board.board_max, defaults::BOARD_MAX_ON_DISK);
    let said = settings("[yard]\nboard_max = 5\n[store]\nurl = 'sqlite:t.db'\n[pools.nlp]");
    assert_eq!(said.board.board_max, 5);
}

#[test]
fn without_own_handlers_every_pool_needs_a_command() {
    let refused = |text: &str| Settings::parse(text, Handlers::None).unwrap_err().to_string();
    assert!(refused("[pools.nlp]").starts_with("pools.nlp.command: is missing"));
    assert!(refused("[pools.nlp]\nkind = 'inline'").starts_with("pools.nlp.kind: must be \"process\""));
    assert!(Settings::parse("[pools.nlp]\ncommand = ['x']", Handlers::None).is_ok());
}

/// R15.
#[test]
fn a_pattern_is_accepted_or_rejected_by_name() {
    let long = "x".repeat(256);
    for bad in ["", ".", "a..b", "a.", ".a", "a*", "a#", "a b", long.as_str()] {
        check_pool(&format!("patterns = ['#', '{bad}']"), "pools.nlp.patterns[1]: ");
    }
    check_pool("patterns = ['a*']", "mixes a wildcard with letters");
    check_pool("patterns = []", "pools.nlp.patterns: is empty");
    for good in ["#", "*", "a.*", "a.#.b", "Ä.Ö", "UPPER.lower"] {
        settings(&format!("[pools.nlp]\npatterns = ['{good}']"));
    }
}

#[test]
fn a_schedule_that_cannot_be_is_refused() {
    let check = |lines: &str, expected: &str| {
        check(&format!("[pools.nlp]\n[[schedules]]\nname = 'n'\ntask = 't'\n{lines}"), expected);
    };
    check("", "schedules[0].every: give either `every` or `cron`");
    check("every = 1\ncron = '* * * * *'", "schedules[0].every: give either");
    check("every = 0", "schedules[0].every: must be at least 1 ms");
    check("every = 1\ntime_zone = 'UTC'", "schedules[0].time_zone: only `cron` has one");
    check("cron = '60 * * * *'", "schedules[0].cron: the minute \"60\" cannot be read (0 to 59)");
    check("cron = '* * * * *'\ntime_zone = 'Mars'", "schedules[0].time_zone: there is no time zone \"Mars\"");
    check("every = 1\ncatch_up = 'some'", "schedules[0].catch_up: unknown variant `some`");
    check("every = 1\nnamespace = 'a..b'", "schedules[0].namespace: ");
    let second = "every = 1\n[[schedules]]\nname = 'n'\ntask = 't'\nevery = 1";
    check(second, "schedules[1].name: another schedule is called \"n\" already");
}

#[test]
fn a_task_of_the_start_is_checked_as_one_from_the_wire() {
    let check = |lines: &str, expected: &str| check(&format!("[pools.nlp]\n[[on_start]]\n{lines}"), expected);
    check("", "on_start[0].task: is missing");
    check("task = 't'\ndelay = 'abc'", "on_start[0].delay: must be a number of seconds");
    check("task = 't'\neta = 2027-01-01T00:00:00", "on_start[0].eta: must be a time with an offset");
}
