//! What the runtime believes of a socket, where the caller knows better. Both ends of a worker's connection use it.

use std::io;

use tokio::io::Interest;
use tokio::net::UnixStream;

/// Nothing is left to read: the runtime need not find that out by another call. Whatever comes from now on is news to it.
pub(crate) fn forget_readiness(socket: &UnixStream) {
    let nothing = || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
    let _ = socket.try_io(Interest::READABLE, nothing);
}
