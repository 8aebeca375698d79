//! Why a message was refused, and which of its fields is to blame. Never holds an argument's value: those may be secret.

use std::borrow::Cow;
use std::fmt;

/// A refused message: nothing of it was taken in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Rejected {
    /// The field, as in `retry.max_attempts` or `callbacks[2].delay`; `None`: the message as a whole.
    pub field: Option<Cow<'static, str>>,
    /// What is wrong and what is allowed, for a person.
    #[serde(rename = "message")]
    pub reason: String,
}

impl Rejected {
    /// A field is to blame.
    pub fn field(field: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self { field: Some(field.into()), reason: reason.into() }
    }

    /// The message as a whole is to blame.
    pub fn message(reason: impl Into<String>) -> Self {
        Self { field: None, reason: reason.into() }
    }

    /// The same, seen from the message in which the refused one stands at `place`.
    pub fn inside(self, place: &str) -> Self {
        let field = match self.field {
            Some(field) => format!("{place}.{field}"),
            None => place.to_owned(),
        };
        Self { field: Some(field.into()), ..self }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "`{field}`: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Rejected {}
