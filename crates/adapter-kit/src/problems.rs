//! Writes the messages of problems and the bodies of error replies for a version.
//!
//! A message consists of the field name in that version, a space and the problem (contract,
//! section 7).

use std::borrow::Cow;

use domain::fields::field::Codes;
use domain::lifecycle::states_before;
use domain::problem::{NameHint, NoticeKind};
use domain::rules::funding::ELIGIBLE;
use domain::values::academic_year;
use domain::{
    Action, DegreeField, Field, Kind, List, Lists, Notice, Path, Problem, ProblemKind, State,
    TraineeField,
};

use crate::endpoint::Endpoint;
use crate::form::MemberForm;
use crate::names::{self, field, path, path_in_message};
use crate::read::MAX_KEY_CHARS;
use crate::read::client_text::{header_text, is_printable, truncated};
use crate::reference;
use crate::shape::JsonType;
use crate::version::ApiVersion;
use crate::versions::Served;
use crate::wire::{WireRecord, for_each_record};
use crate::wire_form::{Words, word_of};

mod by_field;

pub use crate::error_body::{
    ErrorBody, ErrorEntry, ErrorSummary, Errors, ErrorsByField, FieldErrors, Located,
    ParameterErrors, TRANSITION, UNPROCESSABLE,
};

/// The maximum number of accepted codes in a message.
const CODES_LISTED: usize = 10;

/// The first word of a warning about an unknown name.
pub const UNKNOWN: &str = "unknown";

impl Errors {
    /// Returns a body with one entry for each problem.
    #[must_use]
    pub fn from_problems(served: &Served, lists: &Lists, problems: &[Problem]) -> Self {
        Self {
            errors: problems
                .iter()
                .map(|problem| entry(served, lists, problem))
                .collect(),
        }
    }
}

/// Returns the entry of a problem: the name of the error, the message, the code and the path.
fn entry(served: &Served, lists: &Lists, problem: &Problem) -> ErrorEntry {
    let version = served.version;
    let error = if problem.kind.is_transition() {
        TRANSITION
    } else {
        UNPROCESSABLE
    };
    let message = format!(
        "{} {}{}",
        path_in_message(version, &problem.at),
        message(version, lists, problem),
        link_to_list(served, problem)
    );
    let located = Located {
        code: problem.kind.code().name(),
        field: path(version, &problem.at),
    };
    ErrorEntry {
        error,
        message,
        located: Some(located),
    }
}

/// Names of fields and codes as a version writes them in messages.
struct Wording<'a> {
    version: &'a ApiVersion,
    lists: &'a Lists,
}

impl Wording<'_> {
    /// Returns the name of a field.
    fn name(&self, other: impl Into<Field>) -> &'static str {
        field(self.version, other.into())
    }

    /// Returns a code of a list.
    fn code<'c>(&self, list: List, code: &'c str) -> &'c str {
        self.version.wire.written(list, code)
    }

    /// Returns a training initiative with its name in parentheses.
    fn initiative(&self, code: &str) -> String {
        let written = self.code(List::TrainingInitiative, code);
        match self.lists.entry(List::TrainingInitiative, code) {
            Some(entry) => format!("{written} ({})", entry.name),
            None => written.to_owned(),
        }
    }

    /// Returns a training route with its name in parentheses.
    fn route(&self, code: &str) -> String {
        let name = self
            .lists
            .entry(List::TrainingRoute, code)
            .map_or(code, |entry| entry.name.as_str());
        format!("{} ({name})", self.code(List::TrainingRoute, code))
    }

    /// Returns the message for a value of the wrong JSON type at a path.
    fn wrong_type(&self, at: &Path, expected: Kind) -> String {
        let field = field_at(at);
        let form = field
            .map(|field| names::input_form(self.version, field))
            .unwrap_or_default();
        let codes = field.and_then(|field| accepted_codes(self.version, self.lists, field));
        let form_of_key = match at {
            Path::Key(key) | Path::NestedKey { key, .. } => names::form_named(self.version, key),
            Path::Data
            | Path::Field(_)
            | Path::List(_)
            | Path::Nested { .. }
            | Path::Position { .. } => None,
        };
        if let Some(MemberForm { form, .. }) = form.form.or(form_of_key) {
            return format!("is invalid: it must be {}", form.expected());
        }
        let expected = match (form.part, codes) {
            (Some(part), _) => format!(
                "text of {} values with \"{}\" between them",
                part.count, part.separator
            ),
            (None, Some(codes)) => format!("text; {}", accepted_message(&codes)),
            (None, None) if form.accepts == Some(JsonType::Text) && expected == Kind::Text => {
                "text".to_owned()
            }
            (None, None) => expected_message(expected).to_owned(),
        };
        format!("is invalid: it must be {expected}")
    }
}

