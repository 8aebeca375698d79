//! Opening a board: tables that are not there yet, that are newer, and servers that cannot be used.

use std::thread;
use std::time::Duration;

use taskyard::store::postgres::{Address, OpenError, Options};
use taskyard::store::{Postgres, Setup};
use taskyard_core::router::Router;

use crate::desk::{Desk, options};
use crate::private::PrivateServer;
use crate::server::{Direct, Schema, url};
use crate::task::task;

fn open(options: Options) -> Result<Postgres, OpenError> {
    Postgres::open(options, Setup::new(Router::default()), || {})
}

#[test]
fn many_may_make_the_tables_at_once() {
    let Some(schema) = Schema::new() else { return };
    thread::scope(|scope| {
        let opened: Vec<_> = (0..8).map(|_| scope.spawn(|| open(options(&schema)).map(drop))).collect();
        for opened in opened {
            opened.join().unwrap().unwrap();
        }
    });
    Desk::at(&schema).post([task(1)]);
    assert_eq!(Desk::at(&schema).counts().ready, 1);
}

#[test]
fn who_makes_the_tables_is_waited_for_longer_than_one_transaction_may_take() {
    let Some(schema) = Schema::new() else { return };
    open(options(&schema)).unwrap();
    let patience = Duration::from_secs(1);
    let waited = format!(
        "SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE relation = '{}.version'::regclass AND NOT granted
           AND query_start < clock_timestamp() - interval '2 s'",
        schema.name
    );
    let watching = Direct::to(&schema.url);
    schema.direct.batch(&format!("BEGIN; LOCK TABLE {}.version", schema.name));
    thread::scope(|scope| {
        let opening = scope.spawn(|| open(Options { patience, ..options(&schema) }).map(drop));
        while !opening.is_finished() && watching.rows(&waited, &[]).is_empty() {}
        schema.direct.batch("COMMIT");
        opening.join().unwrap().unwrap();
    });
}

#[test]
fn tables_of_a_later_version_are_refused() {
    let Some(schema) = Schema::new() else { return };
    open(options(&schema)).unwrap();
    schema.direct.batch(&format!("UPDATE {}.version SET version = 9", schema.name));
    let error = open(options(&schema)).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 9, .. }));
    assert!(error.to_string().contains("later Taskyard"), "{error}");
    schema.direct.batch(&format!("UPDATE {}.version SET version = 1", schema.name));
    open(options(&schema)).unwrap();
}

/// `passes`: it may be over in a moment, so that one who starts waits for it.
#[track_caller]
fn refused(address: &str, word: &str, passes: bool) {
    let options = Options::new(address.parse::<Address>().unwrap());
    let error = open(options).unwrap_err();
    assert!(error.to_string().contains(word), "{error}");
    assert_eq!(matches!(error, OpenError::Unreachable(_)), passes, "{error}");
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let Some(server) = url() else { return };
    refused("postgres://nobody@127.0.0.1:1/nothing", "refused", true);
    refused(&format!("{server}_that_is_not_there"), "does not exist", false);
}

#[test]
fn a_database_that_cannot_hold_any_text_is_refused() {
    let Some(schema) = Schema::new() else { return };
    let name = &schema.name;
    schema.direct.batch(&format!(
        "CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    ));
    let (server, _) = schema.url.rsplit_once('/').unwrap();
    refused(&format!("{server}/{name}"), "must be UTF8", false);
    schema.direct.batch(&format!("DROP DATABASE {name} WITH (FORCE)"));
}

#[test]
fn a_server_without_tls_is_refused_where_that_is_required() {
    let Some(schema) = Schema::new() else { return };
    let with = |mode: &str| format!("{}?sslmode={mode}", schema.url);
    if schema.direct.rows("SELECT current_setting('ssl')", &[])[0].get::<_, &str>(0) == "on" {
        return;
    }
    for mode in ["require", "verify-full"] {
        refused(&with(mode), "TLS", false);
    }
    for mode in ["prefer", "disable"] {
        open(Options { address: with(mode).parse().unwrap(), ..options(&schema) }).unwrap();
    }
}

/// The server's certificate is for `localhost`, of an authority of its own.
#[test]
fn certificates_are_checked_as_far_as_is_said() {
    let Some(server) = PrivateServer::start("tls", &["tls"]) else { return };
    let schema = Schema::at(&server.url);
    let by_number = server.url.clone();
    let by_name = by_number.replace("127.0.0.1", "localhost");
    let open = |address: &str, mode: &str| {
        let address = format!("{address}?sslmode={mode}").parse().unwrap();
        open(Options { address, ..options(&schema) }).map(drop).map_err(|error| error.to_string())
    };
    let [ours, others] = ["authority", "other"].map(|name| server.file(&format!("tls/{name}.pem")));
    open(&by_number, "require").unwrap();
    open(&by_name, &format!("verify-full&sslrootcert={ours}")).unwrap();
    open(&by_number, &format!("verify-ca&sslrootcert={ours}")).unwrap();
    for (address, mode) in [
        (&by_number, format!("verify-full&sslrootcert={ours}")),
        (&by_name, format!("verify-full&sslrootcert={others}")),
        (&by_name, format!("verify-ca&sslrootcert={others}")),
        (&by_name, format!("require&sslrootcert={others}")),
    ] {
        let error = open(address, &mode).unwrap_err();
        assert!(error.contains("certificate"), "{mode}: {error}");
    }
}
