//! Commands about users of the settings pages, and about their activity.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::commands::erasure::{InvalidGround, ground};
use http_kit::paths;
use storage::accounts::mails::InvitedByMail;
use storage::accounts::users::{
    Actor, Invited, NewInvitation, PendingInvitation, UserRecord, UserRole,
};
use storage::base::token::Environment;
use storage::error::{Refusal, StorageError};
use storage::store::Store;

use crate::cli::output::{self, Cell, ListOutput, Number};
use crate::cli::records::trainees;
use crate::cli::values::{id, site, ukprn};
use crate::cli::{CommandError, Database, serve};

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Invite a user: print a sign-in link that works once, within 15 minutes
    ///
    /// A user who already has access gets a new link and keeps the role. The user's earlier unused
    /// links stop working. With --mail, the server sends the link.
    #[command(after_help = "Examples:
  trainee-register user invite --provider 10012345 --email a@example.ac.uk
  trainee-register user invite --operator --email o@example.com")]
    Invite {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        invited: InvitedPerson,
        /// Public address of the settings pages, such as https://register.example [default: the
        /// address that `serve` last used]
        #[arg(long, value_name = "URL", value_parser = site)]
        settings_url: Option<String>,
        /// Public address of the operators' pages [default: the address that `serve` last used]
        #[arg(long, value_name = "URL", value_parser = site)]
        operator_pages_url: Option<String>,
    },
    /// List users, including removed users, and unused sign-in links
    #[command(after_help = "Example: trainee-register user list --provider 10012345")]
    List {
        #[command(flatten)]
        database: Database,
        /// Only users of the provider with this UKPRN [default: all users]
        #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
        provider: Option<String>,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Remove a user's access; applies from the user's next request
    #[command(after_help = "Example: trainee-register user remove 1")]
    Remove {
        #[command(flatten)]
        database: Database,
        /// Number of the user in `user list`
        #[arg(value_parser = id)]
        id: i64,
    },
    /// Remove a user's access and permanently delete the e-mail address; the activity log keeps the
    /// user number
    #[command(after_help = "Example: trainee-register user erase 1 --reason \"request 17\"")]
    Erase {
        #[command(flatten)]
        database: Database,
        /// Number of the user in `user list`
        #[arg(value_parser = id)]
        id: i64,
        /// Reason, stored in the activity log; must not contain the user's name or address
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        reason: String,
    },
    /// Sign out a user, or all users; the users keep their access
    #[command(after_help = "Examples:
  trainee-register user sign-out 1
  trainee-register user sign-out --all")]
    SignOut {
        #[command(flatten)]
        database: Database,
        /// Number of the user in `user list`
        #[arg(required_unless_present = "all", value_parser = id)]
        id: Option<i64>,
        /// Sign out all users
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}

/// The user to invite.
#[derive(Debug, Args)]
pub(crate) struct InvitedPerson {
    /// UKPRN of the user's provider
    #[arg(long, value_name = "UKPRN", value_parser = ukprn, required_unless_present = "operator")]
    provider: Option<String>,
    /// Invite an operator of the service, with access to all providers
    #[arg(long, conflicts_with_all = ["provider", "role"])]
    operator: bool,
    /// E-mail address that identifies the user; no e-mail is sent without --mail
    #[arg(long)]
    email: String,
    /// Role of a provider's user: admin (can change settings), editor (can upload trainees) or
    /// viewer (read-only) [default: admin]
    #[arg(long, value_parser = role)]
    role: Option<UserRole>,
    /// Let the server send the link by e-mail, which works once, within 24 hours; prints no link
    #[arg(
        long,
        conflicts_with_all = ["settings_url", "operator_pages_url"]
    )]
    mail: bool,
}

