//! Whether the store works, by what it answered last. Says each change once, and decides nothing by it.

use taskyard_core::conductor;
use taskyard_core::store::{Answer, Request, StoreError};

/// `Some`: it does not work, and why.
#[derive(Debug, Default)]
pub(super) struct Standing(Option<StoreError>);

impl Standing {
    /// What the Conductor must be told after this answer, if anything.
    pub(super) fn after(
        &mut self,
        request: &Request,
        answer: &Result<Answer, StoreError>,
    ) -> Option<conductor::Event> {
        match answer {
            // A store that refuses an owner answers.
            Ok(_) | Err(StoreError::Fenced) => self.worked(request),
            Err(error) if self.0.is_none() => {
                self.0 = Some(error.clone());
                Some(conductor::Event::StoreDown(error.clone()))
            }
            Err(_) => None,
        }
    }

    /// On a full disk one can still read.
    fn worked(&mut self, request: &Request) -> Option<conductor::Event> {
        if matches!(self.0, Some(StoreError::Unwritable(_))) && !writes(request) {
            return None;
        }
        self.0.take().map(|_| conductor::Event::StoreUp)
    }
}

fn writes(request: &Request) -> bool {
    !matches!(
        request,
        Request::Get(_)
            | Request::List { .. }
            | Request::ListTrash { .. }
            | Request::Count
            | Request::Outcomes(_)
            | Request::Held
            | Request::Owners
            | Request::Schedules
    )
}

#[cfg(test)]
mod tests {
    use taskyard_core::conductor::Event;

    use super::*;

    const COUNTED: Result<Answer, StoreError> = Ok(Answer::Sealed);

    #[test]
    fn each_change_is_said_once() {
        let mut standing = Standing::default();
        let gone = || Err(StoreError::Unavailable("locked".into()));
        assert!(standing.after(&Request::Count, &COUNTED).is_none());
        assert!(matches!(standing.after(&Request::Count, &gone()), Some(Event::StoreDown(_))));
        assert!(standing.after(&Request::Count, &gone()).is_none());
        assert!(matches!(standing.after(&Request::Count, &COUNTED), Some(Event::StoreUp)));
        assert!(standing.after(&Request::Count, &COUNTED).is_none());
    }

    #[test]
    fn a_full_disk_is_not_mended_by_reading_from_it() {
        let mut standing = Standing::default();
        let full = Err(StoreError::Unwritable("disk full".into()));
        assert!(matches!(standing.after(&Request::Renew, &full), Some(Event::StoreDown(_))));
        assert!(standing.after(&Request::Count, &COUNTED).is_none());
        assert!(matches!(standing.after(&Request::Renew, &COUNTED), Some(Event::StoreUp)));
    }

    #[test]
    fn a_store_that_refuses_an_owner_works() {
        let mut standing = Standing::default();
        assert!(standing.after(&Request::Renew, &Err(StoreError::Fenced)).is_none());
    }
}
