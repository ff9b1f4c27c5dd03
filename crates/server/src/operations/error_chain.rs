//! An error in words, with everything that caused it, on one line of a log or a terminal.

use std::error::Error;
use std::fmt;

/// Shows an error with its causes, each behind a colon. What database servers say has several lines, which become one.
#[derive(Debug)]
pub struct Causes<'a>(pub &'a dyn Error);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error = self.0;
        formatter.write_str(&one_line(error))?;
        while let Some(cause) = error.source() {
            write!(formatter, ": {}", one_line(cause))?;
            error = cause;
        }
        Ok(())
    }
}

fn one_line(error: &dyn Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::io;

    use storage::error::StorageError;

    use super::*;

    #[test]
    fn what_a_database_says_in_several_lines_becomes_one() {
        let cause = io::Error::other("connection failed: refused\n\tIs the server running\n");
        let error = StorageError::Folder(cause);
        assert_eq!(
            Causes(&error).to_string(),
            "folder of the database file cannot be made: connection failed: refused Is the server running"
        );
    }
}
