//! What the benches of boards ask with: a router, tasks, and how these end.

use std::ops::Range;
use std::sync::Arc;

use taskyard::core::dispatch::Outcome;
use taskyard::core::id::PoolId;
use taskyard::core::router::Router;
use taskyard::core::store::{
    Answer, Ask, Asker, Claimed, NewRow, OwnerId, Posted, Reply, Request, Settle, Settlement,
};
use taskyard::core::task::{DueAt, TaskDefaults};
use taskyard::core::wire;

pub(crate) const POOL: PoolId = PoolId(0);

/// The one pool takes all tasks, and knows `app.bench.echo`.
pub(crate) fn router() -> Router {
    let mut router = Router::default();
    let (pattern, name) = ("#".parse().expect("valid"), "app.bench.echo".parse().expect("valid"));
    router.bind(POOL, &[pattern], Some(&[name]));
    router
}

/// Numbered after the last of `no`.
pub(crate) fn asks<const N: usize>(owner: OwnerId, no: &mut u64, requests: [Request; N]) -> [Ask; N] {
    requests.map(|request| {
        *no += 1;
        Ask { owner, from: Asker::Conductor, no: *no, request: Arc::new(request), oldest_open: *no }
    })
}

pub(crate) fn answers<const N: usize>(replies: Vec<Reply>) -> [Answer; N] {
    let answers: Vec<_> = replies.into_iter().map(|reply| reply.answer.expect("the store is well")).collect();
    answers.try_into().expect("one reply a request")
}

/// A task with a body of so many bytes.
pub(crate) fn row(bytes: usize, due: DueAt) -> NewRow {
    let head = r#"{"task":"app.bench.echo","args":[""#;
    typed(&format!("{head}{:x>1$}\"]}}", "", bytes - head.len() - 3), due)
}

/// A task as a user types it.
pub(crate) fn typed(body: &str, due: DueAt) -> NewRow {
    let task = wire::parse_task(body, taskyard::fresh_id(), &|_| TaskDefaults::default()).expect("valid");
    NewRow { task: Arc::new(task), due, expires: None, exempt: false, batch: None }
}

/// What was claimed, whether from the board or as it was posted.
pub(crate) fn claims(answer: Answer) -> Vec<Claimed> {
    match answer {
        Answer::Claimed { rows, .. } => rows,
        Answer::Posted(posted) => {
            let claimed = |posted| match posted {
                Posted::Claimed(claimed) => claimed,
                other => panic!("not claimed: {other:?}"),
            };
            posted.into_iter().map(claimed).collect()
        }
        other => panic!("no claim: {other:?}"),
    }
}

/// All of them succeeded.
pub(crate) fn settlements(claims: Vec<Claimed>) -> Vec<Settlement> {
    let settlement = |claimed: Claimed| Settlement {
        id: claimed.task.id,
        sequence: claimed.order.sequence,
        epoch: claimed.epoch,
        settle: Settle::Done(Outcome::Succeeded("null".into())),
        posts: Vec::new(),
    };
    claims.into_iter().map(settlement).collect()
}

/// The numbers of so many tasks, `size` together; the last may be fewer.
pub(crate) fn batches(tasks: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..tasks).step_by(size).map(move |first| first..tasks.min(first + size))
}
