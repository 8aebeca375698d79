//! The registered owners and their leases, which run on the server's clock; what becomes of rows whose owner goes or is gone.

use std::time::Duration;

use taskyard_core::dispatch::DispatchName;
use taskyard_core::names::Pattern;
use taskyard_core::store::{Answer, AttemptEnd, OwnerId, OwnerView, Registration, Renewal};
use taskyard_core::time::micros;
use tokio_postgres::Row;

use super::back::Back;
use super::fault::Fault;
use super::query::at_most;
use super::row::task_id;
use super::turn::Turn;

/// The server's clock.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}

const REGISTER: &str = concat!(
    "INSERT INTO owners (host, pid, version, lease, patterns, until) VALUES ($1, $2, $3, $4::bigint, $5, ",
    now!(),
    " + $4::bigint) RETURNING owner"
);
/// Owners that left nothing behind and were not heard of for a hundred leases.
const FORGET: &str = concat!(
    "DELETE FROM owners WHERE owner = ANY(ARRAY(SELECT owner FROM owners WHERE until + 100 * lease < ",
    now!(),
    " FOR UPDATE SKIP LOCKED)) AND NOT EXISTS (SELECT FROM tasks WHERE state = 4 AND tasks.owner = owners.owner OFFSET 0)"
);
const RENEW: &str = concat!("UPDATE owners SET until = ", now!(), " + lease WHERE owner = $1");
const UNWANTED: &str = "SELECT id FROM tasks WHERE unwanted AND owner = $1 AND state = 4 ORDER BY sequence";
const LAPSED: &str = concat!(
    "SELECT EXISTS (SELECT FROM owners WHERE owner <> $1 AND (fenced OR until <= ",
    now!(),
    ") AND EXISTS (SELECT FROM tasks WHERE state = 4 AND tasks.owner = owners.owner OFFSET 0))"
);

/// An owner that writes holds its row until that is committed: it is fenced before or after, never in between.
const FENCE: &str = concat!(
    "UPDATE owners SET fenced = true WHERE owner = ANY(ARRAY(
      SELECT owner FROM owners WHERE NOT fenced AND owner <> $1 AND until <= ",
    now!(),
    " FOR UPDATE SKIP LOCKED))"
);
const ORPHANS: &str = "SELECT first.sequence, first.epoch, first.owner FROM owners
    CROSS JOIN LATERAL (SELECT sequence, epoch, owner FROM tasks WHERE state = 4 AND tasks.owner = owners.owner
      ORDER BY sequence LIMIT $1) AS first
    WHERE owners.fenced ORDER BY first.sequence LIMIT $1";
const BURY: &str = "DELETE FROM owners WHERE fenced
    AND NOT EXISTS (SELECT FROM tasks WHERE state = 4 AND tasks.owner = owners.owner OFFSET 0) RETURNING owner";
const ANY_FENCED: &str = "SELECT EXISTS (SELECT FROM owners WHERE fenced)";

const HELD: &str =
    "SELECT sequence, epoch, owner, id FROM tasks WHERE state = 4 AND owner = $1 ORDER BY sequence";
const REMOVE: &str = "DELETE FROM owners WHERE owner = $1";
const LIVE: &str =
    concat!("SELECT owner, patterns FROM owners WHERE NOT fenced AND until > ", now!(), " ORDER BY owner");
const OWNERS: &str = concat!(
    "SELECT owner, host, pid, version, lease, until - ",
    now!(),
    ", fenced, (SELECT count(*) FROM tasks WHERE state = 4 AND tasks.owner = owners.owner), patterns FROM owners ORDER BY owner"
);

/// The owners whose leases hold, with the patterns of their pools.
pub(super) type Live = Vec<(OwnerId, Vec<Pattern>)>;

