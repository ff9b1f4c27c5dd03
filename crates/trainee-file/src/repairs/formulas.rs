//! Formulas and their error values in the place of values.

use super::Mangled;
use crate::apostrophe::FORMULA_STARTS;

/// Texts that spreadsheets show for a formula without a value.
const ERROR_VALUES: [&str; 8] = [
    "#N/A", "#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!",
];

/// Returns the text of a formula that only shows it, such as `="01"`, or the digits of `=12`. `None`
/// for other texts.
pub(super) fn read_text_formula(text: &str) -> Option<String> {
    let shown = text.strip_prefix('=')?.trim();
    if !shown.is_empty() && shown.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(shown.to_owned());
    }
    let quoted = shown.strip_prefix('"')?.strip_suffix('"')?;
    // A quotation mark within the text is written twice.
    let inner = quoted.replace("\"\"", "");
    (!quoted.is_empty() && !inner.contains('"')).then(|| quoted.replace("\"\"", "\""))
}

/// Returns the kind of a formula or an error value. `None` for other texts, and for a single
/// character such as a hyphen.
pub(super) fn find_kind(text: &str) -> Option<Mangled> {
    if ERROR_VALUES.contains(&text) || text.trim_matches('#').is_empty() {
        return Some(Mangled::ErrorValues);
    }
    let is_formula = text.starts_with(FORMULA_STARTS) && text.chars().nth(1).is_some();
    is_formula.then_some(Mangled::Formulas)
}
