//! Checks before the server listens, whether this machine can serve the register now. The schema is
//! checked when the database is opened, and each file when it is read.
//!
//! Each problem is reported on one line with its remedy. The server refuses to start if it would
//! store wrong dates; other problems are warnings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::{fs, io};

use http_kit::error_chain::Causes;
use socket2::{Domain, Protocol, Socket, Type};
use storage::error::{DatabaseError, StorageError};

use self::clock::WrongClock;

pub mod clock;

/// The maximum length of the queue of new connections. The operating system may allow fewer.
const BACKLOG: i32 = 1_024;

/// The reasons why the server does not start, with their remedies.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database is unusable.
    #[error("{}{}", Causes(.0), remedy(.0))]
    Database(#[source] StorageError),
    /// The clock is wrong.
    #[error(
        "{0}; set this machine's clock (timedatectl); if this clock is right and the other time is \
         wrong, start with --clock-check warn (REGISTER_CLOCK_CHECK)"
    )]
    Clock(WrongClock),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}; {} with {option}", listen_hint(.source))]
    Listen {
        /// The address.
        address: String,
        /// The option that contains the address.
        option: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The maximum number of open files, or `None` if the operating system does not report it.
#[must_use]
pub fn open_files() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Listens on an address such as `127.0.0.1:8080`, or on the first usable address of a host name.
/// `option` is the command-line option that contains the address.
///
/// # Errors
///
/// [`StartError::Listen`].
pub fn listen(address: &str, option: &'static str) -> Result<TcpListener, StartError> {
    let listen = || {
        let mut last_error = None;
        for address in address.to_socket_addrs()? {
            match listener(address) {
                Ok(listener) => return Ok(listener),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the host name has no address")
        }))
    };
    listen().map_err(|source| StartError::Listen {
        address: address.to_owned(),
        option,
        source,
    })
}

/// The site at an address, such as `http://127.0.0.1:8080`, for a browser on this machine. An
/// unspecified address is replaced by the loopback address.
#[must_use]
pub fn site(scheme: &str, mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    format!("{scheme}://{address}")
}

/// Binds an address and listens on it.
fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // A restarted server can bind the port while old connections are closing.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// The remedy for a failure to listen, as the first part of a sentence.
fn listen_hint(error: &io::Error) -> &'static str {
    let remedies = [
        (
            io::ErrorKind::AddrInUse,
            "stop the program that uses this port, or choose another port",
        ),
        (
            io::ErrorKind::AddrNotAvailable,
            "choose one of this machine's addresses, such as 127.0.0.1:8080,",
        ),
        (
            io::ErrorKind::PermissionDenied,
            "allow the program to use this port, or choose port 1024 or higher",
        ),
    ];
    let known = remedies.into_iter().find(|(kind, _)| *kind == error.kind());
    known.map_or(
        "set an address and a port, such as 127.0.0.1:8080,",
        |(_, remedy)| remedy,
    )
}

/// The remedy for an unusable database. Follows the description of the problem.
pub(crate) fn remedy(error: &StorageError) -> &'static str {
    match error {
        StorageError::Database(DatabaseError::UnknownAddress) => {
            "; check --database-url (REGISTER_DATABASE_URL)"
        }
        StorageError::Database(DatabaseError::Folder { .. }) => {
            "; check --database-url (REGISTER_DATABASE_URL), or create the folder"
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
            "; check --database-url (REGISTER_DATABASE_URL); the database must be running, and this user \
             must have access"
        }
        StorageError::Database(DatabaseError::ReadOnly(_)) | StorageError::CursorOnStandby => {
            "; set --database-url (REGISTER_DATABASE_URL) to a writable database server"
        }
        StorageError::Database(DatabaseError::DatabaseFault(_)) => {
            "; grant this user the missing permissions, or check for damage \
             (docs/operations/troubleshooting.md)"
        }
        StorageError::Database(DatabaseError::Busy)
        | StorageError::Database(DatabaseError::Collided)
        | StorageError::Database(DatabaseError::QueueFull) => {
            "; another program is using the database: start again after that program ends"
        }
        StorageError::Database(DatabaseError::NoSpace(_))
        | StorageError::Database(DatabaseError::TransactionEnded { .. }) => {
            "; free space on the database's disk, and start again"
        }
        StorageError::Migration(_) => "; nothing was changed: see docs/changing-the-schema.md",
        StorageError::Database(DatabaseError::Closed)
        | StorageError::Database(DatabaseError::Thread(_))
        | StorageError::NoRandomness(_)
        | StorageError::Database(DatabaseError::Marker { .. }) => {
            "; check this program's permissions"
        }
        // The messages of these errors contain their remedy.
        StorageError::Database(DatabaseError::DatabaseEncoding { .. })
        | StorageError::SchemaNewer { .. }
        | StorageError::SchemaOlder { .. }
        | StorageError::LayoutBeforeRelease { .. }
        | StorageError::RecordsNewer { .. }
        | StorageError::Database(DatabaseError::Absent(_))
        | StorageError::Database(DatabaseError::DatabaseGone { .. })
        | StorageError::Database(DatabaseError::IsFolder(_))
        | StorageError::NoRegister { .. }
        | StorageError::OtherSchema { .. }
        | StorageError::BrokenReferences { .. }
        | StorageError::OtherEnvironment { .. }
        | StorageError::UnfinishedCopy => "",
        StorageError::Refused(_)
        | StorageError::CorruptRow { .. }
        | StorageError::CorruptSetting { .. }
        | StorageError::Database(DatabaseError::JobPanicked)
        | StorageError::Database(DatabaseError::ProviderNotLocked)
        | StorageError::Database(DatabaseError::SecondProvider)
        | StorageError::Database(DatabaseError::TransactionDepth)
        | StorageError::Database(DatabaseError::TransactionLost(_))
        | StorageError::Database(DatabaseError::Query(_))
        | StorageError::SandboxOrganisations(_) => "; find the cause with `trainee-register check`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_of_wildcard_listener_is_loopback_address() {
        for (address, expected) in [
            ("0.0.0.0:8080", "https://127.0.0.1:8080"),
            ("[::]:8080", "https://[::1]:8080"),
            ("192.0.2.1:443", "https://192.0.2.1:443"),
        ] {
            assert_eq!(site("https", address.parse().unwrap()), expected);
        }
    }
}
