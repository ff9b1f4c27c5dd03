//! A finished reply: status, headers and bytes, ready to be sent or stored.

use std::borrow::Cow;

use actix_web::HttpResponse;
use actix_web::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, WARNING, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::http::{ConnectionType, StatusCode};
use actix_web::web::Bytes;
use adapter_kit::problems::{ErrorBody, UNKNOWN, warning};
use adapter_kit::view::{View, write_list};
use adapter_kit::{ApiVersion, ProblemForm, Wire};
use domain::{Notice, Record};
use serde::Serialize;

use http_kit::limits::permits::Permit;
use http_kit::limits::rate_limit::{RateLimitScope, RemainingQuota};
use http_kit::responses::sending::JSON;
use http_kit::responses::shared_content::SharedContent;

/// The header with the rest of a rate limit (draft-ietf-httpapi-ratelimit-headers).
pub const RATE_LIMIT: &str = "ratelimit";
/// The header with the rate limit itself.
pub const RATE_LIMIT_POLICY: &str = "ratelimit-policy";
/// The content security policy of replies that are not pages.
pub const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";
/// Buffer size that suffices for most records, in bytes.
const RECORD_BYTES: usize = 4_096;
/// The maximum size of a reply with entries, in bytes. A reply with a single entry may be larger:
/// if it were refused, the client could never read past this entry.
pub const MAX_ENTRIES_BYTES: usize = 4 << 20;
/// The maximum number of warnings in one reply.
const MAX_WARNINGS: usize = 10;

/// A value of a reply cannot be JSON.
#[derive(Debug, thiserror::Error)]
#[error("reply cannot be written")]
pub struct Unwritable(#[source] pub serde_json::Error);

/// The keys of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageKeys<'a> {
    /// The key of the list.
    pub list: &'a str,
    /// The key of the object that describes the page. If it is empty, the members of the object are
    /// next to the list.
    pub meta: &'a str,
}

/// A finished reply.
#[derive(Debug, Clone)]
pub struct ApiResponse {
    /// The status.
    pub status: StatusCode,
    /// Headers other than the content type, by name.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body, which is JSON.
    pub body: Bytes,
    /// The body as content that is the same for all clients, if it is.
    pub shared: Option<SharedContent>,
    /// The permit of a large body, if it has one already.
    pub permit: Option<Permit>,
    /// Whether the reply ends a long poll; false only for a list of changes that is empty.
    pub has_changes: bool,
    /// The message of an error reply about the request as a whole, for the record of requests.
    pub message: Option<String>,
}

