//! Commands about tokens.

use chrono::NaiveDate;
use clap::Subcommand;
use storage::tokens::{Environment, NewToken};

use super::{CommandError, Database, date, environment, listing};

/// Who is recorded as the maker of a token from the command line.
const OPERATOR: &str = "operator";

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Issue a token and print it; it is shown this once and cannot be shown again
    Issue {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider that the token is for
        #[arg(long, value_name = "UKPRN", env = "REGISTER_PROVIDER")]
        provider: String,
        /// What the token is used for, such as the name of a student record system
        #[arg(long, env = "REGISTER_NAME")]
        name: String,
        /// Day from whose start the token is refused, at most six months ahead [default: in six months]
        #[arg(long, value_name = "YYYY-MM-DD", env = "REGISTER_EXPIRES", value_parser = date)]
        expires: Option<NaiveDate>,
        /// Environment in which the token is valid: sandbox or production
        #[arg(long, env = "REGISTER_ENVIRONMENT", default_value = "sandbox", value_parser = environment)]
        environment: Environment,
    },
    /// List all tokens, without their texts
    List(Database),
    /// Revoke a token; it is refused from the next request on
    Revoke {
        #[command(flatten)]
        database: Database,
        /// Number of the token, as `token list` shows it
        id: i64,
    },
}

impl TokenCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Issue { database, provider, name, expires, environment } => {
                let (token, record) = database.open()?.write_blocking(move |session| {
                    session.issue_token(&NewToken {
                        provider_ukprn: &provider,
                        environment,
                        name: &name,
                        created_by: OPERATOR,
                        expires_on: expires,
                    })
                })?;
                eprintln!("token {} of {} expires on {}", record.id, record.provider_name, record.expires_on);
                println!("{}", token.reveal());
            }
            Self::List(database) => {
                let tokens = database.open()?.read_blocking(|session| session.list_tokens(None))?;
                let day = |day: Option<NaiveDate>| day.map(|day| day.to_string()).unwrap_or_default();
                let rows: Vec<_> = tokens
                    .into_iter()
                    .map(|token| {
                        [
                            token.id.to_string(),
                            token.provider_ukprn,
                            token.name,
                            token.status.to_string(),
                            day(Some(token.created_at.date_naive())),
                            day(Some(token.expires_on)),
                            day(token.last_used_on),
                        ]
                    })
                    .collect();
                listing::print(["id", "provider", "name", "status", "issued", "expires", "last used"], &rows);
            }
            Self::Revoke { database, id } => {
                let token = database.open()?.write_blocking(move |session| session.revoke_token(id, OPERATOR))?;
                eprintln!("token {} of {} is {}", token.id, token.provider_name, token.status);
            }
        }
        Ok(())
    }
}
