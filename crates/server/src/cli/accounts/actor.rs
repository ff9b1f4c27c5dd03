//! The name of the user who runs a command: `--by`, or else the system user.
//!
//! The name distinguishes operators who trust each other. It is not verified: every user of the
//! commands can give any name.

use std::os::unix::fs::MetadataExt as _;
use std::{env, fs};

use clap::Args;
use domain::values::text::{is_blank, visible_line};

/// The maximum length of a name, in characters.
const MAX_CHARS: usize = 200;
/// The environment variable with the user who called `sudo`.
const SUDO_USER: &str = "SUDO_USER";

/// The option with the user who runs the command.
#[derive(Debug, Args)]
pub(crate) struct By {
    /// Name of the person who runs the command, recorded in the log and with changes [default: the
    /// system user; with sudo, the calling user]
    #[arg(long = "by", id = "by", global = true, help_heading = crate::cli::COMMON_OPTIONS, value_name = "NAME", value_parser = name_or_blank)]
    by: Option<String>,
}

impl By {
    /// The name to record: that of the option, of the user who called `sudo`, or of the system
    /// user.
    #[expect(
        clippy::disallowed_methods,
        reason = "`sudo` and the system set these variables"
    )]
    pub(crate) fn resolve(self) -> String {
        let sudo_user = || env::var(SUDO_USER).ok().and_then(|user| name(&user).ok());
        self.by
            .filter(|by| !by.is_empty())
            .or_else(sudo_user)
            .unwrap_or_else(user_of_system)
    }
}

/// The name of the process's user: from `/etc/passwd`, or else from `LOGNAME` for users of a
/// directory service, or else the user number.
#[expect(
    clippy::disallowed_methods,
    reason = "`sudo` and the system set these variables"
)]
fn user_of_system() -> String {
    let id = fs::metadata("/proc/self")
        .ok()
        .map(|process| process.uid().to_string());
    let listed = id
        .as_deref()
        .and_then(|id| user_with(id, &fs::read_to_string("/etc/passwd").ok()?));
    let logged_in = || env::var("LOGNAME").ok().and_then(|user| name(&user).ok());
    let by_number = || id.as_deref().map(|id| format!("uid {id}"));
    listed
        .or_else(logged_in)
        .or_else(by_number)
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The name of the user with the number, in a text like `/etc/passwd`.
fn user_with(id: &str, passwd: &str) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        // A line begins with the name, the password and the number of the user.
        let user = fields.next()?;
        let listed_id = fields.nth(1)?;
        if listed_id == id {
            name(user).ok()
        } else {
            None
        }
    })
}

/// Parses a name. Blank text counts as absent, like an empty environment variable.
fn name_or_blank(text: &str) -> Result<String, String> {
    if is_blank(text) {
        Ok(String::new())
    } else {
        name(text)
    }
}

/// Parses a name. Names appear in the log and in tables, so a name is one short line.
fn name(text: &str) -> Result<String, String> {
    let name = visible_line(text, MAX_CHARS).map(str::to_owned);
    name.ok_or_else(|| format!("must be one line of 1 to {MAX_CHARS} characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_one_short_line() {
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
    fn user_is_found_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\n+::::::\nregister:x:65532:65532::/nonexistent:/sbin/nologin\n";
        assert_eq!(user_with("65532", passwd).as_deref(), Some("register"));
        assert_eq!(user_with("6553", passwd), None);
    }

    #[test]
    fn system_user_has_name_or_number() {
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
