//! Rows that come to the tables of tasks and of history, or leave the first, several in a statement: to open a table with its
//! indexes costs SQLite about as much as a row does. They are written before these tables are asked for anything else.

use std::sync::Arc;

use rusqlite::{Connection, ToSql, params};
use taskyard_core::dispatch::Outcome;
use taskyard_core::id::Sequence;
use taskyard_core::task::Task;
use taskyard_core::time::Timestamp;

use super::Sql;
use super::row::{BodyPlace, Row, id_bytes, key_bytes};
use super::table::{key_limits, owner};
use crate::store::record::{outcome_columns, state_code};

/// At most so many rows go into one statement; a power of two.
const ROWS_MAX: usize = 16;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Late {
    /// Values of more bytes are not kept.
    result_max: usize,
    added: Vec<Added>,
    /// They stand in the table, or are among the added.
    gone: Vec<Sequence>,
    ended: Vec<EndedRow>,
    into_task: Statement,
    out_of_task: Statement,
    into_history: Statement,
}

/// A row whose id is new, with its body.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) row: Row,
    /// The number of its namespace, if it has a key of which a bounded number is ready or claimed.
    pub(super) space: Option<i64>,
    pub(super) task: Arc<Task>,
}

/// A row as it ended.
#[derive(Debug)]
pub(super) struct EndedRow {
    pub(super) place: i64,
    pub(super) row: Row,
    pub(super) outcome: Outcome,
    pub(super) at: Timestamp,
}

impl Late {
    pub(super) fn new(result_max: usize) -> Self {
        Self {
            result_max,
            added: Vec::new(),
            gone: Vec::new(),
            ended: Vec::new(),
            into_task: Statement::new(
                "INSERT INTO task (sequence, id, lane, state, priority, rank, due, posted, expires, key, space,
                    key_limit, key_waiting, key_overflow, counted, judged, owner, epoch, attempts, batch, body,
                    setbacks, crash_marks, unwanted)
                VALUES",
                "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0)",
                "",
            ),
            out_of_task: Statement::new("DELETE FROM task WHERE sequence IN (", "?", ")"),
            into_history: Statement::new(
                "INSERT INTO history (place, id, lane, outcome, detail, ended, owner, epoch, attempts) VALUES",
                "(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                "",
            ),
        }
    }

    /// A row comes to the table of tasks.
    pub(super) fn add(&mut self, db: &Connection, added: Added) -> Sql<()> {
        self.added.push(added);
        self.write_if_full(db, self.added.len())
    }

    /// A row leaves the table of tasks.
    pub(super) fn take_out(&mut self, db: &Connection, sequence: Sequence) -> Sql<()> {
        self.gone.push(sequence);
        self.write_if_full(db, self.gone.len())
    }

    /// A row comes to the table of history.
    pub(super) fn end(&mut self, db: &Connection, ended: EndedRow) -> Sql<()> {
        self.ended.push(ended);
        self.write_if_full(db, self.ended.len())
    }

    fn write_if_full(&mut self, db: &Connection, rows: usize) -> Sql<()> {
        if rows < ROWS_MAX { Ok(()) } else { self.write(db) }
    }

    /// Writes what has not been written.
    pub(super) fn write(&mut self, db: &Connection) -> Sql<()> {
        self.into_task.execute(db, &self.added, |Added { row, space, task }, bind| {
            let limits = key_limits(row);
            bind(params![
                row.sequence as i64,
                id_bytes(row.id),
                row.lane.0,
                state_code(row.state),
                row.priority.get(),
                row.rank,
                row.due.0,
                row.posted.0,
                row.expires.map(|at| at.0),
                row.key.map(key_bytes),
                space,
                limits.0,
                limits.1,
                limits.2,
                row.counted,
                row.judged,
                owner(row),
                row.epoch,
                row.attempts,
                row.batch.map(|batch| batch.0 as i64),
                (row.body == BodyPlace::InRow).then_some(task.body.text()),
            ])
        })?;
        self.added.clear();
        self.out_of_task.execute(db, &self.gone, |sequence, bind| bind(params![*sequence as i64]))?;
        self.gone.clear();
        self.into_history.execute(db, &self.ended, |EndedRow { place, row, outcome, at }, bind| {
            let (code, detail) = outcome_columns(outcome, self.result_max);
            bind(params![
                place,
                id_bytes(row.id),
                row.lane.0,
                code,
                detail.as_deref(),
                at.0,
                (row.epoch > 0).then_some(row.owner.0 as i64),
                row.epoch,
                row.attempts,
            ])
        })?;
        self.ended.clear();
        Ok(())
    }

    /// The transaction was rolled back.
    pub(super) fn drop_all(&mut self) {
        self.added.clear();
        self.gone.clear();
        self.ended.clear();
    }
}

