//! Differences as Markdown.

use super::{Change, Difference, Example};
use crate::documents::table;

impl Difference {
    /// Returns the difference in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        format!(
            "# Changes from {} to {}\n\n{}\n\n{}",
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

    /// Returns one table for each section, under headings of this level.
    pub(crate) fn tables(&self, level: &str) -> String {
        let sections = self.sections();
        let tables = sections.iter().map(|(section, changes)| {
            let rows = changes.iter().map(|change| {
                let advice = change.advice.clone();
                vec![change.of.clone(), change.summary_with_example(), advice]
            });
            let table = table(&["subject", "change", "what to do"], rows);
            format!(
                "{level} {}\n\n{}\n\n{table}",
                section.title(),
                section.meaning()
            )
        });
        tables.collect::<Vec<_>>().join("\n")
    }
}

impl Change {
    /// Returns the summary with the example, in Markdown.
    #[must_use]
    pub fn summary_with_example(&self) -> String {
        match &self.example {
            Some(Example { before, after }) => {
                format!("{} Example: `{before}` becomes `{after}`.", self.summary)
            }
            None => self.summary.clone(),
        }
    }
}
