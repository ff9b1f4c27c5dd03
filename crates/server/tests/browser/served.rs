//! The real program, serving a demo on a port of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdout, Command, Stdio};

use tempfile::TempDir;
use test_support::Process;

/// A server, which is killed when this is dropped.
pub(crate) struct Server {
    _process: Process,
    /// Kept open: a server that cannot print ends.
    _stdout: BufReader<ChildStdout>,
    /// Where it is, such as `http://127.0.0.1:1234`.
    pub(crate) origin: String,
    /// The link of the demo, which signs in once.
    pub(crate) link: String,
    folder: TempDir,
}

/// The program over the database in a folder.
fn program(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainee-register"));
    command
        .env("RUST_LOG", "warn")
        .env("REGISTER_DATABASE_URL", format!("sqlite://{}", folder.path().join("register.db").display()));
    command
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With the pages of operators next to the others, and a registry that nobody plays.
    pub(crate) fn start_for_operators() -> Self {
        Self::start_with(&["--operator-pages", "settings", "--registry", "off"])
    }

    /// A link that signs an operator in.
    pub(crate) fn operator_link(&self) -> String {
        let mut command = program(&self.folder);
        command.args([
            "user",
            "invite",
            "--operator",
            "--email",
            "o@example.com",
            "--operator-pages-url",
            &self.origin,
        ]);
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn start_with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = program(&folder);
        command
            .args(["serve", "--demo", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .env("REGISTER_OPERATOR_LISTEN", "off")
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut stdout = BufReader::new(process.stdout());
        let mut line_with = |words: &str| loop {
            let mut line = String::new();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the server has ended");
            if line.contains(words) {
                break line.trim().to_owned();
            }
        };
        let (first, link) = (line_with("http://"), line_with("/settings/sign-in/"));
        let (_, rest) = first.split_once("http://").unwrap();
        let origin = format!("http://{}", rest.split(['/', ',']).next().unwrap());
        Self { _process: process, _stdout: stdout, origin, link, folder }
    }

    /// The status of the reply to a request with a token.
    pub(crate) fn info(&self, token: &str) -> u16 {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = format!("{}/api/{}/info", self.origin, server::versions::SERVED[0].label);
        agent.get(url).header("Authorization", format!("Bearer {token}")).call().unwrap().status().as_u16()
    }
}
