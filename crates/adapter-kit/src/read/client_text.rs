//! Limits the client's own text in replies.

/// The maximum length of repeated text, in characters.
const MAX_REPEATED: usize = 64;

/// Whether a header can contain the name: 1 to 64 characters of `A-Z a-z 0-9 _`.
#[must_use]
pub fn is_printable(name: &str) -> bool {
    (1..=MAX_REPEATED).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the first 64 characters of the text, followed by `...` if it is longer.
#[must_use]
pub fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_REPEATED) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the truncated value for a quoted string in a header. Replaces characters that such a
/// string cannot contain by `?`.
#[must_use]
pub fn header_text(value: &str) -> String {
    truncated(value)
        .chars()
        .map(|character| match character {
            '"' | '\\' => '?',
            ' ' => ' ',
            _ if character.is_ascii_graphic() => character,
            _ => '?',
        })
        .collect()
}
