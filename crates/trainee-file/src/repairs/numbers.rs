//! Finds numbers that a spreadsheet has changed.

use std::iter;

use super::{Found, Mangled};

/// The maximum number of zeros that a repair adds.
const MAX_LOST_ZEROS: usize = 3;
/// The number of digits that a spreadsheet keeps. It replaces all further digits by zeros.
const KEPT_DIGITS: usize = 15;
/// The minimum number of long numbers with zeros at the end. Fewer may be a coincidence.
const MIN_LONG_NUMBERS: usize = 2;

/// Finds identifiers that have lost zeros at the beginning or digits at the end. `lengths` contains
/// the valid numbers of digits.
pub(super) fn find_digits(cells: &[(usize, &str)], lengths: &[usize], found: &mut Found) {
    let have_lost_digits = have_lost_digits(cells);
    for (row, text) in cells.iter().filter(|(_, text)| is_digits(text)) {
        if have_lost_digits && text.len() > KEPT_DIGITS {
            let lost = found.entry(Mangled::LostDigits).or_default();
            lost.push((*row, String::new()));
        } else if !lengths.contains(&text.len()) {
            let has_length = |padded: &String| lengths.contains(&padded.len());
            if let Some(padded) = pad_with_zeros(text).find(has_length) {
                found
                    .entry(Mangled::LostZeros)
                    .or_default()
                    .push((*row, padded));
            }
        }
    }
}

/// Whether a spreadsheet has replaced the last digits of all long numbers by zeros.
fn have_lost_digits(cells: &[(usize, &str)]) -> bool {
    let mut long_numbers = 0;
    for (_, text) in cells.iter().filter(|(_, text)| is_digits(text)) {
        let end = text.get(KEPT_DIGITS..).unwrap_or_default();
        if end.bytes().any(|byte| byte != b'0') {
            return false;
        }
        long_numbers += usize::from(!end.is_empty());
    }
    long_numbers >= MIN_LONG_NUMBERS
}

/// Returns a number with one to [`MAX_LOST_ZEROS`] zeros before it; nothing for other texts.
pub(super) fn pad_with_zeros(text: &str) -> impl Iterator<Item = String> {
    let most = if is_digits(text) { MAX_LOST_ZEROS } else { 0 };
    (1..=most).map(move |zeros| iter::repeat_n("0", zeros).chain([text]).collect())
}

/// Finds numbers such as `1.23457E+11`.
pub(super) fn find_scientific(cells: &[(usize, &str)], found: &mut Found) {
    for (row, text) in cells {
        if let Some((kind, restored)) = read_scientific(text) {
            found.entry(kind).or_default().push((*row, restored));
        }
    }
}

/// Returns the digits of a number in scientific notation, or blank text if some digits are lost.
/// `None` for other texts.
fn read_scientific(text: &str) -> Option<(Mangled, String)> {
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