impl UserCommand {
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        let operator = by.to_owned();
        match self {
            Self::Invite {
                database,
                invited,
                settings_url,
                operator_pages_url,
            } => {
                let InvitedPerson {
                    provider,
                    operator: is_operator,
                    email,
                    role,
                    mail,
                } = invited;
                let role = if is_operator {
                    UserRole::Operator
                } else {
                    role.unwrap_or(UserRole::Admin)
                };
                let store = database.open_to_write()?;
                if mail {
                    let invited = store.write_blocking(move |session| {
                        let request = NewInvitation {
                            provider_ukprn: provider.as_deref(),
                            email: &email,
                            role,
                        };
                        session.invite_user_by_mail(Actor::operator(&operator), request)
                    })?;
                    return show_mailed(&invited, &store);
                }
                let invited = store.write_blocking(move |session| {
                    let request = NewInvitation {
                        provider_ukprn: provider.as_deref(),
                        email: &email,
                        role,
                    };
                    session.invite_user(Actor::operator(&operator), request)
                })?;
                let pages = if is_operator {
                    Pages::OfOperators
                } else {
                    Pages::Settings
                };
                let requested = if is_operator {
                    operator_pages_url
                } else {
                    settings_url
                };
                show(&invited, &pages.site(&store, requested)?)?;
            }
            Self::List {
                database,
                provider,
                output,
            } => {
                let (users, invitations) =
                    database
                        .open()?
                        .read_blocking::<_, StorageError>(|session| {
                            Ok((
                                session.list_users(provider.as_deref())?,
                                session.pending_invitations(provider.as_deref())?,
                            ))
                        })?;
                let headings = [
                    "id",
                    "provider",
                    "role",
                    "email",
                    "since",
                    "invited_by",
                    "last_signed_in",
                    "removed",
                ];
                output.print(headings, &users.into_iter().map(row).collect::<Vec<_>>())?;
                if !invitations.is_empty() {
                    output.note("\nunused sign-in links:")?;
                }
                for invitation in &invitations {
                    output.note(describe_invitation(invitation))?;
                }
            }
            Self::Remove { database, id } => {
                let store = database.open_to_write()?;
                store
                    .write_blocking(move |session| {
                        session.remove_user(Actor::operator(&operator), id)
                    })
                    .map_err(|error| ended(&store, id, error))?;
                eprintln!("user {id}: access removed");
            }
            Self::Erase {
                database,
                id,
                reason,
            } => {
                let store = database.open_to_write()?;
                store.write_blocking(move |session| {
                    session.erase_user(Actor::operator(&operator), id, &reason)
                })?;
                trainees::reclaim_all_space(&store)?;
                eprintln!("user {id}: erased");
            }
            Self::SignOut { database, id, .. } => {
                let ended = database
                    .open_to_write()?
                    .write_blocking::<_, StorageError>(move |session| match id {
                        Some(id) => session
                            .sign_out_user(Actor::operator(&operator), id)
                            .map(|()| 1),
                        None => session.sign_out_all(Actor::operator(&operator)),
                    })?;
                eprintln!("users signed out: {ended}");
            }
        }
        Ok(())
    }
}

/// Converts an error of a change of a user. If the user was removed or erased, the error says so.
fn ended(store: &Store, id: i64, error: StorageError) -> CommandError {
    if !matches!(error, StorageError::Refused(Refusal::UnknownUser)) {
        return error.into();
    }
    let users = store
        .read_blocking::<_, StorageError>(|session| session.list_users(None))
        .unwrap_or_default();
    match users
        .into_iter()
        .find(|user| user.id == id && user.removed_at.is_some())
    {
        Some(user) => CommandError::UserEnded {
            id,
            is_erased: user.email.is_empty(),
        },
        None => error.into(),
    }
}

/// The pages that a sign-in link opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pages {
    /// The settings pages of an organisation.
    Settings,
    /// The operators' pages.
    OfOperators,
}

