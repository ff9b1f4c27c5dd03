//! A mail server on the loopback interface: SMTP with TLS, a login and one mailbox for all.
//!
//! Knows as much of SMTP (RFC 5321, 3207, 4954) as a client needs to deliver a mail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The user name that the server accepts.
const MAIL_USER: &str = "register";
/// The password that the server accepts, in the mode [`MailMode::Accepting`].
pub const MAIL_PASSWORD: &str = "zqxmailsecret";
/// The SASL PLAIN response for them (RFC 4616), in base64.
const LOGIN: &str = "AHJlZ2lzdGVyAHpxeG1haWxzZWNyZXQ=";
/// How long a test waits for a mail.
const PATIENCE: Duration = Duration::from_mins(1);

/// How the server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailMode {
    /// Accepts mails after a login.
    Accepting,
    /// Refuses the login.
    RefusingLogin,
    /// Accepts connections and never answers.
    Silent,
}

/// When the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailTls {
    /// From the start.
    Immediate,
    /// After the command STARTTLS.
    StartTls,
}

/// A received mail.
#[derive(Debug, Clone)]
pub struct ReceivedMail {
    /// The recipient of the envelope.
    pub to: String,
    /// Headers and text, as they were sent, with unfolded soft line breaks.
    pub message: String,
}

/// A running mail server. Its threads end with the test process.
#[derive(Debug)]
pub struct MailServer {
    port: u16,
    certificate: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    tls: Arc<ServerConfig>,
    when: MailTls,
    mode: Mutex<MailMode>,
    connections: Mutex<usize>,
    mails: Mutex<Vec<ReceivedMail>>,
}

impl MailServer {
    /// Starts a server on a free port.
    ///
    /// # Panics
    ///
    /// When no port or no certificate can be had.
    #[must_use]
    pub fn start(when: MailTls, mode: MailMode) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["localhost".to_owned()])
                .unwrap_or_else(|error| panic!("no certificate: {error}"));
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![cert.der().clone()], key)
            })
            .unwrap_or_else(|error| panic!("no TLS: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0")
            .unwrap_or_else(|error| panic!("no port for mails: {error}"));
        let port = listener.local_addr().map_or(0, |address| address.port());
        let shared = Arc::new(Shared {
            tls: Arc::new(tls),
            when,
            mode: Mutex::new(mode),
            connections: Mutex::new(0),
            mails: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *locked(&of_thread.connections) += 1;
                let shared = Arc::clone(&of_thread);
                // A client may hang up at any time.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Self {
            port,
            certificate: cert.pem(),
            shared,
        }
    }

    /// The certificate to trust, in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The URL of the server with the user name, without the password.
    #[must_use]
    pub fn url(&self) -> String {
        let port = self.port;
        match self.shared.when {
            MailTls::Immediate => format!("smtps://{MAIL_USER}@localhost:{port}"),
            MailTls::StartTls => format!("smtp://{MAIL_USER}@localhost:{port}?tls=required"),
        }
    }

    /// Changes how the server behaves from the next connection on.
    pub fn set_mode(&self, mode: MailMode) {
        *locked(&self.shared.mode) = mode;
    }

    /// The number of connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        *locked(&self.shared.connections)
    }

    /// The mails received so far.
    #[must_use]
    pub fn mails(&self) -> Vec<ReceivedMail> {
        locked(&self.shared.mails).clone()
    }

    /// Waits until the server has received a number of mails, and returns them all.
    ///
    /// # Panics
    ///
    /// After a minute.
    #[must_use]
    pub fn wait_for_mails(&self, number: usize) -> Vec<ReceivedMail> {
        let deadline = Instant::now() + PATIENCE;
        while self.mails().len() < number {
            assert!(Instant::now() < deadline, "mails: {:?}", self.mails());
            thread::sleep(Duration::from_millis(20));
        }
        self.mails()
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mode = *locked(&self.mode);
        if mode == MailMode::Silent {
            thread::sleep(PATIENCE);
            return Ok(());
        }
        if self.when == MailTls::StartTls {
            write!(stream, "220 localhost\r\n")?;
            // Read byte by byte: what follows STARTTLS is TLS.
            while !line_of(&mut stream)?.eq_ignore_ascii_case("STARTTLS") {
                write!(stream, "250-localhost\r\n250 STARTTLS\r\n")?;
            }
            write!(stream, "220 ready\r\n")?;
        }
        let connection = ServerConnection::new(Arc::clone(&self.tls))
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        let mut stream = BufReader::new(StreamOwned::new(connection, stream));
        if self.when == MailTls::Immediate {
            write!(stream.get_mut(), "220 localhost\r\n")?;
        }
        self.converse(&mut stream, mode)
    }

    fn converse<S: Read + Write>(
        &self,
        stream: &mut BufReader<S>,
        mode: MailMode,
    ) -> std::io::Result<()> {
        let mut is_known = false;
        let (mut to, mut line) = (String::new(), String::new());
        while stream.read_line(&mut line)? > 0 {
            let command = line.trim_end().to_owned();
            let verb = command.split([' ', ':']).next().unwrap_or_default();
            let answer = match verb.to_ascii_uppercase().as_str() {
                "EHLO" => "250-localhost\r\n250 AUTH PLAIN",
                "AUTH" if mode == MailMode::RefusingLogin || !command.ends_with(LOGIN) => {
                    "535 5.7.8 no such user or password"
                }
                "AUTH" => {
                    is_known = true;
                    "235 2.7.0 welcome"
                }
                "MAIL" | "RCPT" | "DATA" if !is_known => "530 5.7.0 log in first",
                "RCPT" => {
                    let address = command.split(['<', '>']).nth(1).unwrap_or_default();
                    address.clone_into(&mut to);
                    "250 2.1.5 fine"
                }
                "DATA" => {
                    write!(stream.get_mut(), "354 go on\r\n")?;
                    let message = message(stream)?.replace("=\r\n", "").replace("=3D", "=");
                    let to = to.clone();
                    locked(&self.mails).push(ReceivedMail { to, message });
                    "250 2.0.0 accepted"
                }
                "QUIT" => "221 2.0.0 bye",
                _ => "250 2.0.0 fine",
            };
            write!(stream.get_mut(), "{answer}\r\n")?;
            stream.get_mut().flush()?;
            line.clear();
        }
        Ok(())
    }
}

/// The lines until the one with a dot alone.
fn message(stream: &mut impl BufRead) -> std::io::Result<String> {
    let mut message = String::new();
    while !message.ends_with("\r\n.\r\n") && stream.read_line(&mut message)? > 0 {}
    Ok(message)
}

/// A line without its end.
fn line_of(stream: &mut impl Read) -> std::io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while !line.ends_with(b"\n") {
        stream.read_exact(&mut byte)?;
        line.extend(byte);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
