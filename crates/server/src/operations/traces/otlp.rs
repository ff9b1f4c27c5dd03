//! Spans in the form of OTLP/HTTP with JSON, with the names of the semantic conventions of OpenTelemetry.

use std::borrow::Cow;
use std::time::Instant;

use actix_web::http::StatusCode;
use data_encoding::HEXLOWER;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;
use storage::trace::{Database, Queue, Statement, Step, StepKind, shape, summary};

use super::{RequestFacts, SpanContext};
use crate::http::middleware::access_log::End;
use crate::operations::metrics::requests::OTHER_METHOD;

/// By what the spans of this program are known.
const SERVICE: &str = "trainee-register";
/// What stands for a method that has no name of its own.
const METHOD_OTHER: &str = "_OTHER";

/// What is in the queue.
pub(super) enum Recorded {
    Request(Box<RequestSpan>),
    Item(ItemSpan),
    /// What a job did that belongs to the span.
    Job(SpanContext, Vec<Step>),
}

/// A request that has ended.
pub(super) struct RequestSpan {
    pub(super) context: SpanContext,
    pub(super) parent: Option<[u8; 8]>,
    pub(super) ended: Instant,
    pub(super) facts: RequestFacts,
}

/// An item of a batch that has ended.
pub(super) struct ItemSpan {
    pub(super) context: SpanContext,
    pub(super) batch: [u8; 8],
    pub(super) ended: Instant,
    pub(super) status: StatusCode,
}

/// `ExportTraceServiceRequest`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Export<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: &'a Resource,
    scope_spans: [ScopeSpans<'a>; 1],
}

/// Which server the spans come from.
#[derive(Serialize)]
pub(super) struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    spans: &'a [Span],
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

/// A span.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    flags: u32,
    name: Cow<'static, str>,
    kind: u8,
    /// A number of 64 bits is text in JSON.
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Value {
    StringValue(Cow<'static, str>),
    /// A number of 64 bits is text in JSON.
    IntValue(String),
}

#[derive(Serialize)]
struct Status {
    code: u8,
}

/// `STATUS_CODE_ERROR`. There is no message: it could hold a value.
const ERROR: Status = Status { code: 2 };

/// `SpanKind`.
#[derive(Clone, Copy)]
enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The flags of a span: sampled, and whether its parent is in another process is known.
const FLAGS: u32 = 0x101;
/// The same, and its parent is in another process.
const FLAGS_OF_REMOTE_PARENT: u32 = 0x301;

impl Resource {
    pub(super) fn of(instance: &[u8], environment: String) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let attributes = vec![
            text("service.name", SERVICE),
            text("service.version", env!("CARGO_PKG_VERSION")),
            text("service.instance.id", HEXLOWER.encode(instance)),
            text("deployment.environment.name", environment),
            text("host.name", host),
        ];
        Self { attributes }
    }
}

impl<'a> Export<'a> {
    pub(super) fn of(resource: &'a Resource, spans: &'a [Span]) -> Self {
        let scope = Scope { name: SERVICE, version: env!("CARGO_PKG_VERSION") };
        Self { resource_spans: [ResourceSpans { resource, scope_spans: [ScopeSpans { scope, spans }] }] }
    }
}

impl Recorded {
    /// How many spans it becomes.
    pub(super) fn spans(&self) -> usize {
        match self {
            Self::Request(_) | Self::Item(_) => 1,
            Self::Job(_, steps) => steps.iter().map(|step| 1 + statements(step).len()).sum(),
        }
    }

    /// Adds its spans to a batch.
    pub(super) fn write(self, ids: &SystemRandom, batch: &mut Vec<Span>) {
        match self {
            Self::Request(span) => batch.push(span.span()),
            Self::Item(span) => batch.push(span.span()),
            Self::Job(context, steps) => steps.into_iter().for_each(|step| write_step(context, step, ids, batch)),
        }
    }
}

fn statements(step: &Step) -> &[Statement] {
    match &step.kind {
        StepKind::Run { statements, .. } => statements,
        StepKind::Wait { .. } | StepKind::Commit { .. } => &[],
    }
}

impl RequestSpan {
    fn span(self) -> Span {
        let Self { context, parent, ended, facts } = self;
        let RequestFacts { method, route, version, request_id, is_secure, end } = facts;
        let (method, name) = if method == OTHER_METHOD { (METHOD_OTHER, "HTTP") } else { (method, method) };
        let name = route.as_ref().map_or(Cow::Borrowed(name), |route| Cow::Owned(format!("{name} {route}")));
        let mut span = Span::of(context, context.span_id, parent, name, Kind::Server);
        span.flags = if parent.is_some() { FLAGS_OF_REMOTE_PARENT } else { FLAGS };
        span.time(context, context.begun, ended);
        let scheme = if is_secure { "https" } else { "http" };
        span.attributes = vec![
            text("http.request.method", method),
            text("url.scheme", scheme),
            text("request.id", request_id.to_string()),
        ];
        span.attributes.extend(route.map(|route| text("http.route", route)));
        span.attributes.extend(version.map(|version| text("register.api.version", version)));
        match end {
            End::Answered(status) => span.answer(status),
            End::Cancelled => span.fail("cancelled"),
        }
        span
    }
}

