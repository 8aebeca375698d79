//! What failed for good, in the order in which it got here: kept with its body, so that it can be looked at and posted
//! again. No age takes anything out.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};
use taskyard_core::TaskId;
use taskyard_core::filing;
use taskyard_core::store::{Answer, Filter};
use taskyard_core::task::Task;

use super::Sql;
use super::end::{Ended, select_ended};
use super::query::{LOOK, PAGE};
use super::row::{self, Row};
use super::turn::Turn;
use crate::store::reading::{self, Stored};
use crate::store::record;

impl Turn<'_> {
    /// The task of what is in the trash, unless it can't be understood.
    pub(super) fn trashed(&mut self, ended: &Ended) -> Sql<Option<Arc<Task>>> {
        let lane = self.mirror.lane(self.others, ended.lane)?;
        let read = |found: &rusqlite::Row<'_>| {
            let stored = Stored {
                id: ended.id,
                lane: Arc::clone(&lane),
                priority: record::priority(found.get(0)?),
                key: row::key(found.get_ref(1)?),
                limits: row::limits(found, 2)?,
            };
            let body = found.get_ref(5)?.as_bytes_or_null()?.unwrap_or_default();
            Ok(reading::task(body, stored, &self.rules.defaults).ok())
        };
        let found = self.db()?.prepare_cached(TRASHED)?.query_row([ended.place], read).optional()?;
        Ok(found.flatten())
    }

    pub(super) fn list_trash(&mut self, filter: &Filter, after: u64, limit: usize) -> Sql<Answer> {
        let (picked, more) = self.pick_trash(filter, after as i64, limit.min(PAGE))?;
        let tasks = picked.iter().map(|ended| self.view_ended(ended)).collect::<Sql<_>>()?;
        Ok(Answer::Tasks { tasks, more: more.map(|place| place as u64) })
    }

    /// What a filter picks, after a place, and where to go on if there may be more.
    fn pick_trash(&mut self, filter: &Filter, after: i64, limit: usize) -> Sql<(Vec<Ended>, Option<i64>)> {
        if filter.is_empty() {
            return Ok((Vec::new(), None));
        }
        let looked_at = self.candidates(filter, after)?;
        let (mut picked, mut last) = (Vec::new(), None);
        for (looked, ended) in looked_at.into_iter().enumerate() {
            if looked == LOOK || picked.len() == limit {
                return Ok((picked, last));
            }
            last = Some(ended.place);
            if filter.fits_lane(self.mirror.lane(self.others, ended.lane)?.as_ref()) {
                picked.push(ended);
            }
        }
        Ok((picked, None))
    }

    fn candidates(&self, filter: &Filter, after: i64) -> Sql<Vec<Ended>> {
        if filter.ids.is_empty() {
            let mut query = self.db()?.prepare_cached(TRASH_AFTER)?;
            return query.query_map(params![after, LOOK as i64 + 1], Ended::read)?.collect();
        }
        let mut found = Vec::new();
        for id in &filter.ids {
            let ended = self.ended(*id)?.filter(|ended| ended.place > after);
            found.extend(
                ended.filter(|ended| matches!(ended.outcome, taskyard_core::dispatch::Outcome::Trashed(_))),
            );
        }
        found.sort_unstable_by_key(|ended| ended.place);
        found.dedup_by_key(|ended| ended.place);
        Ok(found)
    }

    pub(super) fn requeue(&mut self, filter: &Filter, up_to: usize) -> Sql<Answer> {
        let (picked, more) = self.pick_trash(filter, 0, up_to)?;
        let mut ids = Vec::new();
        for ended in picked {
            ids.extend(self.post_again(&ended)?);
        }
        Ok(Answer::Requeued { ids, more: more.is_some() })
    }

    /// Files it as a new task that is due now and does not expire, whatever the bounds of the board: the bound of the trash
    /// is one for what comes back from it as well. What can't be understood stays.
    fn post_again(&mut self, ended: &Ended) -> Sql<Option<TaskId>> {
        let Some(task) = self.trashed(ended)? else { return Ok(None) };
        self.forget(ended)?;
        let row = Row::new(self.next_sequence(), &task, ended.lane, self.now.wall);
        let mut row = Row { owner: ended.owner, epoch: ended.epoch, ..row };
        row.rank = Some(filing::order(row.priority, row.due, row.posted, row.sequence, self.aging()).rank);
        row.state = self.place(&mut row)?;
        self.insert(&row, &task)?;
        Ok(Some(ended.id))
    }

    pub(super) fn purge(&mut self, filter: &Filter, up_to: usize) -> Sql<Answer> {
        let (picked, more) = self.pick_trash(filter, 0, up_to)?;
        for ended in &picked {
            self.forget(ended)?;
            self.forget_log(ended.id)?;
        }
        Ok(Answer::Purged { tasks: picked.len(), more: more.is_some() })
    }
}

const TRASHED: &str = "SELECT priority, key, key_limit, key_waiting, key_overflow, body FROM trash
    WHERE place = ?1";
const TRASH_AFTER: &str = select_ended!(
    "WHERE place IN (SELECT place FROM trash WHERE place > ?1 ORDER BY place LIMIT ?2) ORDER BY place"
);
