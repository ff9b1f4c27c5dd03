//! A register under test: the real server on its own port, over a fresh database, with a clock
//! that the test sets.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use actix_web::dev::ServerHandle;
use adapter_kit::{ApiVersion, Served, Versions, identifiers};
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use database::clock::Clock;
use domain::{NestedRecord, RecordField as _, TraineeField, for_each_nested};
use gateway::admission::Admission;
use gateway::recording::recorder::{Recorder, RecorderOptions};
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::limits::long_jobs::LongJobs;
use http_kit::limits::rate_limit::LimitClock;
use http_kit::requests::client_address::TrustedProxies;
use http_kit::requests::methods::methods;
use http_kit::responses::sending::ReplySender;
use server::app_state::AppState;
use settings_pages::Audience;
use settings_pages::signing_in::openid::Issuer;
use storage::accounts::tokens::NewToken;
use storage::accounts::users::Actor;
use storage::base::token::Environment;
use storage::error::StorageError;
use storage::session::Session;
use storage::store::{Store, StoreOptions};
use test_support::{Database, StatementProxy};
use versions::SERVED;

use super::client::{Client, Request, Response};
use super::{Body, Shown};

/// The length of a canonical identifier.
const IDENTIFIER_LENGTH: usize = 24;
/// When every test begins: a Monday, five weeks into the academic year.
pub(crate) const BEGINNING: &str = "2026-10-05T09:00:00Z";
/// The provider that a test speaks for.
pub(crate) const UKPRN: &str = "10012345";
/// A provider of other trainees.
pub(crate) const OTHER_UKPRN: &str = "10067890";
/// The name of each token of the two.
pub(crate) const TOKEN_NAME: &str = "Student records system";
/// How long a test waits for what is done behind a reply.
const PATIENCE: Duration = Duration::from_secs(20);

/// A clock that stands still where the test sets it.
#[derive(Clone)]
pub(crate) struct SetClock(Arc<AtomicI64>);

impl SetClock {
    fn new() -> Self {
        let clock = Self(Arc::new(AtomicI64::new(0)));
        clock.set(BEGINNING);
        clock
    }

    /// Sets the clock to a moment such as `2026-10-05T09:00:00.250Z`.
    pub(crate) fn set(&self, moment: &str) {
        let moment: DateTime<Utc> = moment.parse().unwrap();
        self.0.store(moment.timestamp_millis(), Ordering::SeqCst);
    }

    /// Sets the clock ahead by a millisecond, so that the next change has a later date.
    pub(crate) fn tick(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        self.clock_behind(TimeDelta::zero())
    }

    /// This clock for rate limits, which refill only when a test moves it.
    fn limit_clock(&self) -> LimitClock {
        let millis = Arc::clone(&self.0);
        LimitClock::from_fn(move || {
            Duration::from_millis(millis.load(Ordering::SeqCst).unsigned_abs())
        })
    }

    /// The clock of a machine that is so far behind.
    fn clock_behind(&self, by: TimeDelta) -> Clock {
        let millis = Arc::clone(&self.0);
        Clock::from_fn(move || {
            DateTime::from_timestamp_millis(millis.load(Ordering::SeqCst)).unwrap() - by
        })
    }
}

/// How a register is set up.
pub(crate) struct Setup {
    pub(crate) versions: &'static Versions,
    pub(crate) environment: Environment,
    pub(crate) admission: Admission,
    /// The proxies that are trusted to name the client.
    pub(crate) proxies: TrustedProxies,
    /// Jobs that may wait for the store.
    pub(crate) queue: usize,
    /// Share of the accepted writes that are tried in the newest version, in percent.
    pub(crate) shadow_share: u8,
    /// Whether single requests are recorded.
    pub(crate) records_requests: bool,
    /// Where people sign in to the settings besides by links.
    pub(crate) issuer: Option<Issuer>,
    /// Whom the pages of the settings are for.
    pub(crate) audience: Audience,
    /// Whether users can get links by e-mail.
    pub(crate) sends_mail: bool,
    /// Whether the server searches for uploads that other servers have left.
    pub(crate) continues_uploads: bool,
    /// What stands between the server and PostgreSQL, if anything does.
    pub(crate) proxy: fn(&Database) -> Option<StatementProxy>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            versions: versions::all(),
            environment: Environment::Sandbox,
            admission: Admission::default(),
            proxies: TrustedProxies::default(),
            queue: StoreOptions::default().queue,
            shadow_share: 0,
            records_requests: true,
            issuer: None,
            audience: Audience::default(),
            sends_mail: false,
            continues_uploads: false,
            proxy: |_| None,
        }
    }
}