/// A statement for one row, for two, for four, and so on.
#[derive(Debug)]
struct Statement {
    texts: Vec<String>,
}

/// Takes the values of a row.
type Bind<'b> = dyn FnMut(&[&dyn ToSql]) -> Sql<()> + 'b;

impl Statement {
    /// `row` is repeated for each row, between `head` and `tail`.
    fn new(head: &str, row: &str, tail: &str) -> Self {
        let text = |rows: usize| format!("{head} {} {tail}", vec![row; rows].join(", "));
        let sizes = (0..=ROWS_MAX.ilog2()).map(|power| 1 << power);
        Self { texts: sizes.map(text).collect() }
    }

    fn execute<T>(
        &self,
        db: &Connection,
        mut items: &[T],
        values: impl Fn(&T, &mut Bind<'_>) -> Sql<()>,
    ) -> Sql<()> {
        while !items.is_empty() {
            let power = items.len().min(ROWS_MAX).ilog2();
            let (now, later) = items.split_at(1 << power);
            let mut statement = db.prepare_cached(&self.texts[power as usize])?;
            let mut column = 0;
            for item in now {
                values(item, &mut |row| {
                    row.iter().try_for_each(|value| {
                        column += 1;
                        statement.raw_bind_parameter(column, value)
                    })
                })?;
            }
            statement.raw_execute()?;
            items = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::TaskId;
    use taskyard_core::task::TaskDefaults;
    use taskyard_core::wire;

    use super::*;
    use crate::store::lanes::LaneNo;
    use crate::store::sqlite::schema;

    fn added(sequence: Sequence) -> Added {
        let id = TaskId(u128::from(sequence));
        let task = wire::parse_task(r#"{"task":"one","namespace":"a"}"#, id, &|_| TaskDefaults::default());
        let task = Arc::new(task.unwrap());
        Added { row: Row::new(sequence, &task, LaneNo(1), Timestamp(7)), space: None, task }
    }

    fn count(db: &Connection, table: &str) -> i64 {
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn any_number_of_rows_is_written_each_once_and_in_order() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE pair (a INTEGER, b INTEGER)").unwrap();
        let into = Statement::new("INSERT INTO pair (a, b) VALUES", "(?, ?)", "");
        for rows in 0..=50 {
            db.execute_batch("DELETE FROM pair").unwrap();
            let items: Vec<i64> = (0..rows).collect();
            into.execute(&db, &items, |item, bind| bind(params![item, item * 10])).unwrap();
            let written =
                "SELECT json_group_array(a) FROM (SELECT a FROM pair WHERE b = a * 10 ORDER BY rowid)";
            let written: String = db.query_row(written, [], |row| row.get(0)).unwrap();
            assert_eq!(written, serde_json::to_string(&items).unwrap());
        }
    }

    #[test]
    fn rows_wait_for_one_another_but_not_for_ever() {
        let db = Connection::open_in_memory().unwrap();
        schema::migrate(&db, 0).unwrap();
        let mut late = Late::new(100);
        for sequence in 1..=ROWS_MAX as i64 {
            assert_eq!(count(&db, "task"), 0);
            late.add(&db, added(sequence as u64)).unwrap();
        }
        assert_eq!(count(&db, "task"), ROWS_MAX as i64);
    }

    #[test]
    fn a_row_that_comes_and_goes_before_it_was_written_is_gone() {
        let db = Connection::open_in_memory().unwrap();
        schema::migrate(&db, 0).unwrap();
        let mut late = Late::new(100);
        for sequence in 1..=3 {
            let Added { row, .. } = added(sequence);
            late.add(&db, added(sequence)).unwrap();
            late.take_out(&db, sequence).unwrap();
            let (place, at) = (sequence as i64, Timestamp(7));
            late.end(&db, EndedRow { place, row, outcome: Outcome::Cancelled, at }).unwrap();
        }
        late.write(&db).unwrap();
        assert_eq!((count(&db, "task"), count(&db, "history")), (0, 3));
    }

    #[test]
    fn what_was_rolled_back_is_not_written_later() {
        let db = Connection::open_in_memory().unwrap();
        schema::migrate(&db, 0).unwrap();
        let mut late = Late::new(100);
        late.add(&db, added(1)).unwrap();
        late.drop_all();
        late.write(&db).unwrap();
        assert_eq!(count(&db, "task"), 0);
    }
}
