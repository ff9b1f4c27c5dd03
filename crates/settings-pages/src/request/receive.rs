//! Processing of every request: the checks before a handler, in order, and the job that runs the
//! handler.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_TYPE, ORIGIN, SET_COOKIE};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse, rt};
use gateway::error::ApiError;
use gateway::state::GatewayState;
use http_kit::connections;
use http_kit::limits::permits::Client;
use http_kit::requests::client_address;
use http_kit::requests::request_id::{self, RequestId};
use storage::accounts::users::{SecretDigest, SignedIn};
use storage::base::cause::Cause;
use storage::base::token::Environment;
use storage::error::{Refusal, StorageError};
use storage::session::Session;
use storage::store::Store;

use crate::operators::registry_file;
use crate::request::context::{
    Access, AdminContext, Handler, OperatorContext, Route, UploaderContext,
};
use crate::request::cookies::{CookieName, SecretCookie};
use crate::request::form::{self, Form};
use crate::request::multipart;
use crate::request::page::{PageError, Reply};
use crate::request::page_request::{BrowserCookie, PageRequest};
use crate::request::uploaded_file::UploadedFile;
use crate::request::wanted_page::WantedPage;
use crate::signing_in::openid;
use crate::state::{Audience, SettingsPages, Surroundings};
use crate::upload::receiving;
use crate::upload::sealing::UploadKey;
use crate::upload::work;

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
    let answered = match receive(state, settings, route, &request, payload).await {
        Ok(received) => {
            if let Handler::OpenId(step) = route.handler {
                openid::answer(state, settings, step, received).await
            } else {
                run(state, settings, route, received).await
            }
        }
        Err(refused) => Err(refused),
    };
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
    if let Some(key) = SecretCookie::from_request(&request, CookieName::Upload) {
        keep_upload_key(&key, &mut response);
    }
    if needs_sign_in && let Some(page) = WantedPage::from_request(&request) {
        page.keep(&mut response);
    }
    if signs_in && let Some(page) = WantedPage::from_cookie(&request) {
        page.open(&mut response);
    }
    response
}

