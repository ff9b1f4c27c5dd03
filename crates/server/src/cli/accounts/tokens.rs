//! Commands about tokens.

use chrono::{Days, NaiveDate};
use clap::{Args, Subcommand};
use storage::accounts::tokens::{NewToken, Rotated, Rotation, TokenRecord};
use storage::accounts::users::Actor;
use storage::base::token::Token;

use crate::cli::output::{self, Cell, ListOutput, Number};
use crate::cli::values::{date, id, ukprn, whole};
use crate::cli::{CommandError, Database};

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Issue an API token and print it; the token cannot be shown again
    Issue {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider
        #[arg(long, value_name = "UKPRN", env = "REGISTER_TOKEN_ISSUE_PROVIDER", value_parser = ukprn)]
        provider: String,
        /// Name of the token, such as the system that uses it
        #[arg(long, env = "REGISTER_TOKEN_ISSUE_NAME")]
        name: String,
        #[command(flatten)]
        made: Made,
    },
    /// Replace a token: print a new token with the same name, and let the old token expire after
    /// --overlap days
    ///
    /// During the overlap both tokens are valid, so that the provider can switch without refused
    /// requests. Then the old token expires, or earlier on its own expiry date.
    Rotate {
        #[command(flatten)]
        database: Database,
        /// Number of the old token in `token list`
        #[arg(value_parser = id)]
        id: i64,
        /// Number of days that the old token stays valid, including today
        #[arg(long, value_name = "DAYS", env = "REGISTER_OVERLAP", default_value = "7", value_parser = whole::<u64>)]
        overlap: u64,
        #[command(flatten)]
        made: Made,
    },
    /// List tokens, without their secrets
    List {
        #[command(flatten)]
        database: Database,
        /// Only tokens of the provider with this UKPRN [default: all providers]
        #[arg(long, value_name = "UKPRN", env = "REGISTER_TOKEN_LIST_PROVIDER", value_parser = ukprn)]
        provider: Option<String>,
        /// Only valid tokens that expire within this number of days
        #[arg(long, value_name = "DAYS", env = "REGISTER_EXPIRING", value_parser = whole::<u32>)]
        expiring: Option<u32>,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Revoke a token; all servers reject it from the next request
    Revoke {
        #[command(flatten)]
        database: Database,
        /// Number of the token in `token list`
        #[arg(value_parser = id)]
        id: i64,
    },
}

/// The expiry of a new token.
#[derive(Debug, Args)]
pub(crate) struct Made {
    /// Expiry date, when the new token becomes invalid; at most six months ahead [default: in six
    /// months]
    #[arg(long, value_name = "YYYY-MM-DD", env = "REGISTER_EXPIRES", value_parser = date)]
    expires: Option<NaiveDate>,
}

impl TokenCommand {
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        match self {
            Self::Issue {
                database,
                provider,
                name,
                made,
            } => {
                let by = by.to_owned();
                let (store, environment) = database.open_to_write_with_environment()?;
                let (token, record) = store.write_blocking(move |session| {
                    session.issue_token(&NewToken {
                        provider_ukprn: &provider,
                        environment,
                        name: &name,
                        created_by: Actor::operator(&by),
                        expires_on: made.expires,
                    })
                })?;
                show(&token, &record)?;
            }
            Self::Rotate {
                database,
                id,
                overlap,
                made,
            } => {
                let by = by.to_owned();
                let (store, environment) = database.open_to_write_with_environment()?;
                let Rotated { token, new, old } = store.write_blocking(move |session| {
                    let rotation = Rotation {
                        environment,
                        created_by: Actor::operator(&by),
                        expires_on: made.expires,
                        overlap: Days::new(overlap),
                    };
                    session.rotate_token(id, &rotation)
                })?;
                eprintln!(
                    "token {} expires on {}; to end it earlier, run `token revoke {}`",
                    old.id, old.expires_on, old.id
                );
                show(&token, &new)?;
            }
            Self::List {
                database,
                provider,
                expiring,
                output,
            } => {
                let tokens = database.open()?.read_blocking(|session| match expiring {
                    Some(days) => session.list_expiring_tokens(provider.as_deref(), days),
                    None => session.list_tokens(provider.as_deref()),
                })?;
                let headings = [
                    "id",
                    "provider",
                    "name",
                    "status",
                    "issued",
                    "issued_by",
                    "expires",
                    "last_used",
                    "revoked",
                    "revoked_by",
                ];
                output.print(headings, &tokens.into_iter().map(row).collect::<Vec<_>>())?;
            }
            Self::Revoke { database, id } => {
                let by = by.to_owned();
                let token = database.open_to_write()?.write_blocking(move |session| {
                    session.revoke_token(id, Actor::operator(&by))
                })?;
                eprintln!(
                    "token {} of {} is {}",
                    token.id, token.provider_name, token.status
                );
            }
        }
        Ok(())
    }
}

/// Prints a new token. It cannot be shown again.
fn show(token: &Token, record: &TokenRecord) -> Result<(), CommandError> {
    eprintln!(
        "token {} of {} expires on {}",
        record.id, record.provider_name, record.expires_on
    );
    output::line(token.reveal())
}

/// The row of a token in `token list`.
fn row(token: TokenRecord) -> [Cell; 10] {
    let day = |day: Option<NaiveDate>| Cell::from(day.map(|day| day.to_string()));
    let (revoked_on, revoked_by) = token
        .revocation
        .map(|revocation| (revocation.at.date_naive(), revocation.by))
        .unzip();
    [
        Number(token.id).into(),
        token.provider_ukprn.into(),
        token.name.into(),
        token.status.to_string().into(),
        day(Some(token.created_at.date_naive())),
        token.created_by.into(),
        day(Some(token.expires_on)),
        day(token.last_used_on),
        day(revoked_on),
        revoked_by.into(),
    ]
}
