//! Holds the documents to the code: what stands in the source must stand in its table, and links must lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use taskyard::core::options::{
    ATTEMPTS_MAX, CALLBACKS_MAX, KEY_MAX, REPLY_TO_MAX, SPAN_MAX, TRACEPARENT_MAX,
};
use taskyard::core::task::{KeyLimits, Priority, Retry};
use taskyard::core::{defaults, pool, wire};
use taskyard::registry::RESULT_MAX;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fields of a struct, in the order of its source.
#[track_caller]
fn fields(source: &str, name: &str) -> Vec<String> {
    let head = format!("struct {name}");
    let from = source.lines().skip_while(|line| !is_head(line, &head)).skip(1);
    let field = |line: &str| {
        let line = line.trim().trim_start_matches("pub ");
        let (field, _) = line.split_once(": ").filter(|_| !line.starts_with(['/', '#']))?;
        Some(field.to_owned())
    };
    let fields: Vec<_> = from.take_while(|line| *line != "}").filter_map(field).collect();
    assert!(!fields.is_empty(), "no struct {name}");
    fields
}

fn is_head(line: &str, head: &str) -> bool {
    line.split_once(head).is_some_and(|(_, rest)| rest.starts_with([' ', '<']))
}

/// The names at the beginning of the arms of a `match` that reads frames.
fn arms(source: &str) -> BTreeSet<String> {
    let arm = |line: &str| {
        let (name, rest) = line.trim().strip_prefix('"')?.split_once('"')?;
        rest.starts_with(" => ").then(|| name.to_owned())
    };
    source.lines().filter_map(arm).collect()
}

/// The rows of the tables below a heading, up to the next heading.
#[track_caller]
fn rows(document: &str, heading: &str) -> Vec<Vec<String>> {
    let below = document.lines().skip_while(|line| *line != heading).skip(1);
    let section = below.take_while(|line| !line.starts_with('#'));
    let rows = section
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    let rows: Vec<_> = rows.collect();
    assert!(!rows.is_empty(), "no table below {heading:?}");
    rows
}

fn first_cells(rows: &[Vec<String>]) -> Vec<String> {
    rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect()
}

/// The last cell of the row that begins with this word.
#[track_caller]
fn last_cell<'r>(rows: &'r [Vec<String>], first: &str) -> &'r str {
    let row = rows.iter().find(|row| row[0] == format!("`{first}`"));
    row.and_then(|row| row.last()).unwrap_or_else(|| panic!("no row {first:?}"))
}

fn seconds(span: Duration) -> String {
    format!("{} s", span.as_secs())
}

fn hours(span: Duration) -> String {
    format!("{} h", span.as_secs() / 3_600)
}

const CONFIGURATION: &str = "docs/configuration.md";

#[test]
fn every_key_of_the_configuration_has_its_row() {
    let (source, document) = (read("src/config/raw.rs"), read(CONFIGURATION));
    for (name, heading) in [
        ("Config", "## The file"),
        ("Yard", "### `[yard]`"),
        ("Store", "### `[store]`"),
        ("Pool", "### `[pools.NAME]`"),
        ("Retry", "#### `[pools.NAME.retry]`"),
        ("Backoff", "#### `[pools.NAME.retry.backoff]`"),
        ("Socket", "### `[socket]`"),
        ("Schedule", "### `[[schedules]]`"),
    ] {
        assert_eq!(first_cells(&rows(&document, heading)), fields(&source, name), "{heading}");
    }
}

