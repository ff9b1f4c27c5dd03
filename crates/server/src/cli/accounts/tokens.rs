//! Commands about tokens.

use chrono::NaiveDate;
use clap::Subcommand;
use storage::accounts::tokens::{NewToken, TokenRecord};
use storage::accounts::users::Actor;
use storage::base::token::Token;

use crate::cli::output::{self, Cell, ListOutput, Number};
use crate::cli::values::{date, id, ukprn, whole};
use crate::cli::{CommandError, Database};

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Issue an API token and print it; the token cannot be shown again
    #[command(after_help = "Example:
  trainee-register token issue --provider 10012345 --name \"Student records\"")]
    Issue {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider
        #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
        provider: String,
        /// Name of the token, such as the system that uses it
        #[arg(long)]
        name: String,
        /// Expiry date, when the token becomes invalid; at most six months ahead [default: in six
        /// months]
        #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
        expires: Option<NaiveDate>,
    },
    /// List tokens, without their secrets
    #[command(after_help = "Example: trainee-register token list --expiring 30")]
    List {
        #[command(flatten)]
        database: Database,
        /// Only tokens of the provider with this UKPRN [default: all providers]
        #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
        provider: Option<String>,
        /// Only valid tokens that expire within this number of days
        #[arg(long, value_name = "DAYS", value_parser = whole::<u32>)]
        expiring: Option<u32>,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Revoke a token; all servers reject it from the next request
    #[command(after_help = "Example: trainee-register token revoke 1")]
    Revoke {
        #[command(flatten)]
        database: Database,
        /// Number of the token in `token list`
        #[arg(value_parser = id)]
        id: i64,
    },
}

impl TokenCommand {
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        match self {
            Self::Issue {
                database,
                provider,
                name,
                expires,
            } => {
                let by = by.to_owned();
                let (store, environment) = database.open_to_write_with_environment()?;
                let (token, record) = store.write_blocking(move |session| {
                    session.issue_token(&NewToken {
                        provider_ukprn: &provider,
                        environment,
                        name: &name,
                        created_by: Actor::operator(&by),
                        expires_on: expires,
                    })
                })?;
                show(&token, &record)?;
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
