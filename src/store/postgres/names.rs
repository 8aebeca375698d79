//! The lanes by name and number: those that others added, and those that are new. No lane is ever taken out.

use std::sync::Arc;

use taskyard_core::names::Lane;
use tokio_postgres::Row;

use super::fault::Fault;
use super::link::Session;
use super::memory::Memory;
use crate::store::lanes::LaneNo;

const ALL: &str = "SELECT lane, namespace, name FROM lanes";
const SOME: &str = "SELECT lane, namespace, name FROM lanes WHERE lane = ANY($1)";
const ADD: &str = "INSERT INTO lanes (namespace, name)
    SELECT * FROM unnest($1::text[], $2::text[]) AS new(namespace, name)
    WHERE NOT EXISTS (SELECT FROM lanes WHERE lanes.namespace = new.namespace AND lanes.name = new.name)";
const NAMED: &str = "SELECT lanes.lane, lanes.namespace, lanes.name FROM unnest($1::text[], $2::text[]) AS new(namespace, name)
    CROSS JOIN LATERAL (SELECT * FROM lanes WHERE namespace = new.namespace AND name = new.name ORDER BY lane LIMIT 1)
      AS lanes";

/// Learns all lanes that there are.
pub(super) async fn load_all(session: &Session, memory: &mut Memory) -> Result<(), Fault> {
    learn(memory, &session.rows(ALL, &[]).await?);
    Ok(())
}

/// Learns those of these lanes that are not known here.
pub(super) async fn load(
    session: &Session,
    memory: &mut Memory,
    lanes: impl Iterator<Item = LaneNo>,
) -> Result<(), Fault> {
    let unknown: Vec<_> =
        lanes.filter(|lane| memory.lanes.lane(*lane).is_none()).map(|lane| lane.0).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    learn(memory, &session.rows(SOME, &[&unknown]).await?);
    Ok(())
}

/// Gives lanes that are not known here their numbers. Which are known since then; they are to be forgotten if the
/// transaction is not committed.
pub(super) async fn enter(
    session: &Session,
    memory: &mut Memory,
    lanes: &[Arc<Lane>],
) -> Result<Vec<LaneNo>, Fault> {
    let namespaces: Vec<_> = lanes.iter().map(|lane| lane.namespace.as_str()).collect();
    let names: Vec<_> = lanes.iter().map(|lane| lane.name.as_str()).collect();
    session.rows(ADD, &[&namespaces, &names]).await?;
    let rows = session.rows(NAMED, &[&namespaces, &names]).await?;
    learn(memory, &rows);
    Ok(rows.iter().map(|row| LaneNo(row.get(0))).collect())
}

fn learn(memory: &mut Memory, rows: &[Row]) {
    for row in rows {
        let (number, namespace, name) = (LaneNo(row.get(0)), row.get::<_, &str>(1), row.get::<_, &str>(2));
        // What is no name was written by somebody else: it reads as a lane that stands nowhere.
        if let (false, Ok(namespace), Ok(name)) = (is_known(memory, number), namespace.parse(), name.parse())
        {
            memory.lanes.add(number, Arc::new(Lane { namespace, name }));
        }
    }
}

/// Whether its lane is found by it and by the name: a pair of names may have two numbers, of which one is forgotten.
fn is_known(memory: &Memory, number: LaneNo) -> bool {
    memory.lanes.lane(number).is_some_and(|lane| memory.lanes.number(lane).is_some())
}