/// A register that is being served. It stops when it is dropped.
pub(crate) struct Register {
    pub(crate) clock: SetClock,
    store: Store,
    served: AppState,
    address: SocketAddr,
    client: Client,
    token: String,
    handle: ServerHandle,
    serving: Option<JoinHandle<()>>,
    proxy: Option<StatementProxy>,
    /// Goes with the register.
    database: Database,
}

impl Register {
    /// Starts a sandbox with its invented schools, and the two providers.
    pub(crate) fn start() -> Self {
        Self::with_versions(versions::all())
    }

    /// Starts a sandbox as [`Register::start`] does, with these versions.
    pub(crate) fn with_versions(versions: &'static Versions) -> Self {
        Self::with_setup(Setup {
            versions,
            ..Setup::default()
        })
    }

    /// Starts a sandbox as [`Register::start`] does, set up in another way.
    pub(crate) fn with_setup(setup: Setup) -> Self {
        let Setup {
            versions,
            environment,
            admission,
            proxies,
            queue,
            shadow_share,
            records_requests,
            issuer,
            audience,
            sends_mail,
            continues_uploads,
            proxy,
        } = setup;
        let database = Database::fresh_from("sandbox", prepare_sandbox);
        let proxy = proxy(&database);
        let clock = SetClock::new();
        let url = proxy
            .as_ref()
            .map_or_else(|| database.url().to_owned(), StatementProxy::url);
        let store = open(&url, clock.clock(), queue);
        let options = RecorderOptions {
            versions,
            lists: domain::Lists::embedded(),
            checked_share: shadow_share,
            records_requests,
            is_periodic: false,
        };
        let recorder = Recorder::start(store.clone(), options).unwrap();
        let register = AppState::new(store.clone(), environment, recorder);
        let settings = register.settings.map(|settings| {
            settings
                .with_audience(audience)
                .with_issuer(issuer)
                .with_mail(sends_mail)
        });
        let gateway = GatewayState {
            versions,
            admission,
            ..register.gateway
        };
        let register = AppState {
            settings,
            gateway,
            ..register
        }
        .with_trusted_proxies(proxies)
        .with_limit_clock(clock.limit_clock());
        let served = register.clone();
        // Clients that connect from now on wait until the server accepts the connection.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (started, handle) = mpsc::channel();
        let serving = thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                if continues_uploads {
                    let (gateway, jobs) = (register.gateway.clone(), register.long_jobs.clone());
                    settings_pages::start_uploads(gateway, jobs);
                }
                let server = server::operations::serve::server(register, listener).unwrap();
                started.send(server.handle()).unwrap();
                server.await.unwrap();
            });
        });
        let token = write(&store, move |session| {
            session.add_provider(UKPRN, "Ashdown University")?;
            session.add_provider(OTHER_UKPRN, "Brackwater College")?;
            issue(session, UKPRN, environment, None)
        });
        Self {
            clock,
            store,
            served,
            address,
            client: Client::new(),
            token,
            handle: handle.recv().unwrap(),
            serving: Some(serving),
            proxy,
            database,
        }
    }

    /// The API of a version, for the provider of the test.
    pub(crate) fn api(&self, version: &'static ApiVersion) -> Api<'_> {
        self.api_with_token(version, self.token.clone())
    }

    /// The API of a version, for the other provider.
    pub(crate) fn other_provider(&self, version: &'static ApiVersion) -> Api<'_> {
        self.api_with_token(
            version,
            self.issue_token(OTHER_UKPRN, Environment::Sandbox, None),
        )
    }

    /// The API of a version with the token of the test.
    pub(crate) fn api_with_token(&self, version: &'static ApiVersion, token: String) -> Api<'_> {
        Api {
            register: self,
            version,
            token,
        }
    }

    /// What stands between the server and PostgreSQL, if anything does.
    pub(crate) fn proxy(&self) -> Option<&StatementProxy> {
        self.proxy.as_ref()
    }

    /// Where the records are.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// A request for any path of the server, without a token.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request<'_> {
        Request::new(
            &self.client,
            method,
            format!("http://{}{path}", self.address),
        )
    }

    /// Its scheme and host.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Issues a token and gives its text.
    pub(crate) fn issue_token(
        &self,
        ukprn: &'static str,
        environment: Environment,
        expires_on: Option<NaiveDate>,
    ) -> String {
        write(&self.store, move |session| {
            issue(session, ukprn, environment, expires_on)
        })
    }

    /// Adds a provider and issues a token for it.
    pub(crate) fn add_provider(&self, ukprn: String) -> String {
        write(&self.store, move |session| {
            session.add_provider(&ukprn, &format!("Provider {ukprn}"))?;
            issue(session, &ukprn, Environment::Sandbox, None)
        })
    }

    /// Adds `count` invented trainees to the provider of the test.
    pub(crate) fn sow(&self, count: usize) {
        server::sandbox::seed::fill(
            &self.store,
            domain::Lists::embedded(),
            UKPRN,
            count,
            2_026,
            None,
            |_| {},
        )
        .unwrap();
    }

    /// Writes the record of the requests so far, as the server does every second.
    pub(crate) fn write_record(&self) {
        actix_web::rt::System::new().block_on(self.served.gateway.recorder.flush());
    }

    /// Waits until the last use of a token is recorded as of a day such as `2026-10-06`. A request
    /// that only reads leaves this to be done behind its reply.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits on a thread of its own"
    )]
    #[track_caller]
    pub(crate) fn wait_for_token_use(&self, token_name: &'static str, day: &str) {
        let begun = Instant::now();
        let is_recorded = || {
            let tokens = self.operate(|session| session.list_tokens(Some(UKPRN)));
            let token = tokens
                .iter()
                .find(|token| token.name == token_name)
                .unwrap();
            token
                .last_used_on
                .is_some_and(|used| used.to_string() == day)
        };
        while !is_recorded() {
            assert!(
                begun.elapsed() < PATIENCE,
                "the use of {token_name} on {day} is not recorded"
            );
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Where replies are sent.
    pub(crate) fn reply_sender(&self) -> ReplySender {
        self.served.gateway.reply_sender.clone()
    }

    /// How many translations run at once.
    pub(crate) fn translations(&self) -> ConcurrencyLimit {
        self.served.translations.clone()
    }

    /// What goes on for longer than a request should take.
    pub(crate) fn long_jobs(&self) -> &LongJobs {
        &self.served.long_jobs
    }

    /// The store itself.
    pub(crate) fn store(&self) -> Store {
        self.store.clone()
    }

    /// Another store over the same database, as another server, or the same one after a restart,
    /// has it.
    pub(crate) fn another_store(&self) -> Store {
        open(
            self.database.url(),
            self.clock.clock(),
            StoreOptions::default().queue,
        )
    }

    /// Another store over the same database, on a machine whose clock is so far behind.
    pub(crate) fn store_behind(&self, by: TimeDelta) -> Store {
        open(
            self.database.url(),
            self.clock.clock_behind(by),
            StoreOptions::default().queue,
        )
    }

    /// Does what an operator does, on the store itself.
    pub(crate) fn operate<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, StorageError> + Send + 'static,
    ) -> T {
        write(&self.store, job)
    }
}

