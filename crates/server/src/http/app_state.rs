//! What every request works with: the records, the versions and the code lists.

use std::fmt;

use adapter_kit::Versions;
use domain::Lists;
use storage::store::Store;
use storage::tokens::Environment;

use crate::endpoints::reference_data::rendered::WrittenLists;
use crate::http::admission::Admission;
use crate::http::body::Reception;
use crate::http::client_address::TrustedProxies;
use crate::http::middleware::response_stream::Outgoing;
use crate::http::rate_limit::by_address::Visitors;
use crate::http::shared_content::ContentCache;
use crate::operations::connections::Limits;
use crate::usage::Usage;
use crate::usage::shadow_checks::Shadow;
use crate::versions;

/// A register that can be served.
#[derive(Clone)]
pub struct Register {
    /// Where the records are.
    pub store: Store,
    /// The versions that are served.
    pub versions: &'static Versions,
    /// The code lists.
    pub lists: &'static Lists,
    /// The same as they are answered.
    pub written_lists: WrittenLists,
    /// Whose tokens are valid here.
    pub environment: Environment,
    /// Who gets to the records, and how often.
    pub admission: Admission,
    /// How often those who need no token have asked.
    pub visitors: Visitors,
    /// The proxies that are trusted to name the client.
    pub proxies: TrustedProxies,
    /// How often those who read public pages have asked.
    pub page_visitors: Visitors,
    /// What is the same for everyone, and was asked for.
    pub contents: ContentCache,
    /// Where replies are sent.
    pub outgoing: Outgoing,
    /// Where the bodies of requests are received.
    pub bodies: Reception,
    /// What tokens ask for.
    pub usage: Usage,
    /// Whether accepted writes are tried in the newest version.
    pub shadow: Shadow,
}

impl Register {
    /// A register of all versions with the code lists of the program, whose tokens may ask as often as they like.
    #[must_use]
    pub fn of(store: Store, environment: Environment) -> Self {
        Self {
            store,
            versions: versions::all(),
            lists: Lists::embedded(),
            written_lists: WrittenLists::of(Lists::embedded()),
            environment,
            admission: Admission::default(),
            visitors: Visitors::default(),
            proxies: TrustedProxies::default(),
            page_visitors: Visitors::within(None),
            contents: ContentCache::default(),
            outgoing: Outgoing::default(),
            bodies: Reception::within(Limits::default().body_timeout),
            usage: Usage::default(),
            shadow: Shadow::default(),
        }
    }

    /// The same register behind reverse proxies that are trusted to name the client.
    #[must_use]
    pub fn behind(self, proxies: TrustedProxies) -> Self {
        Self {
            admission: self.admission.behind(proxies.clone()),
            visitors: Visitors::behind(proxies.clone()),
            page_visitors: self.page_visitors.with_proxies(proxies.clone()),
            proxies,
            ..self
        }
    }

    /// The same register with other code lists.
    #[must_use]
    pub fn with_lists(self, lists: &'static Lists) -> Self {
        Self { lists, written_lists: WrittenLists::of(lists), contents: ContentCache::default(), ..self }
    }
}

impl fmt::Debug for Register {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Register").field("environment", &self.environment).finish_non_exhaustive()
    }
}
