//! A bare connection for any bytes.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an abuser waits for an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long an answer is waited for that need not come.
const SOON: Duration = Duration::from_millis(100);

/// No answer came in time.
struct TimedOut;

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

    /// The status of the next answer, which must come; nothing when the connection is closed
    /// without one.
    pub(super) fn status(&mut self) -> Option<u16> {
        self.status_within(PATIENCE)
            .unwrap_or_else(|TimedOut| panic!("no answer in {PATIENCE:?}"))
    }

    /// The status of an answer that need not come.
    pub(super) fn status_soon(&mut self) -> Option<u16> {
        self.status_within(SOON).unwrap_or_default()
    }

    /// An answer must be none of an error of the server's, unless it says when to come again.
    fn status_within(&mut self, patience: Duration) -> Result<Option<u16>, TimedOut> {
        self.stream.set_read_timeout(Some(patience)).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match self.answers.read_until(b'\n', &mut head) {
                Ok(1..) => {}
                Ok(0) => return Ok(None),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    return Err(TimedOut);
                }
                Err(_) => return Ok(None),
            }
        }
        let head = String::from_utf8_lossy(&head);
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status line");
        let is_put_off = status == 503 && head.to_ascii_lowercase().contains("\r\nretry-after:");
        assert!(status < 500 || is_put_off, "{head}");
        Ok(Some(status))
    }

    /// Everything that comes until the server closes the connection.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A connection that is reset has said what it had to say.
        let _ = self.answers.read_to_end(&mut rest);
        rest
    }
}
