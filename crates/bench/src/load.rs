//! The load: keep-alive connections on one thread that send one request after the other, and look
//! at nothing of the replies but status and length.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::http::Head;
use crate::outcome::Outcome;

/// How long a turn waits for a reply before it fails.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);
/// What is read at once, in bytes: more than the largest reply.
const BUFFER_BYTES: usize = 4_194_304;
/// The status of a server that is busy. Another request is sent.
const BUSY: u16 = 503;

/// What a connection sends next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// One of these requests, in turn. The reply is `200`.
    Read(Rc<[Vec<u8>]>),
    /// One of these requests, in turn, each with other letters than the one before.
    Write(Rc<[Write]>),
}

/// A request that registers one or several new trainees each time it is sent, or gives a trainee a
/// new value.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    request: Vec<u8>,
    /// Where the letters stand that tell one person from the next.
    places: Vec<usize>,
    persons: usize,
    /// The status of the reply.
    expected: u16,
}

impl Write {
    /// Placeholder for the letters that differ.
    pub(crate) const LETTERS: &str = "qqqqqqqq";

    /// A request that registers a trainee.
    pub(crate) fn create(request: Vec<u8>) -> Self {
        Self::new(request, 1, 201)
    }

    /// A request that registers `persons` trainees, each with the same number of placeholders.
    pub(crate) fn batch(request: Vec<u8>, persons: usize) -> Self {
        Self::new(request, persons, 200)
    }

    /// A request that changes a trainee.
    pub(crate) fn update(request: Vec<u8>) -> Self {
        Self::new(request, 1, 200)
    }

    fn new(request: Vec<u8>, persons: usize, expected: u16) -> Self {
        let letters = Self::LETTERS.as_bytes();
        let places = request
            .windows(letters.len())
            .enumerate()
            .filter(|(_, window)| *window == letters);
        Self {
            places: places.map(|(place, _)| place).collect(),
            request,
            persons,
            expected,
        }
    }

    /// Returns the request with the letters of a number.
    pub(crate) fn request(&self, number: usize) -> Vec<u8> {
        let mut request = Vec::new();
        self.write(number, &mut request);
        request
    }

    fn write(&self, number: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.request);
        let places = self
            .places
            .chunks((self.places.len() / self.persons).max(1));
        for (person, places) in (number * self.persons..).zip(places) {
            let letters = format!("{person:08}")
                .into_bytes()
                .into_iter()
                .map(|digit| digit + (b'a' - b'0'));
            for place in places {
                let there = out.iter_mut().skip(*place);
                there
                    .zip(letters.clone())
                    .for_each(|(byte, letter)| *byte = letter);
            }
        }
    }
}

/// A scenario's requests, and how many were sent of them.
#[derive(Debug)]
pub(crate) struct Load {
    steps: Vec<Step>,
    connections: usize,
    sent: usize,
    /// Number of requests that a reply counts as.
    weight: f64,
}

/// What was measured in a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Replies a second; of batches, the trainees in them.
    pub(crate) rate: f64,
    /// Half of the replies took no longer, in milliseconds.
    pub(crate) p50: f64,
    /// 99 of 100 replies took no longer, in milliseconds.
    pub(crate) p99: f64,
    /// Processor time of the server for each of these, in microseconds.
    pub(crate) processor: f64,
    /// Bytes of body for each reply.
    pub(crate) bytes: f64,
    /// How many requests were answered `503` because the server was busy. They do not count.
    pub(crate) refused: usize,
}

impl Load {
    pub(crate) fn new(steps: Vec<Step>, connections: usize) -> Self {
        Self {
            steps,
            connections,
            sent: 0,
            weight: 1.0,
        }
    }

    /// Counts each reply as `weight` requests.
    pub(crate) fn weighing(self, weight: usize) -> Self {
        Self {
            weight: weight as f64,
            ..self
        }
    }

    /// Sends requests until the time is over. What happens in the first quarter of it is not
    /// counted.
    ///
    /// # Errors
    ///
    /// When a reply has another status than the expected one, but for a `503`, or does not come.
    pub(crate) fn run(
        &mut self,
        address: SocketAddr,
        time: Duration,
        processor_time: impl Fn() -> Outcome<Duration>,
    ) -> Outcome<Turn> {
        let (mut poll, mut connections) = self.connect(address)?;
        for connection in &mut connections {
            self.next(connection)?;
        }
        let mut events = Events::with_capacity(self.connections);
        let mut buffer = vec![0; BUFFER_BYTES];
        let begun = Instant::now();
        let mut measurement = Measurement::new();
        let (mut last_event, mut busy) = (begun, connections.len());
        while busy > 0 {
            // Waking a sleeping client would cost the server more than some replies do.
            poll.poll(&mut events, Some(Duration::ZERO))?;
            let now = Instant::now();
            if !events.is_empty() {
                last_event = now;
            } else if now - last_event > REPLY_TIMEOUT {
                return Err("the server did not reply in time".into());
            }
            measurement.begin_or_end(begun, now, time, &processor_time)?;
            for event in &events {
                let Some(connection) = connections.get_mut(event.token().0) else {
                    continue;
                };
                let Some(head) = connection.advance(&mut buffer)? else {
                    continue;
                };
                measurement.add(head, connection.began);
                if measurement.has_ended() {
                    busy -= 1;
                } else {
                    self.next(connection)?;
                }
            }
        }
        measurement.statistics(self.weight)
    }

