//! Whole numbers that do not fit into 64 bits. `serde_json` would parse them as floating-point
//! numbers and lose digits.

use std::borrow::Cow;

/// The minimum number of digits in a number that may not fit into 64 bits.
const MIN_DIGITS: usize = 19;

/// Quotes the whole numbers that do not fit into 64 bits, so that text fields read all digits.
///
/// Changes only values of objects: no array of numbers is read as text. The JSON text must be
/// valid.
pub(super) fn as_text(json: &[u8]) -> Cow<'_, [u8]> {
    let has_long_run = json
        .chunk_by(|one, next| one.is_ascii_digit() && next.is_ascii_digit())
        .any(|run| run.len() >= MIN_DIGITS);
    if !has_long_run {
        return Cow::Borrowed(json);
    }
    let mut text = Vec::with_capacity(json.len() + 2);
    let mut rest = json;
    // The first byte of the previous token. The value of an object follows a colon.
    let mut previous = b' ';
    while let Some(first) = rest.first() {
        let (token, remaining) = rest.split_at(token_length(rest));
        if previous == b':' && is_long_integer(token) {
            text.push(b'"');
            text.extend_from_slice(token);
            text.push(b'"');
        } else {
            text.extend_from_slice(token);
        }
        if !first.is_ascii_whitespace() {
            previous = *first;
        }
        rest = remaining;
    }
    Cow::Owned(text)
}

/// Whether the JSON text is a whole number that does not fit in 64 bits.
pub(super) fn is_long_integer(json: &[u8]) -> bool {
    let digits = json.strip_prefix(b"-").unwrap_or(json);
    let text = str::from_utf8(json).unwrap_or_default();
    digits.len() >= MIN_DIGITS
        && digits.iter().all(u8::is_ascii_digit)
        && text.parse::<i64>().is_err()
        && text.parse::<u64>().is_err()
}

/// Returns the length in bytes of the first token if it is a string or a number, else 1.
fn token_length(json: &[u8]) -> usize {
    match json.first() {
        Some(b'"') => string_length(json),
        Some(b'-' | b'0'..=b'9') => json
            .iter()
            .position(|byte| !is_part_of_number(*byte))
            .unwrap_or(json.len()),
        Some(_) | None => 1,
    }
}

/// Returns the length in bytes of the string at the beginning of the text, including its quotes.
fn string_length(json: &[u8]) -> usize {
    let mut is_escaped = false;
    for (index, byte) in json.iter().enumerate().skip(1) {
        if *byte == b'"' && !is_escaped {
            return index + 1;
        }
        is_escaped = *byte == b'\\' && !is_escaped;
    }
    json.len()
}

fn is_part_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> String {
        String::from_utf8(as_text(json.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn integers_beyond_64_bits_become_text_in_values_of_objects() {
        let long = "1".repeat(40);
        assert_eq!(
            read(&format!("{{\"a\" : {long} , \"b\":-{long}}}")),
            format!("{{\"a\" : \"{long}\" , \"b\":\"-{long}\"}}")
        );
        for number in ["18446744073709551616", "-9223372036854775809"] {
            assert_eq!(
                read(&format!("{{\"a\":{number}}}")),
                format!("{{\"a\":\"{number}\"}}")
            );
        }
    }

    #[test]
    fn other_numbers_and_texts_are_unchanged() {
        let long = "1".repeat(40);
        for same in [
            "{\"a\":18446744073709551615,\"b\":-9223372036854775808}".to_owned(),
            format!("{{\"a\":{long}.5,\"b\":{long}e1,\"c\":[{long},{long}]}}"),
            format!("{{\"a\":\"\\\":{long}\",\"\\\\\":1,\"{long}\":null}}"),
            format!("[{long}]"),
            long,
        ] {
            assert_eq!(read(&same), same);
        }
    }
}
