//! What no compiler holds: the invariants of ARCHITECTURE.md that are about which words stand in which files.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    collect(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "there is no source in {folder}");
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// Lines of code that hold one of the words, comments and test modules left out.
fn offenders(folder: &str, words: &[&str]) -> Vec<String> {
    let mut offenders = Vec::new();
    for (path, text) in sources(folder) {
        if path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "testing")
            || path.file_stem().is_some_and(|stem| stem == "tests" || stem == "fixture")
        {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default();
            for word in words.iter().filter(|word| line.contains(**word)) {
                offenders.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    offenders
}

#[test]
fn the_core_reads_no_clock_and_does_no_io() {
    let manifest = fs::read_to_string(root().join("core/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
    for word in ["actix", "tokio", "futures", "rand", "tracing"] {
        assert!(!dependencies.contains(word), "core depends on {word}");
    }
    let words = [
        "SystemTime::now",
        "Instant::now",
        "std::fs",
        "std::net",
        "std::thread",
        "std::env",
        "println!",
        "async ",
        "RandomState",
    ];
    assert_eq!(offenders("core/src", &words), [""; 0]);
}

#[test]
fn machines_do_not_import_each_other() {
    let machines = ["conductor", "board", "delayer", "blocker", "in_progress", "queuer", "pool"];
    for machine in machines {
        let others: Vec<_> = machines
            .iter()
            .filter(|other| **other != machine)
            .map(|other| format!("crate::{other}::"))
            .collect();
        let words: Vec<_> = others.iter().map(String::as_str).collect();
        let own = |place: &String| {
            let path = place.split(':').next().unwrap_or_default();
            path.contains(&format!("/src/{machine}/")) || path.ends_with(&format!("/src/{machine}.rs"))
        };
        let found: Vec<_> = offenders("core/src", &words).into_iter().filter(own).collect();
        assert_eq!(found, [""; 0]);
    }
}

#[test]
fn no_actor_awaits_another() {
    // `send` of an address gives a future to wait on; actors use `do_send`.
    let words = [".send(tell", ".send(Tell", ".try_send("];
    assert_eq!(offenders("actors/src", &words), [""; 0]);
    assert_eq!(offenders("src", &words), [""; 0]);
}

#[test]
fn the_library_has_no_registry_and_no_global() {
    let words = [
        "SystemService",
        "ArbiterService",
        "from_registry",
        "static mut",
        "lazy_static",
        "System::current().stop",
    ];
    for folder in ["core/src", "actors/src", "src"] {
        assert_eq!(offenders(folder, &words), [""; 0]);
    }
}

#[test]
fn every_file_says_first_what_it_is() {
    for folder in ["core/src", "actors/src", "src"] {
        for (path, text) in sources(folder) {
            let in_tests = path.to_string_lossy().contains("tests");
            assert!(in_tests || text.starts_with("//! "), "{} does not say what it is", path.display());
        }
    }
}

#[test]
fn nothing_is_left_open_or_unwrapped() {
    for folder in ["core/src", "actors/src", "src"] {
        assert_eq!(offenders(folder, &["todo!", "unimplemented!", ".unwrap()", "TODO", "FIXME"]), [""; 0]);
    }
}

/// The manual's lints: a new crate must take them over.
#[test]
fn every_crate_has_the_workspace_lints() {
    for manifest in ["Cargo.toml", "core/Cargo.toml", "actors/Cargo.toml"] {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "{manifest} does not take over the lints");
    }
}

/// Who prints an error with its causes would read each of them twice.
#[test]
fn an_error_that_tells_its_cause_does_not_pass_it_on_as_well() {
    for folder in ["core/src", "actors/src", "src", "examples"] {
        assert_eq!(offenders(folder, &["#[source]"]), [""; 0]);
        for (path, text) in sources(folder) {
            let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.starts_with("///")).collect();
            for pair in lines.windows(2).filter(|pair| pair[1].contains("#[from]")) {
                assert_eq!(pair[0], "#[error(transparent)]", "{}: {}", path.display(), pair[1]);
            }
        }
    }
}
