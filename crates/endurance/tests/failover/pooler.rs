//! PgBouncer before a PostgreSQL server.

use std::fs;

use test_support::Tool;

use super::daemon::Daemon;
use super::machine::{Host, Machine};
use super::postgres::{REGISTER, url};
use super::programs;

const PORT: u16 = 6432;

/// How long a connection to PostgreSQL belongs to one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Session,
    Transaction,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
        }
    }

    /// Connections to PostgreSQL. In transaction mode there are fewer than clients, so that these
    /// share them.
    const fn size(self) -> u8 {
        match self {
            Self::Session => 40,
            Self::Transaction => 4,
        }
    }
}

/// A pooler that runs until it is dropped.
pub(crate) struct Pooler {
    host: String,
    _pgbouncer: Daemon,
}

impl Pooler {
    /// A pooler before the server on the first node.
    pub(crate) fn start(machine: &Machine, mode: Mode) -> Self {
        let (address, server) = (machine.address(Host::Main), machine.address(Host::Node(0)));
        let text = format!(
            "[databases]\n{REGISTER} = host={server} port=5432 dbname={REGISTER} user={REGISTER}\n\
             [pgbouncer]\nlisten_addr = {address}\nlisten_port = {PORT}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {}\ndefault_pool_size = {}\nmax_client_conn = 200\nignore_startup_parameters = extra_float_digits\n",
            mode.name(),
            mode.size()
        );
        let file = machine.home(Host::Main).join("pgbouncer.ini");
        fs::write(&file, text).unwrap();
        let mut command = machine.command(Host::Main, programs::find(Tool::Pgbouncer));
        command.arg(file);
        let pgbouncer = Daemon::start(machine, Host::Main, "pgbouncer", command);
        let host = format!("{address}:{PORT}");
        pgbouncer.wait_until("PgBouncer does not listen", || {
            std::net::TcpStream::connect(&host).is_ok()
        });
        Self {
            host,
            _pgbouncer: pgbouncer,
        }
    }

    /// The address of the register's database by way of the pooler.
    pub(crate) fn url(&self) -> String {
        url(std::slice::from_ref(&self.host), "connect_timeout=2")
    }
}
