//! `/docs/move/FROM/TO`: the page about the move from one version to another, with a form that
//! translates a body. A GET shows the form with an example, and a POST shows the result. Bodies are
//! neither logged nor stored.
//!
//! Other addresses about two versions, `/docs/move`, `/docs/migrate` and `/docs/differences`,
//! redirect to this page.

use actix_web::http::header::{CACHE_CONTROL, LOCATION};
use actix_web::http::{Method as HttpMethod, StatusCode};
use actix_web::web::{self, Path, Payload};
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{Label, Served, Versions};
use gateway::error::{ApiError, Missing, page};
use gateway::routes::{closed, read_only};
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::limits::permits::Client;
use http_kit::paths;
use http_kit::requests::methods::methods;
use http_kit::responses::page::{Keep, shared_page};
use version_tools::translate::{CodeChoice, TranslationContext, translate};

use crate::page_location::SettingsLink;

mod example;
mod form;
mod outcome;
mod page;
mod steps;

use form::{Form, FormField, MAX_FORM_BYTES, TranslationRequest};
use outcome::Outcome;
use page::PageContext;

/// The methods of a page with a form.
const FORM_METHODS: [HttpMethod; 3] = [HttpMethod::GET, HttpMethod::HEAD, HttpMethod::POST];

/// A move from one served version to another.
#[derive(Debug, Clone, Copy)]
struct MovePair {
    from: &'static Served,
    to: &'static Served,
}

impl MovePair {
    /// Returns the pair with these labels; `None` if a label is not served or both are the same.
    fn find(from: Label, to: Label, versions: &'static Versions) -> Option<Self> {
        let pair = Self {
            from: versions.find(from)?,
            to: versions.find(to)?,
        };
        (from != to).then_some(pair)
    }

    /// Finds the pair of versions in an address.
    fn named(from: &str, to: &str, versions: &'static Versions) -> Result<Self, ApiError> {
        let label = |text: &str| {
            let served = versions.named(text);
            served
                .map(|served| served.version.label)
                .map_err(|unknown| ApiError::NotFound(Missing::Version(unknown)))
        };
        Self::find(label(from)?, label(to)?, versions).ok_or(ApiError::NotFound(Missing::Path))
    }

    /// Returns the pair that a query selects. A version that is absent or not served is replaced by
    /// the oldest or the newest one, as are two equal versions. `None` if there is only one version.
    fn selected(query: &str, versions: &'static Versions) -> Option<Self> {
        let oldest = versions.iter().next()?.version.label;
        let newest = versions.newest()?.version.label;
        let selected = |name: &str, otherwise: Label| {
            value_in(query, name)
                .and_then(|value| value.parse().ok())
                .filter(|label| versions.find(*label).is_some())
                .unwrap_or(otherwise)
        };
        Self::find(selected("from", oldest), selected("to", newest), versions)
            .or_else(|| Self::find(oldest, newest, versions))
    }

    /// Returns the address of the page.
    fn address(self) -> String {
        paths::move_page(self.from.version.label, self.to.version.label)
    }
}

/// Returns the pairs of served versions that a reader of a page about `label` may need: from each
/// older version to `label`, and from `label` to each newer version.
pub(crate) fn pairs_about(label: Label, versions: &Versions) -> Vec<(Label, Label)> {
    let others = versions.iter().map(|served| served.version.label);
    let pair = |other: Label| {
        if other < label {
            (other, label)
        } else {
            (label, other)
        }
    };
    others.filter(|other| *other != label).map(pair).collect()
}

/// Returns the resource `/docs/move/FROM/TO`.
pub(super) fn resource(
    state: &GatewayState,
    translations: &ConcurrencyLimit,
    settings: SettingsLink,
) -> Resource {
    let context = PageContext::new(state, settings);
    let translations = translations.clone();
    let (shown, answered) = (state.clone(), state.clone());
    let show = move |request: HttpRequest, labels: Path<(String, String)>| {
        let response = show(&shown, &request, &labels, context);
        std::future::ready(
            response.unwrap_or_else(|failure| failure.response_without_version().into()),
        )
    };
    let answer = move |request: HttpRequest, labels: Path<(String, String)>, payload: Payload| {
        let state = answered.clone();
        let translations = translations.clone();
        async move {
            let response = answer(state, translations, request, &labels, payload, context).await;
            response.unwrap_or_else(|failure| failure.response_without_version().into())
        }
    };
    let resource = methods(adapter_kit::Method::Get)
        .iter()
        .fold(web::resource("/move/{from}/{to}"), |resource, method| {
            resource.route(web::method(method.clone()).to(show.clone()))
        });
    closed(resource.route(web::post().to(answer)), &FORM_METHODS)
}

