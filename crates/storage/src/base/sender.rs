//! The sender of a request: a token, or a user of the settings pages.

/// The sender of a request, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sender {
    /// A token.
    Token(i64),
    /// A user who uploaded a file.
    User(i64),
}

impl Sender {
    /// The number of the token; `None` for a user.
    #[must_use]
    pub const fn token_id(self) -> Option<i64> {
        match self {
            Self::Token(id) => Some(id),
            Self::User(_) => None,
        }
    }

    /// The number of the user; `None` for a token.
    #[must_use]
    pub const fn user_id(self) -> Option<i64> {
        match self {
            Self::Token(_) => None,
            Self::User(id) => Some(id),
        }
    }

    /// The sender in the columns `token_id` and `user_id`. A constraint of the tables ensures that
    /// exactly one of them is set.
    pub(crate) fn from_columns(token_id: Option<i64>, user_id: Option<i64>) -> Self {
        match token_id {
            Some(id) => Self::Token(id),
            None => Self::User(user_id.unwrap_or_default()),
        }
    }
}
