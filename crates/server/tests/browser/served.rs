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
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainee-register"));
        command
            .args(["serve", "--demo", "--listen", "127.0.0.1:0"])
            .env("RUST_LOG", "warn")
            .env("REGISTER_OPERATOR_LISTEN", "off")
            .env("REGISTER_DATABASE_URL", format!("sqlite://{}", folder.path().join("register.db").display()))
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut stdout = BufReader::new(process.stdout());
        let origin = loop {
            let mut line = String::new();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the server has ended");
            if let Some((_, rest)) = line.split_once("http://") {
                break format!("http://{}", rest.split(['/', ',']).next().unwrap());
            }
        };
        Self { _process: process, _stdout: stdout, origin, _folder: folder }
    }
}
