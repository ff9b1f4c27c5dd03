//! A real provider of OpenID Connect: the certified npm package `oidc-provider`, at the version of the lock file, on a
//! port of its own. The program around it is in `openid-provider/`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::{Process, say_untested};

/// The folder with the program, the package file and the lock file.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openid-provider");
/// The program.
const PROGRAM: &str = "provider.mjs";

/// One test installs the packages, and the others wait.
static INSTALLING: Mutex<()> = Mutex::new(());

/// A provider, which is stopped when this is dropped.
#[derive(Debug)]
pub struct OpenIdProvider {
    process: Process,
    replies: BufReader<ChildStdout>,
    address: String,
}

/// Why there is no provider.
enum Missing {
    /// There is no npm or no Node.js, or it does not run.
    Program(String),
    /// npm could not get the packages.
    Packages(String),
}

impl From<std::io::Error> for Missing {
    fn from(error: std::io::Error) -> Self {
        Self::Program(error.to_string())
    }
}

impl OpenIdProvider {
    /// Starts a provider with its packages below a folder that is no part of the sources. It answers `503` until it is
    /// set up.
    ///
    /// Where Node.js or npm is missing, it says so and gives nothing; in continuous integration (`CI=true`) it fails.
    /// Where npm reaches no registry, it says so and gives nothing.
    ///
    /// # Panics
    ///
    /// In continuous integration, and when the program does not run.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        let untested = |why: &str| {
            format!("NO OIDC-PROVIDER: signing in by OpenID Connect was NOT tested. {}", why.replace('\n', " "))
        };
        let folder = folder.join("openid-provider");
        match install(&folder) {
            Ok(()) => {}
            Err(Missing::Program(why)) => {
                say_untested(&untested(&why));
                return None;
            }
            Err(Missing::Packages(why)) => {
                eprintln!("{}", untested(&why));
                return None;
            }
        }
        let mut command = Command::new("node");
        command.arg(folder.join(PROGRAM)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::start(&mut command);
        let mut replies = BufReader::new(process.stdout());
        let address = line(&mut replies);
        Some(Self { process, replies, address })
    }

    /// Where it is, which is its name as an issuer.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Says in a line of JSON which client and which accounts there are, as the program describes it.
    ///
    /// # Panics
    ///
    /// When it has ended.
    pub fn set_up(&mut self, json: &str) {
        let sent = self.process.stdin().write_all(format!("{json}\n").as_bytes());
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

/// Installs what the lock file says, unless it is there, and the program next to it.
fn install(folder: &Path) -> Result<(), Missing> {
    let _one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let version = Command::new("node").arg("--version").output()?;
    if !version.status.success() {
        return Err(Missing::Program("node does not run".to_owned()));
    }
    fs::create_dir_all(folder)?;
    let sources = Path::new(SOURCES);
    let (program, installed) = (fs::read(sources.join(PROGRAM))?, folder.join(PROGRAM));
    // One that is there may just be read by the Node.js of another test.
    if !fs::read(&installed).is_ok_and(|installed| installed == program) {
        fs::write(&installed, program)?;
    }
    let lock = fs::read(sources.join("package-lock.json"))?;
    let done = folder.join("installed");
    if fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    for file in ["package.json", "package-lock.json"] {
        fs::copy(sources.join(file), folder.join(file))?;
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let npm = Command::new("npm").args(arguments).current_dir(folder).output()?;
    if !npm.status.success() {
        return Err(Missing::Packages(String::from_utf8_lossy(&npm.stderr).into_owned()));
    }
    Ok(fs::write(done, lock)?)
}
