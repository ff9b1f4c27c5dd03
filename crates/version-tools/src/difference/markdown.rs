//! A difference as Markdown.

use super::{Difference, Effect, Example};
use crate::documents::Table;

impl Difference {
    /// The difference in Markdown: what breaks most comes first.
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

    /// How many changes there are, and how many of them break a client, in one sentence.
    #[must_use]
    pub fn counted(&self) -> String {
        let Self { from, to, changes } = self;
        let breaking = self.breaking().count();
        match (changes.len(), breaking) {
            (0, _) => format!("Nothing is different: a client of {from} can use {to} as it is."),
            (1, 0) => format!("There is one change, and a client of {from} can use {to} as it is."),
            (all, 0) => {
                format!("There are {all} changes, and a client of {from} can use {to} as it is.")
            }
            (1, _) => format!("There is one change, and it breaks a client of {from}."),
            (all, 1) => format!("There are {all} changes; one of them breaks a client of {from}."),
            (all, some) if all == some => {
                format!("There are {all} changes, and each breaks a client of {from}.")
            }
            (all, some) => {
                format!("There are {all} changes; {some} of them break a client of {from}.")
            }
        }
    }

    /// One table for each effect that there is, under headings of this level.
    pub(crate) fn tables(&self, level: &str) -> String {
        let tables = Effect::ALL.iter().filter_map(|effect| {
            let mut changes = self.with_effect(*effect).peekable();
            changes.peek()?;
            let mut table = Table::new(["about", "what changes", "what to do"]);
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
    /// The effect as a heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Refused => "Requests that are refused",
            Self::RecordedDifferently => "Requests that do something else",
            Self::ReadDifferently => "Responses to read differently",
            Self::WorthKnowing => "Worth knowing",
            Self::NewlyPossible => "Newly possible",
        }
    }

    /// Its effect on a client that stays as it is, in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Refused => "A request that was accepted is refused, until you change it.",
            Self::RecordedDifferently => {
                "A request is accepted, and what is recorded is not what it was."
            }
            Self::ReadDifferently => "What comes back looks otherwise.",
            Self::WorthKnowing => "All goes on as before, for now.",
            Self::NewlyPossible => "You can ignore these, and use them when you like.",
        }
    }
}
