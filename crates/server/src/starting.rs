//! What is looked at before the server listens: whether the register can be served from this machine, now. The schema is
//! looked at where the database is opened, and files where they are read.
//!
//! Whatever is wrong is told in one line, with what to do. What would write wrong dates into the register refuses the start;
//! what may be an accident is a warning.

use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::ValueEnum;
use socket2::{Domain, Protocol, Socket, Type};
use storage::error::StorageError;
use storage::store::Store;

/// How far two clocks may be apart before one of them is wrong.
const TOLERANCE: TimeDelta = TimeDelta::minutes(5);
/// Connections that wait until the server takes them. The operating system may allow fewer.
const BACKLOG: i32 = 1_024;

/// What becomes of a start with a clock that must be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClockCheck {
    /// It is refused.
    Refuse,
    /// It is warned of.
    Warn,
}

/// Why the server does not start. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be used.
    #[error("{}{}", OneLine(.0), remedy(.0))]
    Database(#[source] StorageError),
    /// The clock must be wrong.
    #[error(
        "{0}; set the clock of this machine (timedatectl), or, when the clock is right and the other time is not, start \
         with --clock-check warn"
    )]
    Clock(WrongClock),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; {} with {option}", way_to_listen(.source))]
    Listen {
        /// The address.
        address: String,
        /// The option that says what it is.
        option: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// What shows that the clock of this machine is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongClock {
    /// The register was changed later than that.
    BehindRegister {
        /// The time by the clock.
        now: DateTime<Utc>,
        /// When it was changed.
        changed: DateTime<Utc>,
    },
    /// The database server has another time.
    ApartFromServer {
        /// The time by the clock.
        now: DateTime<Utc>,
        /// The time of the server.
        server: DateTime<Utc>,
    },
    /// The program was put in its place later than that. It may be that its date is not what it seems.
    BehindProgram {
        /// The time by the clock.
        now: DateTime<Utc>,
        /// The date of the program's file.
        program: DateTime<Utc>,
    },
}

impl fmt::Display for WrongClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |moment: &DateTime<Utc>| moment.to_rfc3339_opts(SecondsFormat::Secs, true);
        match self {
            Self::BehindRegister { now, changed } => {
                write!(formatter, "the clock says {}, but the register was changed at {}", time(now), time(changed))
            }
            Self::ApartFromServer { now, server } => {
                write!(formatter, "the clock says {}, but that of the database server {}", time(now), time(server))
            }
            Self::BehindProgram { now, program } => {
                write!(formatter, "the clock says {}, but the program is of {}", time(now), time(program))
            }
        }
    }
}

/// What the clock of this machine is held against.
#[derive(Debug, Clone, Copy, Default)]
struct Evidence {
    changed: Option<DateTime<Utc>>,
    server: Option<DateTime<Utc>>,
    program: Option<DateTime<Utc>>,
}

impl Evidence {
    /// What shows that a clock is wrong which says that it is now.
    fn against(self, now: DateTime<Utc>) -> impl Iterator<Item = WrongClock> {
        let is_later = move |moment: &DateTime<Utc>| *moment - now > TOLERANCE;
        let changed = self.changed.filter(is_later).map(|changed| WrongClock::BehindRegister { now, changed });
        let server = self.server.filter(|server| (*server - now).abs() > TOLERANCE);
        let server = server.map(|server| WrongClock::ApartFromServer { now, server });
        let program = self.program.filter(is_later).map(|program| WrongClock::BehindProgram { now, program });
        changed.into_iter().chain(server).chain(program)
    }
}

/// Looks at the clock of this machine.
///
/// # Errors
///
/// [`StartError::Clock`] when it must be wrong and such a start is to be refused; [`StartError::Database`].
pub fn check_clock(store: &Store, check: ClockCheck) -> Result<(), StartError> {
    let (changed, server) = store
        .read_blocking::<_, StorageError>(|session| Ok((session.latest_change()?, session.server_time()?)))
        .map_err(StartError::Database)?;
    let evidence = Evidence { changed, server, program: date_of_the_program() };
    for wrong in evidence.against(store.now()) {
        match (check, wrong) {
            (ClockCheck::Refuse, WrongClock::BehindRegister { .. } | WrongClock::ApartFromServer { .. }) => {
                return Err(StartError::Clock(wrong));
            }
            (ClockCheck::Warn, _) | (ClockCheck::Refuse, WrongClock::BehindProgram { .. }) => {
                log::warn!("{wrong}; set the clock of this machine (timedatectl)");
            }
        }
    }
    Ok(())
}

/// When the file of the program was written, where the operating system knows it.
fn date_of_the_program() -> Option<DateTime<Utc>> {
    let file = std::env::current_exe().ok()?;
    Some(fs::metadata(file).ok()?.modified().ok()?.into())
}

