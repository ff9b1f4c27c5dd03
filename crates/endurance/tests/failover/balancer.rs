//! HAProxy before the two servers, where a request goes to one that says that it is ready; and
//! before the two nodes of PostgreSQL, where a connection goes to the one that Patroni calls the
//! primary.

use std::fmt::Write as _;
use std::fs;

use test_support::Tool;

use super::daemon::Daemon;
use super::machine::{Host, Machine};
use super::programs;

const PORT: u16 = 8080;
const POSTGRES_PORT: u16 = 5000;

/// A balancer that runs until it is dropped.
pub(crate) struct Balancer {
    pub(crate) address: String,
    _haproxy: Daemon,
}

impl Balancer {
    /// Balances over servers, each with its address for clients and its port for operators.
    pub(crate) fn new(machine: &Machine, servers: &[(String, u16)]) -> Self {
        let address = format!("{}:{PORT}", machine.address(Host::Main));
        let mut text = format!(
            "global\n  maxconn 2000\n\
             defaults\n  mode http\n  timeout connect 1s\n  timeout client 60s\n  timeout server 60s\n  \
             option redispatch\n  \
             http-error status 503 content-type text/plain string \"no server is ready\" hdr Retry-After 1\n\
             frontend clients\n  bind {address}\n  default_backend register\n\
             backend register\n  option httpchk GET /health/ready\n  timeout check 3s\n"
        );
        for (number, (server, operators)) in servers.iter().enumerate() {
            let _ = writeln!(
                text,
                "  server server-{number} {server} check port {operators} inter 1s fall 2 rise 1"
            );
        }
        Self {
            _haproxy: start(machine, "haproxy", &text, &address),
            address,
        }
    }

    /// Leads to the node that is the primary.
    pub(crate) fn before_postgres(machine: &Machine) -> Self {
        let address = format!("{}:{POSTGRES_PORT}", machine.address(Host::Main));
        let mut text = format!(
            "defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 1h\n  timeout server 1h\n  timeout check 2s\n\
             listen primary\n  bind {address}\n  option httpchk GET /primary\n  \
             default-server check port 8008 inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n"
        );
        for node in 0..2 {
            let _ = writeln!(
                text,
                "  server node-{node} {}:5432",
                machine.address(Host::Node(node))
            );
        }
        let haproxy = start(machine, "haproxy-postgres", &text, &address);
        // Until it has asked, it takes both nodes for the primary.
        haproxy.wait_until("HAProxy takes the standby for the primary", || {
            haproxy.log().contains("is DOWN")
        });
        Self {
            address,
            _haproxy: haproxy,
        }
    }
}

fn start(machine: &Machine, name: &str, text: &str, address: &str) -> Daemon {
    let file = machine.home(Host::Main).join(format!("{name}.cfg"));
    fs::write(&file, text).unwrap();
    let mut command = machine.command(Host::Main, programs::find(Tool::Haproxy));
    command.args(["-db", "-f"]).arg(file);
    let haproxy = Daemon::start(machine, Host::Main, name, command);
    haproxy.wait_until("HAProxy does not listen", || {
        std::net::TcpStream::connect(address).is_ok()
    });
    haproxy
}