#[test]
fn every_default_of_the_configuration_is_as_documented() {
    let document = read(CONFIGURATION);
    let yard = rows(&document, "### `[yard]`");
    for (key, value) in [
        ("live_max", defaults::LIVE_MAX.to_string()),
        ("board_max", format!("{} in memory, {} on disk", defaults::BOARD_MAX, defaults::BOARD_MAX_ON_DISK)),
        ("near_max", defaults::NEAR_MAX.to_string()),
        ("horizon", seconds(defaults::HORIZON)),
        ("aging", seconds(defaults::AGING)),
        ("drain_grace", seconds(defaults::DRAIN_GRACE)),
    ] {
        assert_eq!(last_cell(&yard, key), value, "yard.{key}");
    }
    let store = rows(&document, "### `[store]`");
    for (key, value) in [
        ("lease", seconds(defaults::LEASE)),
        ("result_ttl", hours(defaults::RESULT_TTL)),
        ("result_max", format!("{} bytes", defaults::RESULT_MAX)),
        ("history", hours(defaults::HISTORY_FOR)),
        ("history_max", defaults::HISTORY_MAX.to_string()),
    ] {
        assert_eq!(last_cell(&store, key), value, "store.{key}");
    }
    let (pool, machine) = (rows(&document, "### `[pools.NAME]`"), pool::Settings::default());
    for (key, value) in [
        ("min", machine.min.to_string()),
        ("max", machine.max.to_string()),
        ("concurrency", format!("{}; `inline`: 100", machine.concurrency)),
        ("ahead", format!("`{}`", machine.send_ahead)),
        ("grace", seconds(defaults::GRACE)),
        ("kill_after", seconds(defaults::KILL_AFTER)),
        ("idle_for", seconds(defaults::IDLE_FOR)),
        ("spare", machine.spare.to_string()),
        ("max_attempts", Retry::default().max_attempts.to_string()),
        ("max_stuck", machine.max_stuck.to_string()),
        ("ready_within", seconds(machine.ready_within)),
        ("restart_intensity", machine.restart_intensity.to_string()),
        ("restart_period", seconds(machine.restart_period)),
    ] {
        assert_eq!(last_cell(&pool, key), value, "pools.NAME.{key}");
    }
    let (backoff, retry) = (rows(&document, "#### `[pools.NAME.retry.backoff]`"), Retry::default());
    for (key, value) in [
        ("initial", seconds(retry.initial)),
        ("factor", retry.factor.to_string()),
        ("max", seconds(retry.max)),
        ("jitter", retry.jitter.to_string()),
    ] {
        assert_eq!(last_cell(&backoff, key), value, "pools.NAME.retry.backoff.{key}");
    }
    let Retry { max_attempts, .. } = retry;
    let documented = rows(&document, "#### `[pools.NAME.retry]`");
    assert_eq!(last_cell(&documented, "max_attempts"), max_attempts.to_string());
}

/// Both ways of saying the same defaults, in the table of defaults and in the pools' own.
#[test]
fn the_defaults_of_pools_are_those_of_the_table() {
    let machine = pool::Settings::default();
    assert_eq!(
        (machine.grace, machine.kill_after, machine.idle_for, machine.drain_grace),
        (defaults::GRACE, defaults::KILL_AFTER, defaults::IDLE_FOR, defaults::DRAIN_GRACE)
    );
}

#[test]
fn every_field_of_a_task_has_its_row() {
    let document = read("docs/tasks.md");
    let mut told = first_cells(&rows(&document, "## Its fields"));
    told.retain(|name| !name.contains('('));
    let mut known = fields(&read("core/src/wire/mod.rs"), "WireTask");
    told.sort();
    known.sort();
    assert_eq!(told, known);
    let policies = read("core/src/wire/policy.rs");
    for (name, prefix, heading) in [
        ("WireLimits", "on_duplicate", "## Duplicates"),
        ("WireRetry", "retry", "## Attempts"),
        ("WireBackoff", "retry.backoff", "## Attempts"),
    ] {
        let told = first_cells(&rows(&document, heading));
        for field in fields(&policies, name) {
            assert!(told.contains(&format!("{prefix}.{field}")), "{prefix}.{field} below {heading:?}");
        }
    }
}

