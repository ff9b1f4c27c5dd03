//! A request, taken apart: everything that an operation needs, owned, so that it can leave the event loop.
//!
//! A call can be carried out more than once: the store runs a job again that collided with another one.

use std::sync::Once;

use actix_web::HttpRequest;
use actix_web::http::header::{AUTHORIZATION, ETAG, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH};
use actix_web::web::Payload;
use adapter_kit::read::{Nest, NestedLists, Reader, UnknownNames};
use adapter_kit::{ApiVersion, Endpoint, Method, Served};
use domain::{Lists, ParsedRecord};
use storage::history::Cause;
use storage::identifiers::Identifiers;
use storage::tokens::{Environment, TokenDigest};

use crate::bodies::{Body, MAX_BODY_BYTES};
use crate::entity_tag::{self, Comparison, are_quoted, is_among};
use crate::failure::{Failure, Mismatch, Unusable};
use crate::idempotency::{Key, MalformedKey};
use crate::query::{self, UnknownParameter};
use crate::register::Register;
use crate::reply::Reply;
use crate::token_failure::TokenFailure;
use crate::usage::sighting::Sighting;
use crate::written_lists::WrittenLists;
use crate::{measures, request_id};

/// The preference of a client that only wants to know what would be answered (RFC 7240).
pub const VALIDATE_ONLY: &str = "validate-only";

/// The identifiers in a path; empty where it has none.
#[derive(Debug)]
pub struct PathIds {
    trainee: String,
    placement: String,
    degree: String,
}

impl PathIds {
    /// The identifiers that stand for these names in the pattern of a path.
    pub fn of<'a>(named: impl Fn(&str) -> Option<&'a str>) -> Self {
        let id = |name| named(name).unwrap_or_default().to_owned();
        Self { trainee: id("trainee_id"), placement: id("placement_id"), degree: id("degree_id") }
    }
}

/// A request for an endpoint of a version.
#[derive(Debug)]
pub struct Call {
    /// The version among the others.
    pub served: &'static Served,
    /// The code lists.
    pub lists: &'static Lists,
    /// The same as they are answered.
    pub written_lists: WrittenLists,
    /// Who asks.
    pub token: TokenDigest,
    /// What is seen of the request while it is carried out.
    pub sighting: Sighting,
    operation: String,
    label: String,
    request_id: Option<String>,
    ids: PathIds,
    query: String,
    unknown_parameters: Vec<UnknownParameter>,
    if_match: Option<String>,
    if_none_match: Option<String>,
    idempotency_key: Result<Option<Key>, MalformedKey>,
    validate_only: bool,
    body: Result<Body, Unusable>,
    unknown: UnknownNames,
    /// The names in the body are counted once, however often the call is carried out.
    names_counted: Once,
}

impl Call {
    /// Takes a request apart. A body that cannot be used is kept as a failure, because whoever has no valid token must
    /// not learn of it.
    ///
    /// # Errors
    ///
    /// [`Failure::Unauthorized`] when there is nothing that could be a token of this environment.
    pub async fn take(
        request: &HttpRequest,
        ids: PathIds,
        payload: Payload,
        served: &'static Served,
        endpoint: Endpoint,
        register: &Register,
    ) -> Result<Self, Failure> {
        let Register { lists, environment, .. } = *register;
        let token = token(request.headers(), environment).map_err(Failure::Unauthorized)?;
        let strict = prefers(request.headers(), "handling=strict");
        let body = register.bodies.receive_json(request.headers(), payload, MAX_BODY_BYTES).await;
        let idempotency_key = match endpoint.method() {
            Method::Post => Key::of(request, body.as_ref().map_or(&[], |body| body)),
            Method::Get | Method::PutOrPatch | Method::Delete => Ok(None),
        };
        Ok(Self {
            served,
            lists,
            written_lists: register.written_lists.clone(),
            token,
            sighting: Sighting::default(),
            operation: endpoint.to_string(),
            label: served.version.label.to_string(),
            request_id: request_id::current(),
            ids,
            query: request.query_string().to_owned(),
            unknown_parameters: query::unknown(request.query_string(), endpoint.query_parameters()),
            if_match: tags(request.headers(), IF_MATCH),
            if_none_match: tags(request.headers(), IF_NONE_MATCH),
            idempotency_key,
            validate_only: prefers(request.headers(), VALIDATE_ONLY),
            body,
            unknown: if strict { UnknownNames::Refuse } else { UnknownNames::Tell },
            names_counted: Once::new(),
        })
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> &'static ApiVersion {
        self.served.version
    }

