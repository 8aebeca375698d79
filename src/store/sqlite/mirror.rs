//! What is known in memory of the database: lanes and their tallies, the first row of each, the numbers of the board. It is
//! true while nobody else writes, which is looked at under the write lock; whatever is in doubt is read anew.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, params};
use taskyard_core::TaskId;
use taskyard_core::id::{PoolId, Sequence};
use taskyard_core::map::Map;
use taskyard_core::names::Lane;
use taskyard_core::router::Router;
use taskyard_core::store::{RowState, Status};
use taskyard_core::time::Timestamp;

use super::Sql;
use super::heads::Heads;
use super::row::Row;
use super::tallies::{Tallies, Tally};
use crate::store::lanes::{LaneNo, Lanes};

/// Lanes without an unfinished task that are known nevertheless.
const UNUSED_MAX: usize = 1_000;
/// So many sequences are kept in reserve, and so many tasks may end, before the numbers of the board are written again.
const RESERVE: i64 = 1_000;
/// Claimed rows that are known.
const CLAIMED_MAX: usize = 20_000;

/// The place of a parked row: due time, urgency (the lower the sooner), arrival.
pub(super) type ParkedPlace = (Timestamp, i16, Sequence);
/// The place of a row that waits: rank and arrival.
pub(super) type Place = (i64, Sequence);

/// What holds for the board as a whole: see the table `board`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) sequence: i64,
    pub(super) place: i64,
    pub(super) kept: i64,
    pub(super) trashed: i64,
    pub(super) pruned: i64,
    pub(super) valued: i64,
}

impl Numbers {
    /// Whether they need not be written yet: the table `board` and the places in history tell as much.
    fn follow_from(&self, written: &Self) -> bool {
        let ended = self.place - written.place;
        let expected = Self { place: self.place, kept: written.kept + ended, ..*written };
        Self { sequence: written.sequence, ..*self } == expected
            && self.sequence <= written.sequence
            && ended < RESERVE
    }
}

/// When the first unclaimed row expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    /// It must be looked up.
    Unknown,
    /// Then, if any does.
    First(Option<Timestamp>),
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) lanes: Lanes,
    pub(super) tallies: Tallies,
    pub(super) parked: Heads<ParkedPlace>,
    pub(super) ready: Heads<Place>,
    pub(super) unjudged: Heads<Place>,
    pub(super) numbers: Numbers,
    /// As they stand in the table.
    written: Numbers,
    pub(super) next_expiry: Expiry,
    /// Claimed rows as they stand in the table: what is settled soon need not be read again.
    claimed: Map<Sequence, Row>,
    /// The highest id on the board and in history: an id above it is new. Ids of version 7 rise with time.
    pub(super) newest: Option<TaskId>,
    /// The state of the database that this mirrors, by SQLite's count of what others wrote; `None`: none.
    version: Option<i64>,
}

impl Mirror {
    /// Knows nothing yet.
    pub(super) fn new(router: Router) -> Self {
        Self {
            lanes: Lanes::new(router),
            tallies: Tallies::default(),
            parked: Heads::default(),
            ready: Heads::default(),
            unjudged: Heads::default(),
            numbers: Numbers::default(),
            written: Numbers::default(),
            next_expiry: Expiry::Unknown,
            claimed: Map::default(),
            newest: None,
            version: None,
        }
    }

    /// Reads anew what others may have changed. Whether there was anything to read. Within a transaction.
    pub(super) fn refresh(&mut self, db: &Connection) -> Sql<bool> {
        let version = data_version(db)?;
        if self.version == Some(version) {
            return Ok(false);
        }
        self.load(db)?;
        self.version = Some(version);
        Ok(true)
    }

    /// What is known is not so: the transaction was rolled back. Numbers that it gave to lanes are free again, perhaps for
    /// another's.
    pub(super) fn doubt(&mut self) {
        self.version = None;
        self.lanes.retain(|_| false);
    }

