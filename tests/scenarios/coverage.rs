//! Each scenario is named in the doc comment of a test. This reads the sources; what a test then does is its own affair.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Over the facade, with real processes and real time where they matter.
const BLACK_BOX: &str =
    "P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P15 P16 P17 P18 P19 P20 P21 P22 P23 P24 P25 P26 P27 P28 P29
    B1 B3 B4 B5 B6 B7 B8 B9 B10 B11 B12 B13 B14 B17 B18 B19 B20 B21 B22 B23
    D1 D2 D3 D4 D5 D6 D7 D8 D10 D11 D15 D16 D18 D19 D20 R2 R3 R5 R6 R8 R9 R13 R18";

/// Decisions which a machine, a board or a reader of text takes alone.
const ANYWHERE: &str = "B2 B15 B16 D9 D12 D13 D14 D17 R10 R15 R16";

/// The Rust sources under a directory, without what was built.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name != "target" && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn is_scenario(word: &str) -> bool {
    let number = word.strip_prefix(['B', 'P', 'D', 'R']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The scenarios that doc comments of tests name.
fn named(text: &str) -> BTreeSet<String> {
    let (mut named, mut docs, mut is_test) = (BTreeSet::new(), String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push_str(doc);
        } else if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else {
            let words = docs.split(|letter: char| !letter.is_alphanumeric()).filter(|word| is_scenario(word));
            if is_test || is_of_a_suite(line) {
                named.extend(words.map(String::from));
            }
            docs.clear();
            is_test = false;
        }
    }
    named
}

/// A behaviour of which `tests/pool_kinds` makes a test for each kind of pool.
fn is_of_a_suite(line: &str) -> bool {
    line.starts_with("pub(crate) async fn") && line.contains("(kind: Kind)")
}

/// The scenarios named below these directories of the repository.
fn named_in(directories: &[&str]) -> BTreeSet<String> {
    let mut files = Vec::new();
    for directory in directories {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), &mut files);
    }
    files.iter().flat_map(|file| named(&std::fs::read_to_string(file).expect("readable"))).collect()
}

#[track_caller]
fn check(expected: &str, directories: &[&str]) {
    let named = named_in(directories);
    let missing: Vec<_> = expected.split_whitespace().filter(|scenario| !named.contains(*scenario)).collect();
    assert!(missing.is_empty(), "no test below {directories:?} names {missing:?}");
}

#[test]
fn each_scenario_has_a_test() {
    check(BLACK_BOX, &["tests"]);
    check(ANYWHERE, &["tests", "src", "core", "actors"]);
}

#[test]
fn only_the_doc_comment_of_a_test_counts() {
    let text = "/// P1.\nfn helper() {}\n// P2\n#[test]\nfn a() {}\n/// P3, D4: yes.\n/// And XR5.\n#[tokio::test]\nfn b() {}";
    assert_eq!(named(text), ["D4", "P3"].map(String::from).into());
}
