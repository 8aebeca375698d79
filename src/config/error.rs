//! Why a configuration was refused: the key's path, and what is allowed there.

use std::fmt;

/// A refused configuration. Nothing of it takes effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The key, as in `pools.nlp.min`; empty: the file as a whole.
    pub path: String,
    /// What is wrong and what is allowed, for a person.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn new(path: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self { path: path.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

impl std::error::Error for ConfigError {}
