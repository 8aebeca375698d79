//! B22: random kills, a few of them here; `KILLS=200 TASKS=20000` for more, one test at a time.

use crate::campaign::{Campaign, Scale};
use crate::site::Site;

/// B22, D5
#[test]
fn supervisors_that_are_killed_at_random_lose_nothing_and_record_what_ran() {
    let scale = Scale { kills: 20, tasks: 400, seconds: 0.01 }.or_more();
    assert_eq!(Campaign::draw(&Site::on_disk(), &scale).fight(false), scale.kills, "it was done too early");
}

/// B5, B22, D6
#[test]
fn two_supervisors_that_are_killed_and_held_up_at_random_lose_nothing_and_record_what_ran() {
    let scale = Scale { kills: 8, tasks: 800, seconds: 0.03 }.or_more();
    assert!(Campaign::draw(&Site::on_disk(), &scale).fight(true) >= 5, "it was done too early");
}

/// B5, B22, D6
#[cfg(feature = "postgres")]
#[test]
fn two_supervisors_on_one_server_lose_nothing_either() {
    let Some(schema) = crate::server::Schema::new() else { return };
    let scale = Scale { kills: 8, tasks: 800, seconds: 0.03 }.or_more();
    assert!(Campaign::draw(&Site::on_postgres(schema), &scale).fight(true) >= 5, "it was done too early");
}

/// B17, B22: the database is killed as well.
#[cfg(feature = "postgres")]
#[test]
fn two_supervisors_whose_server_is_killed_at_random_lose_nothing_either() {
    let Some(server) = crate::private::PrivateServer::start("kills", &[]) else { return };
    let scale = Scale { kills: 6, tasks: 400, seconds: 0.03 }.or_more();
    assert!(Campaign::draw(&Site::on_database(server), &scale).fight(true) >= 5, "it was done too early");
}
