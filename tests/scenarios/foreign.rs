//! A foreign worker that breaks the protocol: it is replaced, its task is lost once, others do not notice.

use std::time::Duration;

use taskyard::core::store::Counts;

use crate::common::soon;
use crate::gate::{Gate, Scratch};
use crate::os::{resident_peak, wait_gone};
use crate::rig::{alone, at_once, processes, scripts, sized, start, submit, submit_all, task, value, values};

/// A worker that does the first task of all as `misdeed` says, and then leaves its pid in `$1`; all others it does well:
/// their value is the attempt and its pid.
fn script(misdeed: &str) -> String {
    format!(
        r#"
        say() {{ printf '%s\n' "$1" >&0; }}
        read -r hello
        say '{{"type":"ready","protocol":1,"concurrency":1,"tasks":["t"]}}'
        while read -r frame; do
            id=${{frame#*\"id\":\"}}; id=${{id%%\"*}}
            attempt=${{frame#*\"attempt\":}}; attempt=${{attempt%%[,\}}]*}}
            done="{{\"type\":\"done\",\"id\":\"$id\",\"outcome\":\"succeeded\",\"value\":[$attempt,$$]}}"
            say "{{\"type\":\"started\",\"id\":\"$id\"}}"
            if [ ! -e "$1" ]; then echo $$ > "$1"; {misdeed}; fi
            say "$done"
        done"#
    )
}

/// Two tasks for the worker that misbehaves, one for its neighbour; how often each of the two was tried.
async fn attempts(misdeed: &str) -> [u32; 2] {
    let (gate, scratch) = (Gate::open(), Scratch::new());
    let mark = scratch.path().join("offender");
    let bad = scripts("bad", &["t"], sized(0, 1), &script(misdeed), &[mark.to_str().expect("plain")]);
    let yard = start([bad, processes(gate.path(), "good", &["meet"], sized(0, 1))]);
    let neighbour = submit(&yard, task("meet", "neighbour")).await;
    let guest = gate.next().await;

    let both = values(submit_all(&yard, [1, 2].map(|n| task("t", n).retry(at_once(2)))).await).await;

    let both: Vec<(u32, u32)> = serde_json::from_value(both.into()).expect("attempts and pids");
    let offender: u32 = std::fs::read_to_string(mark).expect("there").trim().parse().expect("a pid");
    assert_ne!(both[1].1, offender, "it is replaced");
    wait_gone(offender, Duration::from_secs(1));
    let pid = guest.pid;
    guest.release();
    assert_eq!(value(neighbour).await, pid, "the neighbour went on");
    assert_eq!(soon(yard.counts()).await, Ok(Counts::default()));
    [both[0].0, both[1].0]
}

/// P25.
#[tokio::test]
async fn garbage_costs_one_attempt() {
    assert_eq!(attempts("say 'Traceback (most recent call last)'; read -r x").await, [2, 1]);
}

/// P25.
#[tokio::test]
async fn half_a_frame_costs_one_attempt() {
    assert_eq!(attempts(r#"printf '{"type":"do' >&0; exit 0"#).await, [2, 1]);
}

/// P25.
#[tokio::test]
async fn an_unknown_id_costs_one_attempt() {
    let misdeed = r#"say '{"type":"done","id":"00000000-0000-0000-0000-00000000ffff","outcome":"cancelled"}'; read -r x"#;
    assert_eq!(attempts(misdeed).await, [2, 1]);
}

/// P25: the first `done` counts, so nothing is lost; the worker goes all the same, as it cannot be trusted.
#[tokio::test]
async fn of_two_ends_of_one_task_the_first_counts() {
    assert_eq!(attempts(r#"printf '%s\n%s\n' "$done" "$done" >&0; read -r x"#).await, [1, 1]);
}

/// P25.
#[test]
fn a_line_of_a_gigabyte_costs_one_attempt_and_no_memory() {
    alone("foreign::a_line_of_a_gigabyte_costs_one_attempt_and_no_memory", async {
        let before = resident_peak();
        let misdeed = r"exec 3>&0; head -c 1073741824 /dev/zero | tr '\0' x >&3; read -r x";
        assert_eq!(attempts(misdeed).await, [2, 1]);
        let grown = resident_peak() - before;
        assert!(grown < 32 << 20, "{grown} bytes more");
    });
}
