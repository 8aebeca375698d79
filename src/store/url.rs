//! How a store is named in one line of text. Whether it is there is found out when it is opened.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a yard's tasks are kept.
///
/// ```
/// use taskyard::store::StoreUrl;
///
/// assert_eq!("sqlite:taskyard.db".parse(), Ok(StoreUrl::Sqlite("taskyard.db".into())));
/// assert!("mysql://db.example.org/tasks".parse::<StoreUrl>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory`: in this process, until it ends.
    Memory,
    /// `sqlite:PATH`: in an SQLite file.
    Sqlite(PathBuf),
    /// `postgres://…`: on a Postgres server, by its connection URL.
    Postgres(String),
}

/// The text names no store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadStoreUrl {
    /// Nothing that is known. Not more of the text is shown than its beginning: there may be a password in it.
    #[error("must be `memory`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`, not `{0}…`")]
    Unknown(String),
    /// A file is named for SQLite, and this is none.
    #[error("`sqlite:` is followed by the path of a file, as in `sqlite:taskyard.db`")]
    NoPath,
    /// SQLite's own memory.
    #[error(
        "a board in the memory of SQLite would be lost with the yard, and slower than `memory`: say that"
    )]
    SqliteMemory,
    /// As other programs write it; where the path begins is not clear.
    #[error("write `sqlite:{0}`: `sqlite:` is followed by a path, not by `//` and a host")]
    SqliteHost(String),
    /// As other programs write it.
    #[error("a path after `sqlite:` has no parameters after `?`")]
    SqliteParameters,
    /// A Postgres server is named without its database.
    #[error("a Postgres URL is `postgres://USER@HOST/DATABASE`")]
    NoServer,
}

impl FromStr for StoreUrl {
    type Err = BadStoreUrl;

    fn from_str(text: &str) -> Result<Self, BadStoreUrl> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("sqlite", path)) => sqlite(path),
            Some(("postgres" | "postgresql", rest)) => match rest.strip_prefix("//") {
                Some(server) if !server.is_empty() => Ok(Self::Postgres(text.into())),
                _ => Err(BadStoreUrl::NoServer),
            },
            Some((scheme, _)) => Err(BadStoreUrl::Unknown(shortened(scheme) + ":")),
            None => Err(BadStoreUrl::Unknown(shortened(text))),
        }
    }
}

fn sqlite(path: &str) -> Result<StoreUrl, BadStoreUrl> {
    let absolute = path.strip_prefix("//");
    match absolute.unwrap_or(path) {
        "" => Err(BadStoreUrl::NoPath),
        ":memory:" => Err(BadStoreUrl::SqliteMemory),
        path if path.contains('?') => Err(BadStoreUrl::SqliteParameters),
        path if absolute.is_some() && !path.starts_with('/') => Err(BadStoreUrl::SqliteHost(path.into())),
        path => Ok(StoreUrl::Sqlite(path.into())),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(12).collect()
}

/// As it was written, but for a password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => f.write_str(&without_secrets(url)),
        }
    }
}

/// A password may also stand among the parameters, so none of them is shown.
fn without_secrets(url: &str) -> String {
    let url = url.split_once('?').map_or(url, |(url, _)| url);
    let Some((scheme, rest)) = url.split_once("//") else { return "postgres://…".into() };
    let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
    match user.map(|user| user.split_once(':').map_or(user, |(name, _)| name)) {
        Some(name) => format!("{scheme}//{name}@{host}"),
        None => format!("{scheme}//{host}"),
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_store_has_its_text() {
        for (text, url) in [
            ("memory", StoreUrl::Memory),
            ("sqlite:taskyard.db", StoreUrl::Sqlite("taskyard.db".into())),
            ("sqlite:/var/lib/t.db", StoreUrl::Sqlite("/var/lib/t.db".into())),
            ("sqlite:///var/lib/t.db", StoreUrl::Sqlite("/var/lib/t.db".into())),
            ("postgres://ann@db/tasks", StoreUrl::Postgres("postgres://ann@db/tasks".into())),
            ("postgresql:///tasks", StoreUrl::Postgres("postgresql:///tasks".into())),
        ] {
            assert_eq!(text.parse(), Ok(url), "{text}");
        }
    }

    #[test]
    fn what_names_no_store_is_refused_with_what_would() {
        let refused = |text: &str| text.parse::<StoreUrl>().unwrap_err();
        assert_eq!(refused("sqlite::memory:"), BadStoreUrl::SqliteMemory);
        assert_eq!(refused("sqlite:"), BadStoreUrl::NoPath);
        assert_eq!(refused("sqlite://t.db"), BadStoreUrl::SqliteHost("t.db".into()));
        assert_eq!(refused("sqlite:t.db?mode=rwc"), BadStoreUrl::SqliteParameters);
        assert_eq!(refused("postgres:"), BadStoreUrl::NoServer);
        assert_eq!(refused("postgres:db/tasks"), BadStoreUrl::NoServer);
        for text in ["", "Memory", "taskyard.db", "mysql://u:secret@h/d"] {
            let why = refused(text);
            assert!(matches!(why, BadStoreUrl::Unknown(_)), "{text}");
            assert!(!why.to_string().contains("secret"));
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        for (text, shown) in [
            ("postgres://ann:s@cret@db:5432/tasks?sslmode=require", "postgres://ann@db:5432/tasks"),
            ("postgres://db/tasks?password=secret", "postgres://db/tasks"),
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), format!("StoreUrl({shown})"));
        }
    }
}
