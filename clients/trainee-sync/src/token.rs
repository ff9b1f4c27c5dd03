//! The token, which comes from the environment or a file and is never shown.
//!
//! The token is no option: the list of processes shows options to all users of the machine.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::private_file::is_readable_by_others;

/// The environment variable with the token.
pub(crate) const VARIABLE: &str = "TRAINEE_REGISTER_TOKEN";

/// A token as it was issued.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// Reads the token from the file, where one is named, or else from the environment.
    pub(crate) fn read(file: Option<&Path>) -> Result<Self> {
        let (text, source) = match file {
            Some(file) => {
                if is_readable_by_others(file) {
                    let file = file.display();
                    eprintln!("warning: others can read {file}; run `chmod 600 {file}`");
                }
                let text = std::fs::read_to_string(file);
                (
                    text.with_context(|| {
                        format!("the token cannot be read from {}", file.display())
                    })?,
                    file.display().to_string(),
                )
            }
            None => {
                let text = std::env::var(VARIABLE);
                (
                    text.with_context(|| {
                        format!(
                            "there is no token: set {VARIABLE}, or name a file with --token-file"
                        )
                    })?,
                    VARIABLE.to_owned(),
                )
            }
        };
        Self::parse(&text).with_context(|| format!("what is in {source} is not used"))
    }

    fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!(
                "a token is one line of letters, digits and signs; copy the whole token as it was issued"
            );
        }
        Ok(Self(text.to_owned()))
    }

    /// The value of the `Authorization` header.
    pub(crate) fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_trimmed_and_never_shown() {
        let token = Token::parse("sandbox_12ab\n").unwrap();
        assert_eq!(token.authorization(), "Bearer sandbox_12ab");
        assert_eq!(format!("{token:?}"), "Token(...)");
    }

    #[test]
    fn malformed_token_is_rejected_without_being_shown() {
        for text in ["", " \n", "two words", "sandbox_\u{e9}"] {
            let refused = format!("{:#}", Token::parse(text).unwrap_err());
            assert!(
                text.trim().is_empty() || !refused.contains(text.trim()),
                "{refused}"
            );
        }
    }
}
