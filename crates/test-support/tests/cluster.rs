//! Servers and databases are removed, also when their test is killed.
//!
//! They do nothing in a run on SQLite: `scripts/test postgres` runs them.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod cluster {
    use std::io::{BufRead as _, BufReader};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use diesel::Connection as _;
    use postgres_client::PostgresConnection;
    use test_support::{Cluster, Kind, Settings, Tool, has_tools};

    /// The environment variable that is set for the process to be killed.
    const CHILD: &str = "REGISTER_TEST_CHILD";
    /// How long a server may take to end.
    const END_TIMEOUT: Duration = Duration::from_mins(2);

    /// The folder of a server, which its URLs name.
    fn folder(url: &str) -> PathBuf {
        let (_, rest) = url.split_once('@').unwrap();
        let (host, _) = rest.split_once('/').unwrap();
        host.replace("%2F", "/")
            .replace("%2D", "-")
            .replace("%2E", ".")
            .replace("%5F", "_")
            .into()
    }

    #[track_caller]
    fn wait_until_gone(folder: &Path) {
        let begun = Instant::now();
        while folder.exists() {
            assert!(
                begun.elapsed() < END_TIMEOUT,
                "{} stays behind",
                folder.display()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn dropped_server_leaves_nothing_behind() {
        if Kind::from_environment() != Kind::Postgres || !has_tools(&[Tool::Postgresql]) {
            return;
        }
        let cluster = Cluster::start(Settings::Fast);
        let (folder, url) = (folder(&cluster.url("x")), cluster.url("postgres"));
        assert!(folder.is_dir());
        PostgresConnection::establish(&url).unwrap();
        drop(cluster);
        assert!(!folder.exists());
        assert!(PostgresConnection::establish(&url).is_err());
    }

    #[test]
    fn server_ends_with_a_killed_process() {
        if Kind::from_environment() != Kind::Postgres || !has_tools(&[Tool::Postgresql]) {
            return;
        }
        if std::env::var_os(CHILD).is_some() {
            start_and_wait();
        }
        // The process to be killed is this program, which runs this test alone.
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "cluster::server_ends_with_a_killed_process",
                "--nocapture",
            ])
            .env(CHILD, "yes")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        let url = lines.find_map(|line| {
            line.split_once("postgres://")
                .map(|(_, rest)| format!("postgres://{rest}"))
        });
        let folder = folder(&url.unwrap());
        assert!(folder.is_dir());
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until_gone(&folder);
    }

    /// Starts a server, prints its URL, and waits until this process is killed.
    fn start_and_wait() -> ! {
        let cluster = Cluster::start(Settings::Fast);
        println!("{}", cluster.url("postgres"));
        loop {
            thread::park();
        }
    }
}
