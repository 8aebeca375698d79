//! A board on a Postgres server, which several dispatchers can share.
//!
//! # How it is kept
//! All tables stand in a schema of their own (`migrations/1.sql` says what is in them). An unfinished task is a row of
//! `tasks`; its partial indexes hold the rows of one state each, so that a claim sees nothing that it can't take. What ended
//! moves to `history`, or to `trash`.
//!
//! # How it is asked
//! All requests of one call are one transaction, a few statements each, whatever the number of rows. Rows are claimed with
//! `SKIP LOCKED`, so that dispatchers don't wait for each other. A key's rows are counted, and the next let in, under an
//! advisory lock. Each writing transaction holds its owner's row, so that an owner is fenced between two of them. If the
//! server refuses what one request says, each is asked alone: the others are done.
//!
//! # When the server goes away
//! Nothing is written in halves: the transaction is gone. If the connection breaks while a commit is on its way, the
//! transaction's number tells later whether it was committed ([`pg_xact_status`]); so each request is carried out once,
//! however often it is asked, for as long as the process lives.
//!
//! A server that does not answer is given up after a while, and at the latest when the lease is taken for lost.
//!
//! # Whose clock
//! The server's decides, for due times and leases ([`Clock`]).
//!
//! [`pg_xact_status`]: https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT

mod address;
mod back;
mod cancel;
mod claim;
mod clock;
mod count;
mod ends;
mod engine;
mod fault;
mod heads;
mod insert;
mod keys;
mod known;
mod link;
mod listener;
mod memory;
mod names;
mod owners;
mod post;
mod promote;
mod prune;
mod query;
mod row;
mod schedules;
mod schema;
mod settle;
mod submitter;
mod tls;
mod trash;
mod turn;
mod verify;

use std::io;
use std::time::Duration;

use taskyard_actors::store::Store;
use taskyard_core::Now;
use taskyard_core::defaults::LEASE;
use taskyard_core::store::{Ask, Reply, Status};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

pub use address::{Address, BadAddress};
pub use clock::Clock;
pub use schema::{BadSchemaName, SchemaName};
pub use submitter::{NotSubmitted, Submitter};
pub use tls::BadRoots;

use super::choice::Durability;
use super::setup::Setup;
use engine::{Engine, Identity};
use fault::Fault;
use link::Link;
use listener::Listener;
use memory::Memory;
use schema::BadTables;

/// Where a board is kept, and how patient one is with the server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server and the database.
    pub address: Address,
    /// The schema of the tables.
    pub schema: SchemaName,
    /// What a task survives.
    pub durability: Durability,
    /// Which clock decides.
    pub clock: Clock,
    /// How long one transaction may take before the server is taken for gone: well within a lease.
    pub patience: Duration,
}

impl Options {
    /// As usual: the schema `taskyard`, and a third of a lease's patience.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            schema: SchemaName::default(),
            durability: Durability::default(),
            clock: Clock::default(),
            patience: LEASE / 3,
        }
    }
}

/// Why a board cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The server cannot be reached: it is not there, starts, or is too busy.
    #[error("the Postgres server cannot be reached: {0}")]
    Unreachable(String),
    /// The server refuses.
    #[error("the board on the Postgres server cannot be opened: {0}")]
    Server(String),
    /// The tables were made by a later version.
    #[error(
        "the tables in schema {schema} are of version {found}, made by a later Taskyard: this one knows {known}"
    )]
    Newer {
        /// The schema.
        schema: SchemaName,
        /// Its version.
        found: i32,
        /// The latest that is known here.
        known: usize,
    },
    /// The process has no room for it.
    #[error("no thread for the board on the Postgres server: {0}")]
    Thread(io::Error),
}

impl From<Fault> for OpenError {
    fn from(fault: Fault) -> Self {
        let said = fault.to_string();
        if fault.may_pass() { Self::Unreachable(said) } else { Self::Server(said) }
    }
}

impl From<BadTables> for OpenError {
    fn from(bad: BadTables) -> Self {
        match bad {
            BadTables::Newer { schema, found, known } => Self::Newer { schema, found, known },
            BadTables::OldServer(_) | BadTables::Encoding(_) => Self::Server(bad.to_string()),
            BadTables::Server(fault) => fault.into(),
        }
    }
}

/// A board on a Postgres server. It runs on the thread that asks it.
pub struct Postgres {
    engine: Engine,
    runtime: Runtime,
    _listener: Listener,
}

impl Postgres {
    /// Opens a board, making its tables or bringing them up to date. `hint` is called, on another thread, when another
    /// dispatcher or an application says that it changed the board: then it is time to [look](Store::look).
    pub fn open(options: Options, setup: Setup, hint: impl Fn() + Send + 'static) -> Result<Self, OpenError> {
        let Options { address, schema, durability, clock, patience } = options;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(OpenError::Thread)?;
        let mut memory = Memory::new(setup);
        let mut link = Link::new(address.clone(), &schema, durability, patience)?;
        runtime.block_on(prepare(&mut link, &schema, &mut memory))?;
        let (channel, name) = (schema.channel(), Uuid::now_v7().to_string());
        let listener = Listener::start(address, &schema, name.clone(), hint);
        let (listener, sweeper) = listener.map_err(OpenError::Thread)?;
        let identity = Identity { channel, name, seed: schema.seed() };
        let engine = Engine::new(link, memory, identity, clock, sweeper);
        Ok(Self { engine, runtime, _listener: listener })
    }

    /// What does not fit together on the board, in words; nothing if all is well. Reads all rows.
    pub fn verify(&mut self) -> Vec<String> {
        self.runtime.block_on(self.engine.verify()).unwrap_or_else(|fault| vec![fault.to_string()])
    }
}

async fn prepare(link: &mut Link, schema: &SchemaName, memory: &mut Memory) -> Result<(), OpenError> {
    let session = link.session().await?;
    schema::set_up(&session, schema).await?;
    names::load_all(&session, memory).await?;
    session.give_back();
    Ok(())
}

impl Store for Postgres {
    fn answer(&mut self, now: Now, asks: &[Ask]) -> Vec<Reply> {
        self.runtime.block_on(self.engine.answer(now, asks))
    }

    fn look(&mut self, now: Now) -> Option<Status> {
        self.runtime.block_on(self.engine.look(now))
    }

    fn limit(&mut self, span: Option<Duration>) {
        self.engine.limit(span);
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}
