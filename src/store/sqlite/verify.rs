//! Whether what is kept fits together: tallies and rows, keys and those behind, the numbers of the board. For tests and for
//! a look at a file that somebody doubts; it reads all rows.

use rusqlite::Connection;
use taskyard_core::store::RowState;

use super::{Sql, Sqlite};
use crate::store::record::state_code;

/// Each says what must not be, and asks for it.
const CHECKS: [(&str, &str); 11] = [
    ("a lane's numbers are not those of its rows", LANES),
    (
        "a counted row is neither ready nor claimed",
        "SELECT sequence FROM task WHERE counted = 1 AND state NOT IN (3, 4)",
    ),
    (
        "a row is behind nobody",
        "SELECT sequence FROM task AS t WHERE state = 1
            AND NOT EXISTS (SELECT 1 FROM task WHERE counted = 1 AND key = t.key AND space = t.space)",
    ),
    ("a row that waits has no rank", "SELECT sequence FROM task WHERE state IN (1, 2, 3) AND rank IS NULL"),
    ("a claimed row has no owner", "SELECT sequence FROM task WHERE state = 4 AND owner IS NULL"),
    (
        "a row has no body, or two",
        "SELECT sequence FROM task AS t
            WHERE (body IS NULL) <> EXISTS (SELECT 1 FROM body WHERE sequence = t.sequence)",
    ),
    ("a body has no row", "SELECT sequence FROM body WHERE sequence NOT IN (SELECT sequence FROM task)"),
    (
        "a batch's number is not that of its rows",
        "SELECT id FROM batch AS b WHERE unfinished <> (SELECT count(*) FROM task WHERE batch = b.id)",
    ),
    ("the number of what is kept is not that of its rows", KEPT),
    (
        "trash and history differ",
        "SELECT place FROM history WHERE (outcome = 5) <> (place IN (SELECT place FROM trash))
            UNION ALL SELECT place FROM trash WHERE place NOT IN (SELECT place FROM history)",
    ),
    ("a task is unfinished and has ended", "SELECT sequence FROM task WHERE id IN (SELECT id FROM history)"),
];

const KEPT: &str =
    "SELECT place FROM board AS b WHERE kept + (SELECT count(*) FROM history WHERE place > b.place)
    <> (SELECT count(*) FROM history WHERE outcome <> 5)
    OR trashed <> (SELECT count(*) FROM trash)";
const LANES: &str = "SELECT id FROM lane AS l WHERE ended <> (SELECT count(*) FROM history WHERE lane = l.id)
    OR use <> iif(parked + behind + unjudged + ready + claimed > 0, 2, ended > 0)
    OR parked || ',' || behind || ',' || unjudged || ',' || ready || ',' || claimed <> (SELECT
        count(*) FILTER (WHERE state = 0) || ',' || count(*) FILTER (WHERE state = 1) || ',' ||
        count(*) FILTER (WHERE state = 2) || ',' || count(*) FILTER (WHERE state = 3) || ',' ||
        count(*) FILTER (WHERE state = 4) FROM task WHERE lane = l.id)";

impl Sqlite {
    /// What does not fit together, in words; nothing if all is well. Reads all rows.
    pub fn verify(&mut self) -> Vec<String> {
        self.contradictions().unwrap_or_else(|error| vec![error.to_string()])
    }

    fn contradictions(&mut self) -> Sql<Vec<String>> {
        let mut found = Vec::new();
        for (what, query) in CHECKS {
            found.extend(offenders(&self.db, query)?.map(|rows| format!("{what}: {rows}")));
        }
        found.extend(self.forgotten()?);
        self.db.query_row("PRAGMA quick_check", [], |row| row.get(0)).map(|said: String| {
            found.extend((said != "ok").then_some(said));
            found
        })
    }

    /// Where memory and file differ.
    fn forgotten(&mut self) -> Sql<Vec<String>> {
        if self.mirror.is_in_doubt(&self.db)? {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for state in
            [RowState::Parked, RowState::Behind, RowState::Unjudged, RowState::Ready, RowState::Claimed]
        {
            let count = "SELECT count(*) FROM task WHERE state = ?1";
            let rows: i64 = self.db.query_row(count, [state_code(state)], |row| row.get(0))?;
            let counted = self.mirror.tallies.total(state);
            found.extend(
                (rows as usize != counted).then(|| format!("{rows} rows are {state:?}, not {counted}")),
            );
        }
        let status = self.mirror.status(&self.db)?;
        self.mirror.doubt();
        self.mirror.refresh(&self.db)?;
        let anew = self.mirror.status(&self.db)?;
        found
            .extend((status != anew).then(|| format!("the board stands like {anew:?}, not like {status:?}")));
        Ok(found)
    }
}

fn offenders(db: &Connection, query: &str) -> Sql<Option<String>> {
    let mut query = db.prepare(query)?;
    let rows = query.query_map([], |row| row.get::<_, i64>(0))?.take(5);
    let rows: Vec<_> = rows.map(|row| row.map(|row| row.to_string())).collect::<Sql<_>>()?;
    Ok((!rows.is_empty()).then(|| rows.join(", ")))
}
