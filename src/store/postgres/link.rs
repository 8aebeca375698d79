//! The connection to the server: made anew when it is gone, with a pause that grows; set up so that neither a hanging server
//! nor a hanging dispatcher holds others up. It knows no task.

use std::time::{Duration, Instant};

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::address::Address;
use super::fault::Fault;
use super::schema::SchemaName;
use crate::store::Durability;

/// A store asks on one connection at a time; another may be on its way out.
const CONNECTIONS: usize = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The way to the server.
pub(super) struct Link {
    pool: Pool,
    /// How long one transaction may take.
    pub(super) patience: Duration,
    pause: Duration,
    /// Until when nobody tries again, and what was wrong.
    closed: Option<(Instant, String)>,
}

impl Link {
    pub(super) fn new(
        address: Address,
        schema: &SchemaName,
        durability: Durability,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let Address { config, tls } = address;
        let manager =
            Manager::from_config(config, tls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let set_up = setting_up(schema, durability, patience);
        let hook = Hook::async_fn(move |client, _| {
            let set_up = set_up.clone();
            Box::pin(async move { client.batch_execute(&set_up).await.map_err(HookError::Backend) })
        });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(patience))
            .create_timeout(Some(patience))
            .post_create(hook)
            .build()
            .map_err(|error| Fault::Gone(error.to_string()))?;
        Ok(Self { pool, patience, pause: FIRST_PAUSE, closed: None })
    }

    /// The connection, made if there is none; not more often than the pause allows.
    pub(super) async fn session(&mut self) -> Result<Session, Fault> {
        if let Some((until, why)) = &self.closed
            && Instant::now() < *until
        {
            return Err(Fault::OutOfReach(why.clone()));
        }
        match self.pool.get().await {
            Ok(client) => {
                (self.closed, self.pause) = (None, FIRST_PAUSE);
                Ok(Session(Some(client)))
            }
            Err(error) => {
                let fault = Fault::from(error);
                self.closed = Some((Instant::now() + self.pause, fault.to_string()));
                self.pause = LONGEST_PAUSE.min(self.pause * 2);
                Err(fault)
            }
        }
    }
}

/// What each connection is told first.
///
/// All statements here are meant to go by the indexes, in the order in which they are written; a plan that was made while
/// the tables were empty must still be a good one when they are not. So the planner is left no choice: no other ways to
/// join or scan; a subquery that is to be asked row by row has a `LIMIT`; and where a row is named by its sequence, its
/// state is compared as `state::integer`, which no partial index knows of. Time limits are the server's, for when it is
/// slow; a dispatcher that was stopped in the middle of a transaction loses it, with its locks.
fn setting_up(schema: &SchemaName, durability: Durability, patience: Duration) -> String {
    let ms = patience.as_millis();
    // Whatever else a server is told to wait for is its owner's business.
    let durability = match durability {
        Durability::Full => {
            "SELECT set_config('synchronous_commit', 'on', false)
              WHERE current_setting('synchronous_commit') = 'off'"
        }
        Durability::Normal => "SET synchronous_commit TO off",
    };
    format!(
        "SET search_path TO {schema};
        SET statement_timeout TO {ms};
        SET idle_in_transaction_session_timeout TO {ms};
        SET default_transaction_isolation TO 'read committed';
        SET plan_cache_mode TO force_generic_plan;
        SET enable_seqscan TO off; SET enable_bitmapscan TO off;
        SET enable_hashjoin TO off; SET enable_mergejoin TO off;
        SET jit TO off;
        {durability}"
    )
}

/// A connection. One that is dropped instead of [given back](Self::give_back) is closed: nobody knows what it was about.
pub(super) struct Session(Option<Object>);

impl Session {
    fn client(&self) -> Result<&Object, Fault> {
        self.0.as_ref().ok_or_else(|| Fault::Gone("the connection is closed".to_owned()))
    }

    /// Asks what is asked often: the server keeps the plan.
    pub(super) async fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Fault> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql).await?;
        Ok(client.query(&statement, params).await?)
    }

    /// Asks two things on one way, the second after the first.
    pub(super) async fn both(
        &self,
        (first, first_params): (&str, Params<'_>),
        (second, second_params): (&str, Params<'_>),
    ) -> Result<(Vec<Row>, Vec<Row>), Fault> {
        let client = self.client()?;
        let (first, second) = (client.prepare_cached(first).await?, client.prepare_cached(second).await?);
        let both = futures::future::try_join(
            client.query(&first, first_params),
            client.query(&second, second_params),
        );
        Ok(both.await?)
    }

    /// Asks what is asked seldom, or must be planned by the present size of the tables.
    pub(super) async fn rows_anew(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Fault> {
        Ok(self.client()?.query(sql, params).await?)
    }

    /// The only row of an answer that has at most one.
    pub(super) async fn row(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, Fault> {
        Ok(self.rows(sql, params).await?.pop())
    }

    /// Has statements carried out that give no rows.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Fault> {
        Ok(self.client()?.batch_execute(sql).await?)
    }

    /// It may be used again: no transaction is open.
    pub(super) fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.0.take().map(Object::take));
    }
}
