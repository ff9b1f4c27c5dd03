//! A collector of traces: takes what is posted to it, and answers as it is told.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a client may take to send something.
const PATIENCE: Duration = Duration::from_secs(10);

/// A collector on a port of its own. It stops when it is dropped.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The bodies that were posted; nothing of those that are only counted.
    received: Mutex<Vec<Vec<u8>>>,
    connections: AtomicUsize,
    status: AtomicU16,
    keeps_nothing: bool,
    stops: AtomicBool,
}

impl Collector {
    /// Starts one that answers `200`.
    ///
    /// # Panics
    ///
    /// When there is no port.
    #[must_use]
    pub fn start() -> Self {
        Self::serving(Shared::default())
    }

    /// Starts one that answers `200` and keeps nothing of what it receives.
    ///
    /// # Panics
    ///
    /// When there is no port.
    #[must_use]
    pub fn discarding() -> Self {
        Self::serving(Shared { keeps_nothing: true, ..Shared::default() })
    }

    fn serving(shared: Shared) -> Self {
        shared.status.store(200, Ordering::Relaxed);
        let shared = Arc::new(shared);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("there is no port: {error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("it has no address: {error}"));
        let serving = Arc::clone(&shared);
        let serving = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stops.load(Ordering::Relaxed) {
                    return;
                }
                serving.connections.fetch_add(1, Ordering::Relaxed);
                // One that breaks off has sent nothing.
                let _ = serving.answer(stream);
            }
        });
        Self { address, shared, serving: Some(serving) }
    }

    /// Its address, as `--otlp-endpoint` takes it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers with another status from now on. What is posted meanwhile is not kept unless it is a success.
    pub fn answer_with(&self, status: u16) {
        self.shared.status.store(status, Ordering::Relaxed);
    }

    /// How often somebody has connected.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// The bodies of all that was accepted.
    #[must_use]
    pub fn received(&self) -> Vec<Vec<u8>> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut received = Vec::new();
        let mut buffer = vec![0; 65_536];
        let body = loop {
            let length = stream.read(&mut buffer)?;
            if length == 0 {
                return Ok(());
            }
            received.extend_from_slice(buffer.get(..length).unwrap_or_default());
            if let Some(body) = body_of(&received) {
                break body;
            }
        };
        let status = self.status.load(Ordering::Relaxed);
        if status == 200 && !self.keeps_nothing {
            self.received.lock().unwrap_or_else(PoisonError::into_inner).push(body.to_vec());
        }
        let reply = format!(
            "HTTP/1.1 {status} Answer\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: 2\r\n\r\n{{}}"
        );
        stream.write_all(reply.as_bytes())
    }
}

/// The body of a request that has arrived as a whole.
fn body_of(received: &[u8]) -> Option<&[u8]> {
    let end = received.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, body) = received.split_at_checked(end + 4)?;
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())?;
    body.get(..length)
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        // It waits for somebody to connect.
        let _ = TcpStream::connect(self.address);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}
