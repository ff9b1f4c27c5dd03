//! What is looked at before the server listens: whether the register can be served from this
//! machine, now. The schema is looked at where the database is opened, and files where they are
//! read.
//!
//! Whatever is wrong is reported in one line, with what to do. What would write wrong dates into
//! the register refuses the start; what may be an accident is a warning.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::{fs, io};

use http_kit::error_chain::Causes;
use socket2::{Domain, Protocol, Socket, Type};
use storage::error::{DatabaseError, StorageError};

use self::clock::WrongClock;

pub mod clock;

/// Connections that wait until the server takes them. The operating system may allow fewer.
const BACKLOG: i32 = 1_024;

/// Why the server does not start. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be used.
    #[error("{}{}", Causes(.0), remedy(.0))]
    Database(#[source] StorageError),
    /// The clock must be wrong.
    #[error(
        "{0}; set the clock of this machine (timedatectl), or, when the clock is right and the other time is not, start \
         with --clock-check warn"
    )]
    Clock(WrongClock),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; {} with {option}", listen_hint(.source))]
    Listen {
        /// The address.
        address: String,
        /// The option that says what it is.
        option: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// How many files the program may have open; `None` where the operating system does not say.
#[must_use]
pub fn open_files() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Listens on an address such as `127.0.0.1:8080`, or on the first of those that a name stands for.
/// An option of the command line says which one.
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
        Err(failed.unwrap_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "the name stands for no address",
            )
        }))
    };
    listen().map_err(|source| StartError::Listen {
        address: address.to_owned(),
        option,
        source,
    })
}

/// The site at an address, such as `http://127.0.0.1:8080`, as a browser on this machine opens it:
/// a listener on all addresses of the machine is reached at the loopback address.
#[must_use]
pub fn site(scheme: &str, mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    format!("{scheme}://{address}")
}

fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // A server that is started again does not wait for what is left of old connections.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn listen_hint(error: &io::Error) -> &'static str {
    let ways = [
        (
            io::ErrorKind::AddrInUse,
            "stop the program that listens there, or choose another port",
        ),
        (
            io::ErrorKind::AddrNotAvailable,
            "choose an address of this machine, such as 127.0.0.1:8080,",
        ),
        (
            io::ErrorKind::PermissionDenied,
            "allow the program this port, or choose one from 1024 on",
        ),
    ];
    let way = ways.into_iter().find(|(kind, _)| *kind == error.kind());
    way.map_or(
        "give an address and a port, such as 127.0.0.1:8080,",
        |(_, way)| way,
    )
}

/// What to do about a database that cannot be used, behind what is wrong with it.
pub(crate) fn remedy(error: &StorageError) -> &'static str {
    match error {
        StorageError::Database(DatabaseError::UnknownAddress) => "; check --database-url",
        StorageError::Database(DatabaseError::Folder { .. }) => {
            "; check --database-url, or make the folders above it"
        }
        StorageError::Database(DatabaseError::DatabaseFileChanged(_)) => {
            "; put the file back, or restore a backup with `trainee-register restore`"
        }
        StorageError::Database(DatabaseError::Connection(_))
        | StorageError::Database(DatabaseError::Unavailable(_))
        | StorageError::Database(DatabaseError::NoConnectionLeft(_))
        | StorageError::Database(DatabaseError::PoolTimeout(_))
        | StorageError::Database(DatabaseError::ServerUnavailable(_))
        | StorageError::Database(DatabaseError::OutcomeUnknown(_))
        | StorageError::Database(DatabaseError::ConnectionLost(_)) => {
            "; check --database-url, that the database runs, and that the user of this program may use it"
        }
        StorageError::Database(DatabaseError::ReadOnly(_)) | StorageError::CursorOnStandby => {
            "; name a database server that can be written to in --database-url"
        }
        StorageError::Database(DatabaseError::DatabaseFault(_)) => {
            "; give the user of this program what it needs there, or look for damage (docs/operations.md)"
        }
        StorageError::Database(DatabaseError::DateNotDue { .. }) => {
            "; set the clock of this machine (timedatectl)"
        }
        StorageError::Database(DatabaseError::Busy)
        | StorageError::Database(DatabaseError::Collided)
        | StorageError::Database(DatabaseError::QueueFull)
        | StorageError::Database(DatabaseError::GroupLost(_)) => {
            "; another program holds the database: start again when it has ended"
        }
        StorageError::Database(DatabaseError::NoSpace(_))
        | StorageError::Database(DatabaseError::TransactionEnded { .. }) => {
            "; make room on the disk of the database, and start again"
        }
        StorageError::Migration(_) => "; nothing was changed: see docs/changing-the-schema.md",
        StorageError::Database(DatabaseError::Closed)
        | StorageError::Database(DatabaseError::Thread(_))
        | StorageError::NoRandomness(_)
        | StorageError::Database(DatabaseError::Marker { .. }) => {
            "; check what the operating system allows the program"
        }
        // These say themselves what to do.
        StorageError::Database(DatabaseError::DatabaseEncoding { .. })
        | StorageError::SchemaNewer { .. }
        | StorageError::SchemaOlder { .. }
        | StorageError::LayoutBeforeRelease { .. }
        | StorageError::RecordsNewer { .. }
        | StorageError::UnknownMigration { .. }
        | StorageError::RecordsWouldBeLost { .. }
        | StorageError::Database(DatabaseError::Absent(_))
        | StorageError::Database(DatabaseError::DatabaseGone { .. })
        | StorageError::Database(DatabaseError::IsFolder(_))
        | StorageError::NoRegister { .. }
        | StorageError::OtherSchema { .. }
        | StorageError::BrokenReferences { .. }
        | StorageError::OtherEnvironment { .. }
        | StorageError::UnfinishedCopy => "",
        StorageError::Refused(_)
        | StorageError::Stale
        | StorageError::CorruptRow { .. }
        | StorageError::CorruptSetting { .. }
        | StorageError::Database(DatabaseError::JobPanicked)
        | StorageError::Database(DatabaseError::TransactionDepth)
        | StorageError::Database(DatabaseError::TransactionLost(_))
        | StorageError::Database(DatabaseError::Query(_))
        | StorageError::SandboxOrganisations(_) => {
            "; look for what is wrong with `trainee-register check`"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_of_a_listener_on_all_addresses_is_the_loopback_address() {
        for (address, expected) in [
            ("0.0.0.0:8080", "https://127.0.0.1:8080"),
            ("[::]:8080", "https://[::1]:8080"),
            ("192.0.2.1:443", "https://192.0.2.1:443"),
        ] {
            assert_eq!(site("https", address.parse().unwrap()), expected);
        }
    }
}