impl ApiResponse {
    /// A reply with a body that is already written as JSON.
    #[must_use]
    pub fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            shared: None,
            permit: None,
            has_changes: true,
            message: None,
        }
    }

    /// An error reply in the form of a version, which sets the content type.
    #[must_use]
    pub fn error(status: StatusCode, body: &ErrorBody, wire: &Wire) -> Self {
        let reply = Self::new(status, wire.write_error(body, status.as_u16()));
        let media_type = wire.problems.media_type;
        if media_type == ProblemForm::ERRORS.media_type {
            reply
        } else {
            reply.with(CONTENT_TYPE.as_str(), media_type)
        }
    }

    /// A reply with JSON that is the same for all clients.
    #[must_use]
    pub fn shared(status: StatusCode, content: SharedContent) -> Self {
        Self {
            shared: Some(content.clone()),
            ..Self::new(status, content.plain().clone())
        }
    }

    /// A reply with a value written as JSON.
    ///
    /// # Errors
    ///
    /// [`Unwritable`] when a value cannot be JSON.
    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Unwritable> {
        let mut body = serde_json::to_vec(body).map_err(Unwritable)?;
        // Saves memory while the body waits for a slow client.
        body.shrink_to_fit();
        Ok(Self::new(status, body))
    }

    /// A reply with `{"data": ...}` around a record, and with the record's address, if given. `key`
    /// is what the version calls `data`.
    ///
    /// # Errors
    ///
    /// [`Unwritable`] when a value cannot be JSON.
    pub fn record<R: Record>(
        status: StatusCode,
        key: &str,
        view: &View<'_, R>,
        address: Option<&str>,
    ) -> Result<Self, Unwritable> {
        Self::written(status, RECORD_BYTES, |body| {
            push_key(body, b'{', key);
            view.write(body)?;
            if let Some(address) = address {
                body.extend_from_slice(b",\"links\":{\"self\":");
                serde_json::to_writer(&mut *body, address)?;
                body.push(b'}');
            }
            Ok(())
        })
    }

    /// A reply with `{"data": [...]}` around records. `list` is what the version calls `data`.
    ///
    /// # Errors
    ///
    /// [`Unwritable`] when a value cannot be JSON.
    pub fn records<'a, R: Record>(
        status: StatusCode,
        list: &str,
        views: impl ExactSizeIterator<Item = View<'a, R>>,
    ) -> Result<Self, Unwritable> {
        Self::written(status, RECORD_BYTES * views.len(), |body| {
            push_key(body, b'{', list);
            write_list(views, body)
        })
    }

    /// A reply with `{"data": [...], "meta": ...}` around records, with the keys of the version.
    ///
    /// # Errors
    ///
    /// [`Unwritable`] when a value cannot be JSON.
    pub fn page<'a, R: Record>(
        status: StatusCode,
        views: impl ExactSizeIterator<Item = View<'a, R>>,
        keys: PageKeys<'_>,
        meta: &impl Serialize,
    ) -> Result<Self, Unwritable> {
        Self::written(status, RECORD_BYTES * views.len(), |body| {
            push_key(body, b'{', keys.list);
            write_list(views, body)?;
            push_meta(body, keys.meta, meta)
        })
    }

    /// A reply with `{"data": [...], "meta": ...}` around entries that `write` writes. The reply
    /// has the first entry, and further ones until [`MAX_ENTRIES_BYTES`] are reached. `meta` gets
    /// the number of written entries, and returns the value of its member.
    ///
    /// # Errors
    ///
    /// The first error of `write` or `meta`; [`Unwritable`] when a value cannot be JSON.
    pub fn entries<T, M: Serialize, E: From<Unwritable>>(
        status: StatusCode,
        entries: &[T],
        write: impl Fn(&T, &mut Vec<u8>) -> Result<(), E>,
        keys: PageKeys<'_>,
        meta: impl FnOnce(usize) -> Result<M, E>,
    ) -> Result<Self, E> {
        let mut body = Vec::with_capacity(RECORD_BYTES * entries.len());
        push_key(&mut body, b'{', keys.list);
        body.push(b'[');
        let mut written = 0;
        for entry in entries {
            let before = body.len();
            if written > 0 {
                body.push(b',');
            }
            write(entry, &mut body)?;
            if written > 0 && body.len() > MAX_ENTRIES_BYTES {
                body.truncate(before);
                break;
            }
            written += 1;
        }
        body.push(b']');
        push_meta(&mut body, keys.meta, &meta(written)?).map_err(Unwritable)?;
        body.push(b'}');
        body.shrink_to_fit();
        Ok(Self::new(status, body))
    }

    /// A reply with an object that `write` writes into one buffer, except for its last brace.
    fn written(
        status: StatusCode,
        capacity: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<Self, Unwritable> {
        let mut body = Vec::with_capacity(capacity);
        write(&mut body).map_err(Unwritable)?;
        body.push(b'}');
        // Saves memory while the body waits for a slow client.
        body.shrink_to_fit();
        Ok(Self::new(status, body))
    }

    /// The reply `304` without a body, to a client that already has the content.
    #[must_use]
    pub fn not_modified() -> Self {
        Self::new(StatusCode::NOT_MODIFIED, Bytes::new())
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds the headers with a rate limit and its rest.
    #[must_use]
    pub fn with_rate_limit(self, whose: RateLimitScope, left: RemainingQuota) -> Self {
        let RemainingQuota {
            limit,
            requests,
            full_again,
        } = left;
        let (name, quota, window) = (whose.name(), limit.requests, limit.window.as_secs());
        self.with(
            RATE_LIMIT_POLICY,
            format!("\"{name}\";q={quota};w={window}"),
        )
        .with(
            RATE_LIMIT,
            format!("\"{name}\";r={requests};t={full_again}"),
        )
    }

    /// Adds a warning for each notice. If there are too many, those about values come first, and
    /// the last one says how many warnings about values are omitted.
    #[must_use]
    pub fn with_notices(self, version: &ApiVersion, notices: &[Notice]) -> Self {
        if notices.len() <= MAX_WARNINGS {
            return self
                .with_warnings(notices.iter().filter_map(|notice| warning(version, notice)));
        }
        let (names, values): (Vec<_>, Vec<_>) =
            notices.iter().partition(|notice| notice.concerns_name());
        let text = |notice: &Notice| warning(version, notice);
        let names = names.into_iter().filter_map(text);
        let mut values: Vec<String> = values.into_iter().filter_map(text).collect();
        if values.len() > MAX_WARNINGS {
            // The last place is for the number of omitted warnings.
            let left_out = values.split_off(MAX_WARNINGS - 1).len();
            values.push(format!(
                "{left_out} more warnings about values are left out"
            ));
        }
        self.with_warnings(values.into_iter().chain(names))
    }

    /// Returns the texts of the warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let headers = self.headers.iter();
        let values = headers.filter(|(name, _)| name == WARNING.as_str());
        values.map(|(_, value)| {
            let text = value
                .split_once('"')
                .map_or(value.as_str(), |(_, text)| text);
            text.trim_end_matches('"')
        })
    }

    /// Adds warnings until the reply has [`MAX_WARNINGS`]. A text must have no quotes and no line
    /// breaks.
    #[must_use]
    pub fn with_warnings(self, texts: impl IntoIterator<Item = String>) -> Self {
        let present = self
            .headers
            .iter()
            .filter(|(name, _)| name == WARNING.as_str())
            .count();
        let texts = texts.into_iter().take(MAX_WARNINGS.saturating_sub(present));
        texts.fold(self, |reply, text| {
            reply.with(WARNING.as_str(), format!("299 - \"{text}\""))
        })
    }

    /// Adds a warning before all others. If the reply already has [`MAX_WARNINGS`], the last
    /// warning about an unknown name is removed.
    #[must_use]
    pub fn with_first_warning(mut self, text: &str) -> Self {
        let warnings = self
            .headers
            .iter()
            .filter(|(name, _)| name == WARNING.as_str())
            .count();
        let is_about_name = |(name, value): &(Cow<'_, str>, String)| {
            name == WARNING.as_str() && value.starts_with(&format!("299 - \"{UNKNOWN}"))
        };
        if warnings >= MAX_WARNINGS
            && let Some(last) = self.headers.iter().rposition(is_about_name)
        {
            self.headers.remove(last);
        }
        self.headers
            .insert(0, (WARNING.as_str().into(), format!("299 - \"{text}\"")));
        self
    }
}

