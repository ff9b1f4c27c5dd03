//! The mail server: its address, and sending one message with SMTP.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use actix_web::rt;
use http_kit::error_chain::Causes;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::{self, AsyncSmtpTransportBuilder};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use openidconnect::url::{Host, Url};
use percent_encoding::percent_decode_str;

/// The time limit for connecting to the mail server.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The time limit for sending one mail. It is shorter than a server's claim to a
/// mail, so no other server sends the mail too.
const SEND_TIME: Duration = Duration::from_secs(30);
/// Tells mail programs not to answer automatically (RFC 3834, section 5).
const AUTO_SUBMITTED: HeaderName = HeaderName::new_from_ascii_str("Auto-Submitted");

/// The encryption of the connection to a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encryption {
    /// TLS from the start.
    Tls,
    /// TLS after the command STARTTLS, which the server must offer.
    StartTls,
    /// None. Allowed for mail servers on the same machine only.
    None,
}

/// The address of a mail server, with the user name and the password, if the URL has them.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpUrl {
    encryption: Encryption,
    host: String,
    port: u16,
    user: Option<String>,
    password: Option<String>,
}

/// The reasons why the address of a mail server is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SmtpUrlError {
    /// The text is not a URL of SMTP.
    #[error("must be like smtps://USER:PASSWORD@HOST:465 or smtp://USER@HOST:587?tls=required")]
    Malformed,
    /// The connection would not be encrypted.
    #[error(
        "must use TLS: smtps://, or smtp:// with ?tls=required; without TLS only for a mail server on this machine"
    )]
    Unencrypted,
    /// There is a password without a user name.
    #[error("has a password but no user name")]
    NoUser,
}

impl fmt::Debug for SmtpUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SmtpUrl({}:{})", self.host, self.port)
    }
}

impl FromStr for SmtpUrl {
    type Err = SmtpUrlError;

    fn from_str(text: &str) -> Result<Self, SmtpUrlError> {
        let url = Url::parse(text).map_err(|_| SmtpUrlError::Malformed)?;
        // Only the scheme, user, password, host, port and query of the URL have a meaning.
        let has_path = !["", "/"].contains(&url.path()) || url.fragment().is_some();
        let host = url.host_str().filter(|host| !host.is_empty() && !has_path);
        let host = host.ok_or(SmtpUrlError::Malformed)?;
        let (encryption, default_port) = match (url.scheme(), url.query()) {
            ("smtps", None) => (Encryption::Tls, 465),
            ("smtp", Some("tls=required")) => (Encryption::StartTls, 587),
            ("smtp", None) => (Encryption::None, 25),
            _ => return Err(SmtpUrlError::Malformed),
        };
        if encryption == Encryption::None && !is_loopback(host) {
            return Err(SmtpUrlError::Unencrypted);
        }
        let user = decoded(url.username())?;
        let password = decoded(url.password().unwrap_or_default())?;
        if user.is_none() && password.is_some() {
            return Err(SmtpUrlError::NoUser);
        }
        Ok(Self {
            encryption,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(default_port),
            user,
            password,
        })
    }
}

impl SmtpUrl {
    /// Sets the password, which replaces the one in the URL.
    ///
    /// # Errors
    ///
    /// [`SmtpUrlError::NoUser`]
    pub fn with_password(self, password: String) -> Result<Self, SmtpUrlError> {
        if self.user.is_none() {
            return Err(SmtpUrlError::NoUser);
        }
        Ok(Self {
            password: Some(password),
            ..self
        })
    }

    /// The TLS settings of the mail client. Fails if TLS cannot be set up for the host.
    fn tls(&self) -> Result<Tls, smtp::Error> {
        Ok(match self.encryption {
            Encryption::Tls => Tls::Wrapper(TlsParameters::new(self.host.clone())?),
            Encryption::StartTls => Tls::Required(TlsParameters::new(self.host.clone())?),
            Encryption::None => Tls::None,
        })
    }
}

/// The text without percent-encoding; `None` if it is empty.
fn decoded(text: &str) -> Result<Option<String>, SmtpUrlError> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| SmtpUrlError::Malformed)?;
    Ok((!decoded.is_empty()).then(|| decoded.into_owned()))
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    // `Url` parses only hosts of schemes such as http. For smtp the host is still a plain text.
    match Host::parse(host) {
        Ok(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Ok(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Ok(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        Err(_) => false,
    }
}

/// A mail server, and the sender of the mails. Cheap to clone.
#[derive(Clone)]
pub struct MailServer {
    builder: AsyncSmtpTransportBuilder,
    sender: Mailbox,
}

impl fmt::Debug for MailServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MailServer(hidden)")
    }
}

