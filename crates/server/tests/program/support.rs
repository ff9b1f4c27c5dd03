//! Runs the program, to its end or as a server.

pub(crate) mod running;

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::ApiVersion;
use serde_json::{Value, json};
use server::sandbox::demo;
use tempfile::TempDir;
use test_support::{Database, Demo, Kind, Process};
pub(crate) use test_support::{execute, kinds, texts};
use ureq::Agent;

/// The provider of a demo.
pub(crate) const DEMO: &str = "10099999";

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn newest() -> &'static ApiVersion {
    versions::all().newest().unwrap().version
}

/// A path of the newest version.
pub(crate) fn path(rest: &str) -> String {
    format!("/api/{}{rest}", newest().label)
}

/// The example of a registration in a version, with another last name.
pub(crate) fn example_of(version: &ApiVersion, last_name: &str) -> Value {
    let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    body["data"]["last_name"] = last_name.into();
    body
}

pub(crate) fn example(last_name: &str) -> Value {
    example_of(newest(), last_name)
}

/// The words of a command line. Those in single quotes may have spaces.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(place, part)| match place % 2 {
            0 => part.split(' ').filter(|word| !word.is_empty()).collect(),
            _ => vec![part],
        })
        .collect()
}

/// A database, and a folder for the files of one test.
pub(crate) struct Workplace {
    folder: TempDir,
    /// Nothing where it stands among the files.
    database: Option<Database>,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        Self::on(Kind::from_environment())
    }

    /// A workplace with a database of a kind.
    pub(crate) fn on(kind: Kind) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            database: Some(Database::fresh_on(kind)),
        }
    }

    /// A workplace for what is about SQLite, whose database is the file `register.db`.
    pub(crate) fn on_sqlite() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            database: None,
        }
    }

    /// A workplace with an empty register.
    pub(crate) fn migrated() -> Self {
        let workplace = Self::new();
        workplace.done("migrate");
        workplace
    }

    /// Uses another database.
    pub(crate) fn use_database(&mut self, database: Database) {
        self.database = Some(database);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The URL of the database, unless a command is told another.
    pub(crate) fn url(&self) -> String {
        let file = || format!("sqlite://{}", self.path("register.db").display());
        self.database
            .as_ref()
            .map_or_else(file, |database| database.url().to_owned())
    }

    pub(crate) fn execute(&self, sql: &str) {
        execute(&self.url(), sql);
    }

    /// The texts that a query gives, in one column called `text`.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        texts(&self.url(), sql)
    }

    /// A command line that is not started yet. It runs in the folder of this workplace.
    pub(crate) fn command(&self, line: impl AsRef<str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainee-register"));
        command
            .args(words(line.as_ref()))
            .current_dir(self.folder.path());
        command.env("RUST_LOG", "warn");
        command.env("REGISTER_DATABASE_URL", self.url());
        // The usual address is taken when another server runs.
        command.env("REGISTER_OPERATOR_LISTEN", "off");
        command
    }

    /// Runs a command line to its end.
    pub(crate) fn run(&self, line: impl AsRef<str>) -> Ended {
        Ended(self.command(line).output().unwrap())
    }

    /// Runs a command line that must succeed. Returns what it prints, without the last line end.
    #[track_caller]
    pub(crate) fn done(&self, line: impl AsRef<str>) -> String {
        self.run(line).done()
    }

    /// Performs a registry action on the trainees in a file with these rows.
    pub(crate) fn apply(&self, action: &str, rows: &str, options: &str) -> Ended {
        self.write("rows.csv", rows);
        self.run(format!("registry apply {action} rows.csv {options}"))
    }

    /// Serves a demo on a free port, without the simulated registry unless the options enable it.
    pub(crate) fn serve(&self, options: impl AsRef<str>) -> Server {
        Server::start(self.serve_command(options.as_ref()))
    }

    /// A demo that is not started yet, as [`Workplace::serve`] starts one.
    pub(crate) fn serve_command(&self, options: &str) -> Command {
        let mut command = self.command(format!("serve --demo --listen 127.0.0.1:0 {options}"));
        command.env("REGISTER_REGISTRY", "off");
        command
    }
}

/// A command that has ended.
pub(crate) struct Ended(pub(crate) Output);

impl Ended {
    pub(crate) fn status(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub(crate) fn stdout(&self) -> &str {
        str::from_utf8(&self.0.stdout).unwrap()
    }

    pub(crate) fn stderr(&self) -> &str {
        str::from_utf8(&self.0.stderr).unwrap()
    }

    /// Requires success. Returns what was printed, without the last line end.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.status(), 0, "{}{}", self.stdout(), self.stderr());
        self.stdout().trim_end().to_owned()
    }

