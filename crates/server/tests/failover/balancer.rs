//! HAProxy before the two servers: a request goes to one that says that it is ready.

use std::fmt::Write as _;
use std::fs;

use super::daemon::Daemon;
use super::machine::{Host, Machine};
use super::programs;

const PORT: u16 = 8080;

/// A balancer that runs until it is dropped.
pub(crate) struct Balancer {
    pub(crate) address: String,
    _haproxy: Daemon,
}

impl Balancer {
    /// Balances over servers, each with its address for clients and its port for operators.
    pub(crate) fn over(machine: &Machine, servers: &[(String, u16)]) -> Self {
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
            let _ = writeln!(text, "  server server-{number} {server} check port {operators} inter 1s fall 2 rise 1");
        }
        let file = machine.home(Host::Main).join("haproxy.cfg");
        fs::write(&file, text).unwrap();
        let mut command = machine.command(Host::Main, programs::find("haproxy"));
        command.args(["-db", "-f"]).arg(file);
        let haproxy = Daemon::start(machine, Host::Main, "haproxy", command);
        haproxy.wait_until("HAProxy does not listen", || std::net::TcpStream::connect(&address).is_ok());
        Self { address, _haproxy: haproxy }
    }
}