    /// Whether it is out of date.
    pub(super) fn is_in_doubt(&self, db: &Connection) -> Sql<bool> {
        Ok(self.version != Some(data_version(db)?))
    }

    fn load(&mut self, db: &Connection) -> Sql<()> {
        let numbers = "SELECT sequence, place, kept, trashed, pruned, valued FROM board";
        self.written = db.prepare_cached(numbers)?.query_row([], |row| {
            Ok(Numbers {
                sequence: row.get(0)?,
                place: row.get(1)?,
                kept: row.get(2)?,
                trashed: row.get(3)?,
                pruned: row.get(4)?,
                valued: row.get(5)?,
            })
        })?;
        let since = last_place(db)?.map_or(0, |last| (last - self.written.place).max(0));
        let Numbers { place, kept, .. } = self.written;
        self.numbers = Numbers { place: place + since, kept: kept + since, ..self.written };
        self.next_expiry = Expiry::Unknown;
        self.claimed.clear();
        self.newest = newest(db)?;
        self.load_lanes(db)
    }

    pub(super) fn load_lanes(&mut self, db: &Connection) -> Sql<()> {
        self.tallies = Tallies::default();
        self.parked.clear();
        self.ready.clear();
        self.unjudged.clear();
        let mut used = db.prepare_cached(LANES_IN_USE)?;
        let mut rows = used.query([])?;
        while let Some(row) = rows.next()? {
            self.add_lane(row)?;
        }
        let tallies = &self.tallies;
        self.lanes.retain(|lane| tallies.knows(lane));
        Ok(())
    }

    fn add_lane(&mut self, row: &rusqlite::Row<'_>) -> Sql<LaneNo> {
        let number = LaneNo(row.get(0)?);
        if self.lanes.lane(number).is_none() {
            self.lanes
                .add(number, Arc::new(read_lane(row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?)?));
        }
        let states = [row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?, row.get(8)?];
        let tally = Tally { space: row.get(1)?, states, ended: row.get(9)? };
        self.tallies.load(number, self.lanes.pools(number), tally);
        self.parked.doubt(number);
        self.ready.doubt(number);
        self.unjudged.doubt(number);
        Ok(number)
    }

    /// The number of a lane, if it has one.
    pub(super) fn find_lane(&mut self, db: &Connection, lane: &Lane) -> Sql<Option<LaneNo>> {
        if let Some(number) = self.lanes.number(lane) {
            return Ok(Some(number));
        }
        let names = params![lane.namespace.as_str(), lane.name.as_str()];
        let mut find = db.prepare_cached(LANE_BY_NAME)?;
        let mut rows = find.query(names)?;
        rows.next()?.map(|row| self.add_lane(row)).transpose()
    }

    /// The number of a lane, which is given one if it has none.
    pub(super) fn enter_lane(&mut self, db: &Connection, lane: &Arc<Lane>) -> Sql<LaneNo> {
        if let Some(number) = self.find_lane(db, lane)? {
            return Ok(number);
        }
        let (namespace, name) = (lane.namespace.as_str(), lane.name.as_str());
        db.prepare_cached("INSERT INTO space (namespace) VALUES (?1) ON CONFLICT DO NOTHING")?
            .execute([namespace])?;
        let space: i64 = db
            .prepare_cached("SELECT id FROM space WHERE namespace = ?1")?
            .query_row([namespace], |row| row.get(0))?;
        db.prepare_cached("INSERT INTO lane (space, name) VALUES (?1, ?2)")?.execute(params![space, name])?;
        let number = LaneNo(db.last_insert_rowid());
        self.lanes.add(number, Arc::clone(lane));
        self.tallies.load(number, &[], Tally { space, ..Tally::default() });
        Ok(number)
    }

