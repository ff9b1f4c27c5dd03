//! Commands about providers.

use clap::Subcommand;
use storage::accounts::users::Actor;
use storage::store::StoreOptions;

use crate::cli::output::ListOutput;
use crate::cli::values::ukprn;
use crate::cli::{CommandError, Database};

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// Add a provider; next, issue its token with `token issue`
    #[command(after_help = "Example:
  trainee-register provider add --ukprn 10012345 --name \"A University\"")]
    Add {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider, 8 digits
        #[arg(long, value_parser = ukprn)]
        ukprn: String,
        /// Name of the provider
        #[arg(long)]
        name: String,
    },
    /// List all providers
    #[command(after_help = "Example: trainee-register provider list --output json")]
    List {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Close a provider: reject all its tokens and issue no new ones; its records remain
    #[command(after_help = "Example: trainee-register provider close 10012345")]
    Close {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider
        #[arg(value_parser = ukprn)]
        ukprn: String,
    },
}

impl ProviderCommand {
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        let by = by.to_owned();
        match self {
            Self::Add {
                database,
                ukprn,
                name,
            } => {
                let (store, _) = database.create(StoreOptions::default())?;
                let provider = store.write_blocking(move |session| {
                    session.add_organisation(Actor::operator(&by), &ukprn, &name)
                })?;
                eprintln!("added provider {} ({})", provider.ukprn, provider.name);
            }
            Self::List { database, output } => {
                let providers = database
                    .open()?
                    .read_blocking(|session| session.list_providers())?;
                let rows: Vec<_> = providers
                    .into_iter()
                    .map(|provider| {
                        let closed = provider.closed_at.map(|at| at.date_naive().to_string());
                        [
                            provider.ukprn.into(),
                            provider.name.into(),
                            provider.created_at.date_naive().to_string().into(),
                            closed.into(),
                        ]
                    })
                    .collect();
                output.print(["ukprn", "name", "added", "closed"], &rows)?;
            }
            Self::Close { database, ukprn } => {
                let provider = database.open_to_write()?.write_blocking(move |session| {
                    session.close_organisation(Actor::operator(&by), &ukprn)
                })?;
                eprintln!("provider {} ({}) is closed", provider.ukprn, provider.name);
            }
        }
        Ok(())
    }
}