/// Returns the message for a problem, without the path and without the link to a code list.
#[must_use]
pub fn message(version: &ApiVersion, lists: &Lists, problem: &Problem) -> String {
    let wording = Wording { version, lists };
    match &problem.kind {
        ProblemKind::UseEndpoint => {
            "is not changed here; use the endpoints of its records".to_owned()
        }
        ProblemKind::NotAnInput { input } => {
            format!("is no input{}", input_message(version, *input))
        }
        ProblemKind::Blank => "cannot be blank".to_owned(),
        ProblemKind::NoData => "must be an object with at least one field".to_owned(),
        ProblemKind::WrongType {
            impossible_date: Some(day),
            ..
        } => {
            format!("is invalid: {day} is no day of the calendar")
        }
        ProblemKind::WrongType {
            expected,
            impossible_date: None,
        } => wording.wrong_type(&problem.at, *expected),
        ProblemKind::ControlCharacter => "is invalid: it has control characters".to_owned(),
        ProblemKind::RepeatedKey => "is sent more than once".to_owned(),
        ProblemKind::OtherVersionsName { field } => {
            // A split field has several names.
            let names = names::inputs(version, *field).join(" and ");
            format!("is called {names} in this version")
        }
        ProblemKind::UnknownName { hint } => {
            let hint =
                hint_message(version, hint).map_or(String::new(), |hint| format!("; {hint}"));
            format!("is not a field of this version{hint}")
        }
        ProblemKind::TooLong { max } => {
            format!("is too long: it can have {max} characters at most")
        }
        ProblemKind::MalformedKey => {
            format!("must be text of 1 to {MAX_KEY_CHARS} visible ASCII characters")
        }
        ProblemKind::TooMany { max } => format!("can have {max} items at most"),
        ProblemKind::UnknownCode { value, accepted } => {
            let accepted = match field_at(&problem.at) {
                Some(field) => codes_as_sent(version, field, accepted),
                None => Cow::Borrowed(&accepted[..]),
            };
            format!(
                "{} is not in the list; {}",
                quoted(value),
                accepted_message(&accepted)
            )
        }
        ProblemKind::WrongLength { lengths } => {
            let lengths: Vec<String> = lengths.iter().map(ToString::to_string).collect();
            format!("must have exactly {} characters", lengths.join(" or "))
        }
        ProblemKind::NotDigits { max } => format!("must consist of digits only, {max} at most"),
        ProblemKind::NotExactDigits { digits } => {
            format!("must consist of exactly {digits} digits")
        }
        ProblemKind::NotWholeNumber => "must be a whole number".to_owned(),
        ProblemKind::NotEmail => "is not a valid e-mail address".to_owned(),
        ProblemKind::NotPostcode => "is not a full postcode of the United Kingdom".to_owned(),
        ProblemKind::InFuture => "cannot be in the future".to_owned(),
        ProblemKind::TooYoung { years } => format!("must be at least {years} years ago"),
        ProblemKind::TooOld { years } => format!("cannot be more than {years} years ago"),
        ProblemKind::YearTooLate { latest } => format!("cannot be later than the year {latest}"),
        ProblemKind::TooEarly { earliest } => format!("cannot be earlier than {earliest}"),
        ProblemKind::YearOutside { earliest, latest } => {
            format!("must be a year from {earliest} to {latest}")
        }
        ProblemKind::NotAfter { field } => format!("must be later than {}", wording.name(*field)),
        ProblemKind::Before { field } => format!("cannot be earlier than {}", wording.name(*field)),
        ProblemKind::SameAs { field } => format!("must differ from {}", wording.name(*field)),
        ProblemKind::SubjectForPhase { phase, subject } => {
            format!(
                "must be {} when the course is for the {phase} phase",
                wording.code(List::CourseSubject, subject)
            )
        }
        ProblemKind::RequiredOnRoute { route } => {
            format!(
                "cannot be blank when {} is {}",
                wording.name(TraineeField::training_route),
                wording.route(route)
            )
        }
        ProblemKind::NotOnRoute { route } => {
            format!(
                "must be blank when {} is {}",
                wording.name(TraineeField::training_route),
                wording.route(route)
            )
        }
        ProblemKind::EarlyYearsOnly { code: range } => {
            format!(
                "can be {} on early years routes only",
                wording.code(List::CourseAgeRange, range)
            )
        }
        ProblemKind::EarlyYearsDemand { code: range } => {
            format!(
                "must be {} on an early years route",
                wording.code(List::CourseAgeRange, range)
            )
        }
        ProblemKind::RouteNotInYear { route, from } => {
            format!(
                "can be {} for a start from August {from} only",
                wording.route(route)
            )
        }
        ProblemKind::NoSuchSchool { urn } => {
            format!("{} is not the URN of a known school", quoted(urn))
        }
        ProblemKind::NoSuchPartnerUrn { urn } => {
            format!(
                "{} is not the URN of a known {}",
                quoted(urn),
                version.vocabulary.training_partner
            )
        }
        ProblemKind::NoSuchPartnerUkprn { ukprn } => {
            format!(
                "{} is not the UKPRN of a known {}",
                quoted(ukprn),
                version.vocabulary.training_partner
            )
        }
        ProblemKind::NoStudentFinance { year } => {
            format!(
                "cannot be {}: there is no student finance for this route and age range in {}",
                wording.code(List::FundCode, ELIGIBLE),
                academic_year::label(*year)
            )
        }
        ProblemKind::FundingNeedsFinance { method } => {
            format!(
                "cannot be {} unless {} is {}",
                wording.code(List::FundingMethod, method),
                wording.name(TraineeField::fund_code),
                wording.code(List::FundCode, ELIGIBLE)
            )
        }
        ProblemKind::NoSuchFunding {
            method,
            year,
            available,
        } => format!(
            "{} is not available for this {} and {} in {}; {}",
            wording.code(List::FundingMethod, method),
            wording.name(TraineeField::training_route),
            wording.name(TraineeField::course_subject_1),
            academic_year::label(*year),
            accepted_message(&in_words(
                available,
                version.wire.words_of_list(List::FundingMethod)
            ))
        ),
        ProblemKind::InitiativeNotInYear { initiative, year } => {
            format!(
                "{} is not available in {}",
                wording.initiative(initiative),
                academic_year::label(*year)
            )
        }
        ProblemKind::RepeatsPosition { position } => format!("repeats item {}", position + 1),
        ProblemKind::WrongReasons { reasons, accepted } => {
            let reasons: Vec<String> = reasons
                .iter()
                .take(CODES_LISTED)
                .map(|reason| quoted(reason))
                .collect();
            format!(
                "has entries that are not in the list: {}; {}",
                reasons.join(", "),
                accepted_message(accepted)
            )
        }
        ProblemKind::NoReasons => "cannot be blank: choose at least one".to_owned(),
        ProblemKind::ReasonNeedsExplanation { reason } => {
            format!("cannot be blank when {reason} is among the reasons")
        }
        ProblemKind::Transition { action, state } => {
            format!("is {state}: the trainee cannot be {}", past(*action))
        }
        ProblemKind::WrongState { action } => {
            let states: Vec<&str> = states_before(*action).map(State::name).collect();
            format!(
                "must be {} to {} a trainee",
                states.join(" or "),
                action.verb()
            )
        }
        ProblemKind::NoNextStep { state } => format!("is {state}: {}", next_step(*state)),
        ProblemKind::NotStarted => {
            "shows that the training has not started: the trainee cannot be withdrawn".to_owned()
        }
        ProblemKind::TooFewPlacements { min, route } => {
            format!("must be at least {min} on the route {route}")
        }
        ProblemKind::NoDegree => "must have at least one entry on this route".to_owned(),
        ProblemKind::NoEmployingSchool => {
            "must be completed on this route before the trainee is recommended".to_owned()
        }
    }
}

