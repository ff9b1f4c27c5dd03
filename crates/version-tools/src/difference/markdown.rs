//! Differences as Markdown.

use super::{Difference, Effect, Example};
use crate::documents::Table;

impl Difference {
    /// Returns the difference in Markdown, most severe changes first.
    #[must_use]
    pub fn markdown(&self) -> String {
        format!(
            "# Changes from {} to {}\n\n{} Section numbers refer to the API contract.\n\n{}",
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
            (0, _) => format!("Nothing changes: your {from} client can use {to} as it is."),
            (1, 0) => format!("There is one change. Your {from} client can use {to} as it is."),
            (all, 0) => {
                format!("There are {all} changes. Your {from} client can use {to} as it is.")
            }
            (1, _) => format!("There is one change. It breaks {from} clients."),
            (all, 1) => format!("There are {all} changes. One of them breaks {from} clients."),
            (all, some) if all == some => {
                format!("There are {all} changes. All of them break {from} clients.")
            }
            (all, some) => {
                format!("There are {all} changes. {some} of them break {from} clients.")
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
                        format!("{} Example: `{before}` becomes `{after}`.", change.summary)
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
            Self::RecordedDifferently => "Requests with a different effect",
            Self::ReadDifferently => "Changed responses",
            Self::WorthKnowing => "Changes without immediate effect",
            Self::NewlyPossible => "New features",
        }
    }

    /// Describes the effect on an unchanged client in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Refused => "Change these requests: the target version refuses them.",
            Self::RecordedDifferently => {
                "The target version accepts these requests, but stores different values."
            }
            Self::ReadDifferently => "You must change how your client reads these responses.",
            Self::WorthKnowing => "You do not need to change your client yet.",
            Self::NewlyPossible => "You can use these features at any time, or ignore them.",
        }
    }
}
