//! What went wrong with the server, and whether anything was written.

use std::time::Duration;

use deadpool_postgres::PoolError;
use taskyard_core::store::StoreError;
use tokio_postgres::error::{DbError, SqlState};

/// Why requests were not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The connection broke, or none could be made.
    #[error("{0}")]
    Gone(String),
    /// The server could not be reached.
    #[error("{0}")]
    OutOfReach(String),
    /// The server did not answer in time.
    #[error("it did not answer within {0:?}")]
    Silent(Duration),
    /// The server refused.
    #[error("{}", said(.0))]
    Refused(Box<DbError>),
}

impl Fault {
    /// Whether the same may succeed at once: somebody else was in the way.
    pub(super) fn is_conflict(&self) -> bool {
        let conflicts = [&SqlState::T_R_DEADLOCK_DETECTED, &SqlState::T_R_SERIALIZATION_FAILURE];
        matches!(self, Self::Refused(error) if conflicts.contains(&error.code()))
    }

    /// Whether there may be a server to talk to, later.
    pub(super) fn may_pass(&self) -> bool {
        let busy = [
            &SqlState::CANNOT_CONNECT_NOW,
            &SqlState::TOO_MANY_CONNECTIONS,
            &SqlState::ADMIN_SHUTDOWN,
            &SqlState::CRASH_SHUTDOWN,
            &SqlState::QUERY_CANCELED,
            &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        match self {
            Self::Refused(error) => busy.contains(&error.code()),
            Self::OutOfReach(_) | Self::Silent(_) => true,
            Self::Gone(_) => false,
        }
    }

    /// Whether it is about what one request says (values, constraints, limits, somebody's triggers), so that others beside it
    /// may succeed.
    pub(super) fn concerns_one(&self) -> bool {
        let classes = ["22", "23", "54", "P0"];
        matches!(self, Self::Refused(error) if !is_fatal(error) && classes.contains(&class(error.code())))
    }

    /// Whether the server answered and will go on to: the connection is of further use.
    pub(super) fn leaves_the_connection(&self) -> bool {
        matches!(self, Self::Refused(error) if !is_fatal(error))
    }

    /// Whether the server took a value for one that cannot be.
    pub(super) fn is_bad_value(&self) -> bool {
        matches!(self, Self::Refused(error) if *error.code() == SqlState::INVALID_PARAMETER_VALUE)
    }

    /// What the asker is told when nothing was written.
    pub(super) fn nothing_done(&self) -> StoreError {
        match self {
            Self::Refused(error) if is_lasting(error.code()) => StoreError::Unwritable(self.to_string()),
            _ => StoreError::Unavailable(self.to_string()),
        }
    }

    /// What the asker is told when this came instead of the word that all was committed.
    pub(super) fn while_committing(&self) -> StoreError {
        if self.leaves_the_connection() { self.nothing_done() } else { StoreError::Unknown(self.to_string()) }
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(refused) => Self::Refused(Box::new(refused.clone())),
            None if is_out_of_reach(&error) => Self::OutOfReach(with_causes(&error)),
            None => Self::Gone(with_causes(&error)),
        }
    }
}

/// Whether there was nobody to talk to: a server that speaks and makes no sense (about TLS, say) will not change its mind.
fn is_out_of_reach(error: &tokio_postgres::Error) -> bool {
    use std::io::ErrorKind as Kind;
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    let kinds = [
        Kind::ConnectionRefused,
        Kind::ConnectionReset,
        Kind::ConnectionAborted,
        Kind::HostUnreachable,
        Kind::NetworkUnreachable,
        Kind::NetworkDown,
        Kind::TimedOut,
    ];
    cause.is_some_and(|cause| kinds.contains(&cause.kind()))
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            PoolError::Timeout(_) => Self::OutOfReach(with_causes(&error)),
            other => Self::Gone(with_causes(&other)),
        }
    }
}

/// What went wrong with a statement, in words.
pub(super) fn explained(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| with_causes(error), said)
}

/// The library says what is wrong only in the cause.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

fn said(error: &DbError) -> String {
    let detail = error.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{}{detail} [{}]", error.message(), error.code().code())
}

/// Whether the server has closed the connection with it.
fn is_fatal(error: &DbError) -> bool {
    matches!(error.severity(), "FATAL" | "PANIC")
}

/// Whether somebody must mend it.
fn is_lasting(code: &SqlState) -> bool {
    const LASTING: [SqlState; 10] = [
        SqlState::DISK_FULL,
        SqlState::IO_ERROR,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_COLUMN,
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
    ];
    LASTING.contains(code) || matches!(class(code), "22" | "54" | "P0")
}

/// What kind of error it is, in two letters.
fn class(code: &SqlState) -> &str {
    code.code().get(..2).unwrap_or_default()
}
