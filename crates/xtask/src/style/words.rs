//! Words and phrases that have a plainer replacement.

use crate::sources::is_word;

use super::Breach;

/// Phrases, and what to write instead. Alternatives for one word of a phrase are separated by `|`.
const PHRASES: &[(&str, &str)] = &[
    ("nobody", "name the actor: no client, no user"),
    ("somebody|someone", "name the actor: a user, an operator"),
    (
        "everybody|everyone",
        "name the actors: all clients, all users",
    ),
    (
        "whoever|whomever",
        "name the actor: the client, the operator",
    ),
    ("so many|much", "up to N"),
    ("meanwhile", "during ..., while ..."),
    ("anew", "again"),
    ("lately", "recently"),
    (
        "in vain",
        "without success; name the error, such as a timeout",
    ),
    ("in place of", "instead of"),
    ("bring|brings|brought|bringing about", "cause, perform"),
    ("all the same", "still, nevertheless"),
    ("for good", "permanently"),
    (
        "whereby|wherein|thereby|therein|lest|whence",
        "a new sentence",
    ),
    ("look|looks|looking|looked after", "manage, maintain"),
    ("held against", "compared with"),
    ("is|are none of", "is not a"),
    ("in the way of", "prevents, blocks"),
    ("told|tell|tells apart", "distinguish"),
    ("now and then", "sometimes"),
    ("by and by", "gradually"),
    ("and the like", "list the cases"),
    (
        "seconds|minutes|hours|days|times|bytes|lines|words|characters at most",
        "at most N ...",
    ),
    (
        "by|of|in|for|with|to|from|on|at|behind|through|about|after|before|under|without|beside|above|below|between|within|into|against|over \
         which|whom|whose",
        "a participle or a new sentence",
    ),
];

/// Endings of the files whose whole text is checked.
const ENDINGS: &[&str] = &[
    ".rs", ".md", ".html", ".sql", ".toml", ".sh", ".css", ".yml", ".yaml", ".awk", ".py", ".txt",
];

/// Whether the text of a file is checked. This file lists what is forbidden. Licences and the texts
/// of released contracts are not ours to word.
pub(super) fn is_checked(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_text = ENDINGS.iter().any(|ending| name.ends_with(ending)) || !name.contains('.');
    is_text && !path.starts_with("snapshots/") && path != file!() && path != super::exceptions::FILE
}

/// The breaches in one text. A phrase may continue on the next line.
pub(super) fn check(path: &str, text: &str) -> Vec<Breach> {
    let words = split_words(text);
    let mut breaches = Vec::new();
    for (phrase, advice) in PHRASES {
        let pattern: Vec<Vec<&str>> = phrase
            .split(' ')
            .map(|word| word.split('|').collect())
            .collect();
        for found in words.windows(pattern.len()) {
            let matches = found
                .iter()
                .zip(&pattern)
                .all(|(word, accepted)| accepted.contains(&word.lower.as_str()));
            let Some(first) = found.first().filter(|_| matches && is_joined(found)) else {
                continue;
            };
            let spelt: Vec<&str> = found.iter().map(|word| word.lower.as_str()).collect();
            breaches.push(Breach::new(path, first.line, &spelt.join(" "), advice));
        }
    }
    breaches
}

/// A word of a text, in lower case.
struct Word {
    lower: String,
    line: usize,
    /// Whether a mark such as a full stop separates it from the word before.
    is_separated: bool,
}

fn is_joined(words: &[Word]) -> bool {
    words.iter().skip(1).all(|word| !word.is_separated)
}

/// The words of a text. Marks of comments and of Markdown do not separate words; other marks do.
fn split_words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let is_continued = |c: char| c.is_whitespace() || "/!*#_>\"\\".contains(c);
        let mut rest = line;
        let mut is_separated = line.trim().is_empty();
        while let Some(start) = rest.find(is_letter) {
            let (before, word) = rest.split_at(start);
            is_separated |= !before.chars().all(is_continued);
            let end = word
                .find(|c| !is_letter(c) && !is_word(c))
                .unwrap_or(word.len());
            let (word, after) = word.split_at(end);
            words.push(Word {
                lower: word.to_lowercase(),
                line: number + 1,
                is_separated,
            });
            is_separated = false;
            rest = after;
        }
    }
    words
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || c == '\''
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Vec<(usize, String)> {
        check("a.md", text)
            .into_iter()
            .map(|breach| (breach.line, breach.found))
            .collect()
    }

    #[test]
    fn phrase_is_found_in_any_case_and_across_lines() {
        let word = ["no", "body"].concat();
        assert_eq!(find(&format!("\n// {}", word.to_uppercase())), [(2, word)]);
        assert_eq!(
            find("/// the token by\n/// which"),
            [(1, ["by", "which"].join(" "))]
        );
    }

    #[test]
    fn words_that_a_mark_separates_are_no_phrase() {
        assert_eq!(find("what is it for? Which one"), []);
        assert_eq!(find("so. Many"), []);
        assert_eq!(find("standby which"), []);
    }

    #[test]
    fn every_phrase_matches_itself() {
        for (phrase, _) in PHRASES {
            let first: Vec<&str> = phrase
                .split(' ')
                .filter_map(|word| word.split('|').next())
                .collect();
            assert!(!find(&first.join(" ")).is_empty(), "{phrase}");
        }
    }
}
