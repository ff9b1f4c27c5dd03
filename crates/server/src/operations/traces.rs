//! Traces: which requests are traced, and what is recorded of them.
//!
//! A request that is sampled has a span, and in it one for each wait, run and commit of its jobs and each of their statements,
//! which the store reports. Everything is put into a bounded queue as it ends; `exporter` sends it to the collector. A request
//! waits for none of this. Of one that is not sampled nothing is recorded.
//!
//! No span holds a path, a query, a token, an identifier of a record or a value: only what the program itself has written
//! down, and the identifier of the request.

pub mod collector;
mod exporter;
mod otlp;
mod parent;

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use ring::rand::{SecureRandom as _, SystemRandom};
use storage::trace::{Step, TraceSink};

use crate::http::middleware::access_log::End;
use crate::http::middleware::request_id::RequestId;
use crate::operations::traces::collector::Collector;
use crate::operations::traces::exporter::Exporter;
use crate::operations::traces::otlp::{ItemSpan, Recorded, RequestSpan, Resource};
use crate::operations::traces::parent::Parent;

/// Traces a second that are recorded because the caller has sampled them: whoever asks for more gets the share of all
/// others.
const SAMPLED_BY_CALLER: NonZeroU32 = NonZeroU32::new(10).unwrap();

thread_local! {
    /// What decides whether a request is sampled. It need not be hard to guess.
    static RANDOM: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
}

/// The share of requests that are traced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleRatio(f64);

impl SampleRatio {
    /// Every request.
    pub const ALL: Self = Self(1.0);

    fn samples(self) -> bool {
        // The upper 53 bits, which a float holds without rounding.
        let drawn = (random() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < self.0
    }
}

impl FromStr for SampleRatio {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.map(Self).ok_or("must be a number from 0 to 1, such as 0.01")
    }
}

/// Decides which requests are traced, and passes on what is recorded of them. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Tracer(Arc<Inner>);

struct Inner {
    ratio: SampleRatio,
    sampled_by_caller: DefaultDirectRateLimiter,
    ids: SystemRandom,
    exporter: Exporter,
}

impl Tracer {
    /// Starts to export to the collector, in the name of a server of this environment.
    ///
    /// # Errors
    ///
    /// When the operating system gives no thread.
    pub fn start(collector: Collector, ratio: SampleRatio, environment: String) -> io::Result<Self> {
        let ids = SystemRandom::new();
        let instance = SpanContext::begin(&ids, None).map_or([0; 16], |context| context.trace_id);
        let exporter = Exporter::start(collector, Resource::of(&instance, environment))?;
        let sampled_by_caller = RateLimiter::direct(Quota::per_second(SAMPLED_BY_CALLER));
        Ok(Self(Arc::new(Inner { ratio, sampled_by_caller, ids, exporter })))
    }

    /// Begins the trace of a request, if it is sampled.
    ///
    /// A valid `traceparent` names the trace that the request belongs to, and says whether it is sampled. A caller can leave a
    /// request out in this way, but only have a few sampled. The identifier of its trace decides nothing: it could be chosen
    /// so that every request is sampled.
    #[must_use]
    pub fn begin(&self, headers: &HeaderMap) -> Option<Arc<RequestTrace>> {
        let Inner { ratio, sampled_by_caller, ids, .. } = &*self.0;
        let parent = Parent::of(headers);
        let is_left_out = parent.as_ref().is_some_and(|parent| !parent.is_sampled);
        let by_ratio = !is_left_out && ratio.samples();
        let by_caller = !is_left_out && parent.is_some() && (by_ratio || sampled_by_caller.check().is_ok());
        if !by_ratio && !by_caller {
            return None;
        }
        let context = SpanContext::begin(ids, parent.as_ref().map(|parent| parent.trace_id))?;
        let parent = parent.map(|parent| parent.span_id);
        Some(Arc::new(RequestTrace { context, parent, has_items: by_ratio, tracer: self.clone() }))
    }

    /// Exports what is left, for so long at most. What is not exported by then is counted as dropped.
    pub async fn stop(&self, within: Duration) {
        self.0.exporter.stop(within).await;
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tracer").field("ratio", &self.0.ratio).finish_non_exhaustive()
    }
}

/// A span that others are part of, and by which clock they are timed.
#[derive(Debug, Clone, Copy)]
struct SpanContext {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    begun: Instant,
    /// The same in nanoseconds since 1970.
    begun_unix: u64,
}