impl Drop for Register {
    fn drop(&mut self) {
        // The command to stop is sent at once; its answer comes when the thread has ended anyway.
        drop(self.handle.stop(false));
        let ended = self.serving.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

fn open(url: &str, clock: Clock, queue: usize) -> Store {
    Store::open(
        url,
        StoreOptions {
            clock,
            queue,
            ..StoreOptions::default()
        },
    )
    .unwrap()
}

/// Gives an empty database its schema and the invented schools.
fn prepare_sandbox(url: &str) {
    let store = Store::open(url, StoreOptions::default()).unwrap();
    store.migrate().unwrap();
    write(&store, |session| session.ensure_sandbox_organisations());
}

fn write<T: Send + 'static>(
    store: &Store,
    job: impl FnMut(&mut Session<'_>) -> Result<T, StorageError> + Send + 'static,
) -> T {
    store.write_blocking(job).unwrap()
}

fn issue(
    session: &mut Session<'_>,
    provider_ukprn: &str,
    environment: Environment,
    expires_on: Option<NaiveDate>,
) -> Result<String, StorageError> {
    let request = NewToken {
        provider_ukprn,
        environment,
        name: TOKEN_NAME,
        created_by: Actor::operator("operator"),
        expires_on,
    };
    Ok(session.issue_token(&request)?.0.reveal().to_owned())
}

/// A version of the API, as the client of one provider uses it.
pub(crate) struct Api<'a> {
    pub(crate) register: &'a Register,
    pub(crate) version: &'static ApiVersion,
    pub(crate) token: String,
}

impl<'a> Api<'a> {
    /// A client for another version.
    pub(crate) fn in_version(&self, version: &'static ApiVersion) -> Self {
        self.register.api_with_token(version, self.token.clone())
    }

