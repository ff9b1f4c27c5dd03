//! `/docs/move/FROM/TO`: the page about the move from one version to another, with a form that
//! translates a body. A GET shows the form with an example, and a POST shows the result.
//!
//! `/docs/migrate` is the older address: it redirects to the page about the versions in its query.
//! Without such a page, and for forms that were sent to it, it shows a form with a choice of
//! versions. Bodies are neither logged nor stored.

use actix_web::http::header::{CACHE_CONTROL, LOCATION};
use actix_web::http::{Method as HttpMethod, StatusCode};
use actix_web::web::{self, Path, Payload};
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{Label, Served, Versions};
use askama::Template;
use domain::Lists;
use gateway::error::{ApiError, Missing, page};
use gateway::routes::closed;
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::limits::permits::Client;
use http_kit::paths;
use http_kit::requests::body::BodyError;
use http_kit::requests::methods::methods;
use http_kit::responses::page::{Keep, shared_page};
use version_tools::translate::{TranslationContext, translate};
use versions::REMOVED;

use crate::documents::Link;
use crate::page_location::{DocsLocation, SettingsLink, html};

mod endpoints;
mod example;
mod form;
mod marked;
mod move_page;
mod outcome;

use endpoints::Change;
use form::{Choice, Form, FormField, MAX_FORM_BYTES, TranslationRequest};
use move_page::MovePair;
use outcome::{CodesHelp, Outcome, Remedy};

pub(crate) use move_page::pairs_about;

#[derive(Template)]
#[template(path = "pages/migrate.html")]
struct Migrate {
    place: DocsLocation,
    form: Form,
    from: Vec<Choice>,
    to: Vec<Choice>,
    kinds: Vec<Choice>,
    /// The selected source version, if it is no longer served.
    removed: Option<Label>,
    served: Vec<String>,
    /// The endpoints that end in the version, if both versions are the same.
    ending: Option<EndingEndpoints>,
    /// The page about the move between the selected versions.
    move_page: Option<Link>,
    outcome: Option<Outcome>,
    /// The version of the example in the form.
    example_of: Option<Label>,
}

/// The deprecated endpoints of a version.
struct EndingEndpoints {
    version: Label,
    changes: Vec<Change>,
}

/// The page that a form is on, and what the page needs.
#[derive(Debug, Clone, Copy)]
struct FormPage {
    /// The versions of the page; `None` if the reader selects them in the form.
    pair: Option<MovePair>,
    versions: &'static Versions,
    lists: &'static Lists,
    /// The page with the readiness of the reader's organisation, if this listener serves it.
    readiness: Option<&'static str>,
}

impl FormPage {
    fn new(state: &GatewayState, settings: SettingsLink) -> Self {
        Self {
            pair: None,
            versions: state.versions,
            lists: state.lists,
            readiness: settings.readiness(),
        }
    }

    /// Reads an encoded form or query. The versions of the page replace those in the form.
    fn read(self, encoded: &[u8]) -> Form {
        let mut form = Form::read(encoded);
        if let Some(pair) = self.pair {
            pair.select_in(&mut form);
        }
        form
    }

    /// Renders the page with an example in its form.
    fn with_example(self, form: Form) -> Result<String, askama::Error> {
        match self.pair {
            Some(pair) => move_page::with_example(pair, form, self),
            None => html(&Migrate::with_example(form, self.versions, self.lists)),
        }
    }

    /// Renders the page with the result of a translation, or with the faults of its form.
    fn with_outcome(self, form: Form, outcome: Option<Outcome>) -> Result<String, askama::Error> {
        match self.pair {
            Some(pair) => move_page::with_outcome(pair, form, outcome, self),
            None => html(&Migrate::new(form, self.versions, outcome)),
        }
    }
}

/// Returns the resource `/docs/migrate`.
pub(super) fn resource(state: &GatewayState, translations: &ConcurrencyLimit) -> Resource {
    let form_page = FormPage::new(state, SettingsLink::Missing);
    let state = state.clone();
    let translations = translations.clone();
    let show = move |request: HttpRequest| {
        let form = form_page.read(request.query_string().as_bytes());
        std::future::ready(show_or_redirect(form, form_page))
    };
    let answer = move |request: HttpRequest, payload: Payload| {
        answer(
            state.clone(),
            translations.clone(),
            request,
            payload,
            form_page,
        )
    };
    let resource = methods(adapter_kit::Method::Get)
        .iter()
        .fold(web::resource("/migrate"), |resource, method| {
            resource.route(web::method(method.clone()).to(show))
        });
    closed(resource.route(web::post().to(answer)), &FORM_METHODS)
}