impl Turn<'_> {
    pub(super) async fn register(&mut self, who: &Registration) -> Result<OwnerId, Fault> {
        self.session.rows(FORGET, &[]).await?;
        let (pid, lease) = (i64::from(who.pid), micros(who.lease));
        let patterns: Vec<_> = who.patterns.iter().map(Pattern::as_str).collect();
        let row = self.session.row(REGISTER, &[&who.host, &pid, &who.version, &lease, &patterns]).await?;
        Ok(row.map_or(OwnerId::SOLE, |row| OwnerId(row.get::<_, i64>(0) as u64)))
    }

    pub(super) async fn live(&mut self) -> Result<Live, Fault> {
        let rows = self.session.rows(LIVE, &[]).await?;
        let one = |row: &Row| (OwnerId(row.get::<_, i64>(0) as u64), patterns(row.get(1)));
        Ok(rows.iter().map(one).collect())
    }

    pub(super) async fn renew(&mut self) -> Result<Renewal, Fault> {
        let owner = self.owner_number();
        self.session.rows(RENEW, &[&owner]).await?;
        let (unwanted, lapsed) = self.session.both((UNWANTED, &[&owner]), (LAPSED, &[&owner])).await?;
        Ok(Renewal {
            marked: unwanted.iter().map(|row| task_id(row.get(0))).collect(),
            lapsed: lapsed.first().is_some_and(|row| row.get(0)),
        })
    }

    /// Fences whose lease has ended and gives back what the fenced ones have, oldest first.
    pub(super) async fn take_over(&mut self, up_to: usize) -> Result<Answer, Fault> {
        self.session.rows(FENCE, &[&self.owner_number()]).await?;
        let orphans = self.session.rows(ORPHANS, &[&at_most(up_to)]).await?;
        let returned = self.return_rows(&orphans, Some(&AttemptEnd::OwnerLost)).await?;
        let buried = self.session.rows(BURY, &[]).await?;
        self.effects.gone.extend(buried.iter().map(|row| OwnerId(row.get::<_, i64>(0) as u64)));
        let fenced = self.session.row(ANY_FENCED, &[]).await?;
        Ok(Answer::TakenOver { returned, more: fenced.is_some_and(|row| row.get(0)) })
    }

    /// The asking owner goes.
    pub(super) async fn release(&mut self, owner: OwnerId) -> Result<Answer, Fault> {
        let held = self.session.rows(HELD, &[&self.owner_number()]).await?;
        self.return_rows(&held, None).await?;
        self.session.rows(REMOVE, &[&self.owner_number()]).await?;
        self.effects.gone.push(owner);
        Ok(Answer::Released)
    }

    /// Gives rows back as they were. How many are on the board again.
    async fn return_rows(&mut self, rows: &[Row], how: Option<&AttemptEnd>) -> Result<usize, Fault> {
        let keys = self.keys_of(rows.iter().map(|row| row.get(0)).collect()).await?;
        self.lock_keys(keys).await?;
        let back = |row: &Row| Back {
            sequence: row.get(0),
            epoch: row.get::<_, i32>(1) as u32,
            owner: OwnerId(row.get::<_, i64>(2) as u64),
            due: None,
            renew: false,
            reported: false,
            how: how.cloned(),
        };
        Ok(self.put_back(rows.iter().map(back).collect()).await?.back.len())
    }

    /// What the asking owner has, oldest first.
    pub(super) async fn held(&mut self) -> Result<Vec<DispatchName>, Fault> {
        let rows = self.session.rows(HELD, &[&self.owner_number()]).await?;
        let name = |row: &Row| DispatchName { id: task_id(row.get(3)), epoch: row.get::<_, i32>(1) as u32 };
        Ok(rows.iter().map(name).collect())
    }

    pub(super) async fn owners(&mut self) -> Result<Vec<OwnerView>, Fault> {
        let rows = self.session.rows(OWNERS, &[]).await?;
        Ok(rows.iter().map(view).collect())
    }
}

/// Those that can't be understood are left out.
fn patterns(texts: Vec<&str>) -> Vec<Pattern> {
    texts.into_iter().filter_map(|pattern| pattern.parse().ok()).collect()
}

fn view(row: &Row) -> OwnerView {
    let span = |column: usize| Duration::from_micros(row.get::<_, i64>(column).max(0) as u64);
    OwnerView {
        id: OwnerId(row.get::<_, i64>(0) as u64),
        registration: Registration {
            host: row.get(1),
            pid: row.get::<_, i64>(2) as u32,
            version: row.get(3),
            lease: span(4),
            patterns: patterns(row.get(8)),
        },
        lease_left: span(5),
        fenced: row.get(6),
        held: row.get::<_, i64>(7) as usize,
    }
}
