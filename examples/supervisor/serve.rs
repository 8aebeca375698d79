//! Serves on the socket until a signal, a shutdown command or a fault.

use taskyard::service::Service;

use crate::Exit;
use crate::drain::{Signals, broken, drain};
use crate::live::Live;

/// Serves.
pub(crate) async fn run(mut service: Service, mut signals: Signals, live: &Live) -> Exit {
    for producer in service.producers() {
        tracing::info!(kind = ?producer.kind, "taking tasks from {}", producer.name);
    }
    let yard = service.yard().clone();
    let going_on = live.follow(&yard, None);
    tokio::select! {
        signal = signals.next() => tracing::info!("{signal}: draining"),
        () = service.shutdown_asked() => tracing::info!("a shutdown was asked for: draining"),
        why = yard.closed() => return broken(why),
        () = going_on => {}
    }
    drain(&mut service, &mut signals).await
}