impl ItemSpan {
    fn span(self) -> Span {
        let Self { context, batch, ended, status } = self;
        let mut span = Span::of(context, context.span_id, Some(batch), "item".into(), Kind::Internal);
        span.time(context, context.begun, ended);
        span.answer(status);
        span
    }
}

fn write_step(context: SpanContext, step: Step, ids: &SystemRandom, batch: &mut Vec<Span>) {
    let Step { kind, begun, ended, failure } = step;
    let id = new_id(ids);
    let mut span = match kind {
        StepKind::Wait { queue } => {
            let (name, queue) = match queue {
                Queue::Pool => ("wait for pool", "pool"),
                Queue::Writer => ("wait for writer", "writer"),
            };
            let mut span = Span::of(context, id, Some(context.span_id), name.into(), Kind::Internal);
            span.attributes.push(text("register.queue", queue));
            span
        }
        StepKind::Run { access, attempt, database, statements, left_out } => {
            let mut span = Span::of(context, id, Some(context.span_id), "job".into(), Kind::Internal);
            span.attributes = vec![text("register.job.access", access), number("register.job.attempt", attempt)];
            if left_out > 0 {
                span.attributes.push(number("register.job.statements_left_out", left_out));
            }
            for statement in statements {
                batch.push(statement_span(context, id, database, &statement, ids));
            }
            span
        }
        StepKind::Commit { jobs, database } => {
            let mut span = Span::of(context, id, Some(context.span_id), "COMMIT".into(), Kind::Client);
            let jobs = u64::try_from(jobs).unwrap_or(u64::MAX);
            span.attributes = vec![system(database), number("register.commit.jobs", jobs)];
            span
        }
    };
    span.time(context, begun, ended);
    if let Some(failure) = failure {
        span.fail(failure);
    }
    batch.push(span);
}

fn statement_span(
    context: SpanContext,
    job: [u8; 8],
    database: Database,
    statement: &Statement,
    ids: &SystemRandom,
) -> Span {
    let Statement { sql, begun, ended, has_failed } = statement;
    let shape = shape(sql);
    let summary = summary(&shape);
    let mut span = Span::of(context, new_id(ids), Some(job), summary.clone().into(), Kind::Client);
    span.attributes = vec![system(database), text("db.query.summary", summary), text("db.query.text", shape)];
    span.time(context, *begun, *ended);
    if *has_failed {
        span.fail("failed");
    }
    span
}

impl Span {
    fn of(context: SpanContext, id: [u8; 8], parent: Option<[u8; 8]>, name: Cow<'static, str>, kind: Kind) -> Self {
        Self {
            trace_id: HEXLOWER.encode(&context.trace_id),
            span_id: HEXLOWER.encode(&id),
            parent_span_id: parent.map(|parent| HEXLOWER.encode(&parent)),
            flags: FLAGS,
            name,
            kind: kind as u8,
            start_time_unix_nano: String::new(),
            end_time_unix_nano: String::new(),
            attributes: Vec::new(),
            status: None,
        }
    }

    fn time(&mut self, context: SpanContext, begun: Instant, ended: Instant) {
        self.start_time_unix_nano = context.unix(begun).to_string();
        self.end_time_unix_nano = context.unix(ended).to_string();
    }

    /// A server fails by its own errors alone: what it refuses is the client's.
    fn answer(&mut self, status: StatusCode) {
        self.attributes.push(number("http.response.status_code", status.as_u16()));
        if status.is_server_error() {
            self.fail(status.as_str().to_owned());
        }
    }

    fn fail(&mut self, error: impl Into<Cow<'static, str>>) {
        self.attributes.push(text("error.type", error));
        self.status = Some(ERROR);
    }
}

fn system(database: Database) -> Attribute {
    let name = match database {
        Database::Postgres => "postgresql",
        Database::Sqlite => "sqlite",
    };
    text("db.system.name", name)
}

fn text(key: &'static str, value: impl Into<Cow<'static, str>>) -> Attribute {
    Attribute { key, value: Value::StringValue(value.into()) }
}

fn number(key: &'static str, value: impl Into<u64>) -> Attribute {
    Attribute { key, value: Value::IntValue(value.into().to_string()) }
}

/// The identifier of a span.
fn new_id(ids: &SystemRandom) -> [u8; 8] {
    let mut id = [0; 8];
    // It gave bytes when the trace began; without any the collector refuses the span, and says so.
    let _ = ids.fill(&mut id);
    id
}
