//! Who runs a command: whoever it is said to be, otherwise the user of the system.
//!
//! This distinguishes operators who trust each other. It proves nothing: who may run commands may
//! name anybody.

use std::os::unix::fs::MetadataExt as _;
use std::{env, fs};

use clap::Args;
use domain::values::text::{is_blank, visible_line};

/// The longest name, in characters.
const MAX_CHARS: usize = 200;
/// Where `sudo` leaves the name of the user who called it.
const SUDO_USER: &str = "SUDO_USER";

/// Who runs the command.
#[derive(Debug, Args)]
pub(crate) struct By {
    /// Who runs the command, for the log, the history of trainees and the list of tokens [default:
    /// the user of the system; with sudo, the one who called it]
    #[arg(long = "by", id = "by", global = true, help_heading = crate::cli::COMMON_OPTIONS, value_name = "NAME", env = "REGISTER_BY", value_parser = name_or_blank)]
    by: Option<String>,
}

impl By {
    /// The name to record.
    pub(crate) fn resolve(self) -> String {
        let by_sudo = || env::var(SUDO_USER).ok().and_then(|user| name(&user).ok());
        self.by
            .filter(|by| !by.is_empty())
            .or_else(by_sudo)
            .unwrap_or_else(user_of_system)
    }
}

/// The name of the user as whom the process runs: that of the system's own list, otherwise what the
/// login says, for users whom a directory service knows; the number where the user has no name.
fn user_of_system() -> String {
    let id = fs::metadata("/proc/self")
        .ok()
        .map(|process| process.uid().to_string());
    let listed = id
        .as_deref()
        .and_then(|id| user_with(id, &fs::read_to_string("/etc/passwd").ok()?));
    let logged_in = || env::var("LOGNAME").ok().and_then(|user| name(&user).ok());
    listed
        .or_else(logged_in)
        .unwrap_or_else(|| id.map_or_else(|| "unknown".to_owned(), |id| format!("uid {id}")))
}

/// The name of the user with that number in a list of the form of `/etc/passwd`.
fn user_with(id: &str, passwd: &str) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (user, listed) = (fields.next()?, fields.nth(1)?);
        if listed == id { name(user).ok() } else { None }
    })
}

/// Reads a name. Blank text counts as absent, as an environment variable that is set to nothing
/// does.
fn name_or_blank(text: &str) -> Result<String, String> {
    if is_blank(text) {
        Ok(String::new())
    } else {
        name(text)
    }
}

/// Reads a name. It stands in the log and in tables that are printed, so it is one short line.
fn name(text: &str) -> Result<String, String> {
    let name = visible_line(text, MAX_CHARS).map(str::to_owned);
    name.ok_or_else(|| format!("a name is 1 to {MAX_CHARS} characters on one line"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(name(" A. Operator ").as_deref(), Ok("A. Operator"));
        for text in [
            "",
            "  ",
            "\u{200b}",
            "A\nB",
            "A\u{1b}[2J",
            &"x".repeat(MAX_CHARS + 1),
        ] {
            assert!(name(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_user_is_found_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\n+::::::\nregister:x:65532:65532::/nonexistent:/sbin/nologin\n";
        assert_eq!(user_with("65532", passwd).as_deref(), Some("register"));
        assert_eq!(user_with("6553", passwd), None);
    }

    #[test]
    fn the_user_of_the_system_has_a_name_or_a_number() {
        assert!(!user_of_system().is_empty());
        let resolved = |text| {
            By {
                by: Some(name_or_blank(text).unwrap()),
            }
            .resolve()
        };
        assert_eq!(resolved("A. Operator"), "A. Operator");
        let absent = By { by: None }.resolve();
        for blank in ["", "  ", "\u{200b}"] {
            assert_eq!(resolved(blank), absent, "{blank:?}");
        }
    }
}