/// Whether the [`message`] of a problem repeats a value of the request or of the record, or tells it.
#[must_use]
pub const fn repeats_value(kind: &ProblemKind) -> bool {
    match kind {
        ProblemKind::WrongType {
            impossible_date, ..
        } => impossible_date.is_some(),
        ProblemKind::UnknownCode { .. }
        | ProblemKind::SubjectForPhase { .. }
        | ProblemKind::RequiredOnRoute { .. }
        | ProblemKind::NotOnRoute { .. }
        | ProblemKind::EarlyYearsOnly { .. }
        | ProblemKind::EarlyYearsDemand { .. }
        | ProblemKind::RouteNotInYear { .. }
        | ProblemKind::NoSuchSchool { .. }
        | ProblemKind::NoSuchPartnerUrn { .. }
        | ProblemKind::NoSuchPartnerUkprn { .. }
        | ProblemKind::NoStudentFinance { .. }
        | ProblemKind::FundingNeedsFinance { .. }
        | ProblemKind::NoSuchFunding { .. }
        | ProblemKind::InitiativeNotInYear { .. }
        | ProblemKind::WrongReasons { .. }
        | ProblemKind::ReasonNeedsExplanation { .. }
        | ProblemKind::Transition { .. }
        | ProblemKind::NoNextStep { .. }
        | ProblemKind::TooFewPlacements { .. } => true,
        ProblemKind::Blank
        | ProblemKind::NoData
        | ProblemKind::ControlCharacter
        | ProblemKind::RepeatedKey
        | ProblemKind::OtherVersionsName { .. }
        | ProblemKind::UnknownName { .. }
        | ProblemKind::UseEndpoint
        | ProblemKind::NotAnInput { .. }
        | ProblemKind::TooLong { .. }
        | ProblemKind::MalformedKey
        | ProblemKind::TooMany { .. }
        | ProblemKind::WrongLength { .. }
        | ProblemKind::NotDigits { .. }
        | ProblemKind::NotExactDigits { .. }
        | ProblemKind::NotWholeNumber
        | ProblemKind::NotEmail
        | ProblemKind::NotPostcode
        | ProblemKind::InFuture
        | ProblemKind::TooYoung { .. }
        | ProblemKind::TooOld { .. }
        | ProblemKind::YearTooLate { .. }
        | ProblemKind::TooEarly { .. }
        | ProblemKind::YearOutside { .. }
        | ProblemKind::NotAfter { .. }
        | ProblemKind::Before { .. }
        | ProblemKind::SameAs { .. }
        | ProblemKind::RepeatsPosition { .. }
        | ProblemKind::NoReasons
        | ProblemKind::WrongState { .. }
        | ProblemKind::NotStarted
        | ProblemKind::NoDegree
        | ProblemKind::NoEmployingSchool => false,
    }
}

