//! Keys of which only so many rows may be ready or claimed, the others being behind. Whoever counts the rows of such a key, or
//! lets the next one in, holds the key's lock until the transaction ends.

use std::collections::BTreeMap;

use taskyard_core::filing;
use taskyard_core::store::{Ask, NewRow, Request};
use taskyard_core::task::Task;
use uuid::Uuid;

use super::fault::Fault;
use super::row::twins;
use super::turn::Turn;

/// The server has room for so many locks, and not many more.
const LOCKS_MAX: usize = 1_000;

const LOCK_SHARED: &str = "SELECT pg_advisory_xact_lock_shared($1)";
const LOCK_ALL: &str = "SELECT pg_advisory_xact_lock($1)";
const LOCK: &str = "SELECT pg_advisory_xact_lock(key) FROM unnest($1::bigint[]) AS key";

const KEYS_OF: &str = "SELECT DISTINCT twins FROM tasks WHERE sequence = ANY($1) AND twins IS NOT NULL";

const COUNT: &str = "SELECT key.twins, (SELECT count(*) FROM tasks
      WHERE state IN (3, 4) AND twins IS NOT NULL AND twins = key.twins)
    FROM unnest($1::uuid[]) AS key(twins)";

/// Of each key the first that are behind become ready, for as long as one more than may run is ready or claimed.
const PROMOTE: &str = "UPDATE tasks SET state = 3 WHERE sequence = ANY(ARRAY(
    SELECT next.sequence FROM unnest($1::uuid[]) AS key(twins)
    CROSS JOIN LATERAL (SELECT count(*) AS counted FROM tasks
      WHERE state IN (3, 4) AND twins IS NOT NULL AND twins = key.twins) AS now
    CROSS JOIN LATERAL (SELECT key_limit FROM tasks WHERE state = 1 AND twins = key.twins
      ORDER BY rank, sequence LIMIT 1) AS head
    CROSS JOIN LATERAL (SELECT sequence FROM tasks WHERE state = 1 AND twins = key.twins
      ORDER BY rank, sequence LIMIT greatest(0, head.key_limit + 1 - now.counted)) AS next))";

/// What the twins of a task have in common, if only so many may be ready or claimed.
pub(super) fn serial_twins(task: &Task) -> Option<Uuid> {
    filing::serial_key(task.key, task.limits).map(|(key, _)| twins(key, &task.lane.namespace))
}

/// How many rows of each key are ready or claimed.
#[derive(Debug, Default)]
pub(super) struct Counted(BTreeMap<Uuid, u32>);

impl Counted {
    /// One more is ready or claimed if it may be: one more than may run, so that the next is at hand.
    pub(super) fn admit(&mut self, task: &Task) -> bool {
        let Some((key, limit)) = filing::serial_key(task.key, task.limits) else { return true };
        let counted = self.0.entry(twins(key, &task.lane.namespace)).or_default();
        let may = *counted <= limit;
        *counted += u32::from(may);
        may
    }

    /// One more is claimed, whatever the count.
    pub(super) fn force(&mut self, task: &Task) {
        if let Some(twins) = serial_twins(task) {
            *self.0.entry(twins).or_default() += 1;
        }
    }
}

fn rows_of(request: &Request) -> Vec<&NewRow> {
    match request {
        Request::Post { rows, .. } | Request::Tick { rows, .. } => rows.iter().collect(),
        Request::Settle(items) => items.iter().flat_map(|item| &item.posts).collect(),
        _ => Vec::new(),
    }
}

fn settled_in(request: &Request) -> &[taskyard_core::store::Settlement] {
    match request {
        Request::Settle(items) => items,
        _ => &[],
    }
}

impl Turn<'_> {
    /// Locks the keys of all that these requests post or settle, before a row is locked: so that transactions wait for each
    /// other in one order.
    pub(super) async fn lock_keys_of(&mut self, asks: &[Ask]) -> Result<(), Fault> {
        let requests = || asks.iter().map(|ask| &*ask.request);
        let posted = requests().flat_map(rows_of).filter_map(|row| serial_twins(&row.task));
        let mut keys: Vec<_> = posted.collect();
        let settled = requests().flat_map(settled_in).map(|item| item.sequence as i64).collect();
        keys.extend(self.keys_of(settled).await?);
        self.lock_keys(keys).await
    }

    /// The keys of these rows.
    pub(super) async fn keys_of(&mut self, sequences: Vec<i64>) -> Result<Vec<Uuid>, Fault> {
        if sequences.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.session.rows(KEYS_OF, &[&sequences]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Locks keys until the end of the transaction.
    pub(super) async fn lock_keys(&mut self, keys: Vec<Uuid>) -> Result<(), Fault> {
        if keys.is_empty() {
            return Ok(());
        }
        let mut locks: Vec<_> = keys.into_iter().map(|key| key.as_u64_pair().0 as i64 ^ self.seed).collect();
        locks.sort_unstable();
        locks.dedup();
        if locks.len() > LOCKS_MAX {
            self.session.rows(LOCK_ALL, &[&self.seed]).await?;
        } else {
            self.session.rows(LOCK_SHARED, &[&self.seed]).await?;
            self.session.rows(LOCK, &[&locks]).await?;
        }
        Ok(())
    }

    /// How many rows of these keys are ready or claimed. The keys are locked.
    pub(super) async fn count_keys(&mut self, keys: Vec<Uuid>) -> Result<Counted, Fault> {
        if keys.is_empty() {
            return Ok(Counted::default());
        }
        let rows = self.session.rows(COUNT, &[&keys]).await?;
        Ok(Counted(rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1) as u32)).collect()))
    }

    /// Rows of these keys were let go, or became due: the next take their place. The keys are locked.
    pub(super) async fn promote_keys(&mut self, mut keys: Vec<Uuid>) -> Result<(), Fault> {
        keys.sort_unstable();
        keys.dedup();
        if !keys.is_empty() {
            self.session.rows(PROMOTE, &[&keys]).await?;
        }
        Ok(())
    }
}
