//! Checks the wording of code, documents and commits against the rules of `CONTRIBUTING.md`.
//!
//! Each rule is a file below this one. Exceptions, with their reasons, are in
//! `crates/xtask/style-exceptions.txt`.

mod commits;
mod doc_comments;
mod exceptions;
mod functions;
mod names;
mod words;

use crate::failure::{Failure, conclude};
use crate::sources::Sources;

use self::exceptions::Exceptions;

/// A place that breaks a rule.
#[derive(Debug)]
struct Breach {
    path: String,
    /// The number of the line, from 1. Zero stands for the name of the file.
    line: usize,
    /// What was found, as it is spelt there.
    found: String,
    advice: String,
}

impl Breach {
    fn new(path: &str, line: usize, found: &str, advice: &str) -> Self {
        let (path, found, advice) = (path.to_owned(), found.to_owned(), advice.to_owned());
        Self {
            path,
            line,
            found,
            advice,
        }
    }
}

/// Checks all sources, and the subjects of the commits since the one that the exceptions name.
pub(crate) fn check(sources: &Sources) -> Result<String, Failure> {
    let exceptions = Exceptions::parse(sources.text(exceptions::FILE))?;
    let mut breaches = check_texts(sources);
    breaches.extend(commits::check(&exceptions.first_commit)?);
    let unused = exceptions.list_unused(&breaches, sources);
    breaches.retain(|breach| !exceptions.excuses(breach, sources));
    breaches.extend(unused);
    let lines = breaches.iter().map(|breach| {
        format!(
            "style: {}:{}: \"{}\": {}",
            breach.path, breach.line, breach.found, breach.advice
        )
    });
    conclude(
        lines.collect(),
        "style: words, comments, names and commit subjects follow the rules",
    )
}

fn check_texts(sources: &Sources) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for path in sources.paths() {
        let text = sources.text(path);
        if words::is_checked(path) {
            breaches.extend(words::check(path, text));
        }
        if path.ends_with(".rs") {
            breaches.extend(doc_comments::check(path, text));
            breaches.extend(functions::check(path, text));
        }
    }
    breaches.extend(names::check(sources));
    breaches
}