/// Sets the cookie with the key of uploads again, so that it does not end before the upload.
/// Browsers send this cookie only with requests for the pages of uploads.
fn keep_upload_key(key: &SecretCookie, response: &mut HttpResponse) {
    // The reply to a stored file sets the cookie itself.
    if response.headers().contains_key(SET_COOKIE) {
        return;
    }
    // All characters of a secret are allowed in headers, so this always succeeds.
    if let Ok(cookie) = CookieName::Upload.set(key.text()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// Receives a request and checks it, as far as possible without the store.
async fn receive(
    state: &GatewayState,
    settings: &SettingsPages,
    route: &Route,
    request: &HttpRequest,
    payload: Payload,
) -> Result<PageRequest, PageError> {
    let cookie = SecretCookie::from_request(request, CookieName::Session);
    let session = cookie.as_ref().map(SecretCookie::digest);
    let is_public = route.access() == Access::Public;
    if route.max_file_bytes > 0
        && let Some(session) = &session
    {
        // A large body of a session that this server has not seen would find no memory.
        remember_valid(state, settings, session).await?;
    }
    let known = session
        .as_ref()
        .filter(|session| settings.is_known(session) && !is_public);
    if known.is_none() {
        // Requests that try a link count also for signed-in users. The limit applies before the
        // form is read, so that excess forms use no memory.
        settings
            .by_address
            .count(request)
            .map_err(ApiError::from_address_quota)?;
    }
    admit(state, settings, route, request)?;
    let client = known.map_or(Client::Unknown, |session| settings.client(session));
    let (form, file) = if route.max_file_bytes > 0 && multipart::is_multipart(request.headers()) {
        if client != Client::Unknown {
            connections::expect_large_body(request);
        }
        let bodies = (&state.bodies, client);
        let received = multipart::receive(request.headers(), payload, bodies, route).await?;
        connections::end_body(request);
        received
    } else if route.has_form() {
        let body = state
            .bodies
            .receive(client, request, payload, route.max_form_bytes)
            .await
            .map_err(ApiError::from)?;
        (Form::read(&body), UploadedFile::Absent)
    } else {
        (Form::default(), UploadedFile::Absent)
    };
    let browser = if is_public {
        Some(BrowserCookie::from_request(request)?)
    } else {
        None
    };
    let made_for = browser
        .as_ref()
        .map(|browser| &browser.cookie)
        .or(cookie.as_ref());
    // Without a cookie there is no session, and the handler does not run.
    if route.has_form() && made_for.is_some_and(|cookie| !cookie.has_made(form.value(form::TOKEN)))
    {
        return Err(if is_public {
            PageError::OtherBrowser
        } else {
            PageError::OtherSession
        });
    }
    if let Some(session) = known.filter(|_| route.has_form()) {
        settings
            .forms
            .take(session)
            .map_err(PageError::TooManyForms)?;
    }
    Ok(PageRequest {
        environment: state.environment,
        versions: state.versions,
        lists: state.lists,
        logs_requests: state.recorder.records_requests(),
        tries_writes: state.recorder.checks_writes(),
        id: request
            .match_info()
            .get("id")
            .and_then(|id| id.parse().ok()),
        secret: request.match_info().get("secret").map(str::to_owned),
        ukprn: request.match_info().get("ukprn").map(str::to_owned),
        audience: settings.audience,
        query: Form::read(request.query_string().as_bytes()),
        form,
        file,
        upload_key: SecretCookie::from_request(request, CookieName::Upload)
            .map(|cookie| Arc::new(UploadKey::new(cookie.text()))),
        version: request.match_info().get("version").map(str::to_owned),
        session,
        form_token: made_for.map(SecretCookie::form_token).unwrap_or_default(),
        browser,
        attempt: SecretCookie::from_request(request, CookieName::SignIn)
            .map(|cookie| cookie.digest()),
        issuer: settings
            .issuer
            .as_ref()
            .map(|issuer| issuer.host().to_owned()),
        sends_mail: settings.sends_mail,
        own_site: state.proxies.origin(request),
        site: match &settings.organisations_site {
            Some(site) => site.to_string(),
            None => state.proxies.origin(request),
        },
        is_site_of_api: settings.is_site_of_api,
        request_id: request_id::current(),
        address: state.proxies.client_address(request).to_string(),
    })
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
fn admit(
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

/// Runs the handler in one job, within the concurrency limit.
async fn run(
    state: &GatewayState,
    settings: &SettingsPages,
    route: &'static Route,
    received: PageRequest,
) -> Result<Reply, PageError> {
    let Some(permit) = settings.acquire(received.session.as_ref()).await else {
        return Err(PageError::Busy);
    };
    let received = Arc::new(received);
    let request = Arc::clone(&received);
    let job = move |session: &mut Session<'_>| {
        // The permit is held until the job ends, also after the browser has closed the connection.
        let _held = &permit;
        handle(session, route, &request)
    };
    let outcome = match route.has_form() {
        true => state.store.write(job).await,
        false => state.store.read(job).await,
    };
    match outcome {
        Ok((mut reply, signed_in)) => {
            if let Reply::Working(_, order) = &mut reply
                && let Some(order) = order.take()
            {
                work::start(state, &settings.long_jobs, *order).await;
            }
            let reply = if let Reply::File(file) = reply {
                // The permit of the page was released with its job.
                let Some(job) = settings.long_jobs.begin().await else {
                    return Err(PageError::Busy);
                };
                registry_file::perform(*file, &state.store, &received, job).await?
            } else if let Reply::StoreFile(signed_in) = reply {
                receiving::store_file(*signed_in, &state.store, &received).await?
            } else {
                reply
            };
            if let Some((session, signed_in)) = received.session.clone().zip(signed_in) {
                settings.remember(session, signed_in.user_id);
                // Jobs of forms have already recorded the use.
                if !route.has_form() && signed_in.is_use_due(state.store.now()) {
                    let recording = record_session_use(
                        state.store.clone(),
                        signed_in,
                        request_id::for_the_log(),
                    );
                    // The recording continues after the timeout.
                    let _ = rt::time::timeout(RECORDING_TIME, rt::spawn(recording)).await;
                }
            }
            Ok(reply)
        }
        Err(error) => {
            if let (PageError::NotSignedIn, Some(session)) = (&error, &received.session) {
                settings.forget(session);
            }
            Err(error)
        }
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

/// Identifies the user, and runs the handler if the user has access.
fn handle(
    session: &mut Session<'_>,
    route: &Route,
    request: &PageRequest,
) -> Result<(Reply, Option<SignedIn>), PageError> {
    if let Handler::Public(handler) = route.handler {
        return Ok((handler(session, request)?, None));
    }
    let digest = request.session.as_ref().ok_or(PageError::NotSignedIn)?;
    let changes_settings =
        matches!(route.handler, Handler::Admin(_) | Handler::OperatorAdmin(_)) && route.has_form();
    let signed_in = if changes_settings {
        session.signed_in_to_change(digest)?
    } else {
        session.signed_in(digest)?
    };
    let is_here =
        |signed_in: &SignedIn| request.audience.includes(signed_in.organisation.is_none());
    let signed_in = signed_in.filter(is_here).ok_or(PageError::NotSignedIn)?;
    if route.has_form() {
        session.record_session_use(&signed_in)?;
    }
    // Users of organisations and operators get `NotFound` for each other's pages.
    let organisation = || signed_in.organisation.as_ref().ok_or(PageError::NotFound);
    let operator = || {
        signed_in
            .operator(request.origin())
            .map_err(|_| PageError::NotFound)
    };
    let reply = match route.handler {
        Handler::Public(handler) => handler(session, request)?,
        // OpenID steps are not single jobs and run elsewhere.
        Handler::OpenId(_) => return Err(PageError::NotFound),
        Handler::SignedIn(handler) => handler(session, request, &signed_in)?,
        Handler::Organisation(handler) => handler(session, request, &signed_in, organisation()?)?,
        Handler::Own(handler) => {
            let ukprn = &organisation()?.ukprn;
            let own = session.open_provider(ukprn, Cause::new("settings"))?;
            handler(
                &mut own.ok_or(Refusal::UnknownProvider)?,
                request,
                &signed_in,
            )?
        }
        Handler::Admin(handler) => {
            let organisation = organisation()?;
            let actor = signed_in.actor(request.origin())?;
            handler(
                session,
                request,
                &AdminContext {
                    signed_in: &signed_in,
                    organisation,
                    actor,
                },
            )?
        }
        Handler::Uploader(handler) => {
            organisation()?;
            let context = UploaderContext {
                signed_in: &signed_in,
                uploader: signed_in.uploader()?,
            };
            handler(session, request, &context)?
        }
        Handler::Operator(handler) => handler(
            session,
            request,
            &OperatorContext {
                signed_in: &signed_in,
                actor: operator()?,
            },
        )?,
        Handler::OperatorOrganisation(handler) => {
            operator()?;
            let organisation = session.organisation(request.ukprn()?)?;
            handler(session, request, &signed_in, &organisation)?
        }
        Handler::OperatorAdmin(handler) => {
            let actor = operator()?;
            let ukprn = request.ukprn()?;
            let organisation = &match route.has_form() {
                true => session.organisation_to_change(ukprn)?.into(),
                false => session.organisation(ukprn)?,
            };
            let context = AdminContext {
                signed_in: &signed_in,
                organisation,
                actor: actor.limited_to_provider(organisation),
            };
            handler(session, request, &context).map_err(PageError::for_operator)?
        }
    };
    Ok((reply, Some(signed_in)))
}
