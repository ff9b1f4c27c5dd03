//! The programs from Debian's packages that the test runs.

use std::path::{Path, PathBuf};

/// Programs, each with its package. Those of administrators may be outside of `PATH`.
const NEEDED: [(&str, &str); 7] = [
    ("patroni", "patroni"),
    ("etcd", "etcd-server"),
    ("pgbouncer", "pgbouncer"),
    ("haproxy", "haproxy"),
    ("ip", "iproute2"),
    ("localedef", "locales"),
    ("setpriv", "util-linux"),
];

/// The packages that are not installed.
pub(crate) fn missing() -> Vec<&'static str> {
    let needed = NEEDED.iter().filter(|(program, _)| path_of(program).is_none()).map(|(_, package)| *package);
    let postgres = test_support::postgres_programs().is_none().then_some("postgresql");
    // Sources of locales come with their own package, the program without it.
    let locales = (!Path::new("/usr/share/i18n/locales/de_DE").exists()).then_some("locales");
    let mut missing: Vec<_> = needed.chain(postgres).chain(locales).collect();
    missing.dedup();
    missing
}

/// One of those programs.
pub(crate) fn find(program: &str) -> PathBuf {
    path_of(program).unwrap_or_else(|| panic!("{program} is not installed"))
}

/// One of PostgreSQL's programs.
pub(crate) fn postgres(program: &str) -> PathBuf {
    postgres_folder().join(program)
}

/// Where those are.
pub(crate) fn postgres_folder() -> PathBuf {
    test_support::postgres_programs().unwrap_or_else(|| panic!("PostgreSQL is not installed"))
}

fn path_of(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(administrators).map(|folder| folder.join(program)).find(|path| path.is_file())
}
