//! What a task survives, as the server is told it: read in the transactions of the board themselves.

use taskyard::store::Durability;
use taskyard::store::postgres::Options;

use crate::desk::{Desk, options};
use crate::server::Schema;
use crate::task::task;

/// For what the commits of a board wait. `said`: what its connections bring along.
fn waits_for(durability: Durability, said: &str) -> Option<String> {
    let schema = Schema::new()?;
    let address = format!("{}?options=-c%20synchronous_commit%3D{said}", schema.url).parse().unwrap();
    let mut desk = Desk::opened(Options { address, durability, ..options(&schema) }, || {});
    let name = &schema.name;
    schema.direct.batch(&format!(
        "CREATE TABLE {name}.seen (setting text);
        CREATE FUNCTION {name}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO {name}.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
        CREATE TRIGGER note BEFORE INSERT OR UPDATE ON {name}.tasks FOR EACH ROW EXECUTE FUNCTION {name}.note();"
    ));
    desk.post([task(1), task(2)]);
    let rows = desk.claim(2);
    desk.finish(&rows);
    let seen = schema.direct.rows(&format!("SELECT DISTINCT setting FROM {name}.seen"), &[]);
    assert_eq!(seen.len(), 1, "all transactions wait for the same");
    Some(seen[0].get(0))
}

#[test]
fn what_shall_survive_a_loss_of_power_is_on_the_servers_disk_whatever_is_usual_there() {
    for (said, held) in [("off", "on"), ("on", "on"), ("local", "local"), ("remote_apply", "remote_apply")] {
        let Some(found) = waits_for(Durability::Full, said) else { return };
        assert_eq!(found, held, "where `{said}` is usual");
    }
}

#[test]
fn what_need_not_survive_a_loss_of_power_does_not_wait_for_the_servers_disk() {
    for said in ["on", "off"] {
        let Some(found) = waits_for(Durability::Normal, said) else { return };
        assert_eq!(found, "off");
    }
}
