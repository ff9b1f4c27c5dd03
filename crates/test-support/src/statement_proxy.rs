//! A proxy before a PostgreSQL server that lets chosen statements fail.
//!
//! A client sends groups of messages. Each group ends with `Query` or `Sync`, and the server
//! answers each with `ReadyForQuery`. A group that is to fail is replaced by a query that raises
//! the SQLSTATE on the server, so the transaction there has the state that the client is told: a
//! BEGIN that fails has begun nothing, and any other statement that fails has aborted its
//! transaction.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tempfile::TempDir;

use crate::cluster::{SUPERUSER, percent_encoded};
use crate::database::Database;

/// The codes that request an encrypted connection before the startup message.
const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];

/// How a statement fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server raises this SQLSTATE instead of running the statement.
    Raise(&'static str),
    /// The connection is cut before the server receives the statement.
    CutBefore,
    /// The connection is cut after the server has executed the statement, and its answer is lost.
    CutAfter,
}

/// A proxy before the server of a database.
#[derive(Debug)]
pub struct StatementProxy {
    folder: TempDir,
    database: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The socket of the server.
    server: PathBuf,
    /// Whether startup options are dropped, as by a pooler.
    drops_options: bool,
    plan: Mutex<Plan>,
    released: Condvar,
    is_over: AtomicBool,
}

/// What becomes of the statements that arrive.
#[derive(Debug, Default)]
struct Plan {
    /// Statements to let pass before the one that fails, and how it fails.
    armed: Option<(usize, Fault)>,
    /// The text of the statement that failed last.
    failed: Option<String>,
    is_held: bool,
}

impl StatementProxy {
    /// Starts a proxy before the server of this process; `None` on SQLite and where the environment
    /// names a server.
    ///
    /// # Panics
    ///
    /// When no socket can be made.
    #[must_use]
    pub fn before(database: &Database) -> Option<Self> {
        Self::start(database, false)
    }

    /// Starts a proxy that drops the startup options of a connection. A client then takes it for a
    /// pooler.
    ///
    /// # Panics
    ///
    /// When no socket can be made.
    #[must_use]
    pub fn as_pooler(database: &Database) -> Option<Self> {
        Self::start(database, true)
    }

    fn start(database: &Database, drops_options: bool) -> Option<Self> {
        let (server, name) = database.socket()?;
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432"))
            .unwrap_or_else(|error| panic!("no socket: {error}"));
        let shared = Arc::new(Shared {
            server,
            drops_options,
            plan: Mutex::default(),
            released: Condvar::new(),
            is_over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepting.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // A connection that ends is no failure of the proxy.
                thread::spawn(move || drop(shared.relay(client)));
            }
        });
        Some(Self {
            folder,
            database: name,
            shared,
        })
    }

    /// The URL of the database behind the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "postgres://{SUPERUSER}@{}/{}",
            percent_encoded(self.folder.path()),
            self.database
        )
    }

    /// Lets the statement fail that follows `passed` others, counted from now over all connections.
    pub fn fail(&self, passed: usize, fault: Fault) {
        let mut plan = self.shared.plan();
        plan.armed = Some((passed, fault));
        plan.failed = None;
    }

    /// Lets all statements pass again. Returns the text of the one that failed, if one did.
    pub fn recover(&self) -> Option<String> {
        let mut plan = self.shared.plan();
        plan.armed = None;
        plan.failed.take()
    }

    /// Holds all statements back until [`StatementProxy::release`].
    pub fn hold(&self) {
        self.shared.plan().is_held = true;
    }

    /// Lets the statements pass that were held back.
    pub fn release(&self) {
        self.shared.plan().is_held = false;
        self.shared.released.notify_all();
    }
}

