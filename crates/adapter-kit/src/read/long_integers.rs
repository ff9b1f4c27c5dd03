//! Whole numbers that have too many digits for a machine. A parser of JSON reads them as floating
//! point, which loses digits.

use std::borrow::Cow;

/// Fewer digits always fit into 64 bits.
const MIN_DIGITS: usize = 19;

/// The JSON text with each value of an object that is such a number as a string of its digits,
/// which is how text fields read numbers. `json` must be valid. Elements of arrays stay: no array
/// of numbers is read as text.
pub(super) fn as_text(json: &[u8]) -> Cow<'_, [u8]> {
    let has_long_run = json
        .chunk_by(|a, b| a.is_ascii_digit() && b.is_ascii_digit())
        .any(|run| run.len() >= MIN_DIGITS);
    if !has_long_run {
        return Cow::Borrowed(json);
    }
    let mut text = Vec::with_capacity(json.len() + 2);
    let (mut rest, mut before) = (json, b' ');
    while let Some(first) = rest.first() {
        let (token, others) = rest.split_at(token_length(rest));
        let is_quoted = before == b':' && is_long_integer(token);
        text.extend(is_quoted.then_some(b'"'));
        text.extend_from_slice(token);
        text.extend(is_quoted.then_some(b'"'));
        if !first.is_ascii_whitespace() {
            before = *first;
        }
        rest = others;
    }
    Cow::Owned(text)
}

/// Whether a JSON text is a whole number that does not fit into 64 bits.
pub(super) fn is_long_integer(json: &[u8]) -> bool {
    let digits = json.strip_prefix(b"-").unwrap_or(json);
    let text = str::from_utf8(json).unwrap_or_default();
    digits.len() >= MIN_DIGITS
        && digits.iter().all(u8::is_ascii_digit)
        && text.parse::<i64>().is_err()
        && text.parse::<u64>().is_err()
}

/// The bytes of the string or the number with which a JSON text begins; 1 for anything else.
fn token_length(json: &[u8]) -> usize {
    match json.first() {
        Some(b'"') => {
            let mut is_escaped = false;
            let ends = |byte: &u8| {
                let ends = *byte == b'"' && !is_escaped;
                is_escaped = *byte == b'\\' && !is_escaped;
                ends
            };
            json.iter()
                .skip(1)
                .position(ends)
                .map_or(json.len(), |inner| inner + 2)
        }
        Some(b'-' | b'0'..=b'9') => {
            let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
            json.iter()
                .position(|byte| !is_part(byte))
                .unwrap_or(json.len())
        }
        Some(_) | None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> String {
        String::from_utf8(as_text(json.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn numbers_beyond_64_bits_become_text_where_a_key_has_them() {
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
    fn everything_else_stays_as_it_is() {
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