/// Returns the end of a message that links to the list of accepted codes: by the name of the field
/// if this version publishes the lists, else by the name of the list in the version that does.
/// Returns an empty string if the problem is not about a code or no version publishes the lists.
fn link_to_list(served: &Served, problem: &Problem) -> String {
    let concerns_code = matches!(
        problem.kind,
        ProblemKind::UnknownCode { .. }
            | ProblemKind::WrongReasons { .. }
            | ProblemKind::WrongType { .. }
    );
    if !concerns_code {
        return String::new();
    }
    let (Some(at), Some(label)) = (field_at(&problem.at), served.reference_data) else {
        return String::new();
    };
    let Some(list) = reference::list_of(at) else {
        return String::new();
    };
    let name = if label == served.version.label {
        field(served.version, at)
    } else {
        list
    };
    format!(
        "; see GET {}{}?field={name}",
        label.base_path(),
        served.version.row(Endpoint::ReferenceData).path
    )
}

/// Returns the field at a path, or `None` if the path is not that of a field.
fn field_at(at: &Path) -> Option<Field> {
    match at {
        Path::Field(field) | Path::Nested { field, .. } => Some(*field),
        Path::Data
        | Path::List(_)
        | Path::Position { .. }
        | Path::Key(_)
        | Path::NestedKey { .. } => None,
    }
}

