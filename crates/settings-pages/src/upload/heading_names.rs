//! The names that an organisation has chosen for the headings of earlier files.

use data_encoding::BASE64URL_NOPAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use trainee_file::{Column, bare_key};

/// The oldest ones are forgotten first.
const MAX_HEADINGS: usize = 500;

/// The chosen names, by the digests of their headings. The register does not keep the headings
/// themselves: the first row of a file without headings is about a trainee.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct HeadingNames(Vec<(String, String)>);

impl HeadingNames {
    pub(crate) fn read(stored: &str) -> Self {
        serde_json::from_str(stored).unwrap_or_default()
    }

    pub(crate) fn to_stored(&self) -> String {
        // Lists of texts are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Finds the headings of a file with their chosen names.
    pub(crate) fn find(&self, header: &[String]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for heading in header {
            let key = digest_heading(heading);
            if let Some((_, name)) = self.0.iter().find(|(known, _)| *known == key) {
                found.push((heading.clone(), name.clone()));
            }
        }
        found
    }

    pub(crate) fn remember(&mut self, heading: &str, column: &Column) {
        self.forget(heading);
        self.0.push((digest_heading(heading), column.to_string()));
        let too_many = self.0.len().saturating_sub(MAX_HEADINGS);
        self.0.drain(..too_many);
    }

    pub(crate) fn forget(&mut self, heading: &str) {
        let key = digest_heading(heading);
        self.0.retain(|(known, _)| *known != key);
    }
}

fn digest_heading(heading: &str) -> String {
    BASE64URL_NOPAD.encode(digest(&SHA256, bare_key(heading).as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_chosen_names_are_found_in_any_case_without_their_headings() {
        let mut names = HeadingNames::default();
        let column = Column::Field("sex".to_owned());
        names.remember("Surname", &Column::Ignored);
        names.remember("Code 7", &Column::TraineeId);
        names.remember("code_7", &column);
        names.forget("SURNAME");
        let stored = names.to_stored();
        assert!(!stored.to_lowercase().contains("code"), "{stored}");
        let header = ["Surname".to_owned(), "CODE 7".to_owned()];
        let found = HeadingNames::read(&stored).find(&header);
        assert_eq!(found, [("CODE 7".to_owned(), "sex".to_owned())]);
        for number in 0..MAX_HEADINGS {
            names.remember(&format!("h{number}"), &column);
        }
        assert_eq!(names.0.len(), MAX_HEADINGS);
        assert!(names.find(&header).is_empty());
    }
}