    /// The version among the others.
    pub(crate) fn served(&self) -> &'static Served {
        versions::all().find(self.version.label).unwrap()
    }

    /// A request for a path below that of the version, with the client's token.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request<'a> {
        let path = &with_own_identifiers(self.version, path);
        let own = OwnEndpoint::find(self.version, method, path);
        let path = own.as_ref().map_or(path, |own| &own.path);
        let path = format!("/api/{}{path}", self.version.label);
        let request = self
            .register
            .request(own.as_ref().map_or(method, |own| own.method), &path)
            .with_version(self.version);
        let request = match &own {
            Some(own) => request.with_success(own.status, own.usual_status),
            None => request,
        };
        request.header("Authorization", &format!("Bearer {}", self.token))
    }

    /// Reads a path.
    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path).send()
    }

    /// Sends a body to a path.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: impl Into<serde_json::Value>,
    ) -> Response {
        self.request(method, path).json(body).send()
    }

    /// A trainee whom the version accepts.
    pub(crate) fn example(&self) -> Body {
        Body::example(self.version)
    }

    /// Registers a trainee, which must succeed.
    #[track_caller]
    pub(crate) fn create(&self, body: Body) -> Shown {
        self.shown(&self.send("POST", "/trainees", body).is(201))
    }

    /// Registers a trainee and removes its degrees; a version may refuse a new trainee without one.
    #[track_caller]
    pub(crate) fn create_without_degrees(&self, body: Body) -> Shown {
        let created = self.create(body);
        for degree in self
            .get(&format!("{}/degrees", created.path()))
            .is(200)
            .data()
            .as_array()
            .unwrap()
        {
            let id = degree["degree_id"].as_str().unwrap();
            self.request("DELETE", &format!("{}/degrees/{id}", created.path()))
                .send()
                .is(200);
        }
        self.read(created.id())
    }

    /// Reads a trainee, who must be there.
    #[track_caller]
    pub(crate) fn read(&self, id: &str) -> Shown {
        self.shown(&self.get(&format!("/trainees/{id}")).is(200))
    }

    /// Changes a trainee, which must succeed.
    #[track_caller]
    pub(crate) fn update(&self, id: &str, body: Body) -> Shown {
        self.shown(&self.send("PATCH", &format!("/trainees/{id}"), body).is(200))
    }

    /// Withdraws a trainee, which must succeed.
    #[track_caller]
    pub(crate) fn withdraw(&self, id: &str) -> Shown {
        self.shown(
            &self
                .send(
                    "POST",
                    &format!("/trainees/{id}/withdraw"),
                    Body::withdrawal(self.version),
                )
                .is(200),
        )
    }

    /// The trainee of a reply.
    pub(crate) fn shown(&self, response: &Response) -> Shown {
        Shown::new(self.version, response.data().clone())
    }
}