/// Returns the codes that a version accepts in a field, or `None` if the field has no codes.
fn accepted_codes(version: &ApiVersion, lists: &Lists, field: Field) -> Option<Vec<String>> {
    Some(match field.info().codes? {
        Codes::Listed(list) => {
            let accepted = lists
                .codes(list)
                .filter(|code| version.accepted_codes.accepts(list, code));
            accepted
                .map(|code| version.wire.written(list, code).to_owned())
                .collect()
        }
        Codes::OneOf(words) => words.iter().map(|word| (*word).to_owned()).collect(),
    })
}

/// Whether the path consists of a group of the version and a name, such as `withdrawal.date`, and a
/// header can contain both.
fn is_printable_path(version: &ApiVersion, path: &str) -> bool {
    path.split_once('.').is_some_and(|(group, name)| {
        is_printable(group)
            && is_printable(name)
            && for_each_record!(has_group(version, group)).contains(&true)
    })
}

fn has_group<R: WireRecord>(version: &ApiVersion, group: &str) -> bool {
    R::inputs(version).is_group(group)
}

/// Returns the text of a `Warning` header for a notice. Returns `None` if the path of the notice
/// has characters that a header cannot contain.
#[must_use]
pub fn warning(version: &ApiVersion, notice: &Notice) -> Option<String> {
    let at = path_in_message(version, &notice.at);
    Some(match &notice.kind {
        NoticeKind::UnknownName { hint } => {
            let (Path::Key(key) | Path::NestedKey { key, .. }) = &notice.at else {
                return None;
            };
            if !is_printable(key) && !is_printable_path(version, key) {
                return None;
            }
            let hint =
                hint_message(version, hint).map_or(String::new(), |hint| format!(" ({hint})"));
            format!("{UNKNOWN} field {at}{hint}")
        }
        NoticeKind::UseEndpoint => {
            format!("{at} is not changed here; use the endpoints of its records")
        }
        NoticeKind::NotAnInput { input } => {
            format!(
                "{at} is ignored: it is no input{}",
                input_message(version, *input)
            )
        }
        NoticeKind::NoMatch => format!("{at} is ignored: group and background match no ethnicity"),
        NoticeKind::GivenBySchool => {
            format!("{at} is ignored: it is that of the school with the URN")
        }
        NoticeKind::MovesWith { field } => format!(
            "{at} moves with {}: it was sent as it was shown; send it again by itself to keep that date",
            crate::names::field(version, *field)
        ),
        NoticeKind::ReadOnly => format!("{at} has read-only fields alone: nothing is changed"),
        NoticeKind::Dropped { code } => {
            let code = version.wire.written(List::CourseSubject, code);
            format!("{at} {code} is left out: another subject had to come first")
        }
        NoticeKind::NotInList { value, listed } => {
            let hint = listed
                .as_ref()
                .map_or(String::new(), |listed| format!(" (did you mean {listed}?)"));
            format!(
                "{at} {} is not in the list, and is recorded as another UK institution{hint}",
                header_text(value)
            )
        }
        NoticeKind::DecidedBy { field } => format!(
            "{at} is ignored: {} decides",
            crate::names::field(version, *field)
        ),
        NoticeKind::NoOtherGrade => {
            format!(
                "{at} is ignored: no {} says that it is another one",
                field(version, DegreeField::grade.into())
            )
        }
        NoticeKind::TimeLeftOut { day } => {
            format!(
                "{at} is recorded as {day}: its time of day is left out, and is not midnight in UTC"
            )
        }
    })
}

