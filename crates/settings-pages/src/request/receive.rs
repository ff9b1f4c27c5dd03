//! The one path of all requests for pages: session, form and its token, permission and handler in
//! one job, work that follows the job, page.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_TYPE, ORIGIN};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse, rt};
use gateway::error::ApiError;
use gateway::state::GatewayState;
use http_kit::connections;
use http_kit::limits::permits::Client;
use http_kit::requests::client_address;
use http_kit::requests::request_id::{self, RequestId};
use storage::accounts::users::{SecretDigest, SignedIn};
use storage::base::token::Environment;
use storage::error::StorageError;
use storage::session::Session;
use storage::store::Store;

use crate::request::context::{Access, Route};
use crate::request::cookies::{CookieName, SecretCookie};
use crate::request::form::{self, Form};
use crate::request::multipart::{self, FormLimits, ReceivedForm};
use crate::request::page::{PageError, Reply};
use crate::request::page_request::{BrowserCookie, PageRequest};
use crate::request::permission::{self, Handled};
use crate::request::uploaded_file::UploadedFile;
use crate::request::wanted_page::WantedPage;
use crate::state::{Audience, PagePermit, SettingsPages, Surroundings};

const FORM: &str = "application/x-www-form-urlencoded";
/// The time that a page waits for recording the use of its session.
const RECORDING_TIME: Duration = Duration::from_secs(1);
/// The relation between the sending and the receiving site (Fetch Metadata, section 2.3).
const FETCH_SITE: &str = "sec-fetch-site";

pub(crate) fn render_not_found(around: Surroundings) -> HttpResponse {
    PageError::NotFound.into_response(around)
}

pub(crate) async fn answer(
    state: &GatewayState,
    settings: &SettingsPages,
    route: &'static Route,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    let answered = process(state, settings, route, &request, payload).await;
    let around = Surroundings {
        environment: state.environment,
        audience: settings.audience,
    };
    let needs_sign_in = matches!(answered, Err(PageError::NotSignedIn)) && !route.has_form();
    let signs_in = matches!(answered, Ok(Reply::SignedIn(_)));
    let mut response = match answered.and_then(Reply::into_response) {
        Ok(mut response) => {
            if let Some(session) = SecretCookie::from_request(&request, CookieName::Session) {
                let client = settings.identify_client(&session.digest());
                response.extensions_mut().insert(client);
            }
            response
        }
        Err(error) => error.into_response(around),
    };
    if needs_sign_in && let Some(page) = WantedPage::from_request(&request) {
        page.keep(&mut response);
    }
    if signs_in && let Some(page) = WantedPage::from_cookie(&request) {
        page.open(&mut response);
    }
    response
}

/// Returns the reply, or the reason for an error page.
async fn process(
    state: &GatewayState,
    settings: &SettingsPages,
    route: &'static Route,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Reply, PageError> {
    let cookie = SecretCookie::from_request(request, CookieName::Session);
    let is_public = route.access() == Access::Public;
    let known = if is_public {
        None
    } else {
        find_known_session(state, settings, route, cookie.as_ref()).await?
    };
    if known.is_none() {
        // Requests that try a link count also for signed-in users. The limit applies before the
        // form is read, so that excess forms use no memory.
        settings
            .by_address
            .count(request)
            .map_err(ApiError::from_address_quota)?;
    }
    check_head(state, settings, route, request)?;
    let client = known
        .as_ref()
        .map_or(Client::Unknown, |session| settings.identify_client(session));
    let ReceivedForm { form, file } = receive_form(state, route, client, request, payload).await?;
    let browser = if is_public {
        Some(BrowserCookie::from_request(request)?)
    } else {
        None
    };
    let form_cookie = browser
        .as_ref()
        .map(|browser| &browser.cookie)
        .or(cookie.as_ref());
    if route.has_form() {
        check_form_token(form_cookie, is_public, &form)?;
        if let Some(session) = &known {
            settings
                .forms
                .take(session)
                .map_err(PageError::TooManyForms)?;
        }
    }
    let form_token = form_cookie
        .map(SecretCookie::sign_form_token)
        .unwrap_or_default();
    let session = cookie.as_ref().map(SecretCookie::digest);
    let received = PageRequest {
        form,
        file,
        browser,
        form_token,
        session,
        ..PageRequest::from_head(state, settings, request)
    };
    run(route, Arc::new(received)).await
}

/// Returns the session of the cookie if it was valid at its last use.
async fn find_known_session(
    state: &GatewayState,
    settings: &SettingsPages,
    route: &Route,
    cookie: Option<&SecretCookie>,
) -> Result<Option<SecretDigest>, PageError> {
    let Some(session) = cookie.map(SecretCookie::digest) else {
        return Ok(None);
    };
    // Other routes do not read the store here. A large body of an unknown session finds no memory.
    if route.max_file_bytes > 0 {
        remember_valid(state, settings, &session).await?;
    }
    Ok(settings.is_known(&session).then_some(session))
}

async fn receive_form(
    state: &GatewayState,
    route: &Route,
    client: Client,
    request: &HttpRequest,
    payload: Payload,
) -> Result<ReceivedForm, PageError> {
    if !route.has_form() {
        return Ok(ReceivedForm {
            form: Form::default(),
            file: UploadedFile::Absent,
        });
    }
    if route.max_file_bytes > 0 && multipart::is_multipart(request.headers()) {
        if client != Client::Unknown {
            connections::expect_large_body(request);
        }
        let limits = FormLimits {
            bodies: &state.bodies,
            client,
            route,
        };
        let received = multipart::receive(request.headers(), payload, limits).await?;
        connections::end_body(request);
        return Ok(received);
    }
    let body = state
        .bodies
        .receive(client, request, payload, route.max_form_bytes)
        .await
        .map_err(ApiError::from)?;
    Ok(ReceivedForm {
        form: Form::read(&body),
        file: UploadedFile::Absent,
    })
}

