//! A way to the server that breaks where a test wants it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// What happens at the next commit, or from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The connection breaks before the commit reaches the server.
    CommitLost,
    /// It breaks after the server has committed and before that is heard.
    AnswerLost,
    /// The server is not heard any more, on whatever connection.
    Silence,
    /// Every connection breaks as soon as something is said.
    Cut,
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    fault: Arc<Mutex<Fault>>,
}

impl Proxy {
    pub(crate) fn to(url: &str) -> Self {
        let config: Config = url.parse().unwrap();
        let (Some(Host::Tcp(host)), Some(port)) = (config.get_hosts().first(), config.get_ports().first())
        else {
            panic!("{url} names no host and port");
        };
        let (server, listener) = (format!("{host}:{port}"), TcpListener::bind("127.0.0.1:0").unwrap());
        let here = listener.local_addr().unwrap();
        let fault = Arc::new(Mutex::new(Fault::None));
        let proxy = Self { url: url.replace(&server, &here.to_string()), fault: Arc::clone(&fault) };
        assert!(proxy.url.contains(&here.to_string()), "{url} does not name {server}");
        // It ends with the test's process; what is connected, with either side.
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                // Where no server is, none is met.
                if let Ok(server) = TcpStream::connect(&server) {
                    relay(client, server, &fault);
                }
            }
        });
        proxy
    }

    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Whether the fault has happened.
    pub(crate) fn is_over(&self) -> bool {
        *self.fault.lock().unwrap() == Fault::None
    }
}

fn relay(client: TcpStream, server: TcpStream, fault: &Arc<Mutex<Fault>>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    // Its end is not heard: what the server says next is the last.
    let deaf = Arc::new(Mutex::new(false));
    let (client_too, server_too) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (fault_too, deaf_too) = (Arc::clone(fault), Arc::clone(&deaf));
    let fault = Arc::clone(fault);
    thread::spawn(move || {
        pass(&client, &server, |bytes| {
            let mut fault = fault.lock().unwrap();
            let commits = bytes.windows(7).any(|window| window == b"COMMIT\0");
            match *fault {
                Fault::CommitLost if commits => {
                    *fault = Fault::None;
                    return Fate::Break;
                }
                Fault::AnswerLost if commits => {
                    *fault = Fault::None;
                    *deaf.lock().unwrap() = true;
                }
                Fault::Cut => return Fate::Break,
                _ => {}
            }
            Fate::Pass
        });
    });
    thread::spawn(move || {
        pass(&server_too, &client_too, |_| match *fault_too.lock().unwrap() {
            _ if *deaf_too.lock().unwrap() => Fate::Break,
            Fault::Silence => Fate::Drop,
            _ => Fate::Pass,
        });
    });
}

/// What becomes of some bytes.
#[derive(PartialEq, Eq)]
enum Fate {
    Pass,
    Drop,
    /// And of the connection.
    Break,
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, fate: impl Fn(&[u8]) -> Fate) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read) = from.read(&mut bytes)
        && read > 0
    {
        match fate(&bytes[..read]) {
            Fate::Pass if to.write_all(&bytes[..read]).is_ok() => {}
            Fate::Drop => {}
            Fate::Pass | Fate::Break => break,
        }
    }
    // One that is closed already stays so.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
