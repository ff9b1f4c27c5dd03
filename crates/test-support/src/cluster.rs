//! A PostgreSQL server of one's own: made in a temporary folder, and gone with the process that
//! made it.
//!
//! A shell stands between the test and the server. It starts and stops the server on order, and
//! when its orders end, it stops the server and removes the folder. Its orders come through a pipe,
//! which the operating system closes when the test's process ends in any way, be it killed. The
//! shell is in its own process group, so what is typed at a terminal to end the tests does not
//! end it.
//!
//! The server listens on a socket in its folder only: it needs no port, and only this user can
//! reach it. A server with TLS also listens on a port of this machine.

mod variant;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::programs::{self, Programs};
pub use variant::{VARIANT_VARIABLE, Variant};

use self::variant::Reached;

/// The shell's task. Its arguments are the folder, the folder of the programs, and the server's
/// options.
const KEEPER: &str = include_str!("cluster/keeper.sh");

/// Where Linux has files in memory.
const MEMORY: &str = "/dev/shm";
/// What a server has at most in its files during a run, with much to spare.
const ROOM_IN_KIB: u64 = 2 * 1024 * 1024;

/// What is said where there is no PostgreSQL.
const ABSENT: &str =
    "PostgreSQL is missing: install the package postgresql, or set TEST_DATABASE_URL";

/// What a server says whose port another process took after it was found to be free, which one with
/// TLS may meet.
const PORT_TAKEN: &str = "Address already in use";
/// How often a server is started, each time at another port.
const ATTEMPTS: usize = 5;

/// The name of the server's superuser.
pub(crate) const SUPERUSER: &str = "postgres";

/// How a server treats what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settings {
    /// Never waits for the disk, so a crash may lose acknowledged writes.
    Fast,
    /// Default settings: acknowledged writes are on the disk.
    Durable,
    /// Like `Durable`, with memory for a large database.
    Large,
}

impl Settings {
    /// The server's options, as the server takes them from its command line.
    fn options(self) -> &'static str {
        match self {
            Self::Fast => {
                "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off \
                 -c wal_level=minimal -c max_wal_senders=0 -c shared_buffers=32MB -c max_connections=500"
            }
            Self::Durable => "-c max_connections=500",
            Self::Large => "-c max_connections=500 -c shared_buffers=2GB -c max_wal_size=8GB",
        }
    }
}

/// A server that runs until this is dropped, or the process ends.
#[derive(Debug)]
pub struct Cluster {
    keeper: Child,
    /// The keeper's orders; taken at the end.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    reached: Reached,
}

