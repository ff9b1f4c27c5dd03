//! Sends what was recorded to the collector, from a thread of its own.
//!
//! Whoever records waits for nothing: the queue is bounded, and what does not fit is dropped and counted. While the collector
//! cannot be reached, the last export is tried again, less and less often, and the queue fills. The log says when that begins
//! and when it ends.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use metrics::Counter;
use ring::rand::SystemRandom;
use serde::Deserialize;
use tokio::sync::oneshot;

use super::collector::{Collector, ExportError};
use super::otlp::{Export, Recorded, Resource, Span};
use crate::operations::metrics::{SpanLoss, spans_dropped, spans_exported};

/// The most spans that wait. One takes less than a kibibyte as a rule.
const MAX_WAITING: usize = 8_192;
/// The spans of one export, unless those of one job are more.
const BATCH: usize = 512;
/// How long spans wait, unless there are enough for an export.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often a batch may fail before it is given up: some minutes.
const MAX_FAILURES: u32 = 10;

/// The way to the thread.
pub(super) struct Exporter {
    queue: Sender<Recorded>,
    /// The spans in the queue.
    waiting: Arc<AtomicUsize>,
    stop: StopSlot,
    thread: Thread,
    dropped: Counter,
}

/// Filled when the thread is to stop, with whom to tell.
type StopSlot = Arc<Mutex<Option<oneshot::Sender<()>>>>;

impl Exporter {
    pub(super) fn start(collector: Collector, resource: Resource) -> io::Result<Self> {
        let (queue, recorded) = mpsc::channel();
        let (waiting, stop) = (Arc::new(AtomicUsize::new(0)), StopSlot::default());
        let mut worker = Worker {
            collector,
            resource,
            recorded,
            waiting: Arc::clone(&waiting),
            stop: Arc::clone(&stop),
            ids: SystemRandom::new(),
            unsent: None,
            outage: None,
            exported: spans_exported(),
        };
        let thread = thread::Builder::new().name("trace-exporter".to_owned()).spawn(move || worker.run())?;
        let dropped = spans_dropped(SpanLoss::QueueFull);
        Ok(Self { queue, waiting, stop, thread: thread.thread().clone(), dropped })
    }

    /// Puts what was recorded into the queue, if there is room.
    pub(super) fn send(&self, recorded: Recorded) {
        let spans = recorded.spans();
        let before = self.waiting.fetch_add(spans, Ordering::Relaxed);
        let now = before.saturating_add(spans);
        if now > MAX_WAITING || self.queue.send(recorded).is_err() {
            self.waiting.fetch_sub(spans, Ordering::Relaxed);
            self.dropped.increment(u64::try_from(spans).unwrap_or(u64::MAX));
        } else if before < BATCH && now >= BATCH {
            self.thread.unpark();
        }
    }

    /// Has the thread export what is left, and waits until it has, for so long at most.
    pub(super) async fn stop(&self, within: Duration) {
        let (done, stopped) = oneshot::channel();
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).replace(done);
        self.thread.unpark();
        if tokio::time::timeout(within, stopped).await.is_err() {
            log::warn!("the last spans were not exported within {} ms", within.as_millis());
        }
    }
}

/// The thread's end of the queue.
struct Worker {
    collector: Collector,
    resource: Resource,
    recorded: Receiver<Recorded>,
    waiting: Arc<AtomicUsize>,
    stop: StopSlot,
    ids: SystemRandom,
    /// An export that has failed and is tried again.
    unsent: Option<Batch>,
    outage: Option<Outage>,
    exported: Counter,
}

/// An export.
struct Batch {
    body: Vec<u8>,
    spans: u64,
    /// How often it was not taken.
    failures: u32,
}

/// A time in which the collector takes nothing.
struct Outage {
    /// When it is tried again.
    next: Instant,
    pause: Duration,
}

/// `ExportTraceServiceResponse`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ExportResponse {
    partial_success: PartialSuccess,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    rejected_spans: Count,
}

/// A number of 64 bits, which is text in JSON, and a number where a collector does not keep to that.
#[derive(Deserialize)]
#[serde(untagged)]
enum Count {
    Number(u64),
    Text(String),
}

