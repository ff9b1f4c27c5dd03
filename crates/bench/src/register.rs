//! Registers: filled by a program's own commands, and served by it.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::iter;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::sql_types::Text;
use diesel::{Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection};
use test_support::Process;

use crate::database::Databases;
use crate::http::{Client, get};
use crate::outcome::Outcome;
use crate::process::{Meter, on_server_processor, wait_for};

/// Providers of a small register, each with as many trainees.
const PROVIDERS: usize = 5;
/// A register with more trainees has many providers.
const SMALL: usize = 100_000;
/// Providers of a large register. The first one has the given share of the trainees.
const MANY_PROVIDERS: usize = 300;
const LARGEST_PER_CENT: usize = 3;

/// The number of trainees of each provider of a register with `trainees` trainees. Rounding leaves
/// some out.
pub(crate) fn shares(trainees: usize) -> Vec<usize> {
    if trainees <= SMALL {
        return vec![trainees / PROVIDERS; PROVIDERS];
    }
    let largest = trainees * LARGEST_PER_CENT / 100;
    let others = MANY_PROVIDERS - 1;
    let mut shares = vec![largest];
    shares.extend(iter::repeat_n((trainees - largest) / others, others));
    shares
}

/// The program of a commit.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// What tells its schema from others.
    schema: String,
}

#[derive(QueryableByName)]
struct Part {
    #[diesel(sql_type = Text)]
    sql: String,
}

impl Program {
    /// The program at a path. What it does to an empty database tells its schema.
    pub(crate) fn at(path: &Path, folder: &Path) -> Outcome<Self> {
        let mut program = Self {
            path: path.canonicalize()?,
            schema: String::new(),
        };
        let databases = Databases::open("sqlite", folder)?;
        databases.create("schema")?;
        program.run(&[
            "migrate",
            "--environment",
            "sandbox",
            "--database-url",
            &databases.url("schema"),
        ])?;
        let url = databases.url("schema");
        let mut connection = SqliteConnection::establish(url.trim_start_matches("sqlite://"))?;
        // A migration may change PostgreSQL alone.
        let query = "SELECT sql FROM (SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL \
                     UNION ALL SELECT version, version FROM __diesel_schema_migrations) ORDER BY name";
        let parts: Vec<Part> = diesel::sql_query(query).load(&mut connection)?;
        let mut hasher = DefaultHasher::new();
        parts.iter().for_each(|part| part.sql.hash(&mut hasher));
        program.schema = format!("{:08x}", hasher.finish() as u32);
        connection.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(program)
    }

    /// Runs a command to its end, and gives what it prints.
    fn run(&self, arguments: &[&str]) -> Outcome<String> {
        let output = without_settings(&mut Command::new(&self.path))
            .args(arguments)
            .output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?.trim().to_owned());
        }
        Err(format!(
            "{}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        )
        .into())
    }

    /// The name of the kept register with this number of trainees. Fills it if it does not exist.
    pub(crate) fn filled(&self, databases: &Databases, trainees: usize) -> Outcome<String> {
        let name = format!("filled_{trainees}_{}", self.schema);
        if databases.exists(&name) {
            return Ok(name);
        }
        eprintln!("bench: creating a register with {trainees} trainees");
        let begun = Instant::now();
        databases.create("filling")?;
        let url = databases.url("filling");
        self.run(&[
            "migrate",
            "--environment",
            "sandbox",
            "--database-url",
            &url,
        ])?;
        for (number, count) in shares(trainees).into_iter().enumerate() {
            let count = count.to_string();
            let ukprn = ukprn(number);
            self.run(&[
                "provider",
                "add",
                "--database-url",
                &url,
                "--ukprn",
                &ukprn,
                "--name",
                &ukprn,
            ])?;
            let seed = (number + 1).to_string();
            let who = ["--database-url", &url, "--provider", &ukprn];
            self.run(
                &[
                    &["sandbox", "seed", "--trainees", &count, "--seed", &seed],
                    &who[..],
                ]
                .concat(),
            )?;
        }
        databases.finish("filling", &name)?;
        eprintln!(
            "bench: register created in {:.0} s",
            begun.elapsed().as_secs_f64()
        );
        Ok(name)
    }

    /// A token of each provider of a register.
    pub(crate) fn tokens(&self, url: &str, trainees: usize) -> Outcome<Vec<String>> {
        let issue = |number| {
            self.run(&[
                "token",
                "issue",
                "--database-url",
                url,
                "--provider",
                &ukprn(number),
                "--name",
                "bench",
            ])
        };
        (0..shares(trainees).len()).map(issue).collect()
    }
}