/// Runs a scenario for each version, on its own register.
pub(crate) fn every_version(mut scenario: impl FnMut(&Api<'_>)) {
    for version in SERVED {
        eprintln!("in version {}", version.label);
        scenario(&Register::start().api(version));
    }
}

/// Runs a scenario in each version that has what the scenario needs, which is named. Some version
/// has it.
pub(crate) fn every_version_that(
    needed: &str,
    has: fn(&ApiVersion) -> bool,
    mut scenario: impl FnMut(&Api<'_>),
) {
    assert!(
        SERVED.iter().any(|version| has(version)),
        "no version has {needed}"
    );
    for version in SERVED {
        if has(version) {
            eprintln!("in version {}", version.label);
            scenario(&Register::start().api(version));
        } else {
            eprintln!("not in version {}: it has no {needed}", version.label);
        }
    }
}

/// The version with this label, for a scenario that is about it.
pub(crate) fn version(label: &str) -> &'static ApiVersion {
    SERVED
        .iter()
        .copied()
        .find(|version| version.label.to_string() == label)
        .unwrap()
}

/// The path with identifiers as the version writes them. A scenario has canonical identifiers.
fn with_own_identifiers(version: &ApiVersion, path: &str) -> String {
    fn names<R: NestedRecord>() -> (&'static str, &'static str) {
        (R::LIST.info().name, R::ID.info().name)
    }
    let trainee = ("trainees", TraineeField::trainee_id.info().name);
    let names: Vec<_> = [trainee]
        .into_iter()
        .chain(for_each_nested!(names()))
        .collect();
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut list = "";
    let segments = path.split('/').map(|segment| {
        let name = names.iter().find(|(known, _)| *known == list);
        list = segment;
        match name {
            Some((_, name)) if segment.len() == IDENTIFIER_LENGTH => {
                identifiers::write(version, name, segment)
            }
            Some(_) | None => segment.into(),
        }
    });
    segments.collect::<Vec<_>>().join("/") + query
}

/// An endpoint that a version has changed, for a request with its usual method and path.
struct OwnEndpoint {
    method: &'static str,
    path: String,
    status: u16,
    usual_status: u16,
}

impl OwnEndpoint {
    fn find(version: &ApiVersion, method: &str, path: &str) -> Option<Self> {
        let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
        let segments: Vec<&str> = path.split('/').collect();
        let (endpoint, row) = version.wire.endpoints.iter().find(|(endpoint, _)| {
            let names: Vec<&str> = endpoint.path().split('/').collect();
            let is_segment =
                |(name, segment): (&&str, &&str)| name.starts_with('{') || name == segment;
            names.len() == segments.len()
                && names.iter().zip(&segments).all(is_segment)
                && methods(endpoint.method())
                    .iter()
                    .any(|usual| usual.as_str() == method)
        })?;
        let mut own = row.path.to_owned();
        for (name, segment) in endpoint.path().split('/').zip(segments) {
            if name.starts_with('{') {
                own = own.replace(name, segment);
            }
        }
        Some(Self {
            method: methods(row.method).first()?.as_str(),
            path: own + query,
            status: row.status,
            usual_status: endpoint.row().status,
        })
    }
}
