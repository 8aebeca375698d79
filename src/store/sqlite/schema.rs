//! The tables, and how an older file is brought up to date. Two processes may start at once: one of them migrates.
//!
//! Rows are appended in order of arrival; names are interned; what only few tasks have costs the others a byte a column.
//! What orders and finds rows are narrow indexes, each over the rows of one state only. Large bodies stand aside, so that a
//! change of state does not write them anew. What has ended leaves the table of the unfinished.

use rusqlite::Connection;

/// Marks the file as a board, in its header: "tsky".
pub(super) const APPLICATION: i32 = 0x7473_6b79;

/// Each step leads from its place in the list to the next version.
const STEPS: [&str; 1] = [FIRST];

/// The version that this program writes.
pub(super) const VERSION: i32 = STEPS.len() as i32;

/// Brings a file of version `from` up to date, within the caller's transaction.
pub(super) fn migrate(db: &Connection, from: i32) -> rusqlite::Result<()> {
    for step in STEPS.iter().skip(from as usize) {
        db.execute_batch(step)?;
    }
    db.pragma_update(None, "application_id", APPLICATION)?;
    db.pragma_update(None, "user_version", VERSION)
}

const FIRST: &str = "
-- What holds for the board as a whole: one row, not written with each commit. Sequences are kept in reserve; what came into
-- history at a higher place than the row says is not in the trash, and is not in the row's numbers.
CREATE TABLE board (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL, -- none above it was given away; kept here, as an empty table would start again
    place    INTEGER NOT NULL, -- the last one in history
    kept     INTEGER NOT NULL, -- how many rows of history are not in the trash
    trashed  INTEGER NOT NULL, -- how many are
    pruned   INTEGER NOT NULL, -- up to this place history has nothing but trash
    valued   INTEGER NOT NULL  -- up to this place no value is kept
) STRICT;
INSERT INTO board VALUES (1, 0, 0, 0, 0, 0, 0);

CREATE TABLE space (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL UNIQUE
) STRICT;

-- Lanes, each with the number of its tasks in each state.
CREATE TABLE lane (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL,
    name     TEXT NOT NULL,
    parked   INTEGER NOT NULL DEFAULT 0,
    behind   INTEGER NOT NULL DEFAULT 0,
    unjudged INTEGER NOT NULL DEFAULT 0,
    ready    INTEGER NOT NULL DEFAULT 0,
    claimed  INTEGER NOT NULL DEFAULT 0,
    ended    INTEGER NOT NULL DEFAULT 0,
    use      INTEGER NOT NULL DEFAULT 0, -- 2: it has tasks, 1: only history, 0: neither
    UNIQUE (space, name)
) STRICT;
CREATE INDEX lane_use ON lane (use); -- written only when the use changes, not with each number

-- Unfinished tasks. States: 0 parked, 1 behind, 2 unjudged, 3 ready, 4 claimed. Times are microseconds since 1970 in UTC.
CREATE TABLE task (
    sequence     INTEGER PRIMARY KEY,
    id           BLOB NOT NULL,
    lane         INTEGER NOT NULL,
    state        INTEGER NOT NULL,
    priority     INTEGER NOT NULL,
    rank         INTEGER,           -- NULL: what due, posted and priority make
    due          INTEGER NOT NULL,
    posted       INTEGER NOT NULL,
    expires      INTEGER,
    key          BLOB,
    space        INTEGER,           -- only with a key of which a bounded number is ready or claimed
    key_limit    INTEGER,
    key_waiting  INTEGER,
    key_overflow INTEGER,
    counted      INTEGER NOT NULL,
    judged       INTEGER NOT NULL,
    owner        INTEGER,           -- whose the latest pass is or was
    epoch        INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    setbacks     INTEGER NOT NULL,
    crash_marks  INTEGER NOT NULL,
    marked       INTEGER,           -- the pass of the latest crash mark
    unwanted     INTEGER NOT NULL,  -- somebody wants it cancelled while another has it
    batch        INTEGER,
    body         TEXT               -- NULL: in the table of that name
) STRICT;
CREATE UNIQUE INDEX task_id ON task (id);
CREATE INDEX task_parked ON task (lane, due, priority DESC) WHERE state = 0;
CREATE INDEX task_behind ON task (key, space, rank) WHERE state = 1;
CREATE INDEX task_waiting ON task (state, lane, rank) WHERE state IN (2, 3);
CREATE INDEX task_claimed ON task (owner) WHERE state = 4;
CREATE INDEX task_counted ON task (key, space) WHERE counted = 1;
CREATE INDEX task_expires ON task (expires) WHERE expires IS NOT NULL AND state <> 4;
CREATE INDEX task_unwanted ON task (owner) WHERE unwanted = 1;

CREATE TABLE body (
    sequence INTEGER PRIMARY KEY,
    text     TEXT NOT NULL
) STRICT;

-- What has ended. Outcomes: 1 succeeded, 2 cancelled, 3 expired, 4 discarded, 5 trashed.
CREATE TABLE history (
    place    INTEGER PRIMARY KEY,
    id       BLOB NOT NULL,
    lane     INTEGER NOT NULL,
    outcome  INTEGER NOT NULL,
    detail   TEXT,              -- the value, the winner's id, or why it is in the trash
    ended    INTEGER NOT NULL,
    owner    INTEGER,
    epoch    INTEGER NOT NULL,
    attempts INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX history_id ON history (id);

-- What is needed to post a trashed task again, by its place in history.
CREATE TABLE trash (
    place        INTEGER PRIMARY KEY,
    priority     INTEGER NOT NULL,
    key          BLOB,
    key_limit    INTEGER,
    key_waiting  INTEGER,
    key_overflow INTEGER,
    body         TEXT
) STRICT;

-- How passes ended, of tasks that went wrong at least once.
CREATE TABLE attempt (
    id    BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    how   TEXT NOT NULL,
    PRIMARY KEY (id, epoch)
) WITHOUT ROWID, STRICT;

-- Registered dispatchers. A lease ends at a time since boot; under another boot it has ended.
CREATE TABLE owner (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    host     TEXT NOT NULL,
    pid      INTEGER NOT NULL,
    version  TEXT NOT NULL,
    lease    INTEGER NOT NULL,
    boot     TEXT NOT NULL,
    ends     INTEGER NOT NULL,
    fenced   INTEGER NOT NULL,
    patterns TEXT NOT NULL -- of its pools, a JSON array
) STRICT;

CREATE TABLE schedule (
    name   TEXT PRIMARY KEY,
    done   INTEGER NOT NULL,
    paused INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- The latest run of each batch, by the hash of its content.
CREATE TABLE batch (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    hash       BLOB NOT NULL UNIQUE,
    run        INTEGER NOT NULL,
    sealed     INTEGER NOT NULL,
    unfinished INTEGER NOT NULL,
    finished   INTEGER
) STRICT;
CREATE INDEX batch_finished ON batch (finished) WHERE finished IS NOT NULL;
";
