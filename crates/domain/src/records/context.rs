//! What a rule may know besides the record.

use chrono::NaiveDate;

use crate::fields::accepted_codes::AcceptedCodes;
use crate::lists::Lists;
use crate::records::organisations::Organisations;

/// What a rule may know besides the record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The date in UTC.
    pub today: NaiveDate,
    /// The code lists.
    pub lists: &'a Lists,
    /// The codes that the version accepts.
    pub accepted_codes: &'a AcceptedCodes,
    /// The schools and training partners that the request refers to.
    pub organisations: &'a Organisations,
}
