//! A real provider of OpenID Connect: the certified npm package `oidc-provider`, at the version of
//! the lock file, on its own port. The program around it is in `openid-provider/`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::npm::has_npm_packages;
use crate::process::Process;
use crate::tools::{Tool, has_tools};

/// The folder with the program, the package file and the lock file.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openid-provider");
/// The program.
const PROGRAM: &str = "provider.mjs";

/// A provider, which is stopped when this is dropped.
#[derive(Debug)]
pub struct OpenIdProvider {
    process: Process,
    replies: BufReader<ChildStdout>,
    address: String,
}

impl OpenIdProvider {
    /// Starts a provider with its packages below a folder that is no part of the sources. The
    /// provider answers `503` until it is set up. Returns `None`, and reports the calling test as
    /// skipped, without Node.js, npm or its registry.
    ///
    /// # Panics
    ///
    /// In continuous integration without Node.js or npm, and when the program does not run.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        let folder = folder.join("openid-provider");
        if !has_tools(&[Tool::Node, Tool::Npm]) || !has_npm_packages(Path::new(SOURCES), &folder) {
            return None;
        }
        let program = folder.join(PROGRAM);
        copy_program(&program);
        let mut command = Tool::Node.command();
        command
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = Process::start(&mut command);
        let mut replies = BufReader::new(process.stdout());
        let address = line(&mut replies);
        Some(Self {
            process,
            replies,
            address,
        })
    }

    /// Where it is, which is its name as an issuer.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Says in a line of JSON which client and which accounts there are, as the program describes
    /// it.
    ///
    /// # Panics
    ///
    /// When it has ended.
    pub fn set_up(&mut self, json: &str) {
        let sent = self
            .process
            .stdin()
            .write_all(format!("{json}\n").as_bytes());
        sent.unwrap_or_else(|error| panic!("the provider takes no setup: {error}"));
        assert_eq!(line(&mut self.replies), "ready");
    }
}

fn line(replies: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    let read = replies.read_line(&mut line);
    assert!(read.is_ok_and(|read| read > 0), "the provider has ended");
    line.trim().to_owned()
}

/// Copies the program next to its packages, unless it is there: the Node.js of another test may be
/// reading it.
fn copy_program(copy: &Path) {
    static COPYING: Mutex<()> = Mutex::new(());
    let _one = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
    let source = fs::read(Path::new(SOURCES).join(PROGRAM));
    let copied = source.and_then(|program| match fs::read(copy) {
        Ok(present) if present == program => Ok(()),
        Ok(_) | Err(_) => fs::write(copy, program),
    });
    copied.unwrap_or_else(|error| panic!("{}: {error}", copy.display()));
}