impl Default for Count {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl Worker {
    fn run(&mut self) {
        loop {
            thread::park_timeout(INTERVAL);
            let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
            let is_due = self.outage.as_ref().is_none_or(|outage| outage.next <= Instant::now());
            if is_due || stop.is_some() {
                while self.export_next() {}
            }
            if let Some(done) = stop {
                self.drop_all();
                // Nobody waits any more when it took too long.
                let _ = done.send(());
                return;
            }
        }
    }

    /// Exports the next batch. Returns whether there may be another one to export now.
    fn export_next(&mut self) -> bool {
        let Some(batch) = self.unsent.take().or_else(|| self.next_batch()) else { return false };
        match self.collector.post(&batch.body) {
            Ok(reply) => {
                let rejected = rejected_spans(&reply).min(batch.spans);
                self.exported.increment(batch.spans - rejected);
                if rejected > 0 {
                    spans_dropped(SpanLoss::Rejected).increment(rejected);
                }
                if self.outage.take().is_some() {
                    log::info!("traces: spans are exported to {} again", self.collector);
                }
                true
            }
            Err(error) => self.fail(batch, &error),
        }
    }

    /// Keeps a batch that may be taken later, for some time. Returns whether another one may be exported now: one that is refused
    /// for good says nothing of those behind it.
    fn fail(&mut self, mut batch: Batch, error: &ExportError) -> bool {
        if self.outage.is_none() {
            log::warn!("traces: spans cannot be exported to {}: {error}; requests go on without", self.collector);
        }
        let is_temporary = error.is_temporary();
        let doubled = self.outage.as_ref().map_or(INTERVAL, |outage| outage.pause * 2);
        let pause = if is_temporary { doubled.clamp(INTERVAL, LONGEST_PAUSE) } else { Duration::ZERO };
        self.outage = Some(Outage { next: Instant::now() + pause, pause });
        if is_temporary && batch.failures < MAX_FAILURES {
            batch.failures += 1;
            self.unsent = Some(batch);
        } else {
            spans_dropped(SpanLoss::ExportFailed).increment(batch.spans);
        }
        !is_temporary
    }

    /// The next spans of the queue, as an export.
    fn next_batch(&mut self) -> Option<Batch> {
        let mut spans = Vec::new();
        while spans.len() < BATCH {
            let Ok(recorded) = self.recorded.try_recv() else { break };
            self.waiting.fetch_sub(recorded.spans(), Ordering::Relaxed);
            recorded.write(&self.ids, &mut spans);
        }
        self.batch(&spans)
    }

    fn batch(&self, spans: &[Span]) -> Option<Batch> {
        if spans.is_empty() {
            return None;
        }
        let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        // Text and numbers can always be written.
        let body = serde_json::to_vec(&Export::of(&self.resource, spans)).ok()?;
        Some(Batch { body, spans: count, failures: 0 })
    }

    /// Counts what is left as dropped.
    fn drop_all(&mut self) {
        let unsent = self.unsent.take().map_or(0, |batch| batch.spans);
        let left: usize = self.recorded.try_iter().map(|recorded| recorded.spans()).sum();
        let lost = unsent.saturating_add(u64::try_from(left).unwrap_or(u64::MAX));
        if lost > 0 {
            spans_dropped(SpanLoss::ExportFailed).increment(lost);
            log::warn!("traces: {lost} spans were not exported");
        }
    }
}

/// How many spans of an export the collector did not take.
fn rejected_spans(reply: &[u8]) -> u64 {
    let ExportResponse { partial_success } = serde_json::from_slice(reply).unwrap_or_default();
    match partial_success.rejected_spans {
        Count::Number(count) => count,
        Count::Text(count) => count.parse().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_collector_rejects_is_read_from_its_reply() {
        let cases = [
            ("", 0),
            ("{}", 0),
            ("not JSON", 0),
            (r#"{"partialSuccess":{}}"#, 0),
            (r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}"#, 3),
            (r#"{"partialSuccess":{"rejectedSpans":4}}"#, 4),
        ];
        for (reply, expected) in cases {
            assert_eq!(rejected_spans(reply.as_bytes()), expected, "{reply}");
        }
    }
}
