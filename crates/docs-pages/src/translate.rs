//! `POST /docs/translate`: translates a body of one version into another version, and reports the
//! losses and problems there.
//!
//! Bodies are neither logged nor stored.

use std::str::FromStr;

use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Payload};
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::body_kind::{Direction, InvalidChoice, Purpose, RecordKind};
use adapter_kit::problems::{ErrorEntry, Located, UNPROCESSABLE};
use adapter_kit::read::JsonTree;
use adapter_kit::{Label, Served, Versions, read};
use domain::Code;
use domain::listing::MAX_PER_PAGE;
use serde_json::Value;
use version_tools::translate::{BodyKind, TranslationContext, translate};

use gateway::error::ApiError;
use gateway::response::ApiResponse;
use gateway::routes::closed;
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::limits::permits::Client;

const MAX_BODY_BYTES: usize = 262_144;

pub(super) fn resource(state: &GatewayState, translations: &ConcurrencyLimit) -> Resource {
    let state = state.clone();
    let translations = translations.clone();
    let route = web::method(Method::POST).to(move |request: HttpRequest, payload: Payload| {
        let state = state.clone();
        let translations = translations.clone();
        async move {
            let reply = answer(state, translations, request, payload).await;
            HttpResponse::from(reply.unwrap_or_else(ApiError::response_without_version))
        }
    });
    closed(web::resource("/translate").route(route), &[Method::POST])
}

async fn answer(
    state: GatewayState,
    translations: ConcurrencyLimit,
    request: HttpRequest,
    payload: Payload,
) -> Result<ApiResponse, ApiError> {
    // Counted before the body is received, so that requests beyond the limit use no memory.
    state
        .address_rate_limit
        .count(&request)
        .map_err(ApiError::from_address_quota)?;
    let body = state
        .bodies
        .read_json(Client::Unknown, &request, payload, MAX_BODY_BYTES)
        .await?;
    let permit = translations
        .acquire()
        .await
        .ok_or(ApiError::TooManyTranslations)?;
    let today = state.store.now().date_naive();
    // A large body can occupy a processor, so the work must not run on this thread.
    let translated = web::block(move || {
        // The work holds the permit, because it continues after the client has disconnected.
        let _held = &permit;
        let sent = read::parse_json(&body).map_err(ApiError::Malformed)?;
        let request = TranslationRequest::read(&sent, state.versions)?;
        let context = TranslationContext {
            today,
            lists: state.lists,
            choices: &[],
        };
        let TranslationRequest {
            from,
            to,
            data,
            body_kind,
        } = request;
        let translation = translate(&data, from, to, &body_kind, context);
        Ok(ApiResponse::json(StatusCode::OK, &translation)?)
    });
    translated.await.unwrap_or(Err(ApiError::Interrupted))
}

struct TranslationRequest {
    from: &'static Served,
    to: &'static Served,
    data: JsonTree,
    body_kind: BodyKind,
}

impl TranslationRequest {
    /// Reads `{"from": ..., "to": ..., "data": ...}`. Reports all problems of the request.
    fn read(sent: &JsonTree, versions: &'static Versions) -> Result<Self, ApiError> {
        let mut reading = Reading {
            sent: &sent.value,
            versions,
            wrong: Vec::new(),
        };
        let repeated_keys = reading.repeated_keys(&sent.repeated_keys);
        let from = reading.version("from");
        let to = reading.version("to");
        let data = reading.data();
        let body_kind = BodyKind {
            record: reading.word::<RecordKind>("record"),
            direction: reading.word::<Direction>("direction"),
            purpose: reading.word::<Purpose>("purpose"),
        };
        match (from, to, data) {
            (Some(from), Some(to), Some(data)) if reading.wrong.is_empty() => Ok(Self {
                from,
                to,
                data: JsonTree {
                    value: data.clone(),
                    repeated_keys,
                },
                body_kind,
            }),
            (_, _, _) => Err(ApiError::InvalidTranslationRequest(reading.wrong)),
        }
    }
}

/// Reads the values of a translation request, and collects their problems.
struct Reading<'a> {
    sent: &'a Value,
    versions: &'static Versions,
    wrong: Vec<ErrorEntry>,
}

impl<'a> Reading<'a> {
    /// Adds a problem of a key. Always returns `None`.
    fn refuse<T>(&mut self, key: &str, code: Code, fault: impl Into<String>) -> Option<T> {
        let located = Some(Located {
            code: code.name(),
            field: key.to_owned(),
        });
        let message = format!("{key} {}", fault.into());
        self.wrong.push(ErrorEntry {
            error: UNPROCESSABLE,
            message,
            located,
        });
        None
    }

    /// Adds a problem for each repeated key of the request. Returns the paths within the body to
    /// translate.
    fn repeated_keys(&mut self, paths: &[String]) -> Vec<String> {
        let mut inner = Vec::new();
        for path in paths {
            match path.strip_prefix("data") {
                Some(list) if list.starts_with('[') => inner.push(list.to_owned()),
                Some(record) if record.starts_with('.') => {
                    inner.push(record.trim_start_matches('.').to_owned());
                }
                Some(_) | None => {
                    self.refuse::<()>(path, Code::RepeatedKey, "is sent more than once");
                }
            }
        }
        inner
    }

    /// Returns `None` if the key is absent or null.
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.sent.get(key).filter(|value| !value.is_null())
    }

    fn version(&mut self, key: &'static str) -> Option<&'static Served> {
        let labels: Vec<String> = self
            .versions
            .iter()
            .map(|served| served.version.label.to_string())
            .collect();
        let accepted = format!("it can be {}", labels.join(", "));
        let Some(value) = self.value(key) else {
            return self.refuse(key, Code::Blank, format!("cannot be blank; {accepted}"));
        };
        let label = value.as_str().and_then(|text| text.parse::<Label>().ok());
        match label.and_then(|label| self.versions.find(label)) {
            Some(served) => Some(served),
            None => self.refuse(
                key,
                Code::UnknownCode,
                format!("is not an available version; {accepted}"),
            ),
        }
    }

    /// Reads a body, or a list of bodies of up to the size of a page.
    fn data(&mut self) -> Option<&'a Value> {
        let Some(data) = self.value("data") else {
            return self.refuse("data", Code::Blank, "cannot be blank");
        };
        let most = usize::try_from(MAX_PER_PAGE).unwrap_or(usize::MAX);
        let list = data
            .as_array()
            .or_else(|| data.as_object()?.values().find_map(Value::as_array));
        match list {
            Some(bodies) if bodies.len() > most => self.refuse(
                "data",
                Code::TooMany,
                format!("can have at most {most} items"),
            ),
            Some(_) | None => Some(data),
        }
    }

    /// Reads an optional key. An unknown word is a problem.
    fn word<T: FromStr<Err = InvalidChoice>>(&mut self, key: &'static str) -> Option<T> {
        let value = self.value(key)?;
        match value.as_str().unwrap_or_default().parse() {
            Ok(word) => Some(word),
            Err(unknown) => self.refuse(key, Code::UnknownCode, format!("is not known; {unknown}")),
        }
    }
}
