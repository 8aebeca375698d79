//! Where a Postgres server is and how the way to it is protected: what a URL says. Nothing is connected here.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::with_causes;
use super::tls::{self, BadRoots, Check};

/// How long one attempt to connect may take, unless the URL says so (`connect_timeout`).
const CONNECT: Duration = Duration::from_secs(3);
/// How long what was sent may stay unacknowledged by the other end's kernel before the connection is given up.
const UNACKNOWLEDGED: Duration = Duration::from_secs(5);

/// What the library takes if the URL says nothing.
const USUAL_KEEPALIVE: Duration = Duration::from_hours(2);
/// So long a connection that listens hears nothing before its other end is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A server and database, as `postgres://user:password@host:port/database?sslmode=…` names them.
///
/// `sslmode` means what it means to Postgres' own clients: `disable`; `prefer` (the default: TLS if the server has it);
/// `require` (TLS or nothing, but any certificate will do, unless `sslrootcert` is given); `verify-ca` (a certificate of a
/// trusted authority); `verify-full` (which names the host, too). Trusted are the authorities of the file `sslrootcert`,
/// or else those that the system trusts. All other parameters are those of `tokio-postgres`. A pooler in between must give
/// each connection a session of its own.
#[derive(Clone)]
pub struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

/// A URL that says nothing sensible.
#[derive(Debug, thiserror::Error)]
pub enum BadAddress {
    /// It does not begin as such a URL does.
    #[error("the address of a Postgres server is postgres://user:password@host:port/database")]
    NoUrl,
    /// An unknown `sslmode`.
    #[error("`sslmode` is {0:?}: it can be disable, prefer, require, verify-ca or verify-full")]
    Mode(String),
    /// There is nothing to check certificates with.
    #[error(transparent)]
    Roots(#[from] BadRoots),
    /// Something else in it.
    #[error("the URL of the Postgres server is not understood: {}", with_causes(.0))]
    Url(tokio_postgres::Error),
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(url: &str) -> Result<Self, BadAddress> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(BadAddress::NoUrl);
        }
        let Split { url, mode, roots } = Split::of(url);
        let (mode, check) = protection(mode.as_deref().unwrap_or("prefer"), roots.is_some())?;
        let mut config: Config = url.parse().map_err(BadAddress::Url)?;
        config.ssl_mode(mode);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED);
        }
        if config.get_keepalives_idle() == USUAL_KEEPALIVE {
            config.keepalives_idle(KEEPALIVE);
        }
        if config.get_application_name().is_none() {
            config.application_name("taskyard");
        }
        Ok(Self { config, tls: tls::connector(check, roots.as_deref())? })
    }
}

/// How the connection is made, and what of the server's certificate is checked.
fn protection(mode: &str, has_roots: bool) -> Result<(SslMode, Check), BadAddress> {
    match mode {
        "disable" => Ok((SslMode::Disable, Check::Nothing)),
        "prefer" => Ok((SslMode::Prefer, Check::Nothing)),
        "require" if !has_roots => Ok((SslMode::Require, Check::Nothing)),
        "require" | "verify-ca" => Ok((SslMode::Require, Check::Authority)),
        "verify-full" => Ok((SslMode::Require, Check::AuthorityAndName)),
        other => Err(BadAddress::Mode(other.to_owned())),
    }
}

/// A URL without the two parameters that are read here.
#[derive(Default)]
struct Split {
    url: String,
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl Split {
    fn of(url: &str) -> Self {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut split = Self { url: base.to_owned(), ..Self::default() };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => split.mode = Some(value()),
                "sslrootcert" => split.roots = Some(value().into()),
                _ => split.keep(parameter),
            }
        }
        split
    }

    fn keep(&mut self, parameter: &str) {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(parameter);
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Leaves out the password.
        self.config.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> Result<SslMode, String> {
        url.parse().map(|address: Address| address.config.get_ssl_mode()).map_err(|bad| bad.to_string())
    }

    #[test]
    fn each_mode_is_understood_and_the_default_is_to_prefer_protection() {
        for (parameters, meant) in [
            ("", SslMode::Prefer),
            ("?sslmode=disable", SslMode::Disable),
            ("?sslmode=prefer", SslMode::Prefer),
            ("?connect_timeout=2&sslmode=require", SslMode::Require),
        ] {
            assert_eq!(mode(&format!("postgres://u@localhost/d{parameters}")), Ok(meant), "{parameters}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_by_its_name() {
        for (url, word) in [
            ("mysql://localhost", "postgres://"),
            ("postgres://localhost?sslmode=maybe", "\"maybe\""),
            ("postgres://localhost?sslmode=verify-full&sslrootcert=%2Fno%20where", "/no where"),
            ("postgres://localhost?colour=red", "colour"),
        ] {
            let said = mode(url).unwrap_err();
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn other_parameters_are_passed_on() {
        let address: Address =
            "postgres://u:secret@h/d?sslmode=disable&application_name=mine&connect_timeout=9"
                .parse()
                .unwrap();
        assert_eq!(address.config.get_application_name(), Some("mine"));
        assert_eq!(address.config.get_connect_timeout(), Some(&Duration::from_secs(9)));
        assert!(!format!("{address:?}").contains("secret"));
    }
}
