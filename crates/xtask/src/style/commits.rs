//! The subject of a commit is `scope: verb object`.

use std::process::Command;

use crate::failure::Failure;
use crate::sources::output;

use super::Breach;

const ADVICE: &str = "write `scope: verb object`";

/// Verbs that say nothing about the change.
const EMPTY_VERBS: &[&str] = &["say", "let", "give", "keep"];

/// The subjects of the commits after the first one that break the rule. Passes where the history is
/// not there, as in a copy of the sources without it.
pub(super) fn check(first: &str) -> Result<Vec<Breach>, Failure> {
    let is_known = Command::new("git")
        .args(["merge-base", "--is-ancestor", first, "HEAD"])
        .output()?
        .status
        .success();
    if !is_known {
        return Ok(Vec::new());
    }
    let log = output(Command::new("git").args([
        "log",
        "--no-merges",
        "--format=%h %s",
        &format!("{first}..HEAD"),
    ]))?;
    Ok(log.lines().filter_map(check_line).collect())
}

/// The breach of a line of the log: the short hash and the subject.
fn check_line(line: &str) -> Option<Breach> {
    let (hash, subject) = line.split_once(' ')?;
    (!is_subject(subject)).then(|| Breach::new(&format!("commit {hash}"), 0, subject, ADVICE))
}

fn is_subject(subject: &str) -> bool {
    let Some((scope, text)) = subject.split_once(": ") else {
        return false;
    };
    let is_scope = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-, .".contains(c);
    let verb = text.split(' ').next().unwrap_or_default();
    let is_verb =
        verb.starts_with(|c: char| c.is_ascii_lowercase()) && !EMPTY_VERBS.contains(&verb);
    !scope.is_empty()
        && scope.chars().all(is_scope)
        && is_verb
        && text.contains(' ')
        && !text.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_has_a_scope_a_verb_and_an_object() {
        for subject in [
            "storage: retry connecting",
            "api-v2025-0, kit: name fields of a group",
        ] {
            assert!(is_subject(subject), "{subject}");
        }
        for subject in [
            "Retry connecting",
            "storage: Retry connecting",
            "storage: retry",
            "storage: let writes wait",
            "a scope!: retry connecting",
            "storage: retry connecting.",
        ] {
            assert!(!is_subject(subject), "{subject}");
        }
        assert_eq!(
            check_line("abc fix it")
                .map(|breach| breach.path)
                .as_deref(),
            Some("commit abc")
        );
    }
}
