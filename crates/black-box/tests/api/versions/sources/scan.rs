//! Takes comments and tests out of a source text, and looks for words in the rest.

use std::collections::BTreeSet;

/// The text without comments, documentation and the tests at its end.
pub(super) fn code(text: &str) -> String {
    let code = without_comments(text);
    let mut search = 0;
    while let Some(at) = code[search..].find("#[cfg(test)]").map(|at| search + at) {
        let after = code[at..].trim_start_matches("#[cfg(test)]").trim_start();
        // A test module in its own file is only named here, so the code continues.
        let name = after
            .strip_prefix("mod ")
            .map(|name| name.trim_start_matches(is_part));
        if name.is_some_and(|rest| rest.trim_start().starts_with('{')) {
            return code[..at].to_owned();
        }
        search = at + 1;
    }
    code
}

/// The words that occur in the text as whole words.
pub(super) fn words_in(text: &str, words: &BTreeSet<String>) -> Vec<String> {
    let stands = |word: &&String| {
        text.match_indices(word.as_str()).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    };
    words.iter().filter(stands).cloned().collect()
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The text with a space instead of each comment. Quotes are followed, since they can hold what
/// looks like a comment.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let token = if rest.starts_with("//") {
            code.push(' ');
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        } else if rest.starts_with("/*") {
            code.push(' ');
            rest = &rest[block_comment(rest)..];
            continue;
        } else if let Some(length) = raw_text(&code, rest) {
            length
        } else if c == '"' {
            quoted(rest, '"')
        } else if c == '\'' && is_character(rest) {
            quoted(rest, '\'')
        } else {
            c.len_utf8()
        };
        code.push_str(&rest[..token]);
        rest = &rest[token..];
    }
    code
}

/// The length of a block comment, which can hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length of a raw text, if one begins here and not within a word.
fn raw_text(before: &str, text: &str) -> Option<usize> {
    if before
        .chars()
        .next_back()
        .is_some_and(|c| is_part(c) && c != 'b')
    {
        return None;
    }
    let hashed = text.strip_prefix('r')?;
    let hashes = hashed.len() - hashed.trim_start_matches('#').len();
    let inner = hashed[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let opening = text.len() - inner.len();
    Some(
        inner
            .find(&end)
            .map_or(text.len(), |at| opening + at + end.len()),
    )
}

/// The length of a text or character in quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Whether a quote begins a character, rather than a lifetime.
fn is_character(text: &str) -> bool {
    let mut inner = text.chars().skip(1);
    match inner.next() {
        Some('\\') => true,
        Some(_) => inner.next() == Some('\''),
        None => false,
    }
}