/// How many files the program may have open; `None` where the operating system does not tell.
#[must_use]
pub fn open_files() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Listens on an address such as `127.0.0.1:8080`, or on the first of those that a name stands for. An option of the command
/// line says which one.
///
/// # Errors
///
/// [`StartError::Listen`].
pub fn listen(address: &str, option: &'static str) -> Result<TcpListener, StartError> {
    let listen = || {
        let mut failed = None;
        for address in address.to_socket_addrs()? {
            match listener(address) {
                Ok(listener) => return Ok(listener),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the name stands for no address")))
    };
    listen().map_err(|source| StartError::Listen { address: address.to_owned(), option, source })
}

fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A server that is started again does not wait for what is left of old connections.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn way_to_listen(error: &io::Error) -> &'static str {
    let ways = [
        (io::ErrorKind::AddrInUse, "stop the program that listens there, or choose another port"),
        (io::ErrorKind::AddrNotAvailable, "choose an address of this machine, such as 127.0.0.1:8080,"),
        (io::ErrorKind::PermissionDenied, "allow the program this port, or choose one from 1024 on"),
    ];
    let way = ways.into_iter().find(|(kind, _)| *kind == error.kind());
    way.map_or("give an address and a port, such as 127.0.0.1:8080,", |(_, way)| way)
}

/// What to do about a database that cannot be used, behind what is wrong with it.
fn remedy(error: &StorageError) -> &'static str {
    match error {
        StorageError::UnknownAddress | StorageError::Folder(_) => "; check --database-url",
        StorageError::Connection(_) | StorageError::Unavailable(_) | StorageError::ConnectionLost(_) => {
            "; check --database-url, that the database runs, and that the user of this program may use it"
        }
        StorageError::Busy | StorageError::Collided | StorageError::QueueFull | StorageError::GroupLost(_) => {
            "; another program holds the database: start again when it has ended"
        }
        StorageError::NoSpace(_) | StorageError::TransactionEnded { .. } => {
            "; make room on the disk of the database, and start again"
        }
        StorageError::Migration(_) => "; nothing was changed: see docs/changing-the-schema.md",
        StorageError::Closed | StorageError::Thread(_) | StorageError::NoRandomness(_) => {
            "; check what the operating system allows the program"
        }
        // These say themselves what to do.
        StorageError::SchemaNewer { .. } | StorageError::UnknownMigration { .. } | StorageError::UnfinishedCopy => "",
        StorageError::Refused(_)
        | StorageError::Stale
        | StorageError::CorruptRow { .. }
        | StorageError::JobPanicked
        | StorageError::TransactionDepth
        | StorageError::TransactionLost(_)
        | StorageError::Query(_)
        | StorageError::SandboxOrganisations(_) => "; look for what is wrong with `trainee-register check`",
    }
}

/// An error with everything that caused it, on one line. What database servers say has several.
struct OneLine<'a>(&'a dyn std::error::Error);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = std::iter::successors(Some(self.0), |error| error.source());
        let texts: Vec<String> = causes.map(ToString::to_string).collect();
        let words: Vec<&str> = texts.iter().flat_map(|text| [":"].into_iter().chain(text.split_whitespace())).collect();
        formatter.write_str(words.join(" ").trim_start_matches(": ").replace(" : ", ": ").as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: u32, minute: u32) -> DateTime<Utc> {
        DateTime::from_timestamp(i64::from(hour * 60 + minute) * 60, 0).unwrap()
    }

    fn found(evidence: Evidence, now: DateTime<Utc>) -> Vec<WrongClock> {
        evidence.against(now).collect()
    }

    #[test]
    fn a_clock_behind_the_register_or_the_program_is_wrong() {
        let (changed, program) = (at(12, 0), at(11, 0));
        let evidence = Evidence { changed: Some(changed), program: Some(program), server: None };
        assert_eq!(found(evidence, at(11, 55)), []);
        assert_eq!(found(evidence, at(23, 0)), []);
        let now = at(11, 54);
        assert_eq!(found(evidence, now), [WrongClock::BehindRegister { now, changed }]);
        let now = at(10, 54);
        assert_eq!(
            found(evidence, now),
            [WrongClock::BehindRegister { now, changed }, WrongClock::BehindProgram { now, program }]
        );
    }

    #[test]
    fn a_clock_apart_from_the_server_is_wrong_on_either_side() {
        let server = at(12, 0);
        let evidence = Evidence { server: Some(server), ..Evidence::default() };
        for now in [at(11, 55), at(12, 0), at(12, 5)] {
            assert_eq!(found(evidence, now), []);
        }
        for now in [at(11, 54), at(12, 6)] {
            assert_eq!(found(evidence, now), [WrongClock::ApartFromServer { now, server }]);
        }
    }

    #[test]
    fn what_a_database_says_in_several_lines_becomes_one() {
        let cause = io::Error::other("connection failed: refused\n\tIs the server running\n");
        let error = StorageError::Folder(cause);
        assert_eq!(
            OneLine(&error).to_string(),
            "folder of the database file cannot be made: connection failed: refused Is the server running"
        );
    }
}
