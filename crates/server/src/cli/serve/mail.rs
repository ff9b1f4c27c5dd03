//! The options for sending mails.

use std::path::PathBuf;

use clap::Args;
use domain::values::text::is_blank;
use lettre::message::Mailbox;
use storage::base::token::Environment;

use crate::cli::values::secret_file;
use crate::mail::transport::{MailServer, SmtpUrl, SmtpUrlError};

#[derive(Debug, Args)]
#[command(next_help_heading = "Mail")]
pub(super) struct MailOptions {
    /// Mail server for sign-in links, invitations and reminders, such as
    /// smtps://USER@mail.example:465 or smtp://USER@mail.example:587?tls=required; for a mail server
    /// on this machine without TLS and login, smtp://127.0.0.1:25 [default: no mails]
    #[arg(
        long,
        value_name = "URL",
        requires = "mail_from",
        hide_env_values = true
    )]
    smtp_url: Option<String>,
    /// File with the password of the user in --smtp-url [default: the password in the URL, or no
    /// login]
    #[arg(long, value_name = "FILE", requires = "smtp_url")]
    smtp_password_file: Option<PathBuf>,
    /// Sender of the mails, such as register@register.example
    #[arg(long, value_name = "ADDRESS", requires = "smtp_url")]
    mail_from: Option<Mailbox>,
}

/// The reasons why the options of mails are invalid.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The mail server is not valid.
    #[error("--smtp-url (REGISTER_SMTP_URL) {0}")]
    Url(#[from] SmtpUrlError),
    /// TLS cannot be set up.
    #[error("--smtp-url (REGISTER_SMTP_URL): TLS cannot be set up: {0}")]
    Tls(#[from] lettre::transport::smtp::Error),
    /// The settings pages are off.
    #[error(
        "--smtp-url (REGISTER_SMTP_URL) needs the settings pages, which are off: see --settings \
         (REGISTER_SETTINGS)"
    )]
    WithoutSettings,
    /// The address of the settings pages is unknown.
    #[error(
        "--smtp-url (REGISTER_SMTP_URL) needs --settings-url (REGISTER_SERVE_SETTINGS_URL) in production: \
         links in mails begin with it"
    )]
    WithoutAddress,
    /// The password is unreadable.
    #[error("--smtp-password-file (REGISTER_SMTP_PASSWORD_FILE) {}: {why}", .path.display())]
    Password {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// The settings pages, as far as mails depend on them.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServedPages {
    pub(super) environment: Environment,
    /// Whether any settings pages are served.
    pub(super) are_served: bool,
    /// Whether the option for the address of the settings pages is set.
    pub(super) has_address: bool,
}

impl MailOptions {
    /// The mail server, or `None` if it is not configured. Does not connect, because the mail
    /// server may be unavailable.
    pub(super) fn server(&self, pages: ServedPages) -> Result<Option<MailServer>, MailError> {
        // An empty environment variable counts as absent.
        let url = self.smtp_url.as_ref().filter(|url| !is_blank(url));
        let (Some(url), Some(sender)) = (url, &self.mail_from) else {
            return Ok(None);
        };
        // Not parsed by the command line parser, whose error would show the password.
        let mut url: SmtpUrl = url.parse()?;
        if !pages.are_served {
            return Err(MailError::WithoutSettings);
        }
        if pages.environment == Environment::Production && !pages.has_address {
            return Err(MailError::WithoutAddress);
        }
        if let Some(path) = &self.smtp_password_file {
            let password = secret_file(path).map_err(|why| MailError::Password {
                path: path.clone(),
                why,
            })?;
            url = url.with_password(password)?;
        }
        Ok(Some(MailServer::new(url, sender.clone())?))
    }
}