impl Cluster {
    /// Makes a server and starts it.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, or does not start.
    pub fn start(settings: Settings) -> Self {
        Self::try_start(settings, &Variant::Plain).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Starts a server whose files stay in a folder below the caller's, with the databases of the
    /// time before.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, or does not start.
    pub fn start_in(folder: &Path, settings: Settings) -> Self {
        let own = folder.join("server");
        let made =
            std::fs::create_dir_all(&own).map_err(|error| format!("{}: {error}", own.display()));
        made.and_then(|()| Self::launch(own, folder, settings, &Variant::Plain, "keep"))
            .unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Like [`Cluster::start`], with another variant of the server.
    ///
    /// # Panics
    ///
    /// As [`Cluster::start`], or when what the sort needs is not installed.
    pub fn start_as(settings: Settings, variant: &Variant) -> Self {
        Self::try_start(settings, variant).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Like [`Cluster::start_as`], but returns an error.
    pub(crate) fn try_start(settings: Settings, variant: &Variant) -> Result<Self, String> {
        let launch = || {
            let folder = new_folder(settings)?;
            Self::launch(folder.clone(), &folder, settings, variant, "remove")
        };
        for _ in 1..ATTEMPTS {
            match launch() {
                Err(reason) if reason.contains(PORT_TAKEN) => {}
                started => return started,
            }
        }
        launch()
    }

    /// Starts a server in a folder. `callers` is one of the caller's own; what happens to the other
    /// `at_end`, the keeper knows.
    fn launch(
        folder: PathBuf,
        callers: &Path,
        settings: Settings,
        variant: &Variant,
        at_end: &str,
    ) -> Result<Self, String> {
        let programs = Programs::find().ok_or(ABSENT)?;
        let set_up = variant.set_up(&folder)?;
        let mut command = Command::new("sh");
        command
            .args(["-c", KEEPER, "keeper"])
            .arg(&folder)
            .arg(&programs.folder);
        let options = format!(
            "-k '{}' {} {}",
            folder.display(),
            set_up.options,
            settings.options()
        );
        command.arg(options).arg(at_end).envs(set_up.environment);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .current_dir(&folder);
        if let Some((user, group)) = programs::servant(callers)? {
            // The server runs as this user, and the keeper removes the folder as it.
            for path in set_up.files.iter().chain([&folder]) {
                chown(path, Some(user), Some(group))
                    .map_err(|error| format!("the folder stays root's: {error}"))?;
            }
            command.uid(user).gid(group);
        }
        let mut keeper = command
            .spawn()
            .map_err(|error| format!("sh does not run: {error}"))?;
        let (orders, answers) = (
            keeper.stdin.take(),
            keeper.stdout.take().ok_or("sh has no standard output")?,
        );
        let mut cluster = Self {
            keeper,
            orders,
            answers: BufReader::new(answers),
            folder,
            reached: set_up.reached,
        };
        cluster.order("init")?;
        cluster.order("start")?;
        Ok(cluster)
    }

    /// Makes a standby of this server, which must be a durable one, and starts it.
    ///
    /// # Panics
    ///
    /// When it cannot be made, or does not start.
    pub fn standby(&self) -> Self {
        self.try_standby()
            .unwrap_or_else(|reason| panic!("{reason}"))
    }

    fn try_standby(&self) -> Result<Self, String> {
        let folder = new_folder(Settings::Durable)?;
        let programs = Programs::find().ok_or(ABSENT)?;
        // It is one of the programs of clients, which may be elsewhere in `PATH`.
        let with_others = programs.folder.join("pg_basebackup");
        let mut command = Command::new(if with_others.is_file() {
            with_others
        } else {
            "pg_basebackup".into()
        });
        command
            .arg("--pgdata")
            .arg(folder.join("data"))
            .arg("--host")
            .arg(&self.folder)
            .arg("--username")
            .arg(SUPERUSER);
        command.args([
            "--write-recovery-conf",
            "--wal-method=stream",
            "--checkpoint=fast",
            "--no-sync",
        ]);
        command.current_dir(&folder).stdout(Stdio::null());
        let servant = programs::servant(&folder)?;
        if let Some((user, group)) = servant {
            chown(&folder, Some(user), Some(group))
                .map_err(|error| format!("the folder stays root's: {error}"))?;
            command.uid(user).gid(group);
        }
        let copied = command
            .output()
            .map_err(|error| format!("pg_basebackup does not run: {error}"))?;
        if !copied.status.success() {
            return Err(String::from_utf8_lossy(&copied.stderr).into_owned());
        }
        if servant.is_some() {
            // By its owner it is seen as whom the server must run.
            chown(&folder, Some(0), Some(0))
                .map_err(|error| format!("the folder is not root's again: {error}"))?;
        }
        Self::launch(
            folder.clone(),
            &folder,
            Settings::Durable,
            &Variant::Plain,
            "remove",
        )
    }

    /// The URL of a database of this server, which need not be there.
    pub fn url(&self, database: &str) -> String {
        self.reached.url(&self.folder, database)
    }

    /// The server's first process, which starts all others; `None` while it is stopped.
    pub fn process(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        file.lines().next()?.trim().parse().ok()
    }

    /// The URL of a database of this server itself, where something stands before it.
    pub(crate) fn direct_url(&self, database: &str) -> String {
        self.reached.direct().url(&self.folder, database)
    }

    /// The socket of the server itself.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(self.reached.socket_name())
    }

    /// Stops the server as a crash does, without a clean shutdown; all connections are cut.
    ///
    /// # Panics
    ///
    /// When it does not stop, for instance because it is stopped already.
    pub fn stop_immediately(&mut self) {
        self.order("stop")
            .unwrap_or_else(|reason| panic!("{reason}"));
    }

    /// Starts the server again where it was, and waits until it has recovered.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start_again(&mut self) {
        self.order("start")
            .unwrap_or_else(|reason| panic!("{reason}"));
    }

    /// Gives the keeper an order and waits until it is done.
    fn order(&mut self, order: &str) -> Result<(), String> {
        let mut answer = String::new();
        let sent = self
            .orders
            .as_mut()
            .is_some_and(|orders| writeln!(orders, "{order}").is_ok());
        if sent && self.answers.read_line(&mut answer).is_ok() && answer == "done\n" {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(format!(
            "the order to {order} a PostgreSQL server has failed:\n{log}"
        ))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.orders.take());
        // The keeper was killed.
        let _ = self.keeper.wait();
    }
}

/// An empty folder that stays until the keeper removes it.
fn new_folder(settings: Settings) -> Result<PathBuf, String> {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("register-postgres-").disable_cleanup(true);
    let folder = match settings {
        // A thousand databases are a thousand times three hundred files.
        Settings::Fast if has_room(MEMORY) => builder.tempdir_in(MEMORY),
        Settings::Fast | Settings::Durable | Settings::Large => builder.tempdir(),
    };
    Ok(folder
        .map_err(|error| format!("no temporary folder can be made: {error}"))?
        .path()
        .to_owned())
}

/// Whether there is a folder with room for a server. In containers the one in memory is often too
/// small.
fn has_room(folder: &str) -> bool {
    let answer = Command::new("df")
        .args(["-Pk", folder])
        .stderr(Stdio::null())
        .output();
    let text = answer
        .map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned())
        .unwrap_or_default();
    let free = text
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    free.is_some_and(|kibibytes| kibibytes >= ROOM_IN_KIB)
}

/// A path as the host of a URL.
pub(crate) fn percent_encoded(path: &Path) -> String {
    let mut encoded = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(*byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
