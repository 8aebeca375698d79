//! Whether what is kept fits together: for tests, and for a look at a board that somebody doubts. It reads all rows.

use super::fault::Fault;
use super::link::Session;

/// Each says what must not be, and asks for it.
const CHECKS: [(&str, &str); 5] = [
    ("a task is unfinished and has ended", "SELECT sequence FROM tasks WHERE id IN (SELECT id FROM history)"),
    (
        "a task is unfinished and in the trash",
        "SELECT sequence FROM tasks WHERE id IN (SELECT id FROM trash)",
    ),
    ("a task has ended and is in the trash", "SELECT place FROM trash WHERE id IN (SELECT id FROM history)"),
    (
        "a row is behind nobody",
        "SELECT sequence FROM tasks AS task WHERE state = 1
          AND NOT EXISTS (SELECT FROM tasks WHERE state IN (3, 4) AND twins = task.twins)",
    ),
    (
        "a claimed row has no owner",
        "SELECT sequence FROM tasks WHERE state = 4 AND owner <> 0 AND owner NOT IN (SELECT owner FROM owners)",
    ),
];

/// What does not fit together, in words.
pub(super) async fn verify(session: &Session) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    for (what, check) in CHECKS {
        let rows = session.rows(check, &[]).await?;
        let numbers: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        if !numbers.is_empty() {
            found.push(format!("{what}: {numbers:?}"));
        }
    }
    Ok(found)
}