/// Writes the name of a member behind `before`: the opening brace of the object, or a comma. `name`
/// must be a key of a version, because the name is not escaped.
fn push_key(body: &mut Vec<u8>, before: u8, name: &str) {
    body.push(before);
    body.push(b'"');
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(b"\":");
}

/// Writes the object `meta` as the next member of an object, or its members if `name` is empty.
/// `name` must be a key of a version, because the name is not escaped.
fn push_meta(
    body: &mut Vec<u8>,
    name: &str,
    meta: &impl Serialize,
) -> Result<(), serde_json::Error> {
    let start = body.len();
    if !name.is_empty() {
        push_key(body, b',', name);
        return serde_json::to_writer(body, meta);
    }
    serde_json::to_writer(&mut *body, meta)?;
    // The members follow a comma, without the braces of the object.
    body.pop();
    if body.len() == start + 1 {
        body.truncate(start);
    } else if let Some(brace) = body.get_mut(start) {
        *brace = b',';
    }
    Ok(())
}

impl ApiResponse {
    /// Adds the headers of this reply to a response, such as a page for the same error.
    pub fn add_headers_to(&self, response: &mut HttpResponse) {
        for (name, value) in &self.headers {
            if name == CONNECTION.as_str() {
                let head = response.head_mut();
                head.set_connection_type(ConnectionType::Close);
                continue;
            }
            let (Ok(header), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) else {
                log::error!("header {name} not sent: it is not valid");
                continue;
            };
            // These two replace a default; all others may occur several times.
            if [CACHE_CONTROL, CONTENT_TYPE].contains(&header) {
                response.headers_mut().insert(header, value);
            } else {
                response.headers_mut().append(header, value);
            }
        }
    }
}

impl From<ApiResponse> for HttpResponse {
    fn from(mut reply: ApiResponse) -> Self {
        let mut response = Self::build(reply.status);
        if reply.status != StatusCode::NOT_MODIFIED {
            response.insert_header((CONTENT_TYPE, HeaderValue::from_static(JSON)));
        }
        // Most replies contain personal data, so they must not be cached. None is a page.
        response
            .insert_header((CACHE_CONTROL, HeaderValue::from_static("no-store")))
            .insert_header((
                CONTENT_SECURITY_POLICY,
                HeaderValue::from_static(DATA_POLICY),
            ))
            .insert_header((REFERRER_POLICY, HeaderValue::from_static("no-referrer")))
            .insert_header((X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")));
        if let Some(content) = reply.shared.take() {
            response.extensions_mut().insert(content);
        }
        if let Some(permit) = reply.permit.take() {
            response.extensions_mut().insert(permit);
        }
        let mut response = response.body(std::mem::take(&mut reply.body));
        reply.add_headers_to(&mut response);
        response
    }
}
