//! An error in words, with everything that caused it, on one line of a log or a terminal.

use std::error::Error;
use std::fmt;

/// Shows an error and its causes on one line, separated by colons. A cause is left out if the text
/// before it contains its text already, as many errors do. Line breaks, as in messages of database
/// servers, become spaces.
#[derive(Debug)]
pub struct Causes<'a>(pub &'a dyn Error);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error = self.0;
        let mut text = one_line(error);
        while let Some(cause) = error.source() {
            let cause_text = one_line(cause);
            if !text.contains(&cause_text) {
                text = format!("{text}: {cause_text}");
            }
            error = cause;
        }
        formatter.write_str(&text)
    }
}

/// The text of an error with line breaks replaced by spaces.
fn one_line(error: &dyn Error) -> String {
    error
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("a.csv cannot be read: {0}")]
    struct Unreadable(#[source] io::Error);

    #[test]
    fn cause_included_in_the_error_message_is_not_repeated() {
        let error = Unreadable(io::Error::from_raw_os_error(2));
        assert_eq!(
            Causes(&error).to_string(),
            "a.csv cannot be read: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn what_a_database_says_in_several_lines_becomes_one() {
        let cause = io::Error::other("connection failed: refused\n\tIs the server running\n");
        let error = Unreadable(cause);
        assert_eq!(
            Causes(&error).to_string(),
            "a.csv cannot be read: connection failed: refused Is the server running"
        );
    }
}
