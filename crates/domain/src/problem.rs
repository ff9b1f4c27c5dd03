//! What can be wrong with a request, and where: paths and kinds, no names of a version and no prose.
//!
//! Only a version knows what a field is called there, so a [`Problem`] has a [`Path`]; the adapter kit writes the message.

use chrono::NaiveDate;

use crate::field::{Field, InvalidValue};
use crate::lifecycle::{Action, State};
use crate::value::Kind;

mod code;

pub use code::Code;

/// The place in a request that a problem is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Path {
    /// The whole body: `data`.
    Data,
    /// A field of the record.
    Field(Field),
    /// A nested list as a whole.
    List(Field),
    /// A field of a record in a nested list. Positions count from 0.
    Nested {
        /// The nested list.
        list: Field,
        /// The position in it.
        position: usize,
        /// The field there.
        field: Field,
    },
    /// A record in a nested list as a whole.
    Position {
        /// The nested list.
        list: Field,
        /// The position in it.
        position: usize,
    },
    /// A key that the client sent and that is no field of this version.
    Key(String),
    /// Such a key of a record in a nested list.
    NestedKey {
        /// The nested list.
        list: Field,
        /// The position in it.
        position: usize,
        /// The key as it was sent.
        key: String,
    },
}

impl<F: Into<Field>> From<F> for Path {
    fn from(field: F) -> Self {
        Self::Field(field.into())
    }
}

impl Path {
    /// The same place, seen from the record that holds the nested list.
    #[must_use]
    pub fn nested(self, list: Field, position: usize) -> Self {
        match self {
            Self::Field(field) => Self::Nested { list, position, field },
            Self::Key(key) => Self::NestedKey { list, position, key },
            Self::Data | Self::List(_) | Self::Nested { .. } | Self::Position { .. } | Self::NestedKey { .. } => {
                Self::Position { list, position }
            }
        }
    }
}

/// Something that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub at: Path,
    /// What.
    pub kind: ProblemKind,
}

impl Problem {
    /// A problem of that kind at that place.
    pub fn at(at: impl Into<Path>, kind: ProblemKind) -> Self {
        Self { at: at.into(), kind }
    }

    /// The same problem, seen from the record that holds the nested list.
    #[must_use]
    pub fn nested(self, list: Field, position: usize) -> Self {
        Self { at: self.at.nested(list, position), ..self }
    }

    /// Whether a value is invalid, rather than missing `data` or a state that does not allow the request.
    #[must_use]
    pub fn concerns_value(&self) -> bool {
        self.at != Path::Data && !self.kind.is_transition()
    }
}