impl Pages {
    /// The site of the pages: the requested one, or else the site where they were last served.
    /// Prints a warning if the link may not open.
    fn site(self, store: &Store, requested: Option<String>) -> Result<String, CommandError> {
        let (served, environment) = store.read_blocking::<_, StorageError>(|session| {
            Ok((session.served_addresses()?, session.environment()?))
        })?;
        let is_recorded = served.is_some();
        let site = served.and_then(|served| match self {
            Self::Settings => served.settings,
            Self::OfOperators => served.operator_pages,
        });
        // In production the pages are off unless an option turns them on.
        let is_off_by_default = environment == Environment::Production && !is_recorded;
        if site.is_none() && (is_recorded || is_off_by_default) {
            eprintln!(
                "the link opens only if a server runs with {}",
                self.option()
            );
        }
        if let Some(site) = requested.or(site) {
            return Ok(site);
        }
        let (listen, option) = self.usual_address();
        eprintln!(
            "the address of these pages is unknown, so the link uses the default address; to change it, use {option}"
        );
        Ok(format!("http://{listen}"))
    }

    /// The option of `serve` that serves the pages.
    const fn option(self) -> &'static str {
        match self {
            Self::Settings => "--settings on (REGISTER_SETTINGS)",
            Self::OfOperators => "--operator-pages operator-listener (REGISTER_OPERATOR_PAGES)",
        }
    }

    /// The default address and port of the pages in `serve`, and the option of `user invite` for
    /// another address.
    const fn usual_address(self) -> (&'static str, &'static str) {
        match self {
            Self::Settings => (serve::LISTEN, "--settings-url"),
            Self::OfOperators => (serve::OPERATOR_LISTEN, "--operator-pages-url"),
        }
    }
}

/// Prints a sign-in link. It cannot be shown again.
fn show(invited: &Invited, site: &str) -> Result<(), CommandError> {
    let Invited {
        secret,
        email,
        role,
        expires_at,
        has_access,
        ..
    } = invited;
    let what = if *has_access {
        "new link for"
    } else {
        "link for"
    };
    eprintln!(
        "{what} {email} ({role}); valid once, until {}",
        timestamp(*expires_at)
    );
    output::line(paths::sign_in(site, secret.reveal()))
}

/// Prints that an invitation is sent by e-mail, with a warning if no server may send it.
fn show_mailed(invited: &InvitedByMail, store: &Store) -> Result<(), CommandError> {
    let InvitedByMail {
        email,
        role,
        expires_at,
    } = invited;
    eprintln!(
        "link for {email} ({role}) queued for e-mail; valid once, until {}",
        timestamp(*expires_at)
    );
    let served = store.read_blocking::<_, StorageError>(|session| session.served_addresses())?;
    if !served.is_some_and(|served| served.sends_mail) {
        eprintln!("the e-mail is sent only if a server runs with --smtp-url (REGISTER_SMTP_URL)");
    }
    Ok(())
}

fn timestamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The line of an unused sign-in link in `user list`.
fn describe_invitation(invitation: &PendingInvitation) -> String {
    let PendingInvitation {
        email,
        role,
        provider_ukprn,
        expires_at,
        ..
    } = invitation;
    let provider = provider_ukprn
        .as_ref()
        .map_or_else(String::new, |ukprn| format!(" of provider {ukprn}"));
    format!(
        "{email} ({role}{provider}), valid until {}",
        timestamp(*expires_at)
    )
}

/// The row of a user in `user list`.
fn row(user: UserRecord) -> [Cell; 8] {
    let day = |at: Option<DateTime<Utc>>| Cell::from(at.map(|at| at.date_naive().to_string()));
    [
        Number(user.id).into(),
        user.provider_ukprn.into(),
        user.role.to_string().into(),
        user.email.into(),
        day(Some(user.created_at)),
        user.created_by.into(),
        day(user.last_signed_in_at),
        day(user.removed_at),
    ]
}

/// Parses the reason of an erasure. The same rules apply as for the ground of erasing a trainee.
fn reason(text: &str) -> Result<String, InvalidGround> {
    ground(text)
}

/// Parses a role that a user of a provider can have.
fn role(text: &str) -> Result<UserRole, String> {
    text.parse()
        .map_err(|_| "must be admin, editor or viewer".to_owned())
}
