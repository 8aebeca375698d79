//! The registered owners: until when their leases hold, and what they have. [`OwnerId::SOLE`] is not among them: it has no
//! lease and is never fenced.

use std::time::Duration;

use rusqlite::{OptionalExtension as _, params};
use taskyard_core::TaskId;
use taskyard_core::dispatch::DispatchName;
use taskyard_core::names::Namespace;
use taskyard_core::store::{OwnerId, OwnerView, Registration, Renewal, others_take};
use taskyard_core::time::micros;

use super::Sql;
use super::row::wide;
use super::turn::Turn;
use crate::store::record;

impl Turn<'_> {
    pub(super) fn register(&mut self, registration: &Registration) -> Sql<OwnerId> {
        let Registration { host, pid, version, lease, patterns } = registration;
        let clock = &self.rules.clock;
        let lease = micros(*lease);
        let ends = clock.micros().saturating_add(lease);
        let patterns = record::patterns_text(patterns);
        let owner = params![host, pid, version, lease, clock.boot(), ends, patterns];
        self.others.prepare_cached(REGISTER)?.execute(owner)?;
        Ok(OwnerId(self.others.last_insert_rowid() as u64))
    }

    /// Whether what the asking owner writes counts.
    pub(super) fn may_write(&self) -> Sql<bool> {
        if self.owner == OwnerId::SOLE {
            return Ok(true);
        }
        let fenced = "SELECT fenced FROM owner WHERE id = ?1";
        let fenced = self.others.prepare_cached(fenced)?.query_row([self.owner.0 as i64], |row| row.get(0));
        Ok(fenced.optional()? == Some(false))
    }

    /// See [`others_take`].
    pub(super) fn others_take(&self, namespace: &Namespace) -> Sql<bool> {
        let clock = &self.rules.clock;
        let mut query = self.others.prepare_cached(LIVE)?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok((OwnerId(row.get::<_, i64>(0)? as u64), record::patterns(row.get_ref(1)?.as_str()?)))
        };
        let live = query.query_map(params![clock.boot(), clock.micros()], read)?.collect::<Sql<Vec<_>>>()?;
        let patterns = live.iter().map(|(id, patterns)| (*id, patterns.as_slice()));
        Ok(others_take(patterns, self.owner, namespace))
    }

    pub(super) fn renew(&mut self) -> Sql<Renewal> {
        let (owner, clock) = (self.owner.0 as i64, &self.rules.clock);
        self.others.prepare_cached(RENEW)?.execute(params![owner, clock.boot(), clock.micros()])?;
        let lapsed = params![owner, clock.boot(), clock.micros()];
        Ok(Renewal {
            marked: self.unwanted()?,
            lapsed: self.others.prepare_cached(LAPSED)?.query_row(lapsed, |row| row.get(0))?,
        })
    }

    /// Tasks of the asking owner that somebody wants cancelled.
    fn unwanted(&self) -> Sql<Vec<TaskId>> {
        let mut query = self.db()?.prepare_cached(UNWANTED)?;
        query.query_map([self.owner.0 as i64], |row| Ok(TaskId(wide(row.get_ref(0)?))))?.collect()
    }

    /// What the asking owner has, oldest first.
    pub(super) fn held(&self) -> Sql<Vec<DispatchName>> {
        let name = |row: &rusqlite::Row<'_>| {
            Ok(DispatchName { id: TaskId(wide(row.get_ref(0)?)), epoch: row.get::<_, i64>(1)? as u32 })
        };
        self.db()?.prepare_cached(HELD)?.query_map([self.owner.0 as i64], name)?.collect()
    }

    pub(super) fn owners(&self) -> Sql<Vec<OwnerView>> {
        let (boot, now) = (self.rules.clock.boot(), self.rules.clock.micros());
        let view = |row: &rusqlite::Row<'_>| {
            let same_boot = row.get_ref(5)?.as_str()? == boot;
            let left = if same_boot { row.get::<_, i64>(6)?.saturating_sub(now) } else { 0 };
            Ok(OwnerView {
                id: OwnerId(row.get::<_, i64>(0)? as u64),
                registration: Registration {
                    host: row.get(1)?,
                    pid: row.get(2)?,
                    version: row.get(3)?,
                    lease: span(row.get(4)?),
                    patterns: record::patterns(row.get_ref(9)?.as_str()?),
                },
                lease_left: span(left),
                fenced: row.get(7)?,
                held: row.get::<_, i64>(8)? as usize,
            })
        };
        self.db()?.prepare_cached(OWNERS)?.query_map([], view)?.collect()
    }
}

fn span(micros: i64) -> Duration {
    Duration::from_micros(micros.max(0) as u64)
}

const REGISTER: &str = "INSERT INTO owner (host, pid, version, lease, boot, ends, fenced, patterns)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)";
const RENEW: &str = "UPDATE owner SET boot = ?2, ends = ?3 + lease WHERE id = ?1";
const LAPSED: &str =
    "SELECT EXISTS (SELECT 1 FROM owner WHERE id <> ?1 AND (fenced OR boot <> ?2 OR ends <= ?3)
    AND EXISTS (SELECT 1 FROM task INDEXED BY task_claimed WHERE state = 4 AND owner = owner.id))";
const UNWANTED: &str = "SELECT id FROM task INDEXED BY task_unwanted WHERE unwanted = 1 AND owner = ?1 AND state = 4 ORDER BY sequence";
const HELD: &str =
    "SELECT id, epoch FROM task INDEXED BY task_claimed WHERE state = 4 AND owner = ?1 ORDER BY sequence";
const OWNERS: &str = "SELECT id, host, pid, version, lease, boot, ends, fenced,
        (SELECT count(*) FROM task INDEXED BY task_claimed WHERE state = 4 AND task.owner = owner.id),
        patterns
    FROM owner ORDER BY id";
const LIVE: &str = "SELECT id, patterns FROM owner WHERE NOT fenced AND boot = ?1 AND ends > ?2";