    /// The identifier of the trainee in the path.
    #[must_use]
    pub fn trainee_id(&self) -> &str {
        &self.ids.trainee
    }

    /// The identifier of the placement in the path.
    #[must_use]
    pub fn placement_id(&self) -> &str {
        &self.ids.placement
    }

    /// The identifier of the degree in the path.
    #[must_use]
    pub fn degree_id(&self) -> &str {
        &self.ids.degree
    }

    /// The query, as it was sent.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The names in the query that the endpoint does not have, where the client wants them refused.
    #[must_use]
    pub fn refused_parameters(&self) -> &[UnknownParameter] {
        match self.unknown {
            UnknownNames::Refuse => &self.unknown_parameters,
            UnknownNames::Tell => &[],
        }
    }

    /// The same names, for `Warning` headers, where the client does not.
    #[must_use]
    pub fn parameter_warnings(&self) -> Vec<String> {
        match self.unknown {
            UnknownNames::Refuse => Vec::new(),
            UnknownNames::Tell => self.unknown_parameters.iter().filter_map(UnknownParameter::warning).collect(),
        }
    }

    /// Whether the client wants to know what would be answered, and nothing else to happen.
    #[must_use]
    pub fn validates_only(&self) -> bool {
        self.validate_only
    }

    /// Draws identifiers for so many new records; none for a request that is only tried out.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn identifiers(&self, count: usize) -> Result<Identifiers, Failure> {
        Ok(Identifiers::draw(if self.validate_only { 0 } else { count })?)
    }

    /// Through what the records are reached, for their history.
    #[must_use]
    pub fn cause(&self) -> Cause<'_> {
        Cause { version: Some(&self.label), request_id: self.request_id.as_deref(), ..Cause::of(&self.operation) }
    }

    /// The key under which the reply is kept, if the client sent one.
    ///
    /// # Errors
    ///
    /// When what was sent is no key; and when it is one, and the body did not arrive, by which the request is told from
    /// others with the same key.
    pub fn idempotency_key(&self) -> Result<Option<&Key>, Failure> {
        let key = self.idempotency_key.as_ref().map_err(|malformed| *malformed)?;
        match &self.body {
            Err(unusable @ (Unusable::CutOff | Unusable::TooSlow | Unusable::NoRoom)) if key.is_some() => {
                Err(Failure::Body(*unusable))
            }
            Ok(_) | Err(_) => Ok(key.as_ref()),
        }
    }

    /// The same reply with the entity tag of the record that it shows, which a `GET` of that record has too. A record
    /// that is only tried out has none.
    #[must_use]
    pub fn tagged(&self, reply: Reply) -> Reply {
        let tag = entity_tag::of(&reply.body);
        self.with_tag(reply, tag)
    }

    /// As [`Call::tagged`], for a reply whose body is not that of a `GET` of the record. `shown` is the reply to one.
    #[must_use]
    pub fn tagged_as(&self, reply: Reply, shown: &Reply) -> Reply {
        self.with_tag(reply, entity_tag::of(&shown.body))
    }

    fn with_tag(&self, reply: Reply, tag: String) -> Reply {
        if self.validate_only { reply } else { reply.with(ETAG.as_str(), tag) }
    }

    /// The reply to a request that reads, with its entity tag; without its body when the client has it already.
    #[must_use]
    pub fn unless_held(&self, reply: Reply) -> Reply {
        let tag = entity_tag::of(&reply.body);
        self.unless_tag_held(reply, tag)
    }

    /// As [`Call::unless_held`], with the entity tag of the reply's body, where that is known.
    #[must_use]
    pub fn unless_tag_held(&self, reply: Reply, tag: String) -> Reply {
        match self.if_none_match.as_deref().and_then(|tags| entity_tag::find(tags, &tag, Comparison::Weak)) {
            Some(cached) => Reply::not_modified().with(ETAG.as_str(), cached),
            None => reply.with(ETAG.as_str(), tag),
        }
    }

    /// Goes on only if the record is still what the client takes it for, if it says what that is. `present` shows the
    /// record as it is.
    ///
    /// # Errors
    ///
    /// [`Failure::PreconditionFailed`], or that of `present`.
    pub fn require_match(&self, present: impl FnOnce() -> Result<Reply, Failure>) -> Result<(), Failure> {
        let Some(tags) = self.if_match.as_deref() else { return Ok(()) };
        let tag = entity_tag::of(&present()?.body);
        if is_among(tags, &tag, Comparison::Strong) {
            return Ok(());
        }
        Err(Failure::PreconditionFailed(if !are_quoted(tags) {
            Mismatch::Unquoted
        } else if is_among(tags, &tag, Comparison::Weak) {
            Mismatch::Weak
        } else {
            Mismatch::Changed
        }))
    }

    /// Reads the body of a request that makes or moves a record, nested lists included.
    ///
    /// # Errors
    ///
    /// Why the body cannot be used at all. What is wrong with its content is in the result.
    pub fn read<R: Nest>(&self) -> Result<ParsedRecord<R>, Failure> {
        self.read_with(NestedLists::Read)
    }

    /// Reads the body of a request that changes a record, whose nested records have endpoints of their own.
    ///
    /// # Errors
    ///
    /// As [`Call::read`].
    pub fn read_changes<R: Nest>(&self) -> Result<ParsedRecord<R>, Failure> {
        self.read_with(NestedLists::PassOver)
    }

    fn read_with<R: Nest>(&self, nested: NestedLists) -> Result<ParsedRecord<R>, Failure> {
        let body = self.body.as_ref().map_err(|unusable| *unusable)?;
        let reader = Reader { served: self.served, unknown: self.unknown, nested };
        let sent = reader.read::<R>(body).map_err(Failure::Malformed)?;
        self.sighting.read(body, &sent.unrecognised.of_other_versions);
        self.names_counted.call_once(|| measures::misnamed(self.version().label, &sent.unrecognised));
        Ok(sent)
    }
}

