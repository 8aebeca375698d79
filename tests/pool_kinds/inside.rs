//! What tasks ask of their yard, and what it does because of them.

use taskyard::core::dispatch::Outcome;

use crate::common::handlers::{Echo, Fail, News, Parent, attempts};
use crate::common::soon;
use crate::handlers::Ask;
use crate::kinds::Kind;

pub(crate) async fn what_is_submitted_once_is_there_once(kind: Kind) {
    let yard = kind.yard();
    let mut task = soon(yard.submit(Parent).retry(attempts(2))).await.expect("taken");
    let child = task.id().derived(b"child");
    assert_eq!(soon(task.outcome()).await.expect("succeeds"), [child, child]);
    assert_eq!(soon(yard.outcome(child)).await, Ok(Outcome::Succeeded(r#""child""#.into())));
}

/// After the last attempt alone.
pub(crate) async fn a_callback_follows_success_and_an_errback_failure(kind: Kind) {
    let yard = kind.yard();
    let mut news = News::of(&yard);
    for (until, follower) in [(2, "well"), (9, "badly")] {
        let task = yard.submit(Fail { until, fatal: false }).retry(attempts(3));
        let task = task.callback(Echo("well".into())).errback(Echo("badly".into()));
        soon(task).await.expect("taken");
        assert_eq!(news.echo().await, follower);
    }
    // Nothing else followed: whoever came next would be told first.
    soon(yard.submit(Echo("last".into()))).await.expect("taken");
    assert_eq!(news.echo().await, "last");
}

/// B11: a stop from inside a task by name is refused, so that it can't wait for itself.
pub(crate) async fn a_task_does_not_rule_the_program_around_it(kind: Kind) {
    let yard = kind.yard();
    for command in ["shutdown", "drain", "status"] {
        let mut task = soon(yard.submit(Ask(command.into()))).await.expect("taken");
        let refused = soon(task.outcome()).await.expect("refused");
        assert!(refused.contains("can't give this command"), "{command}: {refused}");
    }
}
