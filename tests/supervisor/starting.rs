//! What keeps the supervisor from starting, and what does not.

use std::os::unix::net::UnixListener;

use rustix::process::Signal;

use crate::harness::{Scratch, Server, run};

#[test]
fn a_dead_servers_socket_is_replaced() {
    let scratch = Scratch::new();
    drop(UnixListener::bind(scratch.path("yard.sock")).expect("bound"));
    let server = Server::start_in(scratch, &[]);
    assert!(server.ask(r#"{"control":"alive"}"#)["ok"].is_object());
}

#[test]
fn a_killed_supervisors_socket_is_replaced() {
    let mut first = Server::start();
    first.signal(Signal::KILL);
    first.end();
    assert!(std::fs::exists(&first.socket).expect("can be seen"), "it could not tidy up");
    let scratch = std::mem::replace(&mut first.scratch, Scratch::new());
    let second = Server::start_in(scratch, &[]);
    assert!(second.ask(r#"{"control":"alive"}"#)["ok"].is_object());
}

#[test]
fn a_living_servers_socket_is_left_alone() {
    let server = Server::start();
    let second = run(&["--socket", &server.socket]);
    assert_eq!(second.code, Some(71), "{second:#?}");
    assert!(second.stderr.contains("a server is listening on"), "{second:#?}");
    assert!(server.ask(r#"{"control":"alive"}"#)["ok"].is_object(), "the first goes on");
}

#[test]
fn a_strangers_socket_and_other_files_are_left_alone() {
    let scratch = Scratch::new();
    let socket = scratch.path("stranger.sock");
    let stranger = UnixListener::bind(&socket).expect("bound");
    let refused = run(&["--socket", &socket]);
    assert!(refused.code == Some(71) && refused.stderr.contains("a server is listening"), "{refused:#?}");
    stranger.accept().expect("it was only asked whether it is there");
    std::os::unix::net::UnixStream::connect(&socket).expect("it is still there");
    let file = scratch.file("notes.txt", "mine");
    let refused = run(&["--socket", &file]);
    assert!(refused.code == Some(71) && refused.stderr.contains("is not a socket"), "{refused:#?}");
    assert_eq!(std::fs::read_to_string(file).expect("it is still there"), "mine");
}

#[test]
fn what_came_to_stand_in_the_sockets_place_is_left_alone() {
    let mut server = Server::start();
    std::fs::remove_file(&server.socket).expect("it is there");
    std::fs::write(&server.socket, "mine").expect("written");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
    assert_eq!(std::fs::read_to_string(&server.socket).expect("it is still there"), "mine");
}

/// It was served, and no client could connect.
#[test]
fn a_path_that_is_too_long_for_a_socket_is_refused() {
    let scratch = Scratch::new();
    let refused = run(&["--socket", &scratch.path(&"a".repeat(120))]);
    assert!(refused.code == Some(71) && refused.stderr.contains("longer than 107 bytes"), "{refused:#?}");
}

#[test]
fn a_file_of_tasks_that_cannot_be_read_is_told_before_anything_is_made() {
    let scratch = Scratch::new();
    for (file, why) in [("nowhere.jsonl", "No such file"), ("", "is a directory")] {
        let refused =
            run(&["--tasks", &scratch.path(file), "--store", &format!("sqlite:{}", scratch.path("db"))]);
        assert!(refused.code == Some(1) && refused.stderr.contains(why), "{refused:#?}");
        assert_eq!(refused.stdout, "");
        assert!(!std::fs::exists(scratch.path("db")).expect("can be seen"));
    }
}

#[test]
fn a_store_on_the_command_line_makes_what_the_file_says_of_its_own_void() {
    let scratch = Scratch::new();
    let pool = "[pools.all]\npatterns = ['#']\nmax = 1\n";
    let of = |store: &str| scratch.file("supervisor.toml", &format!("[store]\n{store}\n{pool}"));
    for (store, other) in [
        ("url = 'sqlite:a.db'\ndurability = 'full'", "memory".to_owned()),
        ("url = 'postgres://a/b'\nschema = 'c'", format!("sqlite:{}", scratch.path("b.db"))),
    ] {
        let ran = run(&["--config", &of(store), "--store", &other, "--tasks", "/dev/null"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
    }
}

#[test]
fn a_folder_is_no_store() {
    let refused = run(&["--store", "sqlite:.."]);
    assert!(refused.code == Some(71) && refused.stderr.contains("\"..\" is a folder"), "{refused:#?}");
}

#[test]
fn of_two_that_start_at_once_one_serves() {
    let scratch = Scratch::new();
    let socket = scratch.path("yard.sock");
    drop(UnixListener::bind(&socket).expect("bound"));
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = crate::harness::supervisor(&["--socket", &socket]);
            command.stderr(std::process::Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    let mut refused = 0;
    while refused < 3 {
        children.retain_mut(|child| match child.try_wait().expect("a child") {
            Some(status) => {
                assert_eq!(status.code(), Some(71));
                refused += 1;
                false
            }
            None => true,
        });
        std::thread::yield_now();
    }
    assert_eq!(children.len(), 1);
    let stopped = run(&["--socket", &socket, "--ctl", "shutdown"]);
    assert_eq!(stopped.code, Some(0), "{stopped:#?}");
    assert_eq!(children[0].wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_bad_configuration_is_refused_by_the_path_of_its_key() {
    let scratch = Scratch::new();
    for (config, path) in [
        ("[pools.work]\nmin = 3\nmax = 1", "pools.work.min"),
        ("[pools.work]\npatterns = [\"a..b\"]", "pools.work.patterns[0]"),
        (
            "[pools.work]\n[[schedules]]\nname = \"s\"\ntask = \"echo\"\ncron = \"99 * * * *\"",
            "schedules[0].cron",
        ),
        ("[pools.work]\nworkers = 3", "pools.work"),
        ("[pools.work]\nkind = \"inline\"\nmax = 3", "pools.work.max"),
        ("", "pools"),
    ] {
        let run = run(&["--config", &scratch.file("bad.toml", config)]);
        assert_eq!(run.code, Some(78), "{run:#?}");
        assert!(run.stderr.contains(path), "{path} in {run:#?}");
    }
}

#[test]
fn a_wrong_command_line_says_how_it_is_used() {
    let run = run(&["--taks", "x"]);
    assert!(run.code == Some(2) && run.stderr.contains("Usage"), "{run:#?}");
}
