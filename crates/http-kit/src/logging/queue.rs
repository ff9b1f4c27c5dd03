//! A bounded queue of log lines between the threads that log and the thread that writes.
//!
//! Logging never waits: a line that finds the queue full is dropped and counted. The queue does not
//! depend on the format of lines.

use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, thread};

/// How long the thread lets lines gather after it has written some. Writing each line at once would
/// cost a thread switch per request.
const GATHERING: Duration = Duration::from_millis(5);
/// How long the thread waits before it tries again to write, if the output accepts nothing now.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// The queue. Cheap to clone; all clones are the same queue. As a [`Write`] it takes one line at a
/// time.
#[derive(Debug, Clone)]
pub(super) struct LogQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max_bytes: usize,
    state: Mutex<State>,
    /// Notified when a line enters the empty queue, and when all taken lines were written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The lines that wait, one after the other.
    bytes: Vec<u8>,
    /// How many lines wait.
    lines: u64,
    /// Whether lines that were taken from the queue are being written.
    is_writing: bool,
    /// Lines that were dropped and not reported in the log yet.
    unreported: u64,
    /// All lines that were dropped, or could not be written.
    lost: u64,
}

impl LogQueue {
    /// A queue of up to `max_bytes` bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Shared {
            max_bytes,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Puts a line into the queue. If the queue is full, drops the line and counts it.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.state();
        if state.bytes.len().saturating_add(line.len()) > self.0.max_bytes {
            state.unreported += 1;
            state.lost += 1;
            return;
        }
        // The writing thread waits only while the queue is empty.
        let is_first = state.bytes.is_empty();
        state.bytes.extend_from_slice(line);
        state.lines += 1;
        drop(state);
        if is_first {
            self.0.changed.notify_all();
        }
    }

    /// How many lines were dropped, or could not be written.
    pub(super) fn lost(&self) -> u64 {
        self.state().lost
    }

    /// Writes the lines for as long as the process runs. `report` logs how many lines were dropped,
    /// once the queue has space for that.
    pub(super) fn write_to(&self, mut out: impl Write, report: impl Fn(u64)) -> ! {
        loop {
            let (bytes, lines, dropped) = self.take();
            if dropped > 0 {
                // The queue was just emptied, so the report fits. Its line takes the position of
                // the dropped ones.
                report(dropped);
            }
            if write_all(&mut out, &bytes).is_err() {
                // Cannot be reported in the log, which is the output that failed.
                self.state().lost += lines;
            }
            self.state().is_writing = false;
            self.0.changed.notify_all();
            thread::sleep(GATHERING);
        }
    }

    /// Waits up to `max_wait` until everything in the queue is written. Returns whether it is.
    pub(super) fn flush(&self, max_wait: Duration) -> bool {
        let deadline = Instant::now() + max_wait;
        let mut state = self.state();
        while state.is_writing || !state.bytes.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .0
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    /// Waits for lines and takes all of them. Returns the lines, their number, and the number of
    /// lines dropped since the last call.
    fn take(&self) -> (Vec<u8>, u64, u64) {
        let mut state = self.state();
        while state.bytes.is_empty() && state.unreported == 0 {
            state = self
                .0
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.is_writing = true;
        (
            mem::take(&mut state.bytes),
            mem::take(&mut state.lines),
            mem::take(&mut state.unreported),
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Like [`Write::write_all`], but waits while `out` accepts nothing: standard error may be
/// shared with a program that has switched it to non-blocking.
fn write_all(out: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(RETRY_PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Tells when something is to be written, and writes it once it is let.
    struct Gate {
        told: Sender<String>,
        is_let: Receiver<()>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.told
                .send(String::from_utf8(bytes.to_vec()).unwrap())
                .unwrap();
            // Without anybody who lets it, it stands still for ever.
            match self.is_let.recv() {
                Ok(()) => Ok(bytes.len()),
                Err(_) => loop {
                    thread::park();
                },
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gated(max_bytes: usize) -> (LogQueue, Receiver<String>, Sender<()>) {
        let queue = LogQueue::new(max_bytes);
        let ((told, is_told), (allow, is_let)) = (channel(), channel());
        let (writing, reporting) = (queue.clone(), queue.clone());
        thread::spawn(move || {
            writing.write_to(Gate { told, is_let }, |dropped| {
                reporting.push(format!("dropped {dropped}\n").as_bytes())
            })
        });
        (queue, is_told, allow)
    }

    #[test]
    fn overflowing_lines_are_dropped_and_reported_in_place() {
        let (queue, written, allow) = gated(8);
        queue.push(b"1\n");
        assert_eq!(written.recv_timeout(LONG).unwrap(), "1\n");
        // The writer stands still, and the others go on.
        for number in 2..=9 {
            queue.push(format!("{number}\n").as_bytes());
        }
        assert_eq!(queue.lost(), 4);
        assert!(!queue.flush(Duration::from_millis(1)));
        allow.send(()).unwrap();
        assert_eq!(written.recv_timeout(LONG).unwrap(), "2\n3\n4\n5\n");
        queue.push(b"a\n");
        (0..2).for_each(|_| allow.send(()).unwrap());
        // The report itself is longer than this queue, and dropped like any other line.
        assert_eq!(written.recv_timeout(LONG).unwrap(), "a\n");
        assert!(queue.lost() >= 5);
    }

    #[test]
    fn a_report_comes_before_the_lines_that_are_logged_later() {
        let (queue, written, allow) = gated(20);
        queue.push(b"first\n");
        written.recv_timeout(LONG).unwrap();
        queue.push(&[b'x'; 20]);
        queue.push(b"dropped\n");
        allow.send(()).unwrap();
        assert_eq!(written.recv_timeout(LONG).unwrap(), "x".repeat(20));
        queue.push(b"later\n");
        allow.send(()).unwrap();
        assert_eq!(written.recv_timeout(LONG).unwrap(), "dropped 1\nlater\n");
        allow.send(()).unwrap();
        assert!(queue.flush(LONG));
        assert_eq!(queue.lost(), 1);
    }

    #[test]
    fn flush_waits_for_queued_lines_until_its_timeout() {
        let (queue, written, allow) = gated(100);
        assert!(queue.flush(Duration::ZERO));
        queue.push(b"line\n");
        assert!(!queue.flush(Duration::from_millis(1)));
        allow.send(()).unwrap();
        assert!(queue.flush(LONG));
        assert_eq!(written.try_iter().collect::<String>(), "line\n");
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let queue = LogQueue::new(100);
        let writing = queue.clone();
        thread::spawn(move || {
            writing.write_to(Closed, |dropped| panic!("{dropped} lines were dropped"))
        });
        queue.push(b"line\n");
        assert!(queue.flush(LONG));
        assert_eq!(queue.lost(), 1);
    }
}
