//! The programs that the test runs, which are installed.

use std::path::PathBuf;

use test_support::Tool;

/// The file of a tool.
pub(crate) fn find(tool: Tool) -> PathBuf {
    tool.path()
        .unwrap_or_else(|| panic!("{} is not installed", tool.name()))
}

/// One of PostgreSQL's programs.
pub(crate) fn postgres(program: &str) -> PathBuf {
    postgres_folder().join(program)
}

/// Where those are.
pub(crate) fn postgres_folder() -> PathBuf {
    test_support::postgres_programs().unwrap_or_else(|| panic!("PostgreSQL is not installed"))
}
