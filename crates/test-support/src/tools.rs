//! Programs from other packages that tests execute, and the report of the tests that are skipped
//! without them.
//!
//! A test asks [`has_tools`] first and returns where the answer is no. Its name then stands in the
//! closing summary of `scripts/test`, since libtest counts it as passed.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::programs::Programs;
use crate::search_path::{in_path_only, is_executable, search_path};

/// The environment variable with the file that gets a line for each skipped test.
pub const SKIPPED_VARIABLE: &str = "TEST_SKIPPED_FILE";

/// Folders of programs that may be missing in `PATH`.
const ADMINISTRATORS: [&str; 2] = ["/usr/sbin", "/sbin"];
/// A source of locales. Debian's `localedef` is installed without it.
const LOCALE_SOURCE: &str = "/usr/share/i18n/locales/de_DE";

/// Declares tools: the program, its Debian package, and arguments that make it exit immediately
/// with status 0.
macro_rules! tools {
    ($($tool:ident = $name:literal in $package:literal, $probe:expr;)+) => {
        /// A program that some machines lack. Standard programs such as `sh` and `id` are not
        /// listed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Tool {
            $($tool,)+
        }

        impl Tool {
            /// All tools.
            pub const ALL: &'static [Self] = &[$(Self::$tool),+];

            /// The name of the program; of PostgreSQL, which has several, its own.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$tool => $name),+ }
            }

            const fn package(self) -> &'static str {
                match self { $(Self::$tool => $package),+ }
            }

            const fn probe(self) -> &'static [&'static str] {
                match self { $(Self::$tool => $probe),+ }
            }
        }
    };
}

tools! {
    Bash = "bash" in "bash", &["--version"];
    Chromedriver = "chromedriver" in "chromium-driver", &["--version"];
    Chromium = "chromium" in "chromium", &["--version"];
    Curl = "curl" in "curl", &["--version"];
    Etcd = "etcd" in "etcd-server", &["--version"];
    Haproxy = "haproxy" in "haproxy", &["-v"];
    Ip = "ip" in "iproute2", &["-V"];
    Jq = "jq" in "jq", &["--version"];
    Localedef = "localedef" in "locales", &["--version"];
    Node = "node" in "nodejs", &["--version"];
    Npm = "npm" in "npm", &["--version"];
    Patroni = "patroni" in "patroni", &["--version"];
    Pgbouncer = "pgbouncer" in "pgbouncer", &["--version"];
    Postgresql = "postgresql" in "postgresql", &["--version"];
    Setpriv = "setpriv" in "util-linux", &["--version"];
    // Some containers allow no tracing.
    Strace = "strace" in "strace", &["-f", "-qq", "-o", "/dev/null", "true"];
}

impl Tool {
    /// The file of the program, which can be executed.
    #[must_use]
    pub fn path(self) -> Option<PathBuf> {
        if self == Self::Postgresql {
            return Some(Programs::find()?.folder.join("initdb"));
        }
        let administrators = ADMINISTRATORS
            .iter()
            .filter(|_| !in_path_only())
            .map(PathBuf::from);
        let path = search_path();
        let mut files = std::env::split_paths(&path)
            .chain(administrators)
            .map(|folder| folder.join(self.name()));
        files.find(|file| is_executable(file))
    }

    /// A command that executes the program.
    ///
    /// # Panics
    ///
    /// When the program is missing: the test did not ask [`has_tools`].
    #[must_use]
    pub fn command(self) -> Command {
        let name = self.name();
        Command::new(
            self.path()
                .unwrap_or_else(|| panic!("{name} is missing, and the test did not ask for it")),
        )
    }

    /// Whether the program works. The answer is kept for the process.
    fn works(self) -> bool {
        static KNOWN: Mutex<Vec<(Tool, bool)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, works)) = known.iter().find(|(tool, _)| *tool == self) {
            return *works;
        }
        let works = self.path().is_some_and(|path| self.answers(&path));
        known.push((self, works));
        works
    }

    fn answers(self, path: &Path) -> bool {
        let mut command = Command::new(path);
        command
            .args(self.probe())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let has_data = self != Self::Localedef || Path::new(LOCALE_SOURCE).exists();
        has_data && command.status().is_ok_and(|status| status.success())
    }
}

/// Returns what is missing of the tools, each with its package; `None` when all of them work.
#[must_use]
pub fn missing_tools(tools: &[Tool]) -> Option<String> {
    let missing: Vec<String> = tools
        .iter()
        .filter(|tool| !tool.works())
        .map(|tool| match (tool.name(), tool.package()) {
            (name, package) if name == package => name.to_owned(),
            (name, package) => format!("{name} (package {package})"),
        })
        .collect();
    if missing.is_empty() {
        None
    } else {
        Some(missing.join(", "))
    }
}

/// Returns whether all the tools work on this machine. Otherwise reports the calling test as
/// skipped: the test must return.
///
/// # Panics
///
/// In continuous integration (`CI=true`), where a tool is missing.
#[must_use]
pub fn has_tools(tools: &[Tool]) -> bool {
    let Some(missing) = missing_tools(tools) else {
        return true;
    };
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "this test needs {missing}"
    );
    report_skipped(&missing);
    false
}

/// Reports the calling test as skipped, also in continuous integration: with a line on standard
/// error, and one in the file of [`SKIPPED_VARIABLE`].
///
/// # Panics
///
/// When the file cannot be written.
pub fn report_skipped(needs: &str) {
    let thread = std::thread::current();
    let line = format!(
        "{} needs {}\n",
        thread.name().unwrap_or("a test"),
        needs.replace('\n', " ")
    );
    // libtest captures what `eprintln!` writes, and shows it only where a test fails.
    let _ = write!(std::io::stderr(), "skipped: {line}");
    let Some(file) = std::env::var_os(SKIPPED_VARIABLE) else {
        return;
    };
    let opened = OpenOptions::new().append(true).create(true).open(&file);
    opened
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn file_without_execute_permission_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgbouncer");
        assert!(!is_executable(&file) && !is_executable(folder.path()));
        fs::write(&file, "#!/bin/sh\n").unwrap();
        assert!(!is_executable(&file));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_executable(&file));
    }

    #[test]
    fn program_that_fails_does_not_work() {
        assert!(Tool::Jq.answers(Path::new("/bin/true")));
        assert!(!Tool::Jq.answers(Path::new("/bin/false")));
        assert!(!Tool::Jq.answers(Path::new("/nothing")));
    }
}
