//! Mails to users: how the server reaches a mail server, the texts, and the background task that
//! sends queued mails.
//!
//! Requests and commands queue mails in the database (`storage::accounts::mails`). Only the
//! background task talks to the mail server, so that no request waits for it. Logs and metrics
//! contain the number and the kind of a mail, never an address or a link.

mod sending;
mod text;
pub mod transport;

use std::sync::Arc;

use storage::accounts::mails::LinkTargets;
use storage::base::token::Environment;

pub use self::sending::start;
use self::transport::MailServer;

/// The addresses of the pages that links in mails open: scheme, host and port. `None` for pages
/// that are not served.
#[derive(Debug, Clone, Default)]
pub struct LinkSites {
    /// The settings of organisations.
    pub organisations: Option<String>,
    /// The operators' pages.
    pub operators: Option<String>,
}

impl LinkSites {
    /// The pages that links in mails can open.
    fn targets(&self) -> LinkTargets {
        LinkTargets {
            organisations: self.organisations.is_some(),
            operators: self.operators.is_some(),
        }
    }
}

/// Sends mails: the mail server, the sites of links, and the environment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Mailer {
    server: MailServer,
    sites: Arc<LinkSites>,
    environment: Environment,
}

impl Mailer {
    /// Sends mails through this mail server, with links to the given sites.
    #[must_use]
    pub fn new(server: MailServer, sites: LinkSites, environment: Environment) -> Self {
        Self {
            server,
            sites: Arc::new(sites),
            environment,
        }
    }
}
