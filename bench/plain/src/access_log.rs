//! The access log: a line of JSON for each request on standard output, written by a thread of its
//! own.

use std::io::{self, BufWriter, Write as _};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use serde::Serialize;

use crate::records::Time;

/// How long lines wait for others.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Serialize)]
struct Line {
    time: Time,
    method: String,
    endpoint: String,
    provider: Option<String>,
    status: u16,
    milliseconds: f64,
}

/// The UKPRN of a token's provider, which a handler adds to its reply.
#[derive(Debug, Clone)]
pub(crate) struct Provider(pub(crate) String);

/// Where lines are sent to.
#[derive(Debug, Clone)]
pub(crate) struct AccessLog(Sender<Line>);

impl AccessLog {
    /// Starts the thread that writes.
    pub(crate) fn start() -> Self {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            if let Err(error) = write_all(&receiver) {
                eprintln!("the access log ended: {error}");
            }
        });
        Self(sender)
    }
}

/// Writes lines until all senders are gone. Lines that wait are written together.
fn write_all(lines: &Receiver<Line>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(65_536, io::stdout());
    while let Ok(first) = lines.recv() {
        for line in std::iter::once(first).chain(lines.try_iter()) {
            serde_json::to_writer(&mut out, &line)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        // Waking this thread for each line would cost more than the line.
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Logs a request after its reply.
pub(crate) async fn log(State(log): State<AccessLog>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().as_str().to_owned();
    let endpoint = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(String::new, |path| path.as_str().to_owned());
    let mut response = next.run(request).await;
    let provider = response.extensions_mut().remove::<Provider>();
    // The log ends only with the process.
    let _ = log.0.send(Line {
        time: Time::now(),
        method,
        endpoint,
        provider: provider.map(|provider| provider.0),
        status: response.status().as_u16(),
        milliseconds: begun.elapsed().as_secs_f64() * 1e3,
    });
    response
}