#[test]
fn every_bound_and_default_of_a_task_is_as_documented() {
    let document = read("docs/tasks.md");
    let all = rows(&document, "## Its fields");
    assert_eq!(last_cell(&all, "priority"), Priority::default().get().to_string());
    let (attempts, retry) = (rows(&document, "## Attempts"), Retry::default());
    for (field, value) in [
        ("retry.max_attempts", retry.max_attempts.to_string()),
        ("retry.backoff.initial", retry.initial.as_secs().to_string()),
        ("retry.backoff.factor", retry.factor.to_string()),
        ("retry.backoff.max", retry.max.as_secs().to_string()),
        ("retry.backoff.jitter", retry.jitter.to_string()),
    ] {
        assert_eq!(last_cell(&attempts, field), value, "{field}");
    }
    let limits = document.split_once("\n## Limits\n").unwrap().1;
    for row in [
        format!("{} bytes | `core::defaults::MESSAGE_MAX`", defaults::MESSAGE_MAX),
        format!("{} | `core::defaults::NESTING_MAX`", defaults::NESTING_MAX),
        format!("{} bytes | `core::names::MAX_BYTES`", taskyard::core::names::MAX_BYTES),
        format!("{KEY_MAX} bytes | `core::options::KEY_MAX`"),
        format!("{REPLY_TO_MAX} bytes | `core::options::REPLY_TO_MAX`"),
        format!("{TRACEPARENT_MAX} bytes | `core::options::TRACEPARENT_MAX`"),
        format!("{} s | `core::options::SPAN_MAX`", SPAN_MAX.as_secs()),
        format!("{ATTEMPTS_MAX} | `core::options::ATTEMPTS_MAX`"),
        format!("{CALLBACKS_MAX} | `core::options::CALLBACKS_MAX`"),
        format!("{} | `core::wire::CALLBACK_DEPTH_MAX`", wire::CALLBACK_DEPTH_MAX),
        format!("{} | `KeyLimits::MAX_WAITING`", KeyLimits::MAX_WAITING),
        format!("{} | `core::options::RUNNING_MAX`", taskyard::core::options::RUNNING_MAX),
        format!("{RESULT_MAX} bytes of JSON | `registry::RESULT_MAX`"),
        format!("{} | `yard.board_max`", defaults::BOARD_MAX),
        format!("{} | `core::defaults::LANES_MAX`", defaults::LANES_MAX),
        format!("{} | `yard.live_max`", defaults::LIVE_MAX),
        format!("{} | `core::defaults::REMEMBERED`", defaults::REMEMBERED),
    ] {
        assert!(limits.contains(&format!("| {row} |")), "not in the table of limits: {row}");
    }
}

#[test]
fn every_command_has_its_heading() {
    let (source, document) = (read("src/control/commands.rs"), read(CONFIGURATION));
    let name = |line: &str| Some(line.strip_prefix("    (\"")?.split_once('"')?.0.to_owned());
    let known: BTreeSet<_> = source.lines().filter_map(name).collect();
    let told = document.lines().filter_map(|line| Some(line.strip_prefix("### `")?.trim_matches('`')));
    let told: BTreeSet<_> = told.filter(|name| !name.contains('[')).map(str::to_owned).collect();
    assert_eq!(told, known);
}

#[test]
fn every_frame_has_its_heading() {
    let document = read("docs/worker-protocol.md");
    let known = arms(&read("src/protocol/to_worker.rs"));
    let known: BTreeSet<_> = known.union(&arms(&read("src/protocol/from_worker.rs"))).cloned().collect();
    let told = document.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned);
    let mut told: BTreeSet<_> = told.collect();
    assert!(told.insert("unstartable".into()), "no frame for others to send");
    assert_eq!(told, known);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> = Vec::new();
    for folder in [root.to_owned(), root.join("docs")] {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        documents.extend(entries.filter(|path| path.extension().is_some_and(|name| name == "md")));
    }
    assert!(documents.len() > 5, "{documents:?}");
    let broken: Vec<_> = documents.iter().flat_map(|path| broken_links(path)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

fn broken_links(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).unwrap();
    let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let local = targets.filter(|target| !target.contains("://"));
    let is_broken = |target: &&str| {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = if file.is_empty() { document.to_owned() } else { document.parent().unwrap().join(file) };
        !path.exists() || !anchor.is_empty() && !anchors(&path).contains(anchor)
    };
    local.filter(is_broken).map(|target| format!("{}: {target}", document.display())).collect()
}

/// What can follow `#` in a link to this document: its headings, lower case, without punctuation, a dash for a space.
fn anchors(document: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(document).unwrap_or_default();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let plain = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(plain).collect()
}

/// Names in `code` of at least three words: tests. What the document calls by a shorter name is a setting or a state.
fn tests_named(document: &str) -> BTreeSet<String> {
    let is_test = |text: &&str| {
        text.matches('_').count() >= 2 && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    document.split('`').skip(1).step_by(2).filter(is_test).map(str::to_owned).collect()
}

fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of tests") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push_str(&fs::read_to_string(&path).expect("a test's source"));
        }
    }
}

#[test]
fn what_is_promised_is_held_by_a_test_that_there_is() {
    let document = read("docs/guarantees.md");
    let mut found = String::new();
    for folder in ["tests", "core/tests", "actors/tests"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
    }
    let named = tests_named(&document);
    assert!(named.len() > 30, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !found.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
    // Whatever is listed as a promise, before what is not promised, names its test.
    let promises = document.split("## By kind of pool").next().unwrap_or_default().split("\n- ").skip(1);
    for promise in promises {
        let said_so = promise.contains("no test here");
        assert!(said_so || !tests_named(promise).is_empty(), "no test for: {promise}");
    }
}
