//! Submits tasks inside an application's own transaction: a task is on the board exactly if that is committed.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::defaults::AGING;
use taskyard_core::task::{Due, Task};
use taskyard_core::time::micros;
use taskyard_core::wire::Rejected;
use tokio_postgres::GenericClient;

use super::fault::explained;
use super::keys::serial_twins;
use super::row::{key_uuid, uuid};
use super::schema::SchemaName;
use crate::draft::Draft;
use crate::payload::Payload;
use crate::registry::Registry;
use crate::store::record;
use crate::submit::read_task;

/// Submits tasks inside an application's own transaction.
///
/// ```no_run
/// # use taskyard::{Draft, registry::Registry, store::postgres::Submitter};
/// # use taskyard::payload::Named;
/// # async fn example(client: &mut tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let submitter = Submitter::new(Registry::new());
/// let transaction = client.transaction().await?;
/// transaction.execute("UPDATE orders SET paid = true WHERE id = $1", &[&7_i64]).await?;
/// let id = submitter.submit_json(&transaction, r#"{"task":"app.mail.send","args":[7]}"#).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
///
/// The tables must be there: a dispatcher makes them when it opens the board for the first time. No bound of the board is
/// looked at. Nobody waits for the transaction, however long it stays open, but for who submits the same id meanwhile.
/// Dispatchers are told when it is committed.
///
/// An id that the board knows changes nothing. In a transaction that is REPEATABLE READ or SERIALIZABLE the board is as it was
/// when that began: an id that has ended since would run again.
#[derive(Debug, Clone)]
pub struct Submitter {
    registry: Registry,
    schema: SchemaName,
    aging: Duration,
}

/// A task was not submitted.
#[derive(Debug, thiserror::Error)]
pub enum NotSubmitted {
    /// It makes no sense.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The server said so, and the transaction can do nothing more.
    #[error("the server refused the task: {}", explained(.0))]
    Server(tokio_postgres::Error),
}

impl From<tokio_postgres::Error> for NotSubmitted {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl Submitter {
    /// Submits to the usual schema, with the defaults of these handlers.
    pub fn new(registry: Registry) -> Self {
        Self { registry, schema: SchemaName::default(), aging: AGING }
    }

    /// Submits to this schema.
    pub fn schema(mut self, schema: SchemaName) -> Self {
        self.schema = schema;
        self
    }

    /// The aging of the board, if it is not the usual.
    pub fn aging(mut self, aging: Duration) -> Self {
        self.aging = aging;
        self
    }

    /// Submits a task: its payload, or a [`Draft`] of it. An id that the board knows changes nothing.
    pub async fn submit<P: Payload>(
        &self,
        client: &impl GenericClient,
        task: impl Into<Draft<P>>,
    ) -> Result<TaskId, NotSubmitted> {
        let task = task.into().build(&self.registry)?;
        self.write(client, &task).await
    }

    /// Submits a task as it stands on the wire: a JSON object with at least `task`.
    pub async fn submit_json(&self, client: &impl GenericClient, text: &str) -> Result<TaskId, NotSubmitted> {
        let task = read_task(&self.registry, text)?;
        self.write(client, &task).await
    }

    /// Submits a task that was read elsewhere.
    pub async fn submit_task(
        &self,
        client: &impl GenericClient,
        task: Arc<Task>,
    ) -> Result<TaskId, NotSubmitted> {
        self.write(client, &task).await
    }

    async fn write(&self, client: &impl GenericClient, task: &Task) -> Result<TaskId, NotSubmitted> {
        let lane = self.lane(client, task).await?;
        let aging = micros(self.aging).min(1 << 55);
        let (due, delay) = apart(task.due);
        let (expires, lifetime) = task.expires.map_or((None, None), apart);
        let (limit, waiting, overflow) = record::limit_columns(task.limits);
        let (limit, waiting) = (limit.map(|n| n as i32), waiting.map(|n| n as i32));
        let (key, twins) = (task.key.map(key_uuid), serial_twins(task));
        let (priority, body) = (i16::from(task.priority.get()), task.body.text().as_bytes());
        let id = uuid(task.id);
        let params: super::link::Params<'_> = &[
            &id, &lane, &due, &delay, &expires, &lifetime, &key, &twins, &limit, &waiting, &overflow,
            &priority, &aging, &body,
        ];
        let is_new = !client.query(&self.insert(), params).await?.is_empty();
        client.query(&self.conclude(), &[&self.schema.channel(), &id, &is_new]).await?;
        Ok(task.id)
    }

    /// Tells the dispatchers, and takes out what ended while it was inserted: the row that was there was waited for, and is
    /// gone; that it ended a later statement sees.
    fn conclude(&self) -> String {
        let schema = &self.schema;
        format!(
            "WITH ended AS (DELETE FROM {schema}.tasks WHERE id = $2::uuid AND $3::boolean
                AND (EXISTS (SELECT FROM {schema}.history WHERE id = $2)
                  OR EXISTS (SELECT FROM {schema}.trash WHERE id = $2)))
            SELECT pg_notify($1::text, '')"
        )
    }

    /// The number of the task's lane. A new one is the transaction's own until it is committed: nobody waits for it.
    async fn lane(&self, client: &impl GenericClient, task: &Task) -> Result<i64, tokio_postgres::Error> {
        let (namespace, name) = (task.lane.namespace.as_str(), task.lane.name.as_str());
        let schema = &self.schema;
        let find = format!(
            "SELECT lane FROM {schema}.lanes WHERE namespace = $1 AND name = $2 ORDER BY lane LIMIT 1"
        );
        if let Some(row) = client.query_opt(&find, &[&namespace, &name]).await? {
            return Ok(row.get(0));
        }
        let add = format!("INSERT INTO {schema}.lanes (namespace, name) VALUES ($1, $2) RETURNING lane");
        Ok(client.query_one(&add, &[&namespace, &name]).await?.get(0))
    }

    /// Parked, if only for a moment: which of its key may run is decided by a dispatcher, that holds the key's lock for the
    /// time of a short transaction.
    fn insert(&self) -> String {
        let schema = &self.schema;
        format!(
            "INSERT INTO {schema}.tasks (id, lane, due, rank, posted, expires, key, twins, key_limit, key_waiting,
              overflow, priority, state, body)
            SELECT $1::uuid, $2::bigint, due, CASE WHEN $13::bigint = 0 THEN -($12::smallint::bigint << 56)
                ELSE greatest(due, now) - $12::smallint * $13::bigint END,
              now, expires, $7::uuid, $8::uuid, $9::integer, $10::integer, $11::smallint, $12::smallint, 0, $14::bytea
            FROM (SELECT now, coalesce($3::bigint, now + $4::bigint) AS due,
                coalesce($5::bigint, now + $6::bigint) AS expires
              FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) AS clock) AS times
            WHERE NOT EXISTS (SELECT FROM {schema}.history WHERE id = $1)
              AND NOT EXISTS (SELECT FROM {schema}.trash WHERE id = $1)
            ON CONFLICT (id) DO NOTHING RETURNING true"
        )
    }
}

/// A time, or how long from now.
fn apart(due: Due) -> (Option<i64>, Option<i64>) {
    match due {
        Due::Now => (None, Some(0)),
        Due::In(span) => (None, Some(micros(span))),
        Due::At(at) => (Some(at.0), None),
    }
}