impl SpanContext {
    /// A span that begins now; nothing when there are no random bytes for its identifier.
    fn begin(ids: &SystemRandom, trace_id: Option<[u8; 16]>) -> Option<Self> {
        let (mut new_trace_id, mut span_id) = ([0; 16], [0; 8]);
        ids.fill(&mut span_id).ok()?;
        if trace_id.is_none() {
            ids.fill(&mut new_trace_id).ok()?;
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begun_unix = nanoseconds(since_1970);
        Some(Self { trace_id: trace_id.unwrap_or(new_trace_id), span_id, begun: Instant::now(), begun_unix })
    }

    /// A time in nanoseconds since 1970.
    fn unix(&self, at: Instant) -> u64 {
        match at.checked_duration_since(self.begun) {
            Some(after) => self.begun_unix.saturating_add(nanoseconds(after)),
            None => self.begun_unix.saturating_sub(nanoseconds(self.begun.saturating_duration_since(at))),
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The trace of a request that is being answered.
pub struct RequestTrace {
    context: SpanContext,
    /// The span of the caller.
    parent: Option<[u8; 8]>,
    /// Whether the items of a batch are traced, which are many: not where only the caller wants the trace.
    has_items: bool,
    tracer: Tracer,
}

/// What is known of a request when it has ended.
#[derive(Debug, Clone)]
pub struct RequestFacts {
    /// One of the methods that the metrics know.
    pub method: &'static str,
    /// The pattern of the path, where there is such a path.
    pub route: Option<String>,
    /// The version, where the path is one of a version.
    pub version: Option<String>,
    /// The identifier of the request.
    pub request_id: RequestId,
    /// Whether it came over TLS.
    pub is_secure: bool,
    /// How it ended.
    pub end: End,
}

impl RequestTrace {
    /// Records that the request has ended now.
    pub fn end(&self, facts: RequestFacts) {
        let span = RequestSpan { context: self.context, parent: self.parent, ended: Instant::now(), facts };
        self.tracer.0.exporter.send(Recorded::Request(Box::new(span)));
    }

    /// Begins the span of an item of a batch, if items are traced. Its times go by the clock of the request.
    #[must_use]
    pub fn item(&self) -> Option<Arc<ItemTrace>> {
        if !self.has_items {
            return None;
        }
        let tracer = self.tracer.clone();
        let mut span_id = [0; 8];
        tracer.0.ids.fill(&mut span_id).ok()?;
        let begun = Instant::now();
        let context = SpanContext { span_id, begun, begun_unix: self.context.unix(begun), ..self.context };
        Some(Arc::new(ItemTrace { context, batch: self.context.span_id, tracer }))
    }
}

impl TraceSink for RequestTrace {
    fn record(&self, steps: Vec<Step>) {
        self.tracer.0.exporter.send(Recorded::Job(self.context, steps));
    }
}

impl fmt::Debug for RequestTrace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RequestTrace").field("context", &self.context).finish_non_exhaustive()
    }
}

/// The span of an item of a batch that is being handled.
pub struct ItemTrace {
    context: SpanContext,
    /// The span of the batch.
    batch: [u8; 8],
    tracer: Tracer,
}

impl ItemTrace {
    /// Records that the item has ended now, with the status of its result.
    pub fn end(&self, status: StatusCode) {
        let span = ItemSpan { context: self.context, batch: self.batch, ended: Instant::now(), status };
        self.tracer.0.exporter.send(Recorded::Item(span));
    }
}

impl TraceSink for ItemTrace {
    fn record(&self, steps: Vec<Step>) {
        self.tracer.0.exporter.send(Recorded::Job(self.context, steps));
    }
}

/// A number of the thread's own sequence (SplitMix64).
fn random() -> u64 {
    let state = RANDOM.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    RANDOM.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_a_number_from_0_to_1_and_samples_that_share() {
        for text in ["-0.1", "1.1", "NaN", "inf", "", "many"] {
            assert!(text.parse::<SampleRatio>().is_err(), "{text}");
        }
        let sampled = |text: &str| {
            let ratio: SampleRatio = text.parse().unwrap();
            (0..10_000).filter(|_| ratio.samples()).count()
        };
        assert_eq!((sampled("0"), sampled("1")), (0, 10_000));
        assert!((800..1_200).contains(&sampled("0.1")));
    }
}
