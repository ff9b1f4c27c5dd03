//! The spans that a collector has received, read from the JSON of OTLP.

use std::collections::BTreeMap;

use serde_json::Value;
use test_support::Collector;

/// A span.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) kind: u64,
    pub(super) times: (u64, u64),
    pub(super) is_error: bool,
    attributes: BTreeMap<String, String>,
}

/// All spans that a collector has received.
#[derive(Debug)]
pub(super) struct Spans(pub(super) Vec<Span>);

impl Span {
    fn of(span: &Value) -> Self {
        let text = |name: &str| span[name].as_str().unwrap_or_else(|| panic!("{name} is no text: {span:#}")).to_owned();
        let time = |name: &str| text(name).parse::<u64>().unwrap();
        Self {
            trace: text("traceId"),
            id: text("spanId"),
            parent: span.get("parentSpanId").map(|_| text("parentSpanId")),
            name: text("name"),
            kind: span["kind"].as_u64().unwrap(),
            times: (time("startTimeUnixNano"), time("endTimeUnixNano")),
            is_error: span["status"]["code"] == 2,
            attributes: attributes(&span["attributes"]),
        }
    }

    /// An attribute; empty where there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    pub(super) fn attributes(&self) -> Vec<&str> {
        self.attributes.keys().map(String::as_str).collect()
    }
}

/// Attributes by name, numbers as their digits.
pub(super) fn attributes(list: &Value) -> BTreeMap<String, String> {
    let attribute = |entry: &Value| {
        let value = entry["value"].as_object().unwrap().values().next().unwrap();
        (entry["key"].as_str().unwrap().to_owned(), value.as_str().unwrap().to_owned())
    };
    list.as_array().unwrap().iter().map(attribute).collect()
}

impl Spans {
    pub(super) fn received(collector: &Collector) -> Self {
        let mut spans = Vec::new();
        for body in collector.received() {
            let export: Value = serde_json::from_slice(&body).unwrap();
            let resource = &export["resourceSpans"][0];
            let service = attributes(&resource["resource"]["attributes"]);
            assert_eq!(service["service.name"], "trainee-register");
            for name in ["service.version", "service.instance.id", "host.name"] {
                assert!(!service[name].is_empty(), "{name}");
            }
            assert_eq!(service["deployment.environment.name"], "sandbox");
            spans.extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().iter().map(Span::of));
        }
        Self(spans)
    }

    /// The span of a request.
    #[track_caller]
    pub(super) fn of_request(&self, id: &str) -> &Span {
        let found: Vec<_> = self.0.iter().filter(|span| span.get("request.id") == id).collect();
        let [span] = found[..] else { panic!("{id} has {} spans", found.len()) };
        span
    }

    /// The spans that are part of another, in the order in which they began.
    pub(super) fn children(&self, of: &Span) -> Vec<&Span> {
        let mut children: Vec<_> =
            self.0.iter().filter(|span| span.trace == of.trace && span.parent.as_ref() == Some(&of.id)).collect();
        children.sort_by_key(|span| span.times);
        for child in &children {
            assert!(child.times.0 >= of.times.0 && child.times.0 <= child.times.1, "{child:?} is not within {of:?}");
        }
        children
    }

    /// What a span consists of, in words: its statements are counted as one.
    pub(super) fn tree(&self, of: &Span) -> Vec<String> {
        let word = |span: &&Span| {
            let statements = self.children(span);
            match span.name.as_str() {
                "job" => {
                    assert!(!statements.is_empty() && statements.iter().all(|one| one.kind == 3), "{statements:#?}");
                    let failure = if span.is_error { format!(" {}", span.get("error.type")) } else { String::new() };
                    format!("{} {}{failure}", span.get("register.job.access"), span.get("register.job.attempt"))
                }
                name => name.to_owned(),
            }
        };
        self.children(of).iter().map(word).collect()
    }
}
