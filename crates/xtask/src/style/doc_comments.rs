//! A doc comment names what it describes in its first words.

use super::Breach;

const OPENINGS: &[&str] = &[
    "It", "They", "Those", "One that", "The same", "That", "Why", "As",
];
const ADVICE: &str = "begin with the name of the thing, or a verb";

/// The doc comments of one file that begin with a pronoun.
pub(super) fn check(path: &str, text: &str) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut is_continued = false;
    for (number, line) in text.lines().enumerate() {
        let comment = read_doc_comment(line);
        let opening = comment.filter(|_| !is_continued).and_then(find_opening);
        if let Some(opening) = opening {
            breaches.push(Breach::new(path, number + 1, opening, ADVICE));
        }
        is_continued = comment.is_some();
    }
    breaches
}

fn read_doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))
        .map(str::trim_start)
}

fn find_opening(comment: &str) -> Option<&'static str> {
    let begins = |opening: &&&str| {
        let rest = comment.strip_prefix(**opening);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
    };
    OPENINGS.iter().find(begins).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_of_a_doc_comment_is_checked() {
        let lines = |text: &str| {
            check("a.rs", text)
                .into_iter()
                .map(|breach| breach.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines("/// It is\nfn a() {}\n    /// Like `a`.\n    /// It is\n"),
            [1]
        );
        assert_eq!(lines("//! Those that\n\n/// One that\n/// Item\n"), [1, 3]);
        assert_eq!(lines("// It is\nlet a = \"It\";\n"), [] as [usize; 0]);
    }
}
