//! The context of rules.

use chrono::NaiveDate;

use crate::fields::accepted_codes::AcceptedCodes;
use crate::lists::Lists;
use crate::records::organisations::Organisations;

/// The context of rules: everything that a rule can read except the record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The current date in UTC.
    pub today: NaiveDate,
    /// The code lists.
    pub lists: &'a Lists,
    /// The codes that the version accepts.
    pub accepted_codes: &'a AcceptedCodes,
    /// The schools and training partners named in the request.
    pub organisations: &'a Organisations,
}
