//! Finds numbers that a spreadsheet has changed.

use std::iter;

use super::Mangled;

/// The maximum number of zeros that a repair adds.
const MAX_LOST_ZEROS: usize = 3;
/// The number of digits that a spreadsheet keeps. It replaces all further digits by zeros.
const KEPT_DIGITS: usize = 15;

/// Returns the repair of an identifier that has lost zeros at the beginning or digits at the end, or
/// has decimals. `None` for an identifier with one of the valid numbers of digits, and for other
/// texts.
pub(super) fn restore_digits(text: &str, lengths: &[usize]) -> Option<(Mangled, String)> {
    let (digits, kind) = match remove_decimals(text) {
        Some(whole) => (whole, Mangled::Decimals),
        None => (text, Mangled::LostZeros),
    };
    if !is_digits(digits) {
        return None;
    }
    if is_shortened(digits) {
        return Some((Mangled::LostDigits, String::new()));
    }
    if lengths.contains(&digits.len()) {
        return (kind == Mangled::Decimals).then(|| (kind, digits.to_owned()));
    }
    let has_length = |padded: &String| lengths.contains(&padded.len());
    let padded = pad_with_zeros(digits).find(has_length)?;
    Some((kind, padded))
}

/// Whether all digits that a spreadsheet does not keep are zeros. A number that ends with these
/// zeros is as long, and only the person can tell.
fn is_shortened(digits: &str) -> bool {
    let end = digits.get(KEPT_DIGITS..).unwrap_or_default();
    !end.is_empty() && end.bytes().all(|byte| byte == b'0')
}

/// Returns the digits of a whole number such as `11.0`; `None` for other texts.
pub(super) fn remove_decimals(text: &str) -> Option<&str> {
    let (whole, decimals) = text.split_once(['.', ','])?;
    let is_zero = !decimals.is_empty() && decimals.bytes().all(|byte| byte == b'0');
    (is_zero && is_digits(whole)).then_some(whole)
}

/// Returns a number with one to [`MAX_LOST_ZEROS`] zeros before it; nothing for other texts.
pub(super) fn pad_with_zeros(text: &str) -> impl Iterator<Item = String> {
    let most = if is_digits(text) { MAX_LOST_ZEROS } else { 0 };
    (1..=most).map(move |zeros| iter::repeat_n("0", zeros).chain([text]).collect())
}

/// Returns the digits of a number in scientific notation, or blank text if some digits are lost.
/// `None` for other texts.
pub(super) fn read_scientific(text: &str) -> Option<(Mangled, String)> {
    let (mantissa, exponent) = text.split_once(['E', 'e'])?;
    let exponent = exponent
        .strip_prefix('+')
        .filter(|digits| is_digits(digits))?;
    let exponent: usize = exponent.parse().ok()?;
    let (first, decimals) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    if first.len() != 1 || !is_digits(first) || !is_digits(decimals) {
        return None;
    }
    // The exponent is the number of digits after the first one.
    if decimals.len() < exponent {
        return Some((Mangled::LostDigits, String::new()));
    }
    let digits = format!("{first}{decimals}");
    (decimals.len() == exponent).then_some((Mangled::ScientificNotation, digits))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