    /// Opens the connections, each registered by its position.
    fn connect(&self, address: SocketAddr) -> Outcome<(Poll, Vec<Connection>)> {
        let poll = Poll::new()?;
        let mut connections = Vec::with_capacity(self.connections);
        for token in 0..self.connections {
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            poll.registry().register(
                &mut stream,
                Token(token),
                Interest::READABLE | Interest::WRITABLE,
            )?;
            connections.push(Connection::new(stream));
        }
        Ok((poll, connections))
    }

    /// Begins the next request on a connection.
    fn next(&mut self, connection: &mut Connection) -> Outcome<()> {
        let (number, steps) = (self.sent, self.steps.len());
        self.sent += 1;
        let out = &mut connection.out;
        out.clear();
        match self
            .steps
            .get(number % steps)
            .ok_or("the load has no requests")?
        {
            Step::Read(requests) => {
                // Far apart, so that neighbours in a list are not asked for one after the other.
                let request = requests.get(number.wrapping_mul(7_919) % requests.len());
                out.extend_from_slice(request.ok_or("no request")?);
                connection.expected = 200;
            }
            Step::Write(writes) => {
                // Steps of a mixed load must not always write for the same provider.
                let write = writes.get(number / steps % writes.len());
                let write = write.ok_or("no request")?;
                write.write(number, out);
                connection.expected = write.expected;
            }
        }
        (connection.written, connection.began) = (0, Instant::now());
        connection.write()
    }
}

/// What is counted of the replies of a turn.
#[derive(Debug)]
struct Measurement {
    phase: Phase,
    latencies: Vec<Duration>,
    /// Bytes of the bodies.
    bytes: usize,
    refused: usize,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// What is counted now is dropped when this ends.
    WarmUp,
    /// Since when, and the processor time of the server by then.
    Counting(Instant, Duration),
    /// How long it was counted, and what processor time the server used.
    Ended(Duration, Duration),
}

impl Measurement {
    fn new() -> Self {
        Self {
            phase: Phase::WarmUp,
            latencies: Vec::with_capacity(1 << 20),
            bytes: 0,
            refused: 0,
        }
    }

    /// Begins to count after the first quarter of the time, and ends after all of it.
    fn begin_or_end(
        &mut self,
        begun: Instant,
        now: Instant,
        time: Duration,
        processor_time: impl Fn() -> Outcome<Duration>,
    ) -> Outcome<()> {
        if matches!(self.phase, Phase::WarmUp) && now - begun >= time / 4 {
            self.phase = Phase::Counting(now, processor_time()?);
            self.latencies.clear();
            self.bytes = 0;
        }
        if let Phase::Counting(since, before) = self.phase
            && now - begun >= time
        {
            self.phase = Phase::Ended(now - since, processor_time()?.saturating_sub(before));
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(..))
    }

    fn add(&mut self, head: Head, began: Instant) {
        if head.status == BUSY {
            self.refused += 1;
        } else if !self.has_ended() {
            self.latencies.push(began.elapsed());
            self.bytes += head.length;
        }
    }

    fn statistics(mut self, weight: f64) -> Outcome<Turn> {
        let Phase::Ended(took, used) = self.phase else {
            return Err("no replies were measured".into());
        };
        self.latencies.sort_unstable();
        let count = self.latencies.len() as f64;
        let at = |part: f64| {
            self.latencies
                .get((count * part) as usize)
                .map_or(f64::NAN, |time| 1e3 * time.as_secs_f64())
        };
        Ok(Turn {
            rate: count * weight / took.as_secs_f64(),
            p50: at(0.5),
            p99: at(0.99),
            processor: used.as_secs_f64() * 1e6 / (count * weight),
            bytes: self.bytes as f64 / count,
            refused: self.refused,
        })
    }
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    written: usize,
    expected: u16,
    began: Instant,
    /// The reply, until its head is complete.
    received: Vec<u8>,
    /// The head of the reply, and how many bytes of its body are still to come.
    awaited: Option<(Head, usize)>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        let (out, received) = (Vec::new(), Vec::new());
        Self {
            stream,
            out,
            written: 0,
            expected: 0,
            began: Instant::now(),
            received,
            awaited: None,
        }
    }

    fn write(&mut self) -> Outcome<()> {
        while let Some(rest) = self.out.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => self.written += count,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::NotConnected
                    ) =>
                {
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Sends and receives what can be without waiting; the head of the reply when it is complete.
    fn advance(&mut self, buffer: &mut [u8]) -> Outcome<Option<Head>> {
        if self.written < self.out.len() {
            self.write()?;
        }
        // Less than the buffer takes is all that has arrived, and what arrives later is another
        // event.
        let count = match self.stream.read(buffer) {
            Ok(0) => return Err("the server has closed a connection".into()),
            Ok(count) => count,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::NotConnected
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let new = buffer.get(..count).unwrap_or_default();
        let (head, rest) = match self.awaited {
            Some((head, rest)) => (head, rest.saturating_sub(count)),
            None => {
                let is_first = self.received.is_empty();
                if !is_first {
                    self.received.extend_from_slice(new);
                }
                let received = if is_first { new } else { &self.received };
                let Some(head) = Head::parse(received) else {
                    if is_first {
                        self.received.extend_from_slice(new);
                    }
                    return Ok(None);
                };
                let head = head?;
                if head.status != self.expected && head.status != BUSY {
                    return Err(format!(
                        "expected status {}, got: {}",
                        self.expected,
                        String::from_utf8_lossy(received)
                    )
                    .into());
                }
                let rest = (head.bytes + head.length).saturating_sub(received.len());
                self.received.clear();
                (head, rest)
            }
        };
        if rest == 0 {
            self.awaited = None;
            return Ok(Some(head));
        }
        self.awaited = Some((head, rest));
        Ok(None)
    }
}