/// Returns the resources that redirect to the page about two versions: the address without
/// versions, and those of former pages.
pub(super) fn redirects(state: &GatewayState) -> Vec<Resource> {
    let versions = state.versions;
    let selected = |path: &str| {
        read_only(path, move |request: HttpRequest| {
            let query = request.query_string();
            let pair = MovePair::selected(query, versions);
            let pair = pair.ok_or(ApiError::NotFound(Missing::Path));
            std::future::ready(redirect(pair, value_in(query, FormField::Kind.name())))
        })
    };
    let in_path = read_only("/differences/{pair}", move |pair: Path<String>| {
        let labels = pair
            .split_once("..")
            .ok_or(ApiError::NotFound(Missing::Path));
        let pair = labels.and_then(|(from, to)| MovePair::named(from, to, versions));
        std::future::ready(redirect(pair, None))
    });
    let mut resources: Vec<Resource> = ["/move", "/migrate", "/differences"]
        .into_iter()
        .map(selected)
        .collect();
    resources.push(in_path);
    resources
}

/// Redirects to the page about two versions, with an example of this kind of body.
fn redirect(pair: Result<MovePair, ApiError>, kind: Option<String>) -> HttpResponse {
    let pair = match pair {
        Ok(pair) => pair,
        Err(failure) => return failure.response_without_version().into(),
    };
    let kind = kind.filter(|kind| form::is_kind(kind));
    let query = kind.map_or_else(String::new, |kind| {
        format!("?{}={kind}", FormField::Kind.name())
    });
    HttpResponse::PermanentRedirect()
        .insert_header((LOCATION, pair.address() + &query))
        // The versions without a query change with each new version.
        .insert_header((CACHE_CONTROL, "no-cache"))
        .finish()
}

/// Returns the first value of a name in a query.
fn value_in(query: &str, name: &str) -> Option<String> {
    let (_, value) = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name)?;
    Some(value.into_owned())
}

/// Shows the page, with an example of the kind of body in the query.
fn show(
    state: &GatewayState,
    request: &HttpRequest,
    (from, to): &(String, String),
    context: PageContext,
) -> Result<HttpResponse, ApiError> {
    let pair = MovePair::named(from, to, context.versions)?;
    let form = Form::read(request.query_string().as_bytes());
    if !form.value(FormField::Kind).is_empty() {
        let html = page::with_example(pair, form, context);
        return Ok(page(StatusCode::OK, Keep::Fresh, html));
    }
    let content = state.contents.get(&pair.address(), || {
        page::with_example(pair, Form::default(), context)
            .map(String::into_bytes)
            .map_err(ApiError::UnwritablePage)
    })?;
    Ok(shared_page(request, &content))
}

/// Shows the page with the translation of the body in the form, within the limits of the client's
/// address.
async fn answer(
    state: GatewayState,
    translations: ConcurrencyLimit,
    request: HttpRequest,
    (from, to): &(String, String),
    payload: Payload,
    context: PageContext,
) -> Result<HttpResponse, ApiError> {
    let pair = MovePair::named(from, to, context.versions)?;
    // Counted before the form is received, so that requests beyond the limit use no memory.
    state
        .address_rate_limit
        .count(&request)
        .map_err(ApiError::from_address_quota)?;
    let encoded = state
        .bodies
        .receive(Client::Unknown, &request, payload, MAX_FORM_BYTES)
        .await?;
    let permit = translations
        .acquire()
        .await
        .ok_or(ApiError::TooManyTranslations)?;
    let translation_context = TranslationContext {
        today: state.store.now().date_naive(),
        lists: state.lists,
        choices: &[],
    };
    let origin = state.proxies.origin(&request);
    let work = move || {
        // The work holds the permit, because it continues after the client has disconnected.
        let _held = &permit;
        let mut form = Form::read(&encoded);
        if form.asks_for_example() {
            return (StatusCode::OK, page::with_example(pair, form, context));
        }
        let Some(TranslationRequest { body_kind, body }) = form.translation_request() else {
            let html = page::with_outcome(pair, form, None, context);
            return (StatusCode::UNPROCESSABLE_ENTITY, html);
        };
        let translate_with = |choices: &[CodeChoice]| {
            let context = TranslationContext {
                choices,
                ..translation_context
            };
            translate(&body, pair.from, pair.to, &body_kind, context)
        };
        let mut translation = translate_with(&[]);
        form.add_ended_codes(&translation.notices);
        let choices = form.code_choices();
        if !choices.is_empty() {
            translation = translate_with(&choices);
        }
        let outcome = Outcome::new(translation, pair.to, &origin);
        let html = page::with_outcome(pair, form, Some(outcome), context);
        (StatusCode::OK, html)
    };
    // A large body can occupy a processor, so the work must not run on this thread.
    let (status, html) = web::block(work).await.map_err(|_| ApiError::Interrupted)?;
    Ok(page(status, Keep::Never, html))
}