    /// The lane of a number that stands in a row.
    pub(super) fn lane(&mut self, db: &Connection, number: LaneNo) -> Sql<Arc<Lane>> {
        if self.lanes.lane(number).is_none() {
            let mut find = db.prepare_cached(LANE_BY_NUMBER)?;
            let mut rows = find.query([number.0])?;
            let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            self.add_lane(row)?;
        }
        self.lanes.lane(number).cloned().ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// A claimed row, if it is known.
    pub(super) fn claimed(&self, sequence: Sequence) -> Option<&Row> {
        self.claimed.get(&sequence)
    }

    /// So a row stands in the table.
    pub(super) fn know(&mut self, row: &Row) {
        if row.state != RowState::Claimed {
            self.claimed.remove(&row.sequence);
        } else if self.claimed.len() < CLAIMED_MAX || self.claimed.contains_key(&row.sequence) {
            self.claimed.insert(row.sequence, row.clone());
        }
    }

    /// It is not known how a row stands in the table.
    pub(super) fn forget_row(&mut self, sequence: Sequence) {
        self.claimed.remove(&sequence);
    }

    /// The pools that take a lane.
    pub(super) fn pools(&self, lane: LaneNo) -> &[PoolId] {
        self.lanes.pools(lane)
    }

    /// Pools take other lanes from now on.
    pub(super) fn reroute(&mut self) {
        let Self { lanes, tallies, parked, ready, unjudged, .. } = self;
        tallies.reroute(|lane| lanes.pools(lane));
        parked.reroute(|lane| lanes.pools(lane));
        ready.reroute(|lane| lanes.pools(lane));
        unjudged.reroute(|lane| lanes.pools(lane));
    }

    /// Writes what changed; the last thing before a commit.
    pub(super) fn flush(&mut self, db: &Connection) -> Sql<()> {
        for (lane, tally, turned) in self.tallies.take_changed() {
            let [parked, behind, unjudged, ready, claimed] = tally.states;
            let numbers = params![parked, behind, unjudged, ready, claimed, tally.ended, lane.0];
            db.prepare_cached(WRITE_LANE)?.execute(numbers)?;
            if turned {
                db.prepare_cached(WRITE_USE)?.execute(params![tally.usage() as i64, lane.0])?;
            }
        }
        if !self.numbers.follow_from(&self.written) {
            let reserved = self.numbers.sequence + RESERVE;
            self.written = Numbers { sequence: reserved, ..self.numbers };
            let Numbers { sequence, place, kept, trashed, pruned, valued } = self.written;
            let numbers = params![sequence, place, kept, trashed, pruned, valued];
            db.prepare_cached(WRITE_NUMBERS)?.execute(numbers)?;
        }
        self.sweep();
        Ok(())
    }

    fn sweep(&mut self) {
        if self.lanes.len() > 2 * self.tallies.used() + UNUSED_MAX {
            self.tallies.forget_unused();
            let tallies = &self.tallies;
            self.lanes.retain(|lane| tallies.knows(lane));
        }
    }

    /// How the board stands.
    pub(super) fn status(&mut self, db: &Connection) -> Sql<Status> {
        self.look_up_parked(db)?;
        Ok(Status {
            ready: self.tallies.waiting(RowState::Ready),
            unjudged: self.tallies.waiting(RowState::Unjudged),
            next_due: self.parked.first(None).map(|(_, (due, ..), _)| due),
            next_expiry: self.look_up_expiry(db)?,
        })
    }

    fn look_up_expiry(&mut self, db: &Connection) -> Sql<Option<Timestamp>> {
        if let Expiry::First(known) = self.next_expiry {
            return Ok(known);
        }
        let first = db.prepare_cached(FIRST_EXPIRY)?.query_row([], |row| row.get(0)).optional()?;
        let first = first.map(Timestamp);
        self.next_expiry = Expiry::First(first);
        Ok(first)
    }

    /// Finds the first parked row of each lane of which it is not known.
    pub(super) fn look_up_parked(&mut self, db: &Connection) -> Sql<()> {
        while let Some(lane) = self.parked.next_stale() {
            let place = |row: &rusqlite::Row<'_>| {
                Ok((Timestamp(row.get(0)?), 9 - row.get::<_, i16>(1)?, row.get::<_, i64>(2)? as u64))
            };
            let head = match self.tallies.get(lane).of(RowState::Parked) {
                0 => None,
                _ => db.prepare_cached(FIRST_PARKED)?.query_row([lane.0], place).optional()?,
            };
            self.parked.found(lane, self.lanes.pools(lane), head);
        }
        Ok(())
    }

