//! Foreign commands: shell scripts that speak the protocol, or fail to.

use taskyard::process::{Limits, ProcessSettings};
use taskyard_core::worker::{Command, WorkerEnd};

use crate::os::resident;
use crate::rig::{Rig, command, launch, on_the_yards_thread};

/// What a shell worker begins with.
const READY: &str = r#"
say() { printf '%s\n' "$1" >&0; }
next() { read -r frame; id=${frame#*\"id\":\"}; id=${id%%\"*}; }
next
say '{"type":"ready","protocol":1,"concurrency":1,"tasks":["t"],"kit":"sh"}'
next
say "{\"type\":\"started\",\"id\":\"$id\"}"
"#;

fn shell(script: &str) -> ProcessSettings {
    command("/bin/sh", &["-c", script])
}

/// A worker that got its first task and then does as `script` says.
fn with_task(script: &str, test: impl AsyncFnOnce(Rig)) {
    on_the_yards_thread(async {
        let mut rig = launch(shell(&format!("{READY}{script}")));
        assert_eq!(rig.ready().await, ["t".parse().unwrap()]);
        rig.run(1, "t");
        rig.started(1).await;
        test(rig).await;
    });
}

async fn fault_then_kill(mut rig: Rig, expected: &str) {
    let what = rig.fault().await;
    assert!(what.contains(expected), "{what}");
    rig.kill();
    let (status, _) = rig.exited().await;
    assert!(status.starts_with("signal 9") || status.starts_with("exit status"), "{status}");
}

#[test]
fn a_shell_script_can_be_a_worker() {
    let script =
        r#"say "{\"type\":\"done\",\"id\":\"$id\",\"outcome\":\"succeeded\",\"value\":[1]}"; next; exit 5"#;
    with_task(script, async |mut rig| {
        assert_eq!(rig.done(1).await, WorkerEnd::Succeeded("[1]".into()));
        rig.tell(Command::Stop);
        assert_eq!(rig.exited().await.0, "exit status 5");
    });
}

#[test]
fn what_was_said_just_before_death_counts() {
    let script =
        r#"echo bye >&2; say "{\"type\":\"done\",\"id\":\"$id\",\"outcome\":\"cancelled\"}"; kill -9 $$"#;
    with_task(script, async |mut rig| {
        assert_eq!(rig.done(1).await, WorkerEnd::Cancelled);
        let (status, output) = rig.exited().await;
        assert_eq!(status, "signal 9 (SIGKILL)");
        assert!(output.ends_with("\nbye"), "{output}");
    });
}

/// P25.
#[test]
fn garbage_is_a_fault() {
    with_task("say 'Traceback (most recent call last)'; next", async |rig| {
        fault_then_kill(rig, "Traceback").await;
    });
}

/// P25.
#[test]
fn half_a_frame_is_a_fault() {
    with_task(r#"printf '{"type":"do' >&0; exit 0"#, async |rig| {
        fault_then_kill(rig, "within a frame").await;
    });
}

/// P25.
#[test]
fn two_ends_of_one_task_are_a_fault() {
    let script =
        r#"d="{\"type\":\"done\",\"id\":\"$id\",\"outcome\":\"cancelled\"}"; say "$d"; say "$d"; next"#;
    with_task(script, async |mut rig| {
        rig.done(1).await;
        fault_then_kill(rig, "does not have").await;
    });
}

/// P25.
#[test]
fn a_line_of_a_gigabyte_is_a_fault_and_costs_no_memory() {
    with_task("exec 3>&0; head -c 1073741824 /dev/zero | tr '\\0' x >&3; next", async |rig| {
        let before = resident();
        fault_then_kill(rig, "more than 1048576 bytes").await;
        assert!(resident().saturating_sub(before) < 32 << 20, "memory grew");
    });
}

#[test]
fn another_protocol_is_a_fault_that_names_both() {
    on_the_yards_thread(async {
        let rig =
            launch(shell(r#"printf '{"type":"ready","protocol":9,"tasks":[]}\n' >&0; read -r x; read -r x"#));
        fault_then_kill(rig, "protocol 9, this yard speaks 1").await;
    });
}

#[test]
fn a_worker_that_closes_its_connection_and_goes_on_is_a_fault() {
    with_task("exec 0</dev/null; exec sleep 100000", async |rig| {
        fault_then_kill(rig, "closed its connection").await;
    });
}

/// P22.
#[test]
fn a_command_that_does_not_exist_is_said_by_name() {
    on_the_yards_thread(async {
        let mut rig = launch(command("no-such-worker", &[]));
        let (status, _) = rig.exited().await;
        assert!(status.starts_with("could not be started: no-such-worker: No such file"), "{status}");
    });
}

/// P22.
#[test]
fn a_command_that_exits_at_once_is_reported() {
    on_the_yards_thread(async {
        let mut rig = launch(shell("echo no config >&2; exit 9"));
        let (status, output) = rig.exited().await;
        assert_eq!(status, "exit status 9");
        // The start of the test binary prints on the other stream, and between the two there is no order.
        assert!(output.contains("no config"), "{output}");
    });
}

#[test]
fn a_directory_that_does_not_exist_is_said() {
    on_the_yards_thread(async {
        let mut settings = shell("exit 0");
        settings.directory = Some("/no/such/directory".into());
        let (status, _) = launch(settings).exited().await;
        assert!(status.starts_with("could not be started: "), "{status}");
    });
}

#[test]
fn limits_environment_and_directory_are_the_workers() {
    on_the_yards_thread(async {
        let mut settings = shell("echo $(ulimit -n) $COLOUR $(pwd) ${TASKYARD_SHIM-none}; exit 0");
        settings.limits = Limits { open_files: Some(77), ..Limits::default() };
        settings.env = vec![("COLOUR".into(), "green".into())];
        settings.directory = Some("/".into());
        let (status, output) = launch(settings).exited().await;
        assert_eq!(status, "exit status 0");
        assert!(output.ends_with("77 green / none"), "{output}");
    });
}

#[test]
fn a_worker_that_is_killed_before_it_started_is_gone() {
    on_the_yards_thread(async {
        let mut rig = launch(shell("exec sleep 100000"));
        rig.kill();
        assert_eq!(rig.exited().await.0, "signal 9 (SIGKILL)");
    });
}