/// Returns the resource `/docs/move/FROM/TO`.
pub(super) fn move_resource(
    state: &GatewayState,
    translations: &ConcurrencyLimit,
    settings: SettingsLink,
) -> Resource {
    let form_page = FormPage::new(state, settings);
    let translations = translations.clone();
    let (shown, answered) = (state.clone(), state.clone());
    let show = move |request: HttpRequest, labels: Path<(String, String)>| {
        let response = show_move(&shown, &request, &labels, form_page);
        std::future::ready(
            response.unwrap_or_else(|failure| failure.response_without_version().into()),
        )
    };
    let answer = move |request: HttpRequest, labels: Path<(String, String)>, payload: Payload| {
        let state = answered.clone();
        let translations = translations.clone();
        async move {
            match with_pair(form_page, &labels) {
                Ok(form_page) => answer(state, translations, request, payload, form_page).await,
                Err(failure) => failure.response_without_version().into(),
            }
        }
    };
    let resource = methods(adapter_kit::Method::Get)
        .iter()
        .fold(web::resource("/move/{from}/{to}"), |resource, method| {
            resource.route(web::method(method.clone()).to(show.clone()))
        });
    closed(resource.route(web::post().to(answer)), &FORM_METHODS)
}

/// The methods of a page with a form.
const FORM_METHODS: [HttpMethod; 3] = [HttpMethod::GET, HttpMethod::HEAD, HttpMethod::POST];

/// Redirects to the page about the move between the selected versions, by default from the oldest
/// version to the newest. Shows a form if there is no such page.
fn show_or_redirect(form: Form, form_page: FormPage) -> HttpResponse {
    let Some(pair) = selected_pair(&form, form_page.versions) else {
        return page(StatusCode::OK, Keep::Fresh, form_page.with_example(form));
    };
    let kind = form.value(FormField::Kind);
    let kind = if form.body_kind().is_none() || kind.is_empty() {
        String::new()
    } else {
        format!("?{}={kind}", FormField::Kind.name())
    };
    HttpResponse::PermanentRedirect()
        .insert_header((LOCATION, pair.address() + &kind))
        // The versions without a query change with each new version.
        .insert_header((CACHE_CONTROL, "no-cache"))
        .finish()
}

/// Returns the versions that a query selects; `None` if one is not served or both are the same.
fn selected_pair(form: &Form, versions: &'static Versions) -> Option<MovePair> {
    let selected = |field, otherwise: Option<&Served>| match form.value(field) {
        "" => otherwise.map(|served| served.version.label),
        _ => form.label(field),
    };
    let from = selected(FormField::From, versions.iter().next())?;
    let to = selected(FormField::To, versions.newest())?;
    MovePair::find(from, to, versions)
}

/// Returns the page for the versions in an address.
fn with_pair(form_page: FormPage, (from, to): &(String, String)) -> Result<FormPage, ApiError> {
    let label = |text: &str| {
        let served = form_page.versions.named(text);
        served
            .map(|served| served.version.label)
            .map_err(|unknown| ApiError::NotFound(Missing::Version(unknown)))
    };
    let pair = MovePair::find(label(from)?, label(to)?, form_page.versions)
        .ok_or(ApiError::NotFound(Missing::Path))?;
    Ok(FormPage {
        pair: Some(pair),
        ..form_page
    })
}

/// Shows the page about a move, with an example of the kind of body in the query.
fn show_move(
    state: &GatewayState,
    request: &HttpRequest,
    labels: &(String, String),
    form_page: FormPage,
) -> Result<HttpResponse, ApiError> {
    let form_page = with_pair(form_page, labels)?;
    let form = form_page.read(request.query_string().as_bytes());
    if !form.value(FormField::Kind).is_empty() {
        return Ok(page(
            StatusCode::OK,
            Keep::Fresh,
            form_page.with_example(form),
        ));
    }
    let address = form_page.pair.map(MovePair::address).unwrap_or_default();
    let content = state.contents.get(&address, || {
        let page = form_page.with_example(form_page.read(&[]));
        page.map(String::into_bytes)
            .map_err(ApiError::UnwritablePage)
    })?;
    Ok(shared_page(request, &content))
}

