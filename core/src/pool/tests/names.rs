//! The names that workers know.

use super::*;

#[test]
fn a_pool_that_does_not_know_its_names_starts_one_worker_to_learn_them() {
    let mut script = Script::new(Settings { names: None, ..settings(0, 4) });
    script.expect(["1 launch"]);
    script.report(1, Report::Ready { concurrency: 2, ahead: 0, names: vec![name("b"), name("a")] });
    script.expect([r#"learned ["a", "b"]"#, r#"known ["a", "b"]"#]).takes(2, 6).capacity(8);
    script.at(30_000).expect(["1 stop"]);
}

#[test]
fn one_worker_is_tried_before_the_others_are_started() {
    let mut script = Script::new(Settings { names: None, ..settings(3, 4) });
    script.expect(["1 launch"]);
    script.ready(1, 1, 0);
    script.expect([r#"learned ["t"]"#, r#"known ["t"]"#, "2 launch", "3 launch"]);
}

#[test]
fn names_are_said_again_only_if_one_is_new() {
    let mut script = Script::new(settings(2, 2));
    script.expect([r#"learned ["t"]"#, r#"known ["t"]"#, "1 launch", "2 launch"]);
    script.ready(1, 1, 0);
    script.expect([]);
    script.report(2, Report::Ready { concurrency: 1, ahead: 0, names: vec![name("u")] });
    script.expect([r#"learned ["t", "u"]"#, r#"known ["t", "u"]"#]);
}

#[test]
fn a_worker_that_is_ready_twice_is_at_fault() {
    let mut script = Script::with_ready(settings(1, 1), 1);
    script.ready(1, 1, 0);
    script.expect(["1 Kill"]);
}
