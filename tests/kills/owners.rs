//! Two dispatchers on one board, of which one dies or is held up past its lease.

use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use taskyard::core::TaskId;
use taskyard::core::store::{AttemptEnd, TaskView};
use taskyard::core::time::Timestamp;

use crate::board::Board;
use crate::harness::{Server, gone_within, uuid};
use crate::journal::{Journal, Start};
use crate::plan::Fate;
use crate::site::{LEASE, Site};
use crate::verdict::Case;

/// A task that goes on once a file is there.
pub(crate) fn until(site: &Site, file: &str) -> Value {
    site.task(json!({ "until": site.scratch.path(file) }))
}

pub(crate) fn submit(server: &Server, task: &Value) -> TaskId {
    uuid(&server.ask(&task.to_string())).parse().expect("an id")
}

/// Waits until a task runs in this pass.
pub(crate) fn runs(journal: &mut Journal, id: TaskId, epoch: u32) -> Start {
    let run = |start: &&Start| start.uuid == id && start.epoch == epoch;
    journal.until(|starts| starts.iter().find(run).cloned())
}

pub(crate) fn status(server: &Server) -> Value {
    server.ask(r#"{"control":"status"}"#)["ok"].clone()
}

pub(crate) fn show(id: TaskId) -> String {
    json!({ "control": "task_show", "control_data": { "uuid": id } }).to_string()
}

pub(crate) fn ends(server: &Server, id: TaskId) {
    server.ask_until(&show(id), |reply| reply["ok"]["state"] == "ended");
}

/// Waits until no lease of this process is left.
pub(crate) fn is_over(server: &Server, process: Pid) {
    server.ask_until(r#"{"control":"owners"}"#, |reply| {
        let mut owners = reply["ok"].as_array().expect("a list").iter();
        owners.all(|owner| owner["pid"] != process.as_raw_nonzero().get())
    });
}

/// Its second pass is the one that counts, and the first is known to be lost.
fn check_second_pass(journal: &mut Journal, view: &TaskView) {
    let passes = journal.passes();
    let case = Case { fate: Fate::PLAIN, ran: &passes[&view.id], view };
    case.judge().unwrap_or_else(|why| panic!("{why}: {view:#?}"));
    assert_eq!(view.epoch, 2, "{view:#?}");
    assert_eq!((view.log[0].epoch, &view.log[0].end), (1, &AttemptEnd::OwnerLost), "{view:#?}");
}

/// B3: nobody has it before the lease of the dead one has ended; then it is delivered for the second time.
#[test]
fn a_task_whose_dispatcher_died_waits_for_the_end_of_the_lease() {
    check_death(&Site::on_disk());
}

/// B3
#[cfg(feature = "postgres")]
#[test]
fn a_task_on_a_server_whose_dispatcher_died_waits_for_the_end_of_the_lease() {
    let Some(schema) = crate::server::Schema::new() else { return };
    check_death(&Site::on_postgres(schema));
}

fn check_death(site: &Site) {
    let mut journal = site.journal();
    let mut first = site.serve();
    let task = submit(&first, &until(site, "go on"));
    runs(&mut journal, task, 1);
    let (second, board) = (site.serve(), Board::open(site.store()));

    let dead = first.pid().as_raw_nonzero().get().cast_unsigned();
    first.signal(Signal::KILL);
    first.end();
    let now = Timestamp::from(SystemTime::now());
    let owner = board.owners().into_iter().find(|owner| owner.registration.pid == dead).expect("registered");
    assert!(owner.lease_left <= LEASE, "{owner:?}");

    let again = runs(&mut journal, task, 2);
    assert!(
        again.began() >= now + owner.lease_left,
        "{again:?} before the end of {owner:?}, seen at {now:?}"
    );
    std::fs::write(site.scratch.path("go on"), "").expect("written");
    ends(&second, task);
    check_second_pass(&mut journal, &board.task(task));
}

/// B5, D6: the other one's results stand; what the late one still runs it ends, what it still writes is refused and told; and
/// it goes on as a new owner.
#[test]
fn a_dispatcher_that_is_held_up_past_its_lease_is_refused_and_goes_on_anew() {
    check_hold(&Site::on_disk());
}

/// B5: on a server it may also find out by itself that its lease is over, and then it writes nothing that could be refused.
#[cfg(feature = "postgres")]
#[test]
fn a_dispatcher_that_is_held_up_on_a_server_changes_nothing_and_goes_on_anew() {
    let Some(schema) = crate::server::Schema::new() else { return };
    check_hold(&Site::on_postgres(schema));
}

/// One that was held up past its lease is another owner then. In a file it learns of that by a write that is refused.
pub(crate) fn goes_on_anew(site: &Site, late: &mut Server, registered: &Value) {
    if site.is_on_disk() {
        late.line("writes were refused: another dispatcher took over what this one had");
        let store = status(late)["store"].clone();
        assert!(store["stale_writes"].as_u64() >= Some(1), "{store}");
    }
    late.ask_until(r#"{"control":"status"}"#, |reply| {
        let owner = &reply["ok"]["store"]["owner"];
        !owner.is_null() && owner != registered
    });
}

fn check_hold(site: &Site) {
    let mut journal = site.journal();
    let mut late = site.serve();
    let [ended, running] = ["ended", "running"].map(|file| submit(&late, &until(site, file)));
    let before = [ended, running].map(|task| runs(&mut journal, task, 1));
    let registered = status(&late)["store"]["owner"].clone();
    let other = site.serve();
    site.hold_up(&late);
    for task in [ended, running] {
        runs(&mut journal, task, 2);
    }
    // Both passes end. The worker of the first one tells somebody who does not listen yet.
    std::fs::write(site.scratch.path("ended"), "").expect("written");
    ends(&other, ended);

    late.signal(Signal::CONT);
    goes_on_anew(site, &mut late, &registered);
    gone_within(Pid::from_raw(before[1].pid).expect("a process"), Duration::from_mins(1));
    std::fs::write(site.scratch.path("running"), "").expect("written");
    ends(&other, running);
    let next = submit(&late, &site.task(json!({})));
    ends(&late, next);

    let board = Board::open(site.store());
    for task in [ended, running] {
        check_second_pass(&mut journal, &board.task(task));
    }
    let succeeded = |server: &Server| status(server)["ended"]["succeeded"].as_u64().expect("a number");
    assert_eq!(succeeded(&late) + succeeded(&other), 3, "each ended once");
}
