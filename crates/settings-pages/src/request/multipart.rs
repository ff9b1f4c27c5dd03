//! Forms with a file, as `multipart/form-data` (RFC 7578).

use std::collections::BTreeMap;
use std::time::Duration;

use actix_multipart::{Field, Multipart};
use actix_web::error::PayloadError;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use actix_web::rt::time::timeout;
use actix_web::web::{Bytes, Payload};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use gateway::error::ApiError;
use http_kit::limits::permits::Client;
use http_kit::requests::body::{Body, BodyError, BodyReader};

use crate::request::context::Route;
use crate::request::form::Form;
use crate::request::page::PageError;
use crate::request::uploaded_file::{FILE, UploadedFile};

const MULTIPART: &str = "multipart/form-data";
/// For 10 MB at 85 KB/s.
const MAX_TIME: Duration = Duration::from_mins(2);
const MAX_FIELDS: usize = 20;
/// The largest form that is received to its end. Browsers show the fault of a file that is too
/// large only if the whole form was received. Bytes of such a file are dropped.
const MAX_RECEIVED_BYTES: usize = 64 * 1_048_576;

/// Limits the memory of a form, by its client and its route.
#[derive(Clone, Copy)]
pub(crate) struct FormLimits<'a> {
    pub(crate) bodies: &'a BodyReader,
    pub(crate) client: Client,
    pub(crate) route: &'a Route,
}

impl FormLimits<'_> {
    async fn collect(self, field: &mut Field, max: usize) -> Result<Body, BodyError> {
        self.bodies.collect(self.client, field, max).await
    }
}

/// A form and its file.
pub(crate) struct ReceivedForm {
    pub(crate) form: Form,
    pub(crate) file: UploadedFile,
}

pub(crate) fn is_multipart(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(MULTIPART)
}

/// Receives a form with a file. Fails with [`PageError::NoForm`] if the body is malformed, and with
/// [`PageError::Request`] if it is too large, too slow, or there is no memory for it.
pub(crate) async fn receive(
    headers: &HeaderMap,
    payload: Payload,
    limits: FormLimits<'_>,
) -> Result<ReceivedForm, PageError> {
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > MAX_RECEIVED_BYTES) {
        let max = limits.route.max_file_bytes;
        return Err(ApiError::from(BodyError::TooLarge { max }).into());
    }
    let received = timeout(MAX_TIME, read_fields(headers, payload, limits)).await;
    received.unwrap_or(Err(ApiError::from(BodyError::TooSlow).into()))
}

/// Fails after the largest size that is received.
fn limit_bytes(payload: Payload) -> impl Stream<Item = Result<Bytes, PayloadError>> {
    // A chunked body has no `Content-Length` that could be checked before.
    let mut received = 0;
    payload.map(move |chunk| {
        let chunk = chunk?;
        received += chunk.len();
        if received > MAX_RECEIVED_BYTES {
            Err(PayloadError::Overflow)
        } else {
            Ok(chunk)
        }
    })
}

/// Reads the fields and the file of a form. A file that is too large is skipped.
async fn read_fields(
    headers: &HeaderMap,
    payload: Payload,
    limits: FormLimits<'_>,
) -> Result<ReceivedForm, PageError> {
    let mut multipart = Multipart::new(headers, limit_bytes(payload));
    let mut fields = BTreeMap::new();
    let mut file = UploadedFile::Absent;
    for _ in 0..MAX_FIELDS {
        let next = multipart.try_next().await;
        let Some(mut field) = next.map_err(|_| PageError::NoForm)? else {
            return Ok(ReceivedForm {
                form: Form::from_fields(fields),
                file,
            });
        };
        let name = field.name().unwrap_or_default().to_owned();
        if name == FILE {
            file = match limits
                .collect(&mut field, limits.route.max_file_bytes)
                .await
            {
                Ok(body) if body.is_empty() => UploadedFile::Absent,
                Ok(body) => UploadedFile::Received(body),
                // The rest of the field is skipped before the next one.
                Err(BodyError::TooLarge { .. }) => UploadedFile::TooLarge,
                Err(error) => return Err(ApiError::from(error).into()),
            };
        } else {
            let value = limits
                .collect(&mut field, limits.route.max_form_bytes)
                .await;
            let value = value.map_err(ApiError::from)?;
            fields.insert(name, String::from_utf8_lossy(&value).into_owned());
        }
    }
    Err(PageError::NoForm)
}
