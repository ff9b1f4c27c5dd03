//! Places that may break a rule, with the reason for each.
//!
//! A line of the file is `path | text of the line | reason`. The path may end with `*`. An
//! exception that excuses nothing is a breach itself. The line `commits since | HASH | reason`
//! names a commit; the subjects of later commits are checked.

use crate::failure::Failure;
use crate::sources::Sources;

use super::Breach;

/// The file of the exceptions.
pub(super) const FILE: &str = "crates/xtask/style-exceptions.txt";

const COMMITS: &str = "commits since";

/// The exceptions as they were read.
#[derive(Default)]
pub(super) struct Exceptions {
    /// The last commit whose subject is not checked.
    pub(super) first_commit: String,
    places: Vec<Place>,
}

/// A text that one file, or the files below a folder, may contain.
struct Place {
    path: String,
    text: String,
    /// The number of its line in the file of the exceptions.
    line: usize,
}

impl Exceptions {
    /// Reads the exceptions. Fails on a line without a reason.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let mut exceptions = Self::default();
        for (number, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.splitn(3, " | ").map(str::trim).collect();
            let [path, text, reason] = parts.as_slice() else {
                return Err(format!("{FILE}:{}: not \"path | text | reason\"", number + 1).into());
            };
            if reason.is_empty() {
                return Err(format!("{FILE}:{}: no reason", number + 1).into());
            }
            if *path == COMMITS {
                exceptions.first_commit = (*text).to_owned();
            } else {
                let (path, text) = ((*path).to_owned(), (*text).to_owned());
                exceptions.places.push(Place {
                    path,
                    text,
                    line: number + 1,
                });
            }
        }
        Ok(exceptions)
    }

    /// Whether an exception covers the breach.
    pub(super) fn excuses(&self, breach: &Breach, sources: &Sources) -> bool {
        self.places
            .iter()
            .any(|place| place.covers(breach, sources))
    }

    /// The exceptions that cover none of the breaches.
    pub(super) fn list_unused(&self, breaches: &[Breach], sources: &Sources) -> Vec<Breach> {
        let unused = self
            .places
            .iter()
            .filter(|place| !breaches.iter().any(|breach| place.covers(breach, sources)));
        unused
            .map(|place| Breach::new(FILE, place.line, &place.text, "excuses nothing: remove it"))
            .collect()
    }
}

impl Place {
    fn covers(&self, breach: &Breach, sources: &Sources) -> bool {
        let is_path = match self.path.strip_suffix('*') {
            Some(folder) => breach.path.starts_with(folder),
            None => breach.path == self.path,
        };
        let line = breach
            .line
            .checked_sub(1)
            .and_then(|line| sources.text(&breach.path).lines().nth(line));
        is_path && line.unwrap_or(&breach.found).contains(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_covers_its_text_in_its_file() {
        let exceptions =
            Exceptions::parse("# Comment\n\ncommits since | abc | now\nsrc/* | a word | quoted\n")
                .unwrap();
        assert_eq!(exceptions.first_commit, "abc");
        let sources = Sources::from([("src/a.rs", "a word\nword"), ("b.rs", "a word")]);
        let breach = |path: &str, line: usize| Breach::new(path, line, "word", "");
        assert!(exceptions.excuses(&breach("src/a.rs", 1), &sources));
        assert!(!exceptions.excuses(&breach("src/a.rs", 2), &sources));
        assert!(!exceptions.excuses(&breach("b.rs", 1), &sources));
        assert_eq!(
            exceptions
                .list_unused(&[breach("src/a.rs", 1)], &sources)
                .len(),
            0
        );
        assert_eq!(
            exceptions.list_unused(&[breach("b.rs", 1)], &sources).len(),
            1
        );
    }

    #[test]
    fn exception_without_a_reason_is_refused() {
        assert!(Exceptions::parse("a.rs | word").is_err());
        assert!(Exceptions::parse("a.rs | word | ").is_err());
    }
}