    /// Finds the first ready (or unjudged) row of each lane of which it is not known.
    pub(super) fn look_up_waiting(&mut self, db: &Connection, state: RowState) -> Sql<()> {
        let (heads, query) = match state {
            RowState::Unjudged => (&mut self.unjudged, FIRST_UNJUDGED),
            _ => (&mut self.ready, FIRST_READY),
        };
        while let Some(lane) = heads.next_stale() {
            let place = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64));
            let head = match self.tallies.get(lane).of(state) {
                0 => None,
                _ => db.prepare_cached(query)?.query_row([lane.0], place).optional()?,
            };
            heads.found(lane, self.lanes.pools(lane), head);
        }
        Ok(())
    }
}

/// SQLite's count of commits by others, as this connection sees the database now.
fn data_version(db: &Connection) -> Sql<i64> {
    db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

fn last_place(db: &Connection) -> Sql<Option<i64>> {
    db.prepare_cached("SELECT max(place) FROM history")?.query_row([], |row| row.get(0))
}

fn newest(db: &Connection) -> Sql<Option<TaskId>> {
    let query = "SELECT max(id) FROM (SELECT max(id) AS id FROM task UNION ALL SELECT max(id) FROM history)";
    let id: Option<[u8; 16]> = db.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    Ok(id.map(|id| TaskId(u128::from_be_bytes(id))))
}

fn read_lane(namespace: &str, name: &str) -> Sql<Lane> {
    let bad =
        |error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error));
    Ok(Lane { namespace: namespace.parse().map_err(bad)?, name: name.parse().map_err(bad)? })
}

macro_rules! lanes {
    ($from:literal) => {
        concat!(
            "SELECT lane.id, space, namespace, name, parked, behind, unjudged, ready, claimed, ended FROM ",
            $from
        )
    };
}

const LANES_IN_USE: &str = lanes!("lane INDEXED BY lane_use JOIN space ON space.id = space WHERE use = 2");
const LANE_BY_NAME: &str = lanes!("space JOIN lane ON space = space.id WHERE namespace = ?1 AND name = ?2");
const LANE_BY_NUMBER: &str = lanes!("lane JOIN space ON space.id = space WHERE lane.id = ?1");
const WRITE_LANE: &str =
    "UPDATE lane SET parked = ?1, behind = ?2, unjudged = ?3, ready = ?4, claimed = ?5, ended = ?6
    WHERE id = ?7";
const WRITE_USE: &str = "UPDATE lane SET use = ?1 WHERE id = ?2";
const WRITE_NUMBERS: &str =
    "UPDATE board SET sequence = ?1, place = ?2, kept = ?3, trashed = ?4, pruned = ?5, valued = ?6";
const FIRST_EXPIRY: &str = "SELECT expires FROM task INDEXED BY task_expires
    WHERE expires IS NOT NULL AND state <> 4 ORDER BY expires LIMIT 1";
const FIRST_PARKED: &str = "SELECT due, priority, sequence FROM task INDEXED BY task_parked
    WHERE state = 0 AND lane = ?1 ORDER BY due, priority DESC, sequence LIMIT 1";
const FIRST_UNJUDGED: &str = "SELECT rank, sequence FROM task INDEXED BY task_waiting
    WHERE state IN (2, 3) AND state = 2 AND lane = ?1 ORDER BY rank, sequence LIMIT 1";
const FIRST_READY: &str = "SELECT rank, sequence FROM task INDEXED BY task_waiting
    WHERE state IN (2, 3) AND state = 3 AND lane = ?1 ORDER BY rank, sequence LIMIT 1";