async fn answer(
    state: GatewayState,
    translations: ConcurrencyLimit,
    request: HttpRequest,
    payload: Payload,
    form_page: FormPage,
) -> HttpResponse {
    let versions = state.versions;
    // Counted before the form is received, so that requests beyond the limit use no memory.
    if let Err(failure) = state.address_rate_limit.count(&request) {
        return refusal(ApiError::from_address_quota(failure), form_page);
    }
    let received = state
        .bodies
        .receive(Client::Unknown, &request, payload, MAX_FORM_BYTES);
    let encoded = match received.await {
        Ok(encoded) => encoded,
        Err(error) => return refusal(error.into(), form_page),
    };
    let Some(permit) = translations.acquire().await else {
        return refusal(ApiError::TooManyTranslations, form_page);
    };
    let context = TranslationContext {
        today: state.store.now().date_naive(),
        lists: state.lists,
    };
    let origin = state.proxies.origin(&request);
    let work = move || {
        // The work holds the permit, because it continues after the client has disconnected.
        let _held = &permit;
        let mut form = form_page.read(&encoded);
        if form.asks_for_example() {
            return (StatusCode::OK, form_page.with_example(form));
        }
        let outcome = form.translation_request(versions).map(
            |TranslationRequest {
                 from,
                 to,
                 body_kind,
                 body,
             }| {
                let translation = translate(&body, from, to, &body_kind, context);
                Outcome::new(&body.value, translation, to, context.lists, &origin)
            },
        );
        let status = if outcome.is_some() {
            StatusCode::OK
        } else {
            StatusCode::UNPROCESSABLE_ENTITY
        };
        (status, form_page.with_outcome(form, outcome))
    };
    // A large body can occupy a processor, so the work must not run on this thread.
    match web::block(work).await {
        Ok((status, html)) => page(status, Keep::Never, html),
        Err(_) => ApiError::Interrupted.response_without_version().into(),
    }
}

/// Returns an empty form and the reason that the sent form was not processed. The form has a choice
/// of versions, because the page about a move takes more work.
fn refusal(failure: ApiError, form_page: FormPage) -> HttpResponse {
    let why = if let ApiError::TooManyRequests { used_up, .. } = &failure {
        let retry_after = used_up.retry_after;
        format!("Your address sent too many requests. Send the form again in {retry_after} s")
    } else if let ApiError::Body(BodyError::TooLarge { .. }) = &failure {
        form::too_large()
    } else if let ApiError::Body(BodyError::Encoded) = &failure {
        "The form has a Content-Encoding header. Send the form without it".to_owned()
    } else if let ApiError::TooManyTranslations = &failure {
        "The server is busy. Send the form again".to_owned()
    } else {
        "The form did not arrive completely. Send it again".to_owned()
    };
    let reply = failure.response_without_version();
    let mut form = Form::refused(FormField::Body, why);
    if let Some(pair) = form_page.pair {
        pair.select_in(&mut form);
    }
    let mut response = page(
        reply.status,
        Keep::Never,
        html(&Migrate::new(form, form_page.versions, None)),
    );
    // Headers about retries and remaining requests.
    reply.add_headers_to(&mut response);
    response
}

impl Migrate {
    /// Returns the page with an example of the selected version and kind as its body.
    fn with_example(mut form: Form, versions: &'static Versions, lists: &Lists) -> Self {
        let chosen = form
            .label(FormField::From)
            .and_then(|label| versions.find(label));
        let from = chosen
            .or(versions.iter().next())
            .map(|served| served.version);
        let example = from.and_then(|version| {
            let example = example::body(version, form.body_kind()?, lists)?;
            Some((version.label, example))
        });
        if let Some((_, example)) = &example {
            form.set(FormField::Body, format!("{example:#}"));
        }
        Self {
            example_of: example.map(|(label, _)| label),
            ..Self::new(form, versions, None)
        }
    }

    fn new(form: Form, versions: &'static Versions, outcome: Option<Outcome>) -> Self {
        let labels = || versions.iter().map(|served| served.version.label);
        let oldest = labels().next();
        let newest = labels().next_back();
        let selected = |field| form.label(field).and_then(|label| versions.find(label));
        let pair = selected(FormField::From).zip(selected(FormField::To));
        let ending = pair
            .filter(|(from, to)| from.version.label == to.version.label)
            .map(|(_, version)| EndingEndpoints {
                version: version.version.label,
                changes: endpoints::changes(version.version, version.version),
            });
        let move_page = selected_pair(&form, versions).or_else(|| {
            let default = Form::default();
            selected_pair(&default, versions)
        });
        let removed = form
            .label(FormField::From)
            .filter(|label| REMOVED.iter().any(|known| known.label == *label));
        Self {
            place: DocsLocation::Migrate,
            from: form.versions(FormField::From, versions, oldest),
            to: form.versions(FormField::To, versions, newest),
            kinds: form.kinds(
                selected(FormField::From)
                    .or(versions.iter().next())
                    .map(|served| served.version),
            ),
            example_of: None,
            removed,
            served: labels().map(|label| label.to_string()).collect(),
            ending,
            move_page: move_page.map(|pair| Link {
                words: format!("Move from {} to {}", pair.from.label, pair.to.label),
                address: pair.address(),
                is_here: false,
            }),
            outcome,
            form,
        }
    }
}

/// Returns the address of the page about a code list.
fn code_list_page(version: Label, list: &str) -> String {
    paths::document(version, &format!("reference-data/{list}"))
}