/// Rejects a form without the token of its cookie.
fn check_form_token(
    cookie: Option<&SecretCookie>,
    is_public: bool,
    form: &Form,
) -> Result<(), PageError> {
    // Without a cookie there is no session, and the handler does not run.
    if cookie.is_none_or(|cookie| cookie.has_made(form.value(form::TOKEN))) {
        Ok(())
    } else if is_public {
        Err(PageError::OtherBrowser)
    } else {
        Err(PageError::OtherSession)
    }
}

/// Remembers a session if it is valid in the store.
async fn remember_valid(
    state: &GatewayState,
    settings: &SettingsPages,
    session: &SecretDigest,
) -> Result<(), PageError> {
    if settings.is_known(session) {
        return Ok(());
    }
    let digest = session.clone();
    let found = state
        .store
        .read::<_, StorageError>(move |session| session.signed_in(&digest))
        .await?;
    if let Some(signed_in) = found {
        settings.remember(session.clone(), signed_in.user_id);
    }
    Ok(())
}

fn check_head(
    state: &GatewayState,
    settings: &SettingsPages,
    route: &Route,
    request: &HttpRequest,
) -> Result<(), PageError> {
    // A proxy that sends no client address looks like a local browser. In production only TLS is
    // accepted, except for operators, who connect through a tunnel to this machine.
    let may_be_local =
        state.environment == Environment::Sandbox || settings.audience == Audience::Operators;
    let is_local = may_be_local && client_address::is_local(request);
    if !state.proxies.is_secure(request) && !is_local {
        return Err(PageError::Insecure);
    }
    if route.has_form() {
        let has_file = route.max_file_bytes > 0 && multipart::is_multipart(request.headers());
        if !has_file {
            require_form(request)?;
        }
        require_own_site(state, request)?;
    }
    Ok(())
}

/// Rejects a body without the media type of forms.
fn require_form(request: &HttpRequest) -> Result<(), PageError> {
    let media_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    // Other sites can send some other media types without a preflight request.
    if essence.eq_ignore_ascii_case(FORM) {
        Ok(())
    } else {
        Err(PageError::NoForm)
    }
}

/// Rejects a form sent from another site, according to the headers of the browser.
fn require_own_site(state: &GatewayState, request: &HttpRequest) -> Result<(), PageError> {
    let site = read_header(request, FETCH_SITE);
    let is_own = match (site, read_header(request, ORIGIN.as_str())) {
        (Some(site), _) => ["same-origin", "none"].contains(&site),
        // Some browsers send `null`, because the pages send no referrer. The token in the form is then
        // the only protection.
        (None, Some(origin)) => origin == "null" || origin == state.proxies.origin(request),
        (None, None) => true,
    };
    if is_own {
        Ok(())
    } else {
        Err(PageError::OtherSite)
    }
}

fn read_header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let value = request.headers().get(name)?;
    Some(value.to_str().unwrap_or_default())
}

/// Runs the handler if the user has the permission, then the work that follows.
async fn run(route: &'static Route, request: Arc<PageRequest>) -> Result<Reply, PageError> {
    let handled = run_job(route, Arc::clone(&request)).await;
    // The session has ended: its next requests count as those of an unknown client.
    if let (Err(PageError::NotSignedIn), Some(session)) = (&handled, &request.session) {
        request.settings.forget(session);
    }
    let Handled { reply, signed_in } = handled?;
    let reply = if let Reply::After(work) = reply {
        work(Arc::clone(&request)).await?
    } else {
        reply
    };
    if let Some((session, signed_in)) = request.session.clone().zip(signed_in) {
        request.settings.remember(session, signed_in.user_id);
        let store = request.state.store.clone();
        // Jobs of forms have already recorded the use.
        if !route.has_form() && signed_in.is_use_due(store.now()) {
            let recording = record_session_use(store, signed_in, request_id::for_the_log());
            // The recording continues after the timeout.
            let _ = rt::time::timeout(RECORDING_TIME, rt::spawn(recording)).await;
        }
    }
    Ok(reply)
}

/// Checks the permission and runs the handler in one job, within the concurrency limit.
async fn run_job(route: &'static Route, request: Arc<PageRequest>) -> Result<Handled, PageError> {
    let permit = request.settings.acquire(request.session.as_ref()).await;
    let permit = permit.ok_or(PageError::Busy)?;
    let store = request.state.store.clone();
    let job = HandlerJob {
        _permit: permit,
        route,
        request,
    };
    if route.has_form() {
        store.write(move |session| job.run(session)).await
    } else {
        store.read(move |session| job.run(session)).await
    }
}

/// Holds the permit until the job ends, also after the browser has closed the connection.
struct HandlerJob {
    _permit: PagePermit,
    route: &'static Route,
    request: Arc<PageRequest>,
}

impl HandlerJob {
    fn run(&self, session: &mut Session<'_>) -> Result<Handled, PageError> {
        permission::handle(session, self.route, &self.request)
    }
}

/// Records that a session was used, at most once a minute, after a page that only reads.
async fn record_session_use(store: Store, signed_in: SignedIn, request_id: RequestId) {
    let recorded: Result<(), StorageError> = store
        .write(move |session| session.record_session_use(&signed_in))
        .await;
    // Pages work while the store is read-only.
    if let Err(error) = recorded {
        log::warn!(request_id; "session use not recorded; user may be signed out early: {error}");
    }
}
