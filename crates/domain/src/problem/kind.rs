//! The kinds of problems. Each kind has a code for programs, its meaning and its remedy.
//!
//! Codes are equal in all versions and are never reused. The sentences contain no field names,
//! because field names differ between versions.

use chrono::NaiveDate;

use crate::fields::field::{Field, InvalidValue};
use crate::fields::value::Kind;
use crate::lifecycle::{Action, State};

macro_rules! problems {
    ($(
        $kind:ident $({ $($field:ident: $type:ty),+ })? = $name:literal: $meaning:literal, $remedy:literal;
    )+) => {
        /// The kinds of problems of a request.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the sentences of meaning describe the kinds")]
        pub enum ProblemKind {
            $(#[doc = $meaning] $kind $({ $($field: $type),+ })?,)+
        }

        /// The code of a problem: one for each [`ProblemKind`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $kind,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// Returns the code as shown to clients.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            /// Returns the meaning of the code, one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning),+ }
            }

            /// Returns the remedy for clients, one sentence.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$kind => $remedy),+ }
            }
        }

        impl ProblemKind {
            /// Returns the code of the problem.
            #[must_use]
            pub const fn code(&self) -> Code {
                match self { $(Self::$kind { .. } => Code::$kind),+ }
            }
        }
    };
}
problems! {
    Blank = "blank":
        "A required value is missing.",
        "Send a value.";
    NoData = "no_data":
        "An object with at least one field is required.",
        "Send an object with at least one field.";
    // `impossible_date`: the sent text, if it has the form of a date that does not exist.
    WrongType { expected: Kind, impossible_date: Option<String> } = "wrong_type":
        "The value is not of the field's type.",
        "Send a value of the type that the message names.";
    ControlCharacter = "control_character":
        "The text has control characters other than tab and line breaks.",
        "Remove these characters.";
    RepeatedKey = "repeated_key":
        "The key occurs more than once in one object.",
        "Send the key once.";
    OtherVersionsName { field: Field } = "other_versions_name":
        "The name belongs to another version.",
        "Use the name that the message gives.";
    UnknownName { hint: NameHint } = "unknown_name":
        "This version has no field with this name, and the request asked to refuse unknown names.",
        "Correct the name, or leave the field out.";
    UseEndpoint = "use_endpoint":
        "The nested list cannot be changed here, and the request asked to refuse ignored fields.",
        "Use the endpoints of the nested records.";
    // `input`: the input that sets the value; `None` if only the service sets it.
    NotAnInput { input: Option<Field> } = "not_an_input":
        "The name is one of replies only, the reply would have another value, and the request asked to refuse ignored fields.",
        "Use the name that the message gives, or leave the field out.";
    // `max`: the maximum length, in Unicode scalar values.
    TooLong { max: usize } = "too_long":
        "The text is longer than the field allows.",
        "Shorten the text.";
    MalformedKey = "malformed_key":
        "The idempotency key is malformed.",
        "Send a text of visible ASCII characters that is not too long, such as a random UUID.";
    TooMany { max: usize } = "too_many":
        "The list has more items than a request may have.",
        "Send fewer items, and add the rest in separate requests.";
    // `accepted`: the accepted codes, in code order.
    UnknownCode { value: String, accepted: Vec<String> } = "unknown_code":
        "The code is not in the field's list, or this version does not accept it.",
        "Send a code of the list, as text and with its leading zeros.";
    // `lengths`: the allowed lengths, in Unicode scalar values.
    WrongLength { lengths: &'static [usize] } = "wrong_length":
        "The text does not have one of the allowed lengths.",
        "Send a text of a length that the message names.";
    NotDigits { max: usize } = "not_digits":
        "The text has characters other than digits, or too many digits.",
        "Send digits only, no more than the message says.";
    NotExactDigits { digits: usize } = "wrong_number_of_digits":
        "The text does not have the required number of digits.",
        "Send as many digits as the message says.";
    NotWholeNumber = "not_whole_number":
        "The text is not a whole number.",
        "Send digits only.";
    NotEmail = "not_email":
        "The text is not an e-mail address.",
        "Correct the address.";
    NotPostcode = "not_postcode":
        "The text is not a full postcode of the United Kingdom.",
        "Send the full postcode, or none.";
    InFuture = "in_future":
        "The date is later than today.",
        "Send a date that is not later than today, in UTC.";
    // `years`: the minimum age, in years.
    TooYoung { years: u32 } = "too_young":
        "The trainee is too young.",
        "Check the date of birth.";
    // `years`: the maximum age, in years.
    TooOld { years: u32 } = "too_old":
        "The trainee is too old.",
        "Check the date of birth.";
    YearTooLate { latest: i32 } = "year_too_late":
        "The year of the date is too late.",
        "Send a date in the latest year that the message names, or an earlier date.";
    TooEarly { earliest: NaiveDate } = "too_early":
        "The date is too long ago.",
        "Send the first day that the message names, or a later one.";
    YearOutside { earliest: i64, latest: i64 } = "year_outside":
        "The year is outside the allowed range.",
        "Send a year in the range that the message names.";
    NotAfter { field: Field } = "not_after":
        "The date is not later than the date in another field.",
        "Correct one of the two dates.";
    Before { field: Field } = "before":
        "The date is earlier than the date in another field.",
        "Correct one of the two dates.";
    SameAs { field: Field } = "same_as":
        "The value must differ from the value of another field.",
        "Send another value, or leave one of the two fields out.";
    SubjectForPhase { phase: &'static str, subject: &'static str } = "subject_for_phase":
        "The phase of education requires a specific first subject.",
        "Send the subject that the message names first, and your other subjects after it.";
    RequiredOnRoute { route: String } = "required_on_route":
        "The training route requires a value in this field.",
        "Send a value, or correct the route.";
    NotOnRoute { route: String } = "not_on_route":
        "The training route does not allow a value in this field.",
        "Leave the field out, or correct the route.";
    EarlyYearsOnly { code: &'static str } = "early_years_only":
        "The code is valid only on early years routes.",
        "Send another code, or correct the route.";
    EarlyYearsDemand { code: &'static str } = "early_years_demand":
        "Early years routes require a specific code.",
        "Send the code that the message names, or correct the route.";
    RouteNotInYear { route: String, from: i32 } = "route_not_in_year":
        "The training route did not exist in the academic year of the start.",
        "Send another route, or correct the start date.";
    NoSuchSchool { urn: String } = "no_such_school":
        "No school has this URN.",
        "Send the URN of a known school, or a URN that means none.";
    NoSuchPartnerUrn { urn: String } = "no_such_partner_urn":
        "No training partner has this URN.",
        "Send the URN of a known training partner, or a URN that means none.";
    NoSuchPartnerUkprn { ukprn: String } = "no_such_partner_ukprn":
        "No training partner has this UKPRN.",
        "Send the UKPRN of a known training partner.";
    // `year`: the academic year, by its first calendar year.
    NoStudentFinance { year: i32 } = "no_student_finance":
        "Student finance is not available for this route and age range in the academic year.",
        "Send the fund code for no student finance, or correct the route or the dates.";
    FundingNeedsFinance { method: String } = "funding_needs_finance":
        "The funding method requires student finance.",
        "Send the fund code for student finance, or another funding method.";
    // `year`: the academic year, by its first calendar year. `available`: the available funding
    // methods, in code order.
    NoSuchFunding { method: String, year: i32, available: Vec<String> } = "no_such_funding":
        "No such funding exists for the academic year, the route and the first subject.",
        "Send another funding method, or correct the route, the subject or the dates.";
    // `year`: the academic year, by its first calendar year.
    InitiativeNotInYear { initiative: String, year: i32 } = "initiative_not_in_year":
        "The initiative was not available in the academic year of the start.",
        "Send another initiative or none, or correct the start date.";
    RepeatsPosition { position: usize } = "repeats_item":
        "The item repeats an earlier item in its list.",
        "Send the item once.";
    // `reasons`: the sent reasons that are not listed for the trigger. `accepted`: the listed
    // reasons.
    WrongReasons { reasons: Vec<String>, accepted: Vec<String> } = "wrong_reasons":
        "Some reasons are not listed for the trigger.",
        "Send reasons that are listed for the trigger.";
    NoReasons = "no_reasons":
        "No reason is given.",
        "Send at least one reason.";
    ReasonNeedsExplanation { reason: String } = "reason_needs_words":
        "One of the reasons needs an explanation.",
        "Send the explanation in the field that the problem names.";
    Transition { action: Action, state: State } = "transition_not_allowed":
        "The record's state does not allow the action.",
        "Read the trainee, then choose an action that its current state allows.";
    WrongState { action: Action } = "wrong_state":
        "The action is possible in only a few states, and the record has another state.",
        "Read the trainee, then choose an action that its current state allows.";
    NoNextStep { state: State } = "no_next_step":
        "The registry has no next step for a trainee in this state.",
        "Send the request that the message names, or register another trainee.";
    NotStarted = "not_started":
        "The training has not started, so the trainee cannot withdraw from it.",
        "Defer instead, or give as the reason that the record was added in error.";
    TooFewPlacements { min: u32, route: String } = "too_few_placements":
        "The award needs more placements on this route.",
        "Add the placements first.";
    NoDegree = "no_degree":
        "The award needs a degree on this route.",
        "Add the degree first.";
    NoEmployingSchool = "no_employing_school":
        "The award needs an employing school on this route.",
        "Set the employing school first.";
}

impl From<InvalidValue> for ProblemKind {
    fn from(invalid: InvalidValue) -> Self {
        match invalid {
            InvalidValue::TooLong { max } => Self::TooLong { max },
            InvalidValue::UnknownCode { value, accepted } => Self::UnknownCode { value, accepted },
        }
    }
}

impl ProblemKind {
    /// Whether the state of the record does not allow the action. Other problems are about the
    /// input.
    #[must_use]
    pub const fn is_transition(&self) -> bool {
        matches!(
            self,
            Self::Transition { .. } | Self::NoNextStep { .. } | Self::NotStarted
        )
    }
}

/// A hint about a name that is not a field of the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameHint {
    /// No known name is similar.
    None,
    /// A similar name of this version.
    Nearest(&'static str),
    /// Only later versions have the name.
    Later {
        /// The label of the first version with the name.
        version: String,
        /// The field with that name in the later version; `None` if this version lacks the field.
        field: Option<Field>,
    },
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn codes_consist_of_small_letters_and_underscores() {
        for code in Code::ALL {
            let name = code.name();
            let form = name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            assert!(
                form && !name.starts_with('_') && !name.ends_with('_'),
                "{name}"
            );
        }
    }

    #[test]
    fn codes_have_one_meaning_and_remedy() {
        for code in Code::ALL {
            for sentence in [code.meaning(), code.remedy()] {
                assert!(
                    sentence.ends_with('.') && sentence.matches('.').count() == 1,
                    "{sentence}"
                );
            }
        }
    }
}