pub(crate) fn ukprn(number: usize) -> String {
    (10_000_001 + number).to_string()
}

/// Nothing from outside decides what is measured.
pub(crate) fn without_settings(command: &mut Command) -> &mut Command {
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
}

/// A process that serves.
#[derive(Debug)]
pub(crate) struct Server {
    process: Process,
    pub(crate) address: SocketAddr,
    pub(crate) meter: Meter,
    /// From the start of the process to the first time that it said it was ready.
    pub(crate) started_in: Duration,
    log: File,
}

impl Server {
    /// Starts a command on the processor of what is measured. `arguments` gets two free ports, the
    /// second for operators, and the command is ready when `ready` is found there, or else at the
    /// first.
    pub(crate) fn start(
        program: &Path,
        log: &Path,
        database: Option<u32>,
        ready: Option<&str>,
        arguments: impl Fn(u16, u16) -> Vec<String>,
    ) -> Outcome<Self> {
        let ports = [
            TcpListener::bind("127.0.0.1:0")?,
            TcpListener::bind("127.0.0.1:0")?,
        ];
        let [port, operators] =
            ports.map(|listener| listener.local_addr().map(|address| address.port()));
        let (port, operators) = (port?, operators?);
        let log_file = OpenOptions::new().create(true).append(true).open(log)?;
        let mut command = on_server_processor(program);
        without_settings(&mut command).args(arguments(port, operators));
        command
            .stdout(log_file.try_clone()?)
            .stderr(log_file.try_clone()?);
        let begun = Instant::now();
        let process = Process::start(&mut command);
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        wait_for("the server", || {
            let (port, path) = ready.map_or((port, "/"), |path| (operators, path));
            let (status, _) = Client::connect(address(port))
                .ok()?
                .send(&get(path, "", ""))
                .ok()?;
            (status == 200 || ready.is_none()).then_some(())
        })
        .map_err(|error| format!("{error}: {}", fs::read_to_string(log).unwrap_or_default()))?;
        let started_in = begun.elapsed();
        let meter = Meter {
            process: process.id(),
            database,
        };
        Ok(Self {
            process,
            address: address(port),
            meter,
            started_in,
            log: log_file,
        })
    }

    /// Empties the log.
    pub(crate) fn empty_log(&self) -> Outcome<()> {
        Ok(self.log.set_len(0)?)
    }

    /// Stops the server as its operator does.
    pub(crate) fn stop(&mut self) {
        self.process.signal("TERM");
        self.process.wait();
    }
}

/// What serves a register.
pub(crate) enum Service {
    /// The program of a commit.
    Program(Rc<Program>),
    /// The plain service at this path.
    Plain(PathBuf),
}

impl Service {
    fn path(&self) -> &Path {
        match self {
            Self::Program(program) => &program.path,
            Self::Plain(path) => path,
        }
    }

