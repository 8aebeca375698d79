//! Makes ids for tasks that bring none: UUIDs of version 7, rising within a thread.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use taskyard_core::TaskId;
use uuid::Uuid;

/// Where a UUID of version 7 has its milliseconds.
const MILLIS_SHIFT: u32 = 80;

thread_local! {
    static LAST: Cell<u128> = const { Cell::new(0) };
}

/// An id that no other task has.
pub fn fresh_id() -> TaskId {
    // The first of a millisecond is random, which takes a lock and a system call; those after it on this thread count on.
    LAST.with(|last| {
        let counted = last.get() + 1;
        let id = if counted >> MILLIS_SHIFT >= millis() { counted } else { Uuid::now_v7().as_u128() };
        last.set(id);
        TaskId(id)
    })
}

fn millis() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_of_all_threads_differ_rise_and_are_version_7() {
        let some = || (0..50_000).map(|_| fresh_id()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(some)).collect();
        let each: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(each.iter().all(|ids| ids.is_sorted()));
        assert!(each.iter().flatten().all(|id| Uuid::from_u128(id.0).get_version_num() == 7));
        assert_eq!(each.iter().flatten().collect::<HashSet<_>>().len(), 200_000);
    }
}
