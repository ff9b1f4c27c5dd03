//! Shared content: made once, with its entity tag and its compressed form, and sent to all clients.
//!
//! All replies share the same bytes, so a reply needs no further memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use actix_web::http::header::{CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};

use crate::responses::compression;
use crate::responses::etag::{self, Comparison, find};

/// Shared content. Cheap to clone; all clones share the same bytes.
#[derive(Clone)]
pub struct SharedContent(Arc<Forms>);

/// The content, plain and compressed. Each form is made when it is first needed.
struct Forms {
    entity_tag: String,
    plain: OnceLock<Bytes>,
    /// `None` if the compressed form would not be smaller.
    gzip: OnceLock<Option<Bytes>>,
}

impl SharedContent {
    /// Content that is compressed when the first client asks for it compressed.
    #[must_use]
    pub fn new(plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        Self(Arc::new(Forms {
            entity_tag: etag::compute(&plain),
            plain: plain.into(),
            gzip: OnceLock::new(),
        }))
    }

    /// Content that was compressed with gzip when the program was built.
    #[must_use]
    pub fn compressed(gzip: &'static [u8]) -> Self {
        let bytes = Some(Bytes::from_static(gzip));
        Self(Arc::new(Forms {
            entity_tag: etag::compute(gzip),
            plain: OnceLock::new(),
            gzip: bytes.into(),
        }))
    }

    /// The entity tag of the plain form.
    #[must_use]
    pub fn entity_tag(&self) -> &str {
        &self.0.entity_tag
    }

    /// The plain form.
    #[must_use]
    pub fn plain(&self) -> &Bytes {
        self.0.plain.get_or_init(|| {
            // Content without a plain form was built with a compressed one.
            let gzip = self
                .0
                .gzip
                .get()
                .and_then(Option::as_ref)
                .map_or(&[][..], |gzip| gzip);
            let plain = compression::decompress(gzip).unwrap_or_else(|error| {
                log::error!("built-in content not decompressed; sending an empty body: {error}");
                Vec::new()
            });
            plain.into()
        })
    }

    /// The form compressed with gzip; `None` if it would not be smaller.
    #[must_use]
    pub fn gzip(&self) -> Option<&Bytes> {
        self.0
            .gzip
            .get_or_init(|| compression::gzip_thoroughly(self.plain()).map(Bytes::from))
            .as_ref()
    }

    /// The reply to a request for this content, with these headers and the entity tag. It has no
    /// body if the client has the content already. Otherwise the body is the plain form, and
    /// [`crate::responses::sending`] replaces it by the compressed one for a client that
    /// accepts gzip.
    #[must_use]
    pub fn response(&self, request: &HttpRequest, headers: &[(HeaderName, &str)]) -> HttpResponse {
        match conditional(request, self.entity_tag(), headers) {
            Condition::Cached(mut response) => response.finish(),
            Condition::Modified(mut response) => {
                response.extensions_mut().insert(self.clone());
                response.body(self.plain().clone())
            }
        }
    }
}

/// The head of a reply, by whether the client has the content already.
pub enum Condition {
    /// The client has the content: the reply has no body.
    Cached(HttpResponseBuilder),
    /// The reply has a body.
    Modified(HttpResponseBuilder),
}

/// The head of the reply to a request for content with this entity tag, with these headers. The
/// status is 304 if `If-None-Match` has the tag, else 200.
#[must_use]
pub fn conditional(
    request: &HttpRequest,
    entity_tag: &str,
    headers: &[(HeaderName, &str)],
) -> Condition {
    let tags = request
        .headers()
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok());
    let cached = tags.and_then(|tags| find(tags, entity_tag, Comparison::Weak));
    let mut response = if cached.is_some() {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    for (name, value) in headers {
        // A reply without a body has no media type.
        if cached.is_none() || *name != CONTENT_TYPE {
            response.insert_header((name.clone(), *value));
        }
    }
    response.insert_header((ETAG, cached.as_deref().unwrap_or(entity_tag)));
    if cached.is_some() {
        Condition::Cached(response)
    } else {
        Condition::Modified(response)
    }
}

impl fmt::Debug for SharedContent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("SharedContent")
            .field(&self.0.entity_tag)
            .finish()
    }
}

/// Content by its address, made when it is first requested. Cheap to clone; all clones share it.
///
/// Entries are never removed. So callers may use only addresses of a small, fixed set.
#[derive(Debug, Clone, Default)]
pub struct SharedContentCache(Arc<Mutex<BTreeMap<String, SharedContent>>>);

impl SharedContentCache {
    /// The content at an address. If it is not stored yet, calls `make` and stores the result.
    /// Concurrent requests make it only once.
    ///
    /// # Errors
    ///
    /// The error of `make`. Then nothing is stored.
    pub fn get<E>(
        &self,
        address: &str,
        make: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<SharedContent, E> {
        // Other requests wait for the lock; their content is often the same. A poisoned lock does
        // no harm: content is stored whole.
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = cache.get(address) {
            return Ok(content.clone());
        }
        let content = SharedContent::new(make()?);
        cache.insert(address.to_owned(), content.clone());
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;
    use actix_web::http::StatusCode;
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn content_is_made_and_compressed_once() {
        let cache = SharedContentCache::default();
        let text = "the same for all clients ".repeat(100);
        let first = cache
            .get::<()>("/one", || Ok(text.clone().into_bytes()))
            .unwrap();
        let again = cache
            .clone()
            .get::<()>("/one", || panic!("made twice"))
            .unwrap();
        assert_eq!(first.plain(), text.as_bytes());
        assert_eq!(first.plain().as_ptr(), again.plain().as_ptr());
        let gzip = first.gzip().unwrap();
        assert_eq!(compression::decompress(gzip).unwrap(), text.as_bytes());
        assert_eq!(gzip.as_ptr(), again.gzip().unwrap().as_ptr());
        assert!(cache.get("/two", || Err(())).is_err());
        let two = cache.get::<()>("/two", || Ok(b"{}".to_vec())).unwrap();
        assert_eq!((two.plain().as_ref(), two.gzip()), (&b"{}"[..], None));
    }

    #[actix_web::test]
    async fn reply_has_its_body_on_a_listener_without_middleware() {
        let gzip: &'static [u8] =
            compression::gzip_thoroughly("part of the program ".repeat(100).as_bytes())
                .unwrap()
                .leak();
        for content in [
            SharedContent::new("body { margin: 0 }"),
            SharedContent::compressed(gzip),
        ] {
            let response = content.response(&TestRequest::get().to_http_request(), &[]);
            assert_eq!(
                to_bytes(response.into_body()).await.unwrap(),
                content.plain()
            );
            let known = TestRequest::get()
                .insert_header((IF_NONE_MATCH, content.entity_tag()))
                .to_http_request();
            let response = content.response(&known, &[]);
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
            assert!(to_bytes(response.into_body()).await.unwrap().is_empty());
        }
    }
}