    /// The path of operators that answers `200` as soon as the service is ready; `None` if the
    /// service is ready when it answers.
    fn readiness(&self) -> Option<&'static str> {
        match self {
            Self::Program(_) => Some("/health/ready"),
            Self::Plain(_) => None,
        }
    }

    /// The arguments to serve a database at two addresses, the second for operators.
    fn arguments(&self, url: &str, listen: &str, operators: &str) -> Vec<String> {
        let arguments: &[&str] = match self {
            // No limits, and no registry that changes trainees by itself.
            Self::Program(_) => &[
                "serve",
                "--environment",
                "sandbox",
                "--registry",
                "off",
                "--rate-limit",
                "0",
                "--database-url",
                url,
                "--listen",
                listen,
                "--operator-listen",
                operators,
            ],
            Self::Plain(_) => &["serve", url, listen],
        };
        arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect()
    }
}

/// A register that is served, from a copy of a filled one.
pub(crate) struct Register {
    service: Service,
    databases: Rc<Databases>,
    filled: String,
    copy: String,
    log: PathBuf,
    pub(crate) trainees: usize,
    pub(crate) tokens: Vec<String>,
    server: Option<Server>,
}

impl Register {
    /// Fills a register, if need be, and issues tokens. It is served from [`Register::start`] on.
    pub(crate) fn new(
        program: &Rc<Program>,
        databases: &Rc<Databases>,
        trainees: usize,
        name: &str,
        folder: &Path,
    ) -> Outcome<Self> {
        let filled = program.filled(databases, trainees)?;
        let tokens = program.tokens(&databases.url(&filled), trainees)?;
        let program = Rc::clone(program);
        Ok(Self {
            service: Service::Program(program),
            databases: Rc::clone(databases),
            filled,
            copy: format!("copy_{name}"),
            log: folder.join(format!("{name}.log")),
            trainees,
            tokens,
            server: None,
        })
    }

    /// A register with the trainees and tokens of another one, in the database `filled` of the
    /// plain service.
    pub(crate) fn new_plain(program: &Path, filled: &str, other: &Self, folder: &Path) -> Self {
        Self {
            service: Service::Plain(program.to_owned()),
            databases: Rc::clone(&other.databases),
            filled: filled.to_owned(),
            copy: "copy_plain".to_owned(),
            log: folder.join("plain.log"),
            trainees: other.trainees,
            tokens: other.tokens.clone(),
            server: None,
        }
    }

    pub(crate) fn databases(&self) -> &Databases {
        &self.databases
    }

    /// The register as it was filled.
    pub(crate) fn copy(&mut self) -> Outcome<()> {
        self.stop();
        self.databases.copy(&self.filled, &self.copy)
    }

    /// Serves the copy.
    pub(crate) fn start(&mut self) -> Outcome<()> {
        self.stop();
        let (url, database) = (self.databases.url(&self.copy), self.databases.server());
        let service = &self.service;
        let server = Server::start(
            service.path(),
            &self.log,
            database,
            service.readiness(),
            |port, operators| {
                let (listen, operators) = (
                    format!("127.0.0.1:{port}"),
                    format!("127.0.0.1:{operators}"),
                );
                service.arguments(&url, &listen, &operators)
            },
        )?;
        self.server = Some(server);
        Ok(())
    }

    /// A link that signs an admin of the first provider in.
    pub(crate) fn invite(&self) -> Outcome<String> {
        let Service::Program(program) = &self.service else {
            return Err("the plain service has no settings pages".into());
        };
        let (url, ukprn) = (self.databases.url(&self.copy), ukprn(0));
        let invite = [
            "user",
            "invite",
            "--database-url",
            &url,
            "--provider",
            &ukprn,
            "--email",
            "bench@example.com",
        ];
        program.run(&[&invite[..], &["--settings-url", "http://localhost"]].concat())
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.stop();
        }
    }

    pub(crate) fn server(&self) -> Outcome<&Server> {
        self.server
            .as_ref()
            .ok_or_else(|| "the register's server is not running".into())
    }
}

impl Drop for Register {
    fn drop(&mut self) {
        self.stop();
        // What is left is overwritten by the next run.
        let _ = self.databases.remove(&self.copy);
    }
}
