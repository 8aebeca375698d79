//! What is submitted: tasks drawn from the seed.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::names::{Lane, Namespace};
use taskyard_core::task::{Body, Due, Extras, Key, KeyLimits, Overflow, Priority, Retry, Task};
use taskyard_core::time::Timestamp;

use crate::rng::Rng;

/// Each key has one policy, so that a checker can hold its limit.
const POLICIES: [KeyLimits; 7] = [
    KeyLimits::SERIAL,
    KeyLimits::DISCARD,
    KeyLimits::QUEUE_ONE,
    KeyLimits::REPLACE,
    KeyLimits::PARALLEL,
    KeyLimits { running: 2, waiting: 3, overflow: Overflow::DropWaiting },
    KeyLimits { running: 2, waiting: KeyLimits::UNLIMITED, overflow: Overflow::DropNew },
];

pub(crate) fn draw(rng: &mut Rng, number: u64, wall: Timestamp) -> Arc<Task> {
    let namespace: Namespace = rng.pick(&["a.x", "a.x", "a.y", "b"]).parse().unwrap();
    let name = rng.pick(&["one", "two"]).parse().unwrap();
    let keyed = rng.permille(400);
    let which = rng.below(POLICIES.len() as u64);
    let retry = Retry {
        max_attempts: 1 + rng.below(3) as u32,
        initial: Duration::from_millis(10 + rng.below(3_000)),
        ..Retry::default()
    };
    Arc::new(Task {
        id: TaskId(u128::from(number) << 64 | u128::from(rng.next())),
        lane: Arc::new(Lane { namespace, name }),
        body: Body::new("{}".into(), 0..0, 0..0).unwrap(),
        due: due(rng, wall),
        expires: rng.permille(100).then(|| Due::In(Duration::from_millis(3_500 + rng.below(6_000)))),
        timeout: rng.permille(300).then(|| Duration::from_millis(50 + rng.below(500))),
        key: keyed.then_some(Key(u128::from(which))),
        limits: if keyed { POLICIES[which as usize] } else { KeyLimits::PARALLEL },
        priority: Priority::new(rng.below(10) as u8).unwrap(),
        retry: rng.permille(700).then(|| Box::new(retry)),
        extras: extras(rng, wall),
    })
}

/// Whether the task takes its dispatcher with it a while after it starts.
pub(crate) fn is_poison(id: TaskId) -> bool {
    (id.0 >> 64) % 16 == 9
}

fn extras(rng: &mut Rng, wall: Timestamp) -> Option<Box<Extras>> {
    if !rng.permille(50) {
        return None;
    }
    let callback = Task { extras: None, ..(*draw(rng, 0, wall)).clone() };
    let errback = Task { extras: None, ..(*draw(rng, 0, wall)).clone() };
    Some(Box::new(Extras { callbacks: vec![callback], errbacks: vec![errback], ..Extras::default() }))
}

pub(crate) fn due(rng: &mut Rng, wall: Timestamp) -> Due {
    match rng.below(10) {
        0 => Due::In(Duration::from_millis(rng.below(1_999))),
        1 => Due::In(Duration::from_millis(rng.below(3_000))),
        2 => Due::At(wall + Duration::from_millis(rng.below(3_000))),
        3 => Due::At(wall - Duration::from_millis(rng.below(1_000))),
        _ => Due::Now,
    }
}
