//! What becomes of workers when the process that has the yard dies.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use taskyard_core::worker::{Report, WorkerEnd};

use crate::os::wait_gone;
use crate::rig::{command, launch, on_the_yards_thread, own_binary};

const VARIABLE: &str = "TASKYARD_TEST_DISPATCHER";

/// A process with two workers, neither of which looks at its connection: a handler of ours that blocks, and a command that
/// never reads.
#[test]
fn dispatcher_entry() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    on_the_yards_thread(async {
        let mut own = launch(own_binary());
        own.ready().await;
        let WorkerEnd::Succeeded(pid) = own.end_of(1, "pid").await else { panic!("no pid") };
        own.run(2, "block");
        own.started(2).await;
        let script = r#"read -r hello
            printf '{"type":"ready","protocol":1,"tasks":["%s"]}\n' $$ >&0; exec sleep 100000"#;
        let mut foreign = launch(command("/bin/sh", &["-c", script]));
        let names = foreign.ready().await;
        println!("\nworkers {pid} {}", names[0]);
        // Until it is killed.
        while !matches!(own.next().await, Report::Exited { .. }) {}
    });
}

/// P20.
#[test]
fn workers_end_when_the_process_with_the_yard_is_killed() {
    let mut dispatcher = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "parent::dispatcher_entry", "--nocapture"])
        .env(VARIABLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(dispatcher.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.into_iter().find_map(|line| line.strip_prefix("workers ").map(str::to_owned));
    let workers: Vec<u32> = told.unwrap().split(' ').map(|pid| pid.parse().unwrap()).collect();
    dispatcher.kill().unwrap();
    dispatcher.wait().unwrap();
    assert_eq!(workers.len(), 2);
    for pid in workers {
        wait_gone(pid, Duration::from_secs(2));
    }
}
