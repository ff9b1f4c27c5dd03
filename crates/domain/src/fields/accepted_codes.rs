//! The codes and numbers that differ between versions with the same rules.

use crate::lists::List;

/// The codes that a version accepts.
#[derive(Debug, Clone, Copy)]
pub struct AcceptedCodes {
    /// Lists with the accepted codes of each. All codes of other lists are accepted.
    pub accepted: &'static [(List, &'static [&'static str])],
    /// Academic years with funding for some subjects without student finance.
    pub funding_exception_years: &'static [i32],
}

impl AcceptedCodes {
    /// Accepts all codes.
    pub const ALL: Self = Self {
        accepted: &[],
        funding_exception_years: &[],
    };

    /// Whether the version accepts a code of the list. Does not check that the list has the code.
    #[must_use]
    pub fn accepts(&self, list: List, code: &str) -> bool {
        self.accepted
            .iter()
            .all(|(narrowed, codes)| *narrowed != list || codes.contains(&code))
    }
}
