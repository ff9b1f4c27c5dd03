//! A plain balancer of TCP connections: each new one goes to the next server that takes it.
//!
//! It knows nothing of HTTP, so it repairs nothing: what a server cuts off, its client sees cut
//! off.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// A balancer that runs until it is dropped.
pub(crate) struct Balancer {
    pub(crate) address: String,
    servers: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Balancer {
    /// Balances over servers at these addresses.
    pub(crate) fn new(servers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let servers = Arc::new(Mutex::new(servers));
        let is_over = Arc::new(AtomicBool::new(false));
        let (known, ended) = (Arc::clone(&servers), Arc::clone(&is_over));
        let accepting = thread::spawn(move || {
            for (turn, client) in listener.incoming().enumerate() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let servers = known.lock().unwrap().clone();
                let next =
                    (0..servers.len()).map(|offset| &servers[(turn + offset) % servers.len()]);
                let taken = next.map(TcpStream::connect).find_map(Result::ok);
                // Where no server takes the connection, it is closed.
                if let (Ok(client), Some(server)) = (client, taken) {
                    join(client, server).unwrap();
                }
            }
        });
        Self {
            address,
            servers,
            is_over,
            accepting: Some(accepting),
        }
    }

    /// Puts a server in the place of another.
    pub(crate) fn replace(&self, at: usize, address: &str) {
        self.servers.lock().unwrap()[at] = address.to_owned();
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread, which looks up then.
        let _ = TcpStream::connect(&self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// Passes on what either side sends, until both have ended.
fn join(client: TcpStream, server: TcpStream) -> io::Result<()> {
    // Small messages go back and forth; neither side is to wait for more of them.
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    for (from, to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        thread::spawn(move || pass_on(from, to));
    }
    Ok(())
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    // However one side ends, the other is told that it has.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