/// The ways in which a request can be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// The nested list is not read here, and the client asked for such names to be refused.
    UseEndpoint,
    /// A value must be there and is not.
    Blank,
    /// `data` is missing, or not an object with at least one key.
    NoData,
    /// The value is not of the field's kind.
    WrongType {
        /// The kind of the field.
        expected: Kind,
        /// The date that was sent, when it has the form of one and no calendar has it.
        impossible_date: Option<String>,
    },
    /// Text with control characters other than tab and line breaks.
    ControlCharacter,
    /// The key stands twice in one object.
    RepeatedKey,
    /// The name is that of another version.
    OtherVersionsName {
        /// The field that is meant.
        field: Field,
    },
    /// No field of that name is known, and the client asked for such names to be refused.
    UnknownName {
        /// What it may stand for.
        hint: NameHint,
    },
    /// The text is too long.
    TooLong {
        /// The longest text, in Unicode scalar values.
        max: usize,
    },
    /// There are too many records in a nested list.
    TooMany {
        /// The most there can be.
        max: usize,
    },
    /// The code is not accepted.
    UnknownCode {
        /// The code as it was sent.
        value: String,
        /// The accepted codes, in code order.
        accepted: Vec<String>,
    },
    /// The text must have one of these lengths.
    WrongLength {
        /// The lengths, in Unicode scalar values.
        lengths: &'static [usize],
    },
    /// The text must consist of digits, no more than these.
    NotDigits {
        /// The most digits.
        max: usize,
    },
    /// The text must consist of exactly so many digits.
    NotExactDigits {
        /// The number of digits.
        digits: usize,
    },
    /// The text is not a whole number.
    NotWholeNumber,
    /// The text is not an e-mail address.
    NotEmail,
    /// The text is not a full postcode of the United Kingdom.
    NotPostcode,
    /// The date is later than today.
    InFuture,
    /// The trainee is too young.
    TooYoung {
        /// The least age, in years.
        years: u32,
    },
    /// The date is too long ago.
    TooOld {
        /// The most years ago.
        years: u32,
    },
    /// The date's year is too late.
    YearTooLate {
        /// The last year.
        latest: i32,
    },
    /// The date is too early.
    TooEarly {
        /// The first day.
        earliest: NaiveDate,
    },
    /// The year is outside its bounds.
    YearOutside {
        /// The first year.
        earliest: i64,
        /// The last year.
        latest: i64,
    },
    /// The date must be later than that of another field.
    NotAfter {
        /// The other field.
        field: Field,
    },
    /// The date must not be earlier than that of another field.
    Before {
        /// The other field.
        field: Field,
    },
    /// The value must differ from that of another field.
    SameAs {
        /// The other field.
        field: Field,
    },
    /// The phase of education demands a certain first subject.
    SubjectForPhase {
        /// The phase.
        phase: &'static str,
        /// The code of the subject.
        subject: &'static str,
    },
    /// The route demands a value here.
    RequiredOnRoute {
        /// The code of the route.
        route: String,
    },
    /// The route has no value here.
    NotOnRoute {
        /// The code of the route.
        route: String,
    },
    /// The code goes with early years routes only, or they demand it.
    EarlyYearsOnly {
        /// The code.
        code: &'static str,
    },
    /// The early years routes demand this code.
    EarlyYearsDemand {
        /// The code.
        code: &'static str,
    },
    /// The route did not exist in that academic year.
    RouteNotInYear {
        /// The code of the route.
        route: String,
        /// The first academic year of the route.
        from: i32,
    },
    /// No school has this URN.
    NoSuchSchool {
        /// The URN as it was sent.
        urn: String,
    },
    /// No training partner has this URN.
    NoSuchPartnerUrn {
        /// The URN as it was sent.
        urn: String,
    },
    /// No training partner has this UKPRN.
    NoSuchPartnerUkprn {
        /// The UKPRN as it was sent.
        ukprn: String,
    },
    /// Student finance is not open to this route in this year.
    NoStudentFinance {
        /// The academic year, by its first calendar year.
        year: i32,
    },
    /// The funding method goes with student finance only.
    FundingNeedsFinance {
        /// The funding method.
        method: String,
    },
    /// No such funding exists for the year, the route and the subject.
    NoSuchFunding {
        /// The funding method.
        method: String,
        /// The academic year, by its first calendar year.
        year: i32,
        /// The funding methods that exist, in code order.
        available: Vec<String>,
    },
    /// The initiative was not available in the year.
    InitiativeNotInYear {
        /// The code of the initiative.
        initiative: String,
        /// The academic year, by its first calendar year.
        year: i32,
    },
    /// The record repeats an earlier one of its list. Positions count from 0.
    RepeatsPosition {
        /// The position of the earlier one.
        position: usize,
    },
    /// The reasons do not go with the trigger.
    WrongReasons {
        /// The reasons that do not.
        reasons: Vec<String>,
        /// The reasons that do.
        accepted: Vec<String>,
    },
    /// At least one reason must be chosen.
    NoReasons,
    /// A reason demands an explanation.
    ReasonNeedsExplanation {
        /// The reason.
        reason: String,
    },
    /// The action cannot be done in the state of the record.
    Transition {
        /// The action.
        action: Action,
        /// The state.
        state: State,
    },
    /// The action can be done in two states only, and the record is in neither.
    WrongState {
        /// The action.
        action: Action,
    },
    /// The training has not started, so that the trainee cannot leave it.
    NotStarted,
    /// There are too few placements for the award.
    TooFewPlacements {
        /// The least number.
        min: u32,
        /// The route's neutral name.
        route: String,
    },
    /// The award needs a degree on this route.
    NoDegree,
    /// The award needs an employing school on this route.
    NoEmployingSchool,
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
    /// Whether the state of the record refuses the action, rather than the input being wrong.
    #[must_use]
    pub const fn is_transition(&self) -> bool {
        matches!(self, Self::Transition { .. } | Self::NotStarted)
    }
}

/// What a name may stand for that is no field of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameHint {
    /// Nothing that is known.
    None,
    /// A slip of a name of this version.
    Nearest(&'static str),
    /// A name that only later versions have.
    Later {
        /// The label of the first version that has it.
        version: String,
        /// The field that it is another name for, where this version has it too.
        field: Option<Field>,
    },
}

/// Something that was done otherwise than the client may think, in a request that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Where.
    pub at: Path,
    /// What.
    pub kind: NoticeKind,
}

/// What a client should know about an accepted request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeKind {
    /// No field of that name is known.
    UnknownName {
        /// What it may stand for.
        hint: NameHint,
    },
    /// The nested list is not read here; its records have endpoints of their own.
    UseEndpoint,
    /// The value matches no entry and was left out.
    NoMatch,
    /// The value is held by the linked school.
    GivenBySchool,
    /// The value was sent as it was shown, so that it changes together with another field.
    MovesWith {
        /// The other field.
        field: Field,
    },
    /// The code fell away, since another had to come first.
    Dropped {
        /// The code.
        code: String,
    },
}
