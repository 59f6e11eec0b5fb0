//! A child that serves HTTP or a Unix socket, ready to be connected to.
//! What is sent to it belongs to the test modules.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::{Launch, Place, Server, wait_for};
use crate::wire::launch;

/// `mty agent --transport http` on a loopback port.
pub(crate) struct HttpServer {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
}

impl HttpServer {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_in(&Place::new(), args)
    }

    pub(crate) fn start_in(place: &Arc<Place>, args: &[&str]) -> Self {
        // Between choosing a port and binding it somebody else may take it: then choose again.
        for _ in 0..5 {
            let address = free_address();
            let listen = address.to_string();
            let all = [&["--transport", "http", "--listen", &listen], args].concat();
            if let Some(server) = Self::wait(launch(&all).place(place), address) {
                return server;
            }
        }
        panic!("no free port in five tries");
    }

    /// Starts `launch` and waits until `address` accepts; `None` when the child ends instead.
    pub(crate) fn wait(launch: Launch, address: SocketAddr) -> Option<Self> {
        let mut server = Server::spawn(launch);
        let mut up = false;
        wait_for("the server to listen", || {
            up = TcpStream::connect(address).is_ok();
            up || !server.is_running()
        });
        (up && server.is_running()).then_some(Self { server, address })
    }
}

fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// `mty agent --transport unix` on a socket of its place.
pub(crate) struct UnixServer {
    pub(crate) server: Server,
    pub(crate) path: PathBuf,
}

impl UnixServer {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_in(&Place::new(), args)
    }

    pub(crate) fn start_in(place: &Arc<Place>, args: &[&str]) -> Self {
        let path = socket_path(place);
        let all = [
            &["--transport", "unix", "--listen", path.to_str().unwrap()],
            args,
        ]
        .concat();
        Self::wait(launch(&all).place(place), &path)
    }

    pub(crate) fn wait(launch: Launch, path: &Path) -> Self {
        let mut server = Server::spawn(launch);
        wait_for("the socket to accept", || {
            assert!(server.is_running(), "{:?}", server.wait_exit());
            std::os::unix::net::UnixStream::connect(path).is_ok()
        });
        Self {
            server,
            path: path.to_owned(),
        }
    }
}

/// Short enough for a socket address.
pub(crate) fn socket_path(place: &Place) -> PathBuf {
    place.root().join("agent.sock")
}