/// The token of the request, as its digest.
fn token(headers: &HeaderMap, environment: Environment) -> Result<TokenDigest, TokenFailure> {
    let header = headers.get(AUTHORIZATION).ok_or(TokenFailure::Missing)?;
    let header = header.to_str().map_err(|_| TokenFailure::Malformed)?;
    let (scheme, token) = header.trim().split_once(' ').ok_or(TokenFailure::Malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(TokenFailure::WrongScheme);
    }
    let token = token.trim();
    match Environment::of_token(token) {
        Some(own) if own == environment => Ok(TokenDigest::of(token)),
        Some(_) => Err(TokenFailure::OtherEnvironment),
        None => Err(TokenFailure::Malformed),
    }
}

/// The entity tags of a header.
fn tags(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let lines: Vec<&str> = headers.get_all(name).filter_map(|line| line.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

/// Whether the client asks for a way of handling (RFC 7240).
fn prefers(headers: &HeaderMap, preference: &str) -> bool {
    headers
        .get_all("prefer")
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split([',', ';']))
        .any(|part| part.trim().eq_ignore_ascii_case(preference))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        [(HeaderName::from_static(name), HeaderValue::from_static(value))].into_iter().collect()
    }

    #[test]
    fn a_preference_is_found_among_others_in_any_case() {
        for value in ["handling=strict", "respond-async, Handling=Strict", "wait=10; handling=strict"] {
            assert!(prefers(&headers("prefer", value), "handling=strict"), "{value}");
        }
        assert!(!prefers(&headers("prefer", "handling=lenient"), "handling=strict"));
    }
}
