//! Which codes a version accepts: where versions differ in a list or a number, and not in a rule.

use crate::lists::List;

/// The codes that a version accepts.
#[derive(Debug, Clone, Copy)]
pub struct AcceptedCodes {
    /// The accepted codes of a list, where the version does not accept all of them.
    pub accepted: &'static [(List, &'static [&'static str])],
    /// Academic years in which some subjects are funded without student finance.
    pub funding_exception_years: &'static [i32],
}

impl AcceptedCodes {
    /// Accepts all codes.
    pub const ALL: Self = Self {
        accepted: &[],
        funding_exception_years: &[],
    };

    /// Whether the version accepts a code that is in the list.
    #[must_use]
    pub fn accepts(&self, list: List, code: &str) -> bool {
        self.accepted
            .iter()
            .all(|(narrowed, codes)| *narrowed != list || codes.contains(&code))
    }
}
