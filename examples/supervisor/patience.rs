//! Asking the yard while its store may fail: a store comes back, so who can wait asks again.

use std::time::Duration;

use taskyard::AskError;

/// How long until it is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// The answer, or why there will be none.
pub(crate) async fn patiently<T, F>(mut ask: impl FnMut() -> F) -> Result<T, AskError>
where
    F: Future<Output = Result<T, AskError>>,
{
    loop {
        match ask().await {
            Err(AskError::Store(_)) => tokio::time::sleep(PAUSE).await,
            answered => return answered,
        }
    }
}