impl Drop for StatementProxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections.
        drop(UnixStream::connect(
            self.folder.path().join(".s.PGSQL.5432"),
        ));
    }
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault of the next statement, if it has one. Waits while statements are held back.
    fn fault_of(&self, text: &str) -> Option<Fault> {
        let plan = self.plan();
        let mut plan = self
            .released
            .wait_while(plan, |plan| plan.is_held)
            .unwrap_or_else(PoisonError::into_inner);
        let (passed, fault) = plan.armed.take()?;
        if passed > 0 {
            plan.armed = Some((passed - 1, fault));
            return None;
        }
        plan.failed = Some(text.to_owned());
        Some(fault)
    }

    /// Passes the messages of one connection on, until it ends or is cut.
    fn relay(&self, mut client: UnixStream) -> io::Result<()> {
        let startup = loop {
            let body = read_body(&mut client)?;
            if !is_encryption_request(&body) {
                break body;
            }
            client.write_all(b"N")?;
        };
        let startup = if self.drops_options {
            without_options(&startup)
        } else {
            startup
        };
        let mut server = UnixStream::connect(&self.server)?;
        server.write_all(&with_length(&startup))?;
        let is_cut = Arc::new(AtomicBool::new(false));
        let (answers, answered, cut) = (
            server.try_clone()?,
            client.try_clone()?,
            Arc::clone(&is_cut),
        );
        let answering = thread::spawn(move || pass_answers(answers, answered, &cut));
        let mut group = Group::default();
        while let Ok((kind, body)) = read_message(&mut client) {
            if !group.add(kind, &body) {
                continue;
            }
            let fault = group.statement().and_then(|text| self.fault_of(&text));
            match fault {
                None => server.write_all(&group.bytes)?,
                Some(Fault::Raise(state)) => server.write_all(&raise(state))?,
                Some(Fault::CutBefore | Fault::CutAfter) => {
                    is_cut.store(true, Ordering::SeqCst);
                    if fault == Some(Fault::CutAfter) {
                        server.write_all(&group.bytes)?;
                    }
                    break;
                }
            }
            group.bytes.clear();
        }
        server.shutdown(Shutdown::Write)?;
        // The server has ended the transaction when the client notices the cut.
        let _ = answering.join();
        client.shutdown(Shutdown::Both)
    }
}

/// Passes what the server answers on to the client, and drops it once the connection is cut.
fn pass_answers(mut server: UnixStream, mut client: UnixStream, is_cut: &AtomicBool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        let answer = buffer.get(..length).unwrap_or_default();
        if !is_cut.load(Ordering::SeqCst) && client.write_all(answer).is_err() {
            break;
        }
    }
    if !is_cut.load(Ordering::SeqCst) {
        let _ = client.shutdown(Shutdown::Both);
    }
}

/// The messages up to the next answer that a client waits for.
#[derive(Default)]
struct Group {
    bytes: Vec<u8>,
    /// What the client executes, unless it only closes prepared statements.
    executed: Option<String>,
    /// The texts of the prepared statements by their names.
    prepared: HashMap<Vec<u8>, String>,
}

impl Group {
    /// Adds a message. Returns whether it ends the group.
    fn add(&mut self, kind: u8, body: &[u8]) -> bool {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&with_length(body));
        let mut texts = body.split(|byte| *byte == 0);
        let mut next = || texts.next().unwrap_or_default();
        match kind {
            b'Q' => self.executed = Some(String::from_utf8_lossy(next()).into_owned()),
            b'P' => {
                let name = next().to_vec();
                let text = String::from_utf8_lossy(next()).into_owned();
                self.executed = Some(text.clone());
                self.prepared.insert(name, text);
            }
            b'B' => {
                // Behind the name of the portal.
                next();
                self.executed = self.prepared.get(next()).cloned();
            }
            _ => {}
        }
        // Everything but the messages of the extended protocol is passed on at once.
        !matches!(kind, b'P' | b'B' | b'C' | b'D' | b'E')
    }

    /// The text of the statement, if the group has one.
    fn statement(&mut self) -> Option<String> {
        self.executed.take()
    }
}

/// A query that raises an SQLSTATE.
fn raise(state: &str) -> Vec<u8> {
    let sql = format!(
        "DO $$ BEGIN RAISE EXCEPTION 'as the test wants' USING ERRCODE = '{state}'; END $$\0"
    );
    [b"Q", with_length(sql.as_bytes()).as_slice()].concat()
}

fn is_encryption_request(body: &[u8]) -> bool {
    ENCRYPTION_REQUESTS
        .iter()
        .any(|code| body == code.to_be_bytes())
}

/// The body of a startup message without the parameter `options`.
fn without_options(startup: &[u8]) -> Vec<u8> {
    let Some((version, parameters)) = startup.split_at_checked(4) else {
        return startup.to_vec();
    };
    let texts: Vec<_> = parameters.split(|byte| *byte == 0).collect();
    let kept = texts
        .chunks(2)
        .filter(|parameter| !matches!(parameter.first(), Some(&b"" | &b"options")));
    let kept: Vec<_> = kept.flatten().copied().collect();
    [version, &kept.join(&0), b"\0\0"].concat()
}

fn with_length(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap_or_default();
    [&length.to_be_bytes(), body].concat()
}

fn read_message(client: &mut UnixStream) -> io::Result<(u8, Vec<u8>)> {
    let mut kind = 0;
    client.read_exact(std::slice::from_mut(&mut kind))?;
    Ok((kind, read_body(client)?))
}

/// Reads a length and the bytes that it counts.
fn read_body(client: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut body = vec![
        0;
        usize::try_from(u32::from_be_bytes(length))
            .unwrap_or_default()
            .saturating_sub(4)
    ];
    client.read_exact(&mut body)?;
    Ok(body)
}
