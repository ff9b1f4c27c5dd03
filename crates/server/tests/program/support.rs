//! Runs the program, to its end or as a server.

pub(crate) mod running;

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use test_support::{Database, Demo, Process};
pub(crate) use test_support::{execute, kinds, texts};
use ureq::Agent;

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A database, and a folder for the files of one test.
pub(crate) struct Workplace {
    folder: TempDir,
    /// Nothing where it stands among the files.
    database: Option<Database>,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            database: Some(Database::fresh()),
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
        let ended = workplace.run(&["migrate"], None);
        assert_eq!(ended.status(), 0, "{}", ended.stderr());
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

    /// A command that is not started yet.
    pub(crate) fn command(&self, arguments: &[&str], path: Option<&Path>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainee-register"));
        command.args(arguments).args(path);
        command.env("RUST_LOG", "warn");
        command.env("REGISTER_DATABASE_URL", self.url());
        // The usual address is taken when another server runs.
        command.env("REGISTER_OPERATOR_LISTEN", "off");
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str], path: Option<&Path>) -> Ended {
        Ended(self.command(arguments, path).output().unwrap())
    }

    /// Performs a registry action on the trainees in a file with these rows.
    pub(crate) fn apply(&self, action: &str, rows: &str, options: &[&str]) -> Ended {
        let file = self.write("rows.csv", rows);
        self.run(
            &[&["registry", "apply", action], options].concat(),
            Some(&file),
        )
    }

    /// Serves a demo on a free port, without the simulated registry unless the arguments enable it.
    pub(crate) fn serve(&self, arguments: &[&str], path: Option<&Path>) -> Server {
        let mut command = self.serve_command(arguments);
        command.args(path);
        Server::start(command)
    }

    /// A demo that is not started yet, as [`Workplace::serve`] starts one.
    pub(crate) fn serve_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["serve", "--demo", "--listen", "127.0.0.1:0"], None);
        command.env("REGISTER_REGISTRY", "off").args(arguments);
        command
    }
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
            address: demo.origin.trim_start_matches("http://").to_owned(),
            token: demo.token,
        }
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
}

/// A server, which is killed when this is dropped.
pub(crate) struct Server {
    process: Process,
    /// Kept open: a server that cannot print ends.
    _stdout: BufReader<ChildStdout>,
    address: String,
    token: String,
}

impl Server {
    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The token of the demo.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// A request with the token of the demo: the status and the body of the reply.
    pub(crate) fn send(
        &self,
        agent: &Agent,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let headers = [
            ("Authorization", &*format!("Bearer {}", self.token)),
            ("Content-Type", "application/json"),
        ];
        self.send_with(
            agent,
            method,
            path,
            &headers,
            body.map(Value::to_string).as_deref(),
        )
    }

    /// A request with these headers: the status and the body of the reply.
    pub(crate) fn send_with(
        &self,
        agent: &Agent,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> (u16, Value) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let response = match body {
            Some(body) => agent.run(request.body(body.to_owned()).unwrap()),
            None => agent.run(request.body(()).unwrap()),
        };
        let (head, mut body) = response.unwrap().into_parts();
        (
            head.status.as_u16(),
            serde_json::from_slice(&body.read_to_vec().unwrap()).unwrap(),
        )
    }
}

impl Server {
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
