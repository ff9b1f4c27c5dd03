//! How much of a client's own text is repeated to it.

/// The longest part that is repeated, in characters.
const MAX_REPEATED: usize = 64;

/// Whether a name can be repeated in a header: 1 to 64 characters of `A-Z a-z 0-9 _`.
#[must_use]
pub fn is_printable(name: &str) -> bool {
    (1..=MAX_REPEATED).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The beginning of a string, as far as it is repeated.
#[must_use]
pub fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_REPEATED) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The beginning of a value, with a question mark for each character that does not belong in a
/// quoted text of a header.
#[must_use]
pub fn header_text(value: &str) -> String {
    let is_safe = |c: char| (c.is_ascii_graphic() || c == ' ') && !['"', '\\'].contains(&c);
    truncated(value)
        .chars()
        .map(|c| if is_safe(c) { c } else { '?' })
        .collect()
}