    /// Requires a status and what was printed.
    #[track_caller]
    pub(crate) fn prints(&self, status: i32, stdout: &str) {
        let ended = (self.status(), self.stdout());
        assert_eq!(ended, (status, stdout), "{}", self.stderr());
    }

    /// Requires a status and messages with all these texts.
    #[track_caller]
    pub(crate) fn ends(&self, status: i32, texts: &[&str]) {
        assert_eq!(self.status(), status, "{texts:?}: {}", self.stderr());
        for text in texts {
            let messages = self.stderr();
            assert!(messages.contains(text), "{text:?} is not in {messages}");
        }
    }

    /// Requires a refusal with this line as the only message.
    #[track_caller]
    pub(crate) fn refuses_with(&self, line: &str) {
        let told = (self.status(), self.stdout(), self.stderr());
        assert_eq!(told, (1, "", &*format!("trainee-register: {line}\n")));
    }

    /// Requires a refusal: nothing is printed, and one line of messages has all these texts.
    #[track_caller]
    pub(crate) fn refuses(&self, texts: &[&str]) {
        self.ends(1, texts);
        let printed = (self.stdout(), self.stderr().lines().count());
        assert_eq!(printed, ("", 1), "{}", self.stderr());
    }
}

/// A server, which is killed when this is dropped.
pub(crate) struct Server {
    process: Process,
    /// Kept open: a server that cannot print ends.
    _stdout: BufReader<ChildStdout>,
    agent: Agent,
    address: String,
    token: String,
}

impl Server {
    /// Starts a demo and waits until it serves.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = Process::start(command.stdout(Stdio::piped()));
        let mut stdout = BufReader::new(process.stdout());
        let demo = Demo::read(&mut stdout);
        Self {
            process,
            _stdout: stdout,
            agent: agent(),
            address: demo.origin.trim_start_matches("http://").to_owned(),
            token: demo.token,
        }
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The token of the demo.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// A request with the token of the demo: the status and the body of the reply.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(Value::to_string);
        self.send_with(method, path, &[], body.as_deref())
    }

    /// A request with more headers. They can replace the token of the demo and the media type.
    pub(crate) fn send_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> (u16, Value) {
        let token = format!("Bearer {}", self.token);
        let usual = [
            ("Content-Type", "application/json"),
            ("Authorization", &*token),
        ];
        let is_replaced = |usual: &&(&str, &str)| headers.iter().any(|(name, _)| *name == usual.0);
        let usual = usual.iter().filter(|usual| !is_replaced(usual));
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in usual.chain(headers) {
            request = request.header(*name, *value);
        }
        let response = match body {
            Some(body) => self.agent.run(request.body(body.to_owned()).unwrap()),
            None => self.agent.run(request.body(()).unwrap()),
        };
        let (head, mut body) = response.unwrap().into_parts();
        let body = body.read_to_vec().unwrap();
        (head.status.as_u16(), serde_json::from_slice(&body).unwrap())
    }

    /// The status of a request of the newest version with a token.
    pub(crate) fn info(&self, token: &str) -> u16 {
        let authorization = format!("Bearer {token}");
        let headers = [("Authorization", authorization.as_str())];
        self.send_with("GET", &path("/info"), &headers, None).0
    }

    /// Reads something in the newest version.
    pub(crate) fn get(&self, rest: &str) -> (u16, Value) {
        self.send("GET", &path(rest), None)
    }

    /// Registers the example of the newest version with another last name. Returns the identifier.
    #[track_caller]
    pub(crate) fn register(&self, last_name: &str) -> String {
        let (status, reply) = self.send("POST", &path("/trainees"), Some(&example(last_name)));
        assert_eq!(status, 201, "{reply:#}");
        reply["data"]["trainee_id"].as_str().unwrap().to_owned()
    }

    /// Changes a field of a trainee in the newest version. Returns the status.
    pub(crate) fn change(&self, trainee_id: &str, field: &str, value: &str) -> u16 {
        let body = json!({ "data": { field: value } });
        self.send(
            "PATCH",
            &path(&format!("/trainees/{trainee_id}")),
            Some(&body),
        )
        .0
    }

    /// Tells the server to stop in good order, and waits until it has.
    pub(crate) fn stop(mut self) {
        self.process.signal("TERM");
        assert!(self.process.wait().success());
    }
}

/// A client that says what was answered, whatever the status is.
pub(crate) fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into()
}
