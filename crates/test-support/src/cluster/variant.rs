//! Servers of several sorts: with TLS, with messages in another language, or behind PgBouncer.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{SUPERUSER, percent_encoded};
use crate::tools::Tool;

/// The environment variable with the variant of the server: `tls`,
/// `messages=de_DE`, `pgbouncer=transaction` or `pgbouncer=session`; without it, a plain one.
pub const VARIANT_VARIABLE: &str = "TEST_POSTGRES";

/// The port in the name of a server's socket.
const SERVER_PORT: u16 = 5432;
/// The port in the name of PgBouncer's socket.
const POOLER_PORT: u16 = 6432;

/// Variant of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variant {
    /// Nothing but a socket in its folder.
    Plain,
    /// Also listens on the loopback interface, with a certificate for a name.
    Tls {
        /// The name in the certificate.
        name: String,
        /// Until when it is valid, in days from now.
        days: i64,
    },
    /// Its messages are those of a locale such as `de_DE`.
    Messages(String),
    /// PgBouncer stands before it, with this mode.
    PgBouncer(String),
}

/// What a sort needs before the server is started.
pub(super) struct SetUp {
    pub(super) options: String,
    pub(super) environment: Vec<(&'static str, PathBuf)>,
    /// Files that belong to the user of the server.
    pub(super) files: Vec<PathBuf>,
    pub(super) reached: Reached,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub(super) enum Reached {
    /// The socket has the port in its name.
    Socket {
        port: u16,
    },
    Tls {
        port: u16,
    },
    Pooler,
}

impl Variant {
    /// The variant of this run.
    ///
    /// # Errors
    ///
    /// When the environment names none.
    pub(crate) fn from_environment() -> Result<Self, String> {
        let Ok(named) = std::env::var(VARIANT_VARIABLE) else {
            return Ok(Self::Plain);
        };
        match named.split_once('=') {
            None if named == "tls" => Ok(Self::Tls {
                name: "localhost".to_owned(),
                days: 1,
            }),
            Some(("messages", locale)) => Ok(Self::Messages(locale.to_owned())),
            Some(("pgbouncer", mode)) => Ok(Self::PgBouncer(mode.to_owned())),
            Some(_) | None => Err(format!("{VARIANT_VARIABLE}: {named} is not known")),
        }
    }

    pub(super) fn set_up(&self, folder: &Path) -> Result<SetUp, String> {
        let without_network = || "-c listen_addresses=''".to_owned();
        let plain = || SetUp {
            options: without_network(),
            environment: Vec::new(),
            files: Vec::new(),
            reached: Reached::Socket { port: SERVER_PORT },
        };
        match self {
            Self::Plain => Ok(plain()),
            Self::Tls { name, days } => {
                let files = certificates(folder, name, *days)
                    .map_err(|error| format!("no certificate: {error}"))?;
                let port = free_port().map_err(|error| format!("no free port: {error}"))?;
                let [_, certificate, key] = &files;
                let options = format!(
                    "-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on -c ssl_cert_file='{}' -c ssl_key_file='{}'",
                    certificate.display(),
                    key.display()
                );
                Ok(SetUp {
                    options,
                    files: files.to_vec(),
                    reached: Reached::Tls { port },
                    ..plain()
                })
            }
            Self::Messages(locale) => {
                let made = make_locale(folder, locale)?;
                let options = format!("{} -c lc_messages={locale}.UTF-8", without_network());
                let environment = vec![("LOCPATH", folder.to_owned())];
                Ok(SetUp {
                    options,
                    environment,
                    files: vec![made.join("LC_MESSAGES"), made],
                    ..plain()
                })
            }
            Self::PgBouncer(mode) => {
                let file = folder.join("pgbouncer.ini");
                fs::write(&file, pooler(folder, mode))
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                let program = Tool::Pgbouncer
                    .path()
                    .ok_or("pgbouncer is missing: install the package pgbouncer")?;
                let environment = vec![("PGBOUNCER", program)];
                Ok(SetUp {
                    environment,
                    files: vec![file],
                    reached: Reached::Pooler,
                    ..plain()
                })
            }
        }
    }
}

impl Reached {
    /// The server itself, where something stands before it.
    pub(super) fn direct(&self) -> Self {
        match self {
            Self::Tls { port } | Self::Socket { port } => Self::Socket { port: *port },
            Self::Pooler => Self::Socket { port: SERVER_PORT },
        }
    }

    /// The name of the socket of the server itself.
    pub(super) fn socket_name(&self) -> String {
        let port = match self {
            Self::Tls { port } | Self::Socket { port } => *port,
            Self::Pooler => SERVER_PORT,
        };
        format!(".s.PGSQL.{port}")
    }

    pub(super) fn url(&self, folder: &Path, database: &str) -> String {
        let socket = percent_encoded(folder);
        match self {
            Self::Socket { port: SERVER_PORT } => {
                format!("postgres://{SUPERUSER}@{socket}/{database}")
            }
            Self::Socket { port } => format!("postgres://{SUPERUSER}@{socket}:{port}/{database}"),
            Self::Tls { port } => {
                let root = percent_encoded(&folder.join("root.crt"));
                format!(
                    "postgres://{SUPERUSER}@localhost:{port}/{database}?sslmode=verify-full&sslrootcert={root}"
                )
            }
            Self::Pooler => format!("postgres://{SUPERUSER}@{socket}:{POOLER_PORT}/{database}"),
        }
    }
}

/// The certificate of an authority, that of the server, and its key.
fn certificates(
    folder: &Path,
    name: &str,
    days: i64,
) -> Result<[PathBuf; 3], Box<dyn std::error::Error>> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Each authority has its own name.
    authority
        .distinguished_name
        .push(DnType::CommonName, folder.display().to_string());
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut server = CertificateParams::new(vec![name.to_owned()])?;
    let now = std::time::SystemTime::now();
    let day = std::time::Duration::from_hours(24);
    server.not_before = (now - 1_000 * day).into();
    server.not_after = if days < 0 {
        (now - day * u32::try_from(-days)?).into()
    } else {
        (now + day * u32::try_from(days)?).into()
    };
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &authority)?;
    let files = ["root.crt", "server.crt", "server.key"].map(|file| folder.join(file));
    for (file, text) in files
        .iter()
        .zip([authority.pem(), certificate.pem(), key.serialize_pem()])
    {
        fs::write(file, text)?;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    }
    Ok(files)
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Makes a locale in a folder, where the operating system may have none, and gives the folder of
/// its files.
fn make_locale(folder: &Path, locale: &str) -> Result<PathBuf, String> {
    let target = folder.join(format!("{locale}.UTF-8"));
    let made = Tool::Localedef
        .command()
        .args(["-i", locale, "-f", "UTF-8"])
        .arg(&target)
        .status();
    if made.is_ok_and(|status| status.success()) {
        Ok(target)
    } else {
        Err(format!(
            "the locale {locale} cannot be made: install the package locales"
        ))
    }
}

fn pooler(folder: &Path, mode: &str) -> String {
    let folder = folder.display();
    format!(
        "[databases]\n* = host={folder} user={SUPERUSER}\n\n[pgbouncer]\nlisten_port = {POOLER_PORT}\n\
         unix_socket_dir = {folder}\nlogfile = {folder}/pgbouncer.log\npidfile = {folder}/pgbouncer.pid\nauth_type = any\n\
         pool_mode = {mode}\nmax_client_conn = 2000\ndefault_pool_size = 40\nserver_idle_timeout = 1\n"
    )
}