/// Returns the rest of a message about a name of replies: the reply has another value, and the
/// input to use, if there is one.
fn input_message(version: &ApiVersion, input: Option<Field>) -> String {
    let hint = input.map_or(String::new(), |input| {
        format!("; use {}", names::list(version, input))
    });
    format!(", and the reply has another value{hint}")
}

/// Returns the hint about an unknown name as a clause; `None` without a hint.
fn hint_message(version: &ApiVersion, hint: &NameHint) -> Option<String> {
    Some(match hint {
        NameHint::None => return None,
        NameHint::Nearest(nearest) => format!("did you mean {nearest}?"),
        NameHint::Later {
            version: later,
            field: Some(other),
        } => {
            format!("{later} calls {} this", names::list(version, *other))
        }
        NameHint::Later {
            version: later,
            field: None,
        } => format!("{later} has it"),
    })
}

/// Describes the JSON values that fields of a kind accept.
fn expected_message(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text or a whole number",
        Kind::Integer => "a whole number",
        Kind::Boolean => "true or false",
        Kind::Date => "a date of the form YYYY-MM-DD",
        Kind::Timestamp => "a date and time of the form YYYY-MM-DDTHH:MM:SSZ",
        Kind::Year => "a year of the form YYYY, or a date of the form YYYY-MM-DD",
        Kind::TextList => "an array of texts",
        Kind::Document => "an object",
        Kind::Uuid => "a UUID",
        Kind::Records => "an array of objects",
    }
}

/// Returns the codes as the version writes them: as words, or unchanged without words.
fn in_words(codes: &[String], words: Option<Words>) -> Cow<'_, [String]> {
    match words {
        Some(words) => codes
            .iter()
            .map(|code| word_of(words, code).to_owned())
            .collect(),
        None => Cow::Borrowed(codes),
    }
}

/// Returns the codes of a field as requests of the version send them. A code that is sent as an
/// object is listed as a code.
fn codes_as_sent<'a>(version: &ApiVersion, field: Field, codes: &'a [String]) -> Cow<'a, [String]> {
    let Some(form) = names::input_form(version, field).form else {
        return in_words(codes, version.wire.words_of(field.info().codes));
    };
    let as_sent = |code: &String| {
        let written = form.write(&domain::Value::text(code), &field.info().into());
        match written.as_str() {
            Some(text) => text.to_owned(),
            None if written.is_object() || written.is_array() => code.clone(),
            None => written.to_string(),
        }
    };
    codes.iter().map(as_sent).collect()
}

/// Returns a clause with the first accepted codes, and with their number if there may be more.
fn accepted_message(accepted: &[String]) -> String {
    let listed = accepted
        .iter()
        .take(CODES_LISTED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if accepted.len() >= CODES_LISTED {
        format!("the first of {} codes are {listed}", accepted.len())
    } else {
        format!("it can be {listed}")
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", truncated(text))
}

/// Returns an action as a past participle, to follow "the trainee cannot be".
fn past(action: Action) -> &'static str {
    match action {
        Action::Update => "changed",
        Action::Defer => "deferred",
        Action::Recommend => "recommended for the award",
        Action::Withdraw => "withdrawn",
        Action::IssueTrn => "given a TRN",
        Action::Award => "awarded",
        Action::Reinstate => "reinstated",
        Action::ReturnRecommendation => "returned from the recommendation",
        Action::UndoWithdrawal { .. } => "brought back from the withdrawal",
        Action::Discard | Action::Reset => "discarded",
    }
}

/// Returns a clause about the next step for a trainee whose state allows no action of the registry.
fn next_step(state: State) -> &'static str {
    match state {
        State::TrnReceived => {
            "the registry has nothing to do until the trainee is recommended or deferred"
        }
        State::Withdrawn | State::Awarded => "nothing follows; register another trainee",
        State::Draft | State::SubmittedForTrn | State::Deferred | State::RecommendedForAward => {
            "the record does not allow what the registry does next"
        }
    }
}
