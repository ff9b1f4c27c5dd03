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
use version_tools::translate::{TranslationContext, translate};

use crate::page_location::{SettingsLink, respond};

mod example;
mod form;
mod outcome;
mod page;
mod steps;

use form::{Form, FormField, MAX_FORM_BYTES, TranslationRequest};
use outcome::Outcome;
use page::PageContext;

const FORM_METHODS: [HttpMethod; 3] = [HttpMethod::GET, HttpMethod::HEAD, HttpMethod::POST];

/// A move between two different served versions.
#[derive(Debug, Clone, Copy)]
struct MovePair {
    from: &'static Served,
    to: &'static Served,
}

impl MovePair {
    fn find(from: Label, to: Label, versions: &'static Versions) -> Option<Self> {
        let pair = Self {
            from: versions.find(from)?,
            to: versions.find(to)?,
        };
        (from != to).then_some(pair)
    }

    /// Finds the pair of versions in an address.
    fn named(from: &str, to: &str, versions: &'static Versions) -> Result<Self, ApiError> {
        let labels = [versions.named(from), versions.named(to)];
        let [from, to] = labels.map(|served| {
            served
                .map(|served| served.version.label)
                .map_err(|unknown| ApiError::NotFound(Missing::Version(unknown)))
        });
        Self::find(from?, to?, versions).ok_or(ApiError::NotFound(Missing::Path))
    }

    /// Returns the pair that a query selects; `None` if there is only one version.
    fn selected(query: &str, versions: &'static Versions) -> Option<Self> {
        let oldest = versions.iter().next()?.version.label;
        let newest = versions.newest()?.version.label;
        let [from, to] = ["from", "to"].map(|name| {
            value_in(query, name)
                .and_then(|value| value.parse().ok())
                .filter(|label| versions.find(*label).is_some())
        });
        // Versions that are not served, and two equal ones, lead to the longest move.
        Self::find(from.unwrap_or(oldest), to.unwrap_or(newest), versions)
            .or_else(|| Self::find(oldest, newest, versions))
    }

    fn address(self) -> String {
        paths::move_page(self.from.version.label, self.to.version.label)
    }
}

/// The labels of two versions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelPair {
    pub(crate) from: Label,
    pub(crate) to: Label,
}

/// Lists the pairs that a reader of a page about `label` may need: from each older version to
/// `label`, and from `label` to each newer version.
pub(crate) fn pairs_about(label: Label, versions: &Versions) -> Vec<LabelPair> {
    let others = versions.iter().map(|served| served.version.label);
    let others = others.filter(|other| *other != label);
    let pairs = others.map(|other| LabelPair {
        from: label.min(other),
        to: label.max(other),
    });
    pairs.collect()
}

pub(super) fn resource(
    state: &GatewayState,
    translations: &ConcurrencyLimit,
    settings: SettingsLink,
) -> Resource {
    let context = PageContext::new(state, settings);
    let translations = translations.clone();
    let mut resource = web::resource("/move/{from}/{to}");
    for method in methods(adapter_kit::Method::Get) {
        let state = state.clone();
        let route = web::method(method.clone());
        resource = resource.route(route.to(
            move |request: HttpRequest, labels: Path<(String, String)>| {
                let pair = MovePair::named(&labels.0, &labels.1, context.versions);
                let response = pair.and_then(|pair| show(&state, &request, pair, context));
                std::future::ready(respond(response))
            },
        ));
    }
    let state = state.clone();
    let resource = resource.route(web::post().to(
        move |request: HttpRequest, labels: Path<(String, String)>, payload: Payload| {
            let state = state.clone();
            let translations = translations.clone();
            let pair = MovePair::named(&labels.0, &labels.1, context.versions);
            async move {
                respond(match pair {
                    Ok(pair) => answer(state, translations, request, pair, payload, context).await,
                    Err(error) => Err(error),
                })
            }
        },
    ));
    closed(resource, &FORM_METHODS)
}

/// The address without versions, and those of former pages, redirect to the page about two
/// versions.
pub(super) fn redirects(state: &GatewayState) -> Vec<Resource> {
    let versions = state.versions;
    let selected = ["/move", "/migrate", "/differences"].map(|path| {
        read_only(path, move |request: HttpRequest| {
            let query = request.query_string();
            let pair = MovePair::selected(query, versions);
            let pair = pair.ok_or(ApiError::NotFound(Missing::Path));
            std::future::ready(redirect(pair, value_in(query, FormField::Kind.name())))
        })
    });
    let in_path = read_only("/differences/{pair}", move |pair: Path<String>| {
        let labels = pair
            .split_once("..")
            .ok_or(ApiError::NotFound(Missing::Path));
        let pair = labels.and_then(|(from, to)| MovePair::named(from, to, versions));
        std::future::ready(redirect(pair, None))
    });
    selected.into_iter().chain([in_path]).collect()
}

fn redirect(pair: Result<MovePair, ApiError>, kind: Option<String>) -> HttpResponse {
    let pair = match pair {
        Ok(pair) => pair,
        Err(error) => return respond(Err(error)),
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

fn value_in(query: &str, name: &str) -> Option<String> {
    let (_, value) = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name)?;
    Some(value.into_owned())
}

/// Shows the page, with an example of the kind of body in the query.
fn show(
    state: &GatewayState,
    request: &HttpRequest,
    pair: MovePair,
    context: PageContext,
) -> Result<HttpResponse, ApiError> {
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

/// Shows the page with the translation of the body in the form.
async fn answer(
    state: GatewayState,
    translations: ConcurrencyLimit,
    request: HttpRequest,
    pair: MovePair,
    payload: Payload,
    context: PageContext,
) -> Result<HttpResponse, ApiError> {
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
    // A large body can occupy a processor, so the work must not run on this thread.
    let worked = web::block(move || {
        // The work holds the permit, because it continues after the client has disconnected.
        let _held = &permit;
        translate_form(&encoded, pair, translation_context, &origin, context)
    });
    let page_of_form = worked.await.map_err(|_| ApiError::Interrupted)?;
    Ok(page(page_of_form.status, Keep::Never, page_of_form.html))
}

/// The page with the result of a form.
struct PageOfForm {
    status: StatusCode,
    html: Result<String, askama::Error>,
}

fn translate_form(
    encoded: &[u8],
    pair: MovePair,
    translation_context: TranslationContext<'_>,
    origin: &str,
    context: PageContext,
) -> PageOfForm {
    let mut form = Form::read(encoded);
    if form.asks_for_example() {
        return PageOfForm {
            status: StatusCode::OK,
            html: page::with_example(pair, form, context),
        };
    }
    let Some(TranslationRequest { body_kind, body }) = form.translation_request() else {
        return PageOfForm {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            html: page::with_outcome(pair, form, None, context),
        };
    };
    let mut translation = translate(&body, pair.from, pair.to, &body_kind, translation_context);
    // Only the translation knows which codes have ended, and what can replace them.
    form.add_ended_codes(&translation.notices);
    let choices = form.code_choices();
    if !choices.is_empty() {
        let context = TranslationContext {
            choices: &choices,
            ..translation_context
        };
        translation = translate(&body, pair.from, pair.to, &body_kind, context);
    }
    let outcome = Outcome::new(translation, pair.to, origin);
    PageOfForm {
        status: StatusCode::OK,
        html: page::with_outcome(pair, form, Some(outcome), context),
    }
}
