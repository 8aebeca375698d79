//! What waits for a slot or its time: the order in which it goes, and how it is taken out.

use std::time::Duration;

use taskyard::core::conductor::CancelAnswer;
use taskyard::{TaskFailed, TaskHandle, Yard};

use crate::common::gate::Gate;
use crate::common::soon;
use crate::handlers::Meet;
use crate::kinds::Kind;

async fn meet(yard: &Yard, gate: &Gate, tag: u32, priority: u8) -> TaskHandle<(u32, u32)> {
    soon(yard.submit(Meet::at(gate, tag)).priority(priority)).await.expect("taken")
}

/// B14: low 1, high 2, normal 3, high 4, lowest 5, normal 6; a seventh at the highest comes when two have gone.
pub(crate) async fn with_one_slot_the_highest_priority_goes_first(kind: Kind) {
    let (gate, yard) = (Gate::open(), kind.one_slot());
    let _holder = meet(&yard, &gate, 0, 5).await;
    let mut guest = gate.next().await;
    for (tag, priority) in [(1, 3), (2, 7), (3, 5), (4, 7), (5, 0), (6, 5)] {
        meet(&yard, &gate, tag, priority).await;
    }
    let mut order = Vec::new();
    while order.len() < 7 {
        guest.release();
        guest = gate.next().await;
        order.push(guest.tag.as_u64().expect("a number"));
        if order.len() == 2 {
            meet(&yard, &gate, 7, 9).await;
        }
    }
    assert_eq!(order, [2, 4, 7, 3, 6, 1, 5]);
}

/// The one behind a task that runs, and the one that is not due; the slot is the next one's.
pub(crate) async fn a_cancel_takes_out_what_waits(kind: Kind) {
    let (gate, yard) = (Gate::open(), kind.one_slot());
    let mut holder = meet(&yard, &gate, 0, 5).await;
    let guest = gate.next().await;
    let queued = meet(&yard, &gate, 1, 5).await;
    let delayed = soon(yard.submit(Meet::at(&gate, 2)).delay(Duration::from_hours(1))).await.expect("taken");
    let mut next = meet(&yard, &gate, 3, 5).await;
    for mut task in [queued, delayed] {
        assert_eq!(soon(task.cancel()).await, Ok(CancelAnswer::Cancelled));
        assert!(matches!(soon(task.outcome()).await, Err(TaskFailed::Cancelled)));
        assert_eq!(soon(task.cancel()).await, Ok(CancelAnswer::Finished));
    }
    guest.release();
    assert_eq!(soon(holder.outcome()).await.expect("succeeds"), (1, 1));
    let guest = gate.next().await;
    assert_eq!(guest.tag, 3);
    guest.release();
    assert_eq!(soon(next.outcome()).await.expect("succeeds"), (1, 1));
}

/// The one that runs does not expire.
pub(crate) async fn what_expires_while_it_waits_never_runs(kind: Kind) {
    const HOUR: Duration = Duration::from_hours(1);
    let (gate, test) = (Gate::open(), kind.one_slot_on_a_clock());
    let yard = test.yard();
    let mut holder = soon(yard.submit(Meet::at(&gate, 0)).expires(HOUR)).await.expect("taken");
    let guest = gate.next().await;
    let mut late = soon(yard.submit(Meet::at(&gate, 1)).expires(HOUR)).await.expect("taken");
    let mut next = meet(yard, &gate, 2, 5).await;
    soon(test.advance(HOUR)).await;
    assert!(matches!(soon(late.outcome()).await, Err(TaskFailed::Expired)));
    guest.release();
    assert_eq!(soon(holder.outcome()).await.expect("succeeds"), (1, 1));
    let guest = gate.next().await;
    assert_eq!(guest.tag, 2);
    guest.release();
    assert_eq!(soon(next.outcome()).await.expect("succeeds"), (1, 1));
}
