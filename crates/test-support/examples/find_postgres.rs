//! Says whether the tests can run on PostgreSQL, for `make test-postgres`. The exit status is 1 where they cannot.

use std::process::ExitCode;

fn main() -> ExitCode {
    match test_support::is_postgres_there() {
        Ok(()) => ExitCode::SUCCESS,
        Err(missing) => {
            test_support::say_untested(&format!("{missing}. The tests were NOT run on it."));
            ExitCode::FAILURE
        }
    }
}