/// The reasons why a mail was not sent. No message contains an e-mail address.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// The address of the recipient cannot be used in a message.
    #[error("the recipient's address is not usable")]
    Unusable,
    /// The pages of a link are not served.
    #[error(
        "the pages of the link are not served; see --settings (REGISTER_SETTINGS) and --operator-pages \
         (REGISTER_OPERATOR_PAGES)"
    )]
    NoPages,
    /// The mail server refused a command, with this status.
    #[error("the mail server answered {0}")]
    Refused(String),
    /// The mail server sent no SMTP, or does not offer what the URL requires.
    #[error("the mail server gave an invalid answer, or lacks STARTTLS or a usable login method")]
    Answer,
    /// The connection failed.
    #[error("{}", Causes(.0))]
    Connection(#[source] smtp::Error),
    /// The mail server was too slow.
    #[error("the mail server took longer than {} s", SEND_TIME.as_secs())]
    Timeout,
}

impl From<smtp::Error> for SendError {
    fn from(error: smtp::Error) -> Self {
        // Only the status is kept: the text of the mail server may repeat the recipient's address.
        match error.status() {
            Some(status) => Self::Refused(status.to_string()),
            None if error.is_response() || error.is_client() => Self::Answer,
            None if error.is_timeout() => Self::Timeout,
            None => Self::Connection(error),
        }
    }
}

impl MailServer {
    /// A mail server at an address. Does not connect.
    ///
    /// # Errors
    ///
    /// When TLS cannot be set up.
    pub fn new(url: SmtpUrl, sender: Mailbox) -> Result<Self, smtp::Error> {
        let mut builder =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(url.host.as_str())
                .port(url.port)
                .tls(url.tls()?)
                .timeout(Some(CONNECT_TIME));
        if let Some(user) = url.user {
            let password = url.password.unwrap_or_default();
            builder = builder.credentials(Credentials::new(user, password));
        }
        Ok(Self { builder, sender })
    }

    /// Sends a mail in plain text. `name` makes the mail's Message-ID.
    pub(super) async fn send(
        &self,
        name: &str,
        to: &str,
        subject: &str,
        body: String,
    ) -> Result<(), SendError> {
        let recipient: Address = to.parse().map_err(|_| SendError::Unusable)?;
        let domain = self.sender.email.domain();
        let mut message = Message::builder()
            .from(self.sender.clone())
            .to(Mailbox::new(None, recipient))
            .subject(subject)
            .message_id(Some(format!("<{name}@{domain}>")))
            .header(ContentType::TEXT_PLAIN)
            .body(body)
            .map_err(|_| SendError::Unusable)?;
        let automatic = HeaderValue::new(AUTO_SUBMITTED, "auto-generated".to_owned());
        message.headers_mut().insert_raw(automatic);
        let transport = self.builder.clone().build();
        match rt::time::timeout(SEND_TIME, transport.send(message)).await {
            Ok(sent) => Ok(sent.map(drop)?),
            Err(_) => Err(SendError::Timeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<SmtpUrl, SmtpUrlError> {
        text.parse()
    }

    #[test]
    fn url_names_host_encryption_and_login() {
        let url = parsed("smtps://a%40b.example:p%3Aw@mail.example").unwrap();
        let expected = SmtpUrl {
            encryption: Encryption::Tls,
            host: "mail.example".to_owned(),
            port: 465,
            user: Some("a@b.example".to_owned()),
            password: Some("p:w".to_owned()),
        };
        assert_eq!(url, expected);
        let url = parsed("smtp://mail.example?tls=required").unwrap();
        assert_eq!((url.encryption, url.port), (Encryption::StartTls, 587));
        assert_eq!((url.user, url.password), (None, None));
        let url = parsed("smtp://[::1]:2525").unwrap();
        assert_eq!((url.host.as_str(), url.port), ("::1", 2525));
        assert!(!format!("{expected:?}").contains("p:w"));
    }

    #[test]
    fn url_without_encryption_or_host_is_refused() {
        for (text, error) in [
            ("smtp://mail.example", SmtpUrlError::Unencrypted),
            ("smtp://127.0.0.1.example:25", SmtpUrlError::Unencrypted),
            ("smtp://user:pass@10.0.0.1", SmtpUrlError::Unencrypted),
            (
                "smtp://mail.example?tls=opportunistic",
                SmtpUrlError::Malformed,
            ),
            ("smtps://mail.example?tls=none", SmtpUrlError::Malformed),
            ("smtps://mail.example/path", SmtpUrlError::Malformed),
            ("https://mail.example", SmtpUrlError::Malformed),
            ("mail.example:587", SmtpUrlError::Malformed),
            ("smtps://", SmtpUrlError::Malformed),
            ("smtps://:secret@mail.example", SmtpUrlError::NoUser),
        ] {
            assert_eq!(parsed(text).unwrap_err(), error, "{text}");
        }
        for text in ["smtp://localhost", "smtp://127.0.0.2:25", "smtp://[::1]"] {
            assert!(parsed(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn password_from_file_needs_user_in_url() {
        let with_password = |text: &str| parsed(text).unwrap().with_password("s".to_owned());
        assert!(with_password("smtps://user@mail.example").is_ok());
        let refused = with_password("smtps://mail.example").unwrap_err();
        assert_eq!(refused, SmtpUrlError::NoUser);
    }
}
