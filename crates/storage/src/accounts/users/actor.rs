//! The actor of a logged action: who acts, from where, and which data the actor may access.

use std::fmt;

use crate::session::Provider;

/// The origin of an action.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// The identifier of the request.
    pub request_id: Option<&'a str>,
    /// The address of the client.
    pub address: Option<&'a str>,
}

/// A person who performs an action. Only [`Actor::operator`],
/// [`SignedIn::actor`](super::SignedIn::actor) and
/// [`SignedIn::operator`](super::SignedIn::operator) create an actor. None of them accepts a
/// viewer, so a viewer cannot call functions that need an actor.
#[derive(Debug, Clone, Copy)]
pub struct Actor<'a> {
    who: Who<'a>,
    /// The provider of the user; `None` for an operator.
    provider_id: Option<i64>,
    /// The provider that the operator's request is limited to.
    within: Option<i64>,
    origin: Origin<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Who<'a> {
    /// A person who runs a command.
    Operator(&'a str),
    /// A user, by number.
    User(i64),
}

impl<'a> Actor<'a> {
    /// The person who runs a command, by the name given to the command. May access the data of all
    /// providers.
    #[must_use]
    pub const fn operator(name: &'a str) -> Self {
        let origin = Origin {
            request_id: None,
            address: None,
        };
        Self {
            who: Who::Operator(name),
            provider_id: None,
            within: None,
            origin,
        }
    }

    /// A user who may access the data of one provider. Without a provider, an operator of the
    /// service, who may access the data of all providers.
    pub(super) const fn user(id: i64, provider_id: Option<i64>, origin: Origin<'a>) -> Self {
        Self {
            who: Who::User(id),
            provider_id,
            within: None,
            origin,
        }
    }

    /// Limits an operator to one provider. A user of a provider is always limited to it.
    #[must_use]
    pub const fn limited_to_provider(self, provider: &Provider) -> Self {
        Self {
            within: Some(provider.id),
            ..self
        }
    }

    /// Whether the actor may access data of a provider, or of the service for `None`.
    pub(crate) fn reaches(&self, provider_id: Option<i64>) -> bool {
        // Each provider that limits the actor must be the given one.
        [self.provider_id, self.within]
            .into_iter()
            .flatten()
            .all(|limit| provider_id == Some(limit))
    }

    /// The provider of the user; `None` for an operator.
    pub(crate) fn provider_id(&self) -> Option<i64> {
        self.provider_id
    }

    /// The number of the user; `None` for a person who runs a command.
    pub(crate) fn user_id(&self) -> Option<i64> {
        match self.who {
            Who::User(id) => Some(id),
            Who::Operator(_) => None,
        }
    }

    /// The name of the person who runs a command; `None` for a user.
    pub(crate) fn name(&self) -> Option<&'a str> {
        match self.who {
            Who::Operator(name) => Some(name),
            Who::User(_) => None,
        }
    }

    pub(super) fn origin(&self) -> Origin<'a> {
        self.origin
    }
}

/// The text for the actor in columns such as `created_by`: a name, or the number of a user.
impl fmt::Display for Actor<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.who {
            Who::Operator(name) => formatter.write_str(name),
            Who::User(id) => write!(formatter, "user {id}"),
        }
    }
}
