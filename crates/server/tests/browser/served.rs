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
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with these variables.
    pub(crate) fn start_with(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainee-register"));
        command
            .args(["serve", "--demo", "--listen", "127.0.0.1:0"])
            .env("RUST_LOG", "warn")
            .env("REGISTER_OPERATOR_LISTEN", "off")
            .envs(variables.iter().copied())
            .env("REGISTER_DATABASE_URL", format!("sqlite://{}", folder.path().join("register.db").display()))
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
        Self { _process: process, _stdout: stdout, origin, link, _folder: folder }
    }

    /// The status of the reply to a request with a token.
    pub(crate) fn info(&self, token: &str) -> u16 {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = format!("{}/api/{}/info", self.origin, server::versions::SERVED[0].label);
        agent.get(url).header("Authorization", format!("Bearer {token}")).call().unwrap().status().as_u16()
    }
}
