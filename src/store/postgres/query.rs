//! Looking at the board; nothing changes here.

use taskyard_core::TaskId;
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::Sequence;
use taskyard_core::store::{Answer, AttemptEnd, AttemptRecord, Filter, OwnerId, TaskView};
use taskyard_core::time::Timestamp;

use super::fault::Fault;
use super::known::uuids;
use super::names;
use super::row::{EndedRow, TaskRow, ended_columns, task_columns, task_id, trash_columns, uuid};
use super::turn::Turn;
use crate::store::record;

/// At how many rows is looked for one answer.
pub(super) const LOOK: i64 = 10_000;
/// How many of them may be in it.
pub(super) const PAGE: usize = 1_000;

const ENDED: &str = concat!("SELECT ", ended_columns!(), " FROM history WHERE id = $1");
const TRASHED: &str = concat!("SELECT ", trash_columns!(), " FROM trash WHERE id = $1");
const LOG: &str = "SELECT epoch, ended, owner, how FROM attempts WHERE id = $1 ORDER BY epoch";
const UNFINISHED: &str = "SELECT id FROM tasks WHERE id = ANY($1)";
const PAGE_END: &str = "SELECT sequence FROM tasks WHERE sequence > $1 ORDER BY sequence OFFSET $2 LIMIT 1";
const LIST: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE sequence > $1 AND sequence <= $2 AND ($3::bigint[] IS NULL OR lane = ANY($3))
    ORDER BY sequence LIMIT $4"
);

/// The rows of one look: those up to the last one.
pub(super) struct Page {
    pub(super) last: i64,
    is_end: bool,
}

impl Page {
    /// Where to go on.
    pub(super) fn more(&self) -> Option<Sequence> {
        (!self.is_end).then_some(self.last as u64)
    }
}

impl Turn<'_> {
    /// A task, with its attempts.
    pub(super) async fn view(&mut self, id: TaskId) -> Result<Option<TaskView>, Fault> {
        let Some(view) = self.view_without_log(id).await? else { return Ok(None) };
        let rows = self.session.rows(LOG, &[&uuid(id)]).await?;
        let log: Vec<_> = rows.iter().map(attempt).collect();
        let failure = |attempt: &AttemptRecord| match &attempt.end {
            AttemptEnd::Failed(failure) => Some(failure.clone()),
            _ => None,
        };
        let last_error = view.last_error.clone().or_else(|| log.iter().rev().find_map(failure));
        Ok(Some(TaskView { log, last_error, ..view }))
    }

    async fn view_without_log(&mut self, id: TaskId) -> Result<Option<TaskView>, Fault> {
        if let Some(row) = self.tasks_by_id(&[uuid(id)]).await?.pop() {
            return Ok(Some(row.view(self.memory)));
        }
        if let Some(row) = self.session.row(ENDED, &[&uuid(id)]).await? {
            names::load(self.session, self.memory, std::iter::once(EndedRow::lane_of(&row))).await?;
            return Ok(Some(EndedRow::read(&row, self.memory).view()));
        }
        let Some(row) = self.session.row(TRASHED, &[&uuid(id)]).await? else { return Ok(None) };
        names::load(self.session, self.memory, std::iter::once(EndedRow::lane_of(&row))).await?;
        Ok(Some(EndedRow::read_trash(&row, self.memory).view()))
    }

    pub(super) async fn list(
        &mut self,
        filter: &Filter,
        after: Sequence,
        limit: usize,
    ) -> Result<Answer, Fault> {
        if filter.is_empty() {
            return Ok(Answer::Tasks { tasks: Vec::new(), more: None });
        }
        let limit = limit.min(PAGE);
        let (rows, more) = if filter.ids.is_empty() {
            self.list_page(filter, after, limit).await?
        } else {
            (self.list_named(filter, after).await?, None)
        };
        let shown = &rows[..rows.len().min(limit)];
        let last = shown.last().map(|row| row.sequence as u64);
        let tasks = shown.iter().map(|row| row.view(self.memory)).collect();
        Ok(Answer::Tasks { tasks, more: if rows.len() > limit { last } else { more } })
    }

    async fn list_page(
        &mut self,
        filter: &Filter,
        after: Sequence,
        limit: usize,
    ) -> Result<(Vec<TaskRow>, Option<Sequence>), Fault> {
        let lanes = self.lanes_of(filter).await?;
        let page = self.page(after, lanes.as_deref()).await?;
        let one_more = at_most(limit).saturating_add(1);
        let rows = self.session.rows(LIST, &[&(after as i64), &page.last, &lanes, &one_more]).await?;
        Ok((self.read_tasks(&rows).await?, page.more()))
    }

    pub(super) async fn list_named(
        &mut self,
        filter: &Filter,
        after: Sequence,
    ) -> Result<Vec<TaskRow>, Fault> {
        let mut rows = self.tasks_by_id(&uuids(&filter.ids)).await?;
        rows.retain(|row| row.sequence as u64 > after && filter.fits_lane(&self.memory.lane(row.lane)));
        rows.sort_unstable_by_key(|row| row.sequence);
        Ok(rows)
    }

    /// The lanes that a filter picks; `None`: all.
    pub(super) async fn lanes_of(&mut self, filter: &Filter) -> Result<Option<Vec<i64>>, Fault> {
        if filter.task.is_none() && filter.namespace.is_none() {
            return Ok(None);
        }
        names::load_all(self.session, self.memory).await?;
        let lanes = self.memory.lanes.iter().filter(|(_, lane)| filter.fits_lane(lane));
        Ok(Some(lanes.map(|(number, _)| number.0).collect()))
    }

    /// The rows that one answer looks at, for what these lanes have (`None`: all). In no lanes there is nothing to look at.
    pub(super) async fn page(&mut self, after: Sequence, lanes: Option<&[i64]>) -> Result<Page, Fault> {
        if lanes.is_some_and(<[i64]>::is_empty) {
            return Ok(Page { last: after as i64, is_end: true });
        }
        let end = self.session.row(PAGE_END, &[&(after as i64), &(LOOK - 1)]).await?;
        let last = end.map(|row| row.get(0));
        Ok(Page { last: last.unwrap_or(i64::MAX), is_end: last.is_none() })
    }

    /// How these ended. Those that have not are left out.
    pub(super) async fn outcomes(&mut self, ids: &[TaskId]) -> Result<Vec<(TaskId, Option<Outcome>)>, Fault> {
        let named = uuids(ids);
        let ended = self.ended(&named).await?;
        let rows = self.session.rows(UNFINISHED, &[&named]).await?;
        let unfinished: std::collections::BTreeSet<_> = rows.iter().map(|row| task_id(row.get(0))).collect();
        let known = ids.iter().filter(|id| !unfinished.contains(id));
        Ok(known.map(|id| (*id, ended.get(id).map(|ended| ended.outcome.clone()))).collect())
    }
}

/// For a `LIMIT`: a number that the server cannot know stands for no bound, where its bits would stand for a negative one.
pub(super) fn at_most(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn attempt(row: &tokio_postgres::Row) -> AttemptRecord {
    AttemptRecord {
        epoch: row.get::<_, i32>(0) as u32,
        ended: Timestamp(row.get(1)),
        owner: OwnerId(row.get::<_, i64>(2) as u64),
        end: record::attempt_end(row.get(3)),
    }
}
