//! A copy and the register that it is of: opened, locked and checked against each other before
//! anything is done.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::client::{Client, Settings};
use crate::place::{Lock, Place};
use crate::progress::Progress;
use crate::register::{Account, Register};
use crate::store::{Identity, Store};
use crate::token::Token;

/// How long requests to a new address are retried.
const MOST_PATIENCE_AT_NEW_ADDRESS_SECS: u64 = 30;

/// The register, the version and the token to use.
#[derive(Debug, Args)]
pub(crate) struct ConnectionOptions {
    /// Address of the register, such as https://register.example; needed for the first pull, and
    /// kept with the copy
    #[arg(long, value_name = "URL", env = "TRAINEE_REGISTER_URL")]
    register: Option<String>,
    /// Version of the API, such as v2026.1; needed for the first pull, and kept with the copy
    #[arg(long, value_name = "LABEL")]
    version: Option<String>,
    /// File with the token [default: the environment variable TRAINEE_REGISTER_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// How long a request is sent again while the register does not answer or asks to come later
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    patience: u64,
    /// Send the token unencrypted to another machine; only for a network that is all your own
    #[arg(long)]
    allow_plain_http: bool,
}

/// Where the copy is.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PlaceOptions {
    /// Folder of CSV files that is kept in step
    #[arg(long, value_name = "FOLDER")]
    csv: Option<PathBuf>,
    /// SQLite file that is kept in step
    #[arg(long, value_name = "FILE")]
    sqlite: Option<PathBuf>,
}

impl PlaceOptions {
    fn place(&self) -> Result<Place> {
        match (&self.csv, &self.sqlite) {
            (Some(folder), None) => Ok(Place::CsvFolder(folder.clone())),
            (None, Some(file)) => Ok(Place::SqliteFile(file.clone())),
            _ => bail!("name the copy, with either --csv or --sqlite"),
        }
    }
}

/// A copy that this process alone changes, and the register that it is of.
pub(crate) struct Connection {
    pub(crate) place: Place,
    pub(crate) store: Store,
    pub(crate) client: Client,
    pub(crate) identity: Identity,
    /// The most requests that the token can send at once, where they are limited.
    pub(crate) quota: Option<usize>,
    pub(crate) progress: Progress,
    _lock: Lock,
}

impl Connection {
    /// Opens the copy, and asks the register whose token this is. The first time this says what the
    /// copy is of; from then on anything else is refused, so that the records of two providers,
    /// registers or versions never mix.
    pub(crate) fn open(options: &ConnectionOptions, place: &PlaceOptions) -> Result<Self> {
        let place = place.place()?;
        // A wrong option makes no file.
        let token = Token::read(options.token_file.as_deref())?;
        if !place.database().exists() {
            options.resolve(None)?;
        }
        let lock = place.lock()?;
        let mut store = Store::open(&place.database())?;
        let known = store.identity()?;
        let (register, version) = options.resolve(known.as_ref())?;
        let progress = Progress::new();
        let client = options.client(register.clone(), Some(token), known.is_none(), &progress)?;
        let account = Register {
            client: &client,
            version: &version,
        }
        .account()?;
        let identity = Identity {
            register,
            version,
            ukprn: account.ukprn.clone(),
            environment: account.environment.clone(),
        };
        match known {
            None => store.set_identity(&identity)?,
            Some(known) => require_same(&known, &identity, &account)?,
        }
        Ok(Self {
            place,
            store,
            client,
            identity,
            quota: account.quota,
            progress,
            _lock: lock,
        })
    }

    /// The register in the version of the copy.
    pub(crate) fn register(&self) -> Register<'_> {
        Register {
            client: &self.client,
            version: &self.identity.version,
        }
    }
}

impl ConnectionOptions {
    /// The address and the version to use: those of the copy, otherwise those of the options.
    pub(crate) fn resolve(&self, known: Option<&Identity>) -> Result<(String, String)> {
        let choose = |option: Option<&str>, known: Option<&str>, name: &str, example: &str| match (
            option, known,
        ) {
            (Some(option), Some(known)) if option != known => {
                bail!(
                    "this copy is of {known} and not of {option}; leave --{name} out, or begin a copy elsewhere"
                )
            }
            (Some(value), _) | (None, Some(value)) => Ok(value.to_owned()),
            (None, None) => bail!("--{name} is missing; name it, such as --{name} {example}"),
        };
        let register = self
            .register
            .as_deref()
            .map(|register| register.trim_end_matches('/'));
        let known_register = known.map(|known| known.register.as_str());
        let register = choose(
            register,
            known_register,
            "register",
            "https://register.example",
        )?;
        let known_version = known.map(|known| known.version.as_str());
        let version = choose(self.version.as_deref(), known_version, "version", "v2026.1")?;
        require_label(&version)?;
        Ok((register, version))
    }

    /// A client with these options. At a new address it gives up sooner, since the address may be
    /// misspelt.
    pub(crate) fn client(
        &self,
        register: String,
        token: Option<Token>,
        is_new: bool,
        progress: &Progress,
    ) -> Result<Client> {
        let most = if is_new {
            MOST_PATIENCE_AT_NEW_ADDRESS_SECS
        } else {
            u64::MAX
        };
        let patience = Duration::from_secs(self.patience.min(most));
        let settings = Settings {
            register,
            token,
            patience,
            allow_plain_http: self.allow_plain_http,
        };
        Client::new(settings, progress.clone())
    }
}

/// A label is part of paths.
pub(crate) fn require_label(version: &str) -> Result<()> {
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    if version.is_empty() || !version.bytes().all(is_label) {
        bail!("{version} is no version; a version is like v2026.1");
    }
    Ok(())
}

fn require_same(known: &Identity, identity: &Identity, account: &Account) -> Result<()> {
    if known != identity {
        bail!(
            "this copy is of the provider {} in {}, and the token belongs to {} ({}) in {}; use the token of that provider, \
             or begin a copy elsewhere",
            known.ukprn,
            known.environment,
            identity.ukprn,
            account.provider,
            identity.environment
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(register: Option<&str>, version: Option<&str>) -> ConnectionOptions {
        let [register, version] = [register, version].map(|text| text.map(str::to_owned));
        ConnectionOptions {
            register,
            version,
            token_file: None,
            patience: 1,
            allow_plain_http: false,
        }
    }

    #[test]
    fn copy_keeps_its_register_and_version() {
        let identity = Identity {
            register: "https://a".to_owned(),
            version: "v2026.1".to_owned(),
            ukprn: "1".to_owned(),
            environment: "sandbox".to_owned(),
        };
        let same = ("https://a".to_owned(), "v2026.1".to_owned());
        assert_eq!(options(None, None).resolve(Some(&identity)).unwrap(), same);
        assert_eq!(
            options(Some("https://a/"), Some("v2026.1"))
                .resolve(Some(&identity))
                .unwrap(),
            same
        );
        assert!(
            options(Some("https://b"), None)
                .resolve(Some(&identity))
                .is_err()
        );
        assert!(
            options(None, Some("v2026.0"))
                .resolve(Some(&identity))
                .is_err()
        );
        assert_eq!(
            options(Some("https://a"), Some("v2026.1"))
                .resolve(None)
                .unwrap(),
            same
        );
        assert!(options(Some("https://a"), None).resolve(None).is_err());
        assert!(
            options(Some("https://a"), Some("../x"))
                .resolve(None)
                .is_err()
        );
    }
}
