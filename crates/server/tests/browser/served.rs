//! The real program, serving a demo on its own port.

use std::io::BufReader;
use std::process::{ChildStdout, Command, Stdio};

use adapter_kit::ApiVersion;
use serde_json::Value;
use tempfile::TempDir;
use test_support::{Demo, Process};
use versions::SERVED;

/// A server, which is killed when this is dropped.
pub(crate) struct Server {
    _process: Process,
    /// Kept open: a server that cannot print ends.
    _stdout: BufReader<ChildStdout>,
    /// Where it is, such as `http://127.0.0.1:1234`.
    pub(crate) origin: String,
    /// The link of the demo, which signs in once.
    pub(crate) link: String,
    /// The token of the demo.
    pub(crate) token: String,
    folder: TempDir,
}

/// The program over the database in a folder.
fn program(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainee-register"));
    command.env("RUST_LOG", "warn").env(
        "REGISTER_DATABASE_URL",
        format!("sqlite://{}", folder.path().join("register.db").display()),
    );
    command
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[], &[])
    }

    /// With the pages of operators next to the others, and without the simulated registry.
    pub(crate) fn start_for_operators() -> Self {
        Self::start_with(
            &[
                "--operator-pages",
                "settings",
                "--registry",
                "off",
                "--shadow-share",
                "100",
            ],
            &[],
        )
    }

    /// A link that signs an operator in.
    pub(crate) fn operator_link(&self) -> String {
        let mut command = program(&self.folder);
        command.args(["user", "invite", "--operator", "--email", "o@example.com"]);
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A server with more options, and with these variables.
    pub(crate) fn start_with(options: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = program(&folder);
        command
            .args(["serve", "--demo", "--listen", "127.0.0.1:0"])
            .args(options)
            .env("REGISTER_OPERATOR_LISTEN", "off")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut stdout = BufReader::new(process.stdout());
        let demo = Demo::read(&mut stdout);
        Self {
            _process: process,
            _stdout: stdout,
            origin: demo.origin,
            link: demo.settings_link,
            token: demo.token,
            folder,
        }
    }

    /// The status of the reply to a request with a token.
    pub(crate) fn info(&self, token: &str) -> u16 {
        let url = self.url(SERVED[0], "/info");
        agent()
            .get(url)
            .header("Authorization", format!("Bearer {token}"))
            .call()
            .unwrap()
            .status()
            .as_u16()
    }

    /// The status of the reply to a body that is sent with the token of the demo.
    pub(crate) fn send(&self, version: &ApiVersion, path: &str, body: &Value) -> u16 {
        let request = agent()
            .post(self.url(version, path))
            .header("Authorization", format!("Bearer {}", self.token));
        let request = request.header("Content-Type", "application/json");
        request.send(body.to_string()).unwrap().status().as_u16()
    }

    fn url(&self, version: &ApiVersion, path: &str) -> String {
        format!("{}/api/{}{path}", self.origin, version.label)
    }
}

/// A client that takes every status as an answer and follows no redirection.
pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into()
}
