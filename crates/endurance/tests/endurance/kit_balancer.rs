//! HAProxy with the configuration of the deployment kit (`deploy`), in front of two servers on
//! addresses of loopback.
//!
//! Only what a machine without containers cannot have is replaced: names by addresses, and the TLS
//! listener by a plain one.

use std::net::TcpListener;
use std::process::{Stdio, id};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;
use test_support::{Process, Tool};

const CONFIGURATION: &str = include_str!("../../../../deploy/balancer/haproxy.cfg");
const SERVERS: &str = include_str!("../../../../deploy/compose/servers.cfg");

/// How long HAProxy may take to see that a server is ready.
const PATIENCE: Duration = Duration::from_mins(1);

/// HAProxy, until it is dropped.
pub(crate) struct KitBalancer {
    pub(crate) address: String,
    metrics: String,
    _haproxy: Process,
    _folder: TempDir,
}

impl KitBalancer {
    /// The host of a server, for clients at port 8080 and for operators at port 9464, as the
    /// configuration has them. No other process has it: it is made from the number of this one.
    pub(crate) fn host(server: usize) -> String {
        let [_, _, high, low] = id().to_be_bytes();
        format!("127.{}.{low}.{}", 64 + high % 128, 11 + server)
    }

    pub(crate) fn start() -> Self {
        let [address, metrics] = [(); 2].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().to_string()
        });
        let bind = CONFIGURATION
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with("bind :8443 ssl "))
            .unwrap();
        let configuration = CONFIGURATION
            .replace(bind, &format!("bind {address}"))
            .replace("bind :8405", &format!("bind {metrics}"));
        let servers = (1..=2).fold(SERVERS.to_owned(), |text, number| {
            let name = format!("server-{number}:8080");
            assert!(text.contains(&name), "{text}");
            text.replace(&name, &format!("{}:8080", Self::host(number - 1)))
        });
        let folder = TempDir::new().unwrap();
        let files =
            [("haproxy.cfg", configuration), ("servers.cfg", servers)].map(|(name, text)| {
                let file = folder.path().join(name);
                fs::write(&file, text).unwrap();
                file
            });
        let mut command = Tool::Haproxy.command();
        command
            .arg("-db")
            .arg("-f")
            .arg(&files[0])
            .arg("-f")
            .arg(&files[1])
            .stdout(Stdio::null());
        let haproxy = Process::start(&mut command);
        Self {
            address,
            metrics,
            _haproxy: haproxy,
            _folder: folder,
        }
    }

    /// Waits until HAProxy sends requests to `count` servers, as an operator does before restarting
    /// the next one.
    pub(crate) fn wait_for_servers(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        let line = format!("haproxy_backend_active_servers{{proxy=\"register\"}} {count}");
        while !self.metrics().lines().any(|one| one == line) {
            assert!(
                Instant::now() < deadline,
                "HAProxy does not see {count} servers in {PATIENCE:?}"
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What Prometheus would read; nothing as long as HAProxy does not listen.
    fn metrics(&self) -> String {
        let reply = ureq::get(format!("http://{}/metrics", self.metrics)).call();
        reply
            .ok()
            .and_then(|mut reply| reply.body_mut().read_to_string().ok())
            .unwrap_or_default()
    }
}
