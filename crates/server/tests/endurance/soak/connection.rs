//! A bare connection, on which anything can be sent.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an abuser waits for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long an answer is waited for that need not come.
const SOON: Duration = Duration::from_millis(100);

/// A connection to the server.
pub(super) struct Connection {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
}

impl Connection {
    /// Connects; nothing when the server does not take the connection now.
    pub(super) fn open(address: &str) -> Option<Self> {
        let address: SocketAddr = address.parse().unwrap();
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let answers = BufReader::new(stream.try_clone().ok()?);
        Some(Self { stream, answers })
    }

    /// Sends without waiting for room, and says whether the server still waits for more.
    pub(super) fn trickle(&mut self, bytes: &[u8]) -> bool {
        self.send_if_room(bytes) && !self.is_closed()
    }

    /// Sends as much as there is room for, and says whether the connection is still there.
    pub(super) fn send_if_room(&mut self, bytes: &[u8]) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let sent = self.stream.write(bytes);
        self.stream.set_nonblocking(false).unwrap();
        sent.map_or_else(|error| error.kind() == io::ErrorKind::WouldBlock, |_| true)
    }

    /// Whether the server has closed the connection.
    pub(super) fn is_closed(&mut self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let closed = match self.stream.peek(&mut [0]) {
            // The end, or an answer: the server is done with this one.
            Ok(_) => true,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        };
        self.stream.set_nonblocking(false).unwrap();
        closed
    }

    /// Sends all of it, unless the server closes the connection before.
    pub(super) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The head of the next answer; nothing when the connection is closed without one.
    pub(super) fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match self.answers.read_until(b'\n', &mut head) {
                Ok(1..) => {}
                Ok(0) => return None,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    panic!("no answer in {PATIENCE:?}")
                }
                Err(_) => return None,
            }
        }
        Some(String::from_utf8_lossy(&head).into_owned())
    }

    /// The status of the next answer, which must be none of an error of the server's, unless it says when to come again.
    pub(super) fn status(&mut self) -> Option<u16> {
        let head = self.head()?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
        let is_put_off = status == 503 && head.to_ascii_lowercase().contains("\r\nretry-after:");
        assert!(status < 500 || is_put_off, "{head}");
        Some(status)
    }

    /// Requires that a request that is none is refused, or is the beginning of one that never comes, after which the client
    /// goes. It is not waited for longer than an answer takes.
    pub(super) fn refuse_soon(&mut self) {
        self.stream.set_read_timeout(Some(SOON)).unwrap();
        let mut first = [0; 12];
        if self.answers.read_exact(&mut first).is_ok() {
            let status = String::from_utf8_lossy(&first);
            assert!(status.starts_with("HTTP/1.1 4"), "{status}");
        }
    }

    /// Everything that comes until the server closes the connection.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A connection that is reset has said what it had to say.
        let _ = self.answers.read_to_end(&mut rest);
        rest
    }
}
