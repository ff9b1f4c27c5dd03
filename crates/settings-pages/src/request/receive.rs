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
use crate::request::multipart;
use crate::request::page::{PageError, Reply};
use crate::request::page_request::{BrowserCookie, PageRequest};
use crate::request::permission;
use crate::request::uploaded_file::UploadedFile;
use crate::request::wanted_page::WantedPage;
use crate::state::{Audience, SettingsPages, Surroundings};

/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";
/// The time that a page waits for recording the use of its session.
const RECORDING_TIME: Duration = Duration::from_secs(1);
/// The header with the relation between the sending and the receiving site (Fetch Metadata, section
/// 2.3).
const FETCH_SITE: &str = "sec-fetch-site";

/// The error page for an unknown page.
pub(crate) fn not_found(around: Surroundings) -> HttpResponse {
    PageError::NotFound.response(around)
}

/// Answers a request.
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
    let mut response = match answered.and_then(Reply::response) {
        Ok(mut response) => {
            if let Some(session) = SecretCookie::from_request(&request, CookieName::Session) {
                let client = settings.client(&session.digest());
                response.extensions_mut().insert(client);
            }
            response
        }
        Err(error) => error.response(around),
    };
    if needs_sign_in && let Some(page) = WantedPage::from_request(&request) {
        page.keep(&mut response);
    }
    if signs_in && let Some(page) = WantedPage::from_cookie(&request) {
        page.open(&mut response);
    }
    response
}

/// Processes a request, and returns its reply or the reason for an error page.
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
        .map_or(Client::Unknown, |session| settings.client(session));
    let (form, file) = receive_form(state, route, client, request, payload).await?;
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
        .map(SecretCookie::form_token)
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

/// The session of the cookie if it was valid at its last use. Does not read the store, except for
/// a form with a file: a large body of an unknown session would find no memory.
async fn find_known_session(
    state: &GatewayState,
    settings: &SettingsPages,
    route: &Route,
    cookie: Option<&SecretCookie>,
) -> Result<Option<SecretDigest>, PageError> {
    let Some(session) = cookie.map(SecretCookie::digest) else {
        return Ok(None);
    };
    if route.max_file_bytes > 0 {
        remember_valid(state, settings, &session).await?;
    }
    Ok(settings.is_known(&session).then_some(session))
}

/// Receives the form of a request; without a form, an empty one.
async fn receive_form(
    state: &GatewayState,
    route: &Route,
    client: Client,
    request: &HttpRequest,
    payload: Payload,
) -> Result<(Form, UploadedFile), PageError> {
    if !route.has_form() {
        return Ok((Form::default(), UploadedFile::Absent));
    }
    if route.max_file_bytes > 0 && multipart::is_multipart(request.headers()) {
        if client != Client::Unknown {
            connections::expect_large_body(request);
        }
        let bodies = (&state.bodies, client);
        let received = multipart::receive(request.headers(), payload, bodies, route).await?;
        connections::end_body(request);
        return Ok(received);
    }
    let body = state
        .bodies
        .receive(client, request, payload, route.max_form_bytes)
        .await
        .map_err(ApiError::from)?;
    Ok((Form::read(&body), UploadedFile::Absent))
}

/// Rejects a form without the token of its cookie. Without a cookie there is no session, and the
/// handler does not run.
fn check_form_token(
    cookie: Option<&SecretCookie>,
    is_public: bool,
    form: &Form,
) -> Result<(), PageError> {
    if cookie.is_none_or(|cookie| cookie.has_made(form.value(form::TOKEN))) {
        Ok(())
    } else if is_public {
        Err(PageError::OtherBrowser)
    } else {
        Err(PageError::OtherSession)
    }
}

/// Looks a session up in the store, unless it is known, and remembers it if it is valid.
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

/// Checks the head of a request before its body is read.
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

/// Rejects a body without the media type of forms. Other sites could send some other media types
/// without a preflight request, which asks the server for permission.
fn require_form(request: &HttpRequest) -> Result<(), PageError> {
    let media_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(FORM) {
        Ok(())
    } else {
        Err(PageError::NoForm)
    }
}

/// Rejects a form sent from another site, according to the browser's headers. The pages send no
/// referrer, so some browsers send `Origin: null`; the token in the form is then the only
/// protection.
fn require_own_site(state: &GatewayState, request: &HttpRequest) -> Result<(), PageError> {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    let is_own = match (header(FETCH_SITE), header(ORIGIN.as_str())) {
        (Some(site), _) => ["same-origin", "none"].contains(&site),
        (None, Some(origin)) => origin == "null" || origin == state.proxies.origin(request),
        (None, None) => true,
    };
    if is_own {
        Ok(())
    } else {
        Err(PageError::OtherSite)
    }
}

/// Runs the handler if the user has the permission, then the work that follows.
async fn run(route: &'static Route, request: Arc<PageRequest>) -> Result<Reply, PageError> {
    let handled = run_job(route, Arc::clone(&request)).await;
    if let (Err(PageError::NotSignedIn), Some(session)) = (&handled, &request.session) {
        request.settings.forget(session);
    }
    let (reply, signed_in) = handled?;
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
async fn run_job(
    route: &'static Route,
    request: Arc<PageRequest>,
) -> Result<(Reply, Option<SignedIn>), PageError> {
    let permit = request.settings.acquire(request.session.as_ref()).await;
    let permit = permit.ok_or(PageError::Busy)?;
    let store = request.state.store.clone();
    let job = move |session: &mut Session<'_>| {
        // The permit is held until the job ends, also after the browser has closed the connection.
        let _held = &permit;
        permission::handle(session, route, &request)
    };
    if route.has_form() {
        store.write(job).await
    } else {
        store.read(job).await
    }
}

/// Records that a session was used, at most once a minute, after a page that only reads. A failure
/// is logged and does not affect the page, so that pages work while the store is read-only.
async fn record_session_use(store: Store, signed_in: SignedIn, request_id: RequestId) {
    let recorded: Result<(), StorageError> = store
        .write(move |session| session.record_session_use(&signed_in))
        .await;
    if let Err(error) = recorded {
        log::warn!(request_id; "session use not recorded; user may be signed out early: {error}");
    }
}
