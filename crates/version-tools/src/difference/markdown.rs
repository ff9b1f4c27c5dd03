//! Differences as Markdown.

use super::{Difference, Effect, Example};
use crate::documents::Table;

impl Difference {
    /// Returns the difference in Markdown, most severe changes first.
    #[must_use]
    pub fn markdown(&self) -> String {
        format!(
            "# From {} to {}\n\n{}\n\n{}",
            self.from,
            self.to,
            self.counted(),
            self.tables("##")
        )
    }

    /// Returns one sentence with the number of changes and of breaking changes.
    #[must_use]
    pub fn counted(&self) -> String {
        let Self { from, to, changes } = self;
        let breaking = self.breaking().count();
        match (changes.len(), breaking) {
            (0, _) => format!("There are no changes: a client of {from} can use {to} unchanged."),
            (1, 0) => format!("There is one change. A client of {from} can use {to} unchanged."),
            (all, 0) => {
                format!("There are {all} changes. A client of {from} can use {to} unchanged.")
            }
            (1, _) => format!("There is one change. It breaks a client of {from}."),
            (all, 1) => format!("There are {all} changes. One of them breaks a client of {from}."),
            (all, some) if all == some => {
                format!("There are {all} changes. All of them break a client of {from}.")
            }
            (all, some) => {
                format!("There are {all} changes. {some} of them break a client of {from}.")
            }
        }
    }

    /// Returns one table for each effect that occurs, under headings of this level.
    pub(crate) fn tables(&self, level: &str) -> String {
        let tables = Effect::ALL.iter().filter_map(|effect| {
            let mut changes = self.with_effect(*effect).peekable();
            changes.peek()?;
            let mut table = Table::new(["subject", "change", "what to do"]);
            for change in changes {
                let summary = match &change.example {
                    Some(Example { before, after }) => {
                        format!("{} `{before}` becomes `{after}`.", change.summary)
                    }
                    None => change.summary.clone(),
                };
                table.row([&change.of, &summary, &change.advice]);
            }
            Some(format!(
                "{level} {}\n\n{}\n\n{}",
                effect.title(),
                effect.meaning(),
                table.0
            ))
        });
        tables.collect::<Vec<_>>().join("\n")
    }
}

impl Effect {
    /// Returns the heading for the effect.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Refused => "Refused requests",
            Self::RecordedDifferently => "Requests with another effect",
            Self::ReadDifferently => "Changed responses",
            Self::WorthKnowing => "Changes without immediate effect",
            Self::NewlyPossible => "New possibilities",
        }
    }

    /// Describes the effect on an unchanged client in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Refused => "The version refuses these requests until you change them.",
            Self::RecordedDifferently => {
                "The version accepts these requests, but records different values."
            }
            Self::ReadDifferently => "You must read these responses differently.",
            Self::WorthKnowing => "You do not need to change anything yet.",
            Self::NewlyPossible => "You can ignore these changes, or use them at any time.",
        }
    }
}
