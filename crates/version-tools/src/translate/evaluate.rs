//! Evaluates a translated record with the rules of the target version.

use std::collections::HashSet;

use adapter_kit::body_kind::{Direction, Purpose};
use adapter_kit::compose::Keyed;
use adapter_kit::names::path;
use adapter_kit::problems::{ErrorEntry, Errors, warning};
use adapter_kit::read::{Malformed, NestedLists, Reader, UnknownNames, lacks_data};
use adapter_kit::read_only::{ReadOnlyNames, ReplyComparison};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Served;
use adapter_kit::wire_form::DATA;
use chrono::NaiveDate;
use domain::ended_codes::{EndedCode, Successor};
use domain::fields::field::Codes;
use domain::problem::NoticeKind;
use domain::records::organisations::{Organisations, School, is_reserved_urn, is_urn};
use domain::records::record::Changes as _;
use domain::records::trainee::Sent;
use domain::rules::set_defaults;
use domain::{
    Candidate, Context, Deferral, Lists, NestedRecord, NestedRecords, Notice, ParsedRecord, Path,
    Problem, ProblemKind, Recommendation, State, Trainee, Withdrawal, for_each_nested,
    nested_kinds,
};
use serde_json::{Map, Value, json};

use super::findings::Finding;
use super::{TranslationContext, guess, partial_update};
use crate::decision::{DecidedRecord, Target};
use crate::difference::CodeName;

/// The result that a version would return.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    pub(super) purpose: Option<Purpose>,
    pub(super) problems: Vec<ErrorEntry>,
    pub(super) notices: Vec<Finding>,
}

/// A record that can be evaluated.
pub(super) trait EvaluatedRecord: DecidedRecord {
    /// Returns the schools in a request.
    fn schools(_: &ParsedRecord<Self>) -> Vec<School> {
        Vec::new()
    }
}

impl EvaluatedRecord for Trainee {
    fn schools(sent: &ParsedRecord<Self>) -> Vec<School> {
        for_each_nested!(schools_of_kind(&sent.nested)).concat()
    }
}

impl EvaluatedRecord for Withdrawal {}
impl EvaluatedRecord for Deferral {}
impl EvaluatedRecord for Recommendation {}

macro_rules! nested_records {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {$(
        impl EvaluatedRecord for domain::$record {
            fn schools(sent: &ParsedRecord<Self>) -> Vec<School> {
                school(sent).into_iter().collect()
            }
        }
    )+};
}
nested_kinds!([nested_records]);

/// Returns the schools in the nested records of one kind.
fn schools_of_kind<R: NestedRecord>(nested: &NestedRecords<Sent>) -> Vec<School> {
    R::in_nested(nested).iter().filter_map(school).collect()
}

/// Returns a school with the URN and name from the request; `None` if there is no valid URN.
fn school<R: NestedRecord>(sent: &ParsedRecord<R>) -> Option<School> {
    let fields = R::SCHOOL?;
    let urn = sent
        .text(fields.urn)
        .filter(|urn| is_urn(urn) && !is_reserved_urn(urn))?;
    let name = sent.text(fields.name).unwrap_or_else(|| urn.clone());
    Some(School {
        id: 0,
        name,
        urn,
        postcode: sent.text(fields.postcode),
        open: true,
    })
}

/// Returns the problems and notices that the version `to` would report for a translated record.
pub(super) fn evaluate<R: EvaluatedRecord>(
    record: &Value,
    direction: Direction,
    purpose: Option<Purpose>,
    from: &ApiVersion,
    to: &Served,
    context: TranslationContext<'_>,
) -> Evaluation {
    let mut sent = match read::<R>(record, to, NestedLists::Read) {
        Ok(sent) => sent,
        Err(malformed) => return unreadable(&malformed),
    };
    let TranslationContext { today, lists, .. } = context;
    let version = to.version;
    let refused = |problems: &[Problem]| Evaluation {
        problems: Errors::from_problems(to, lists, problems).errors,
        notices: problems
            .iter()
            .filter_map(|problem| ended_code(version, lists, problem))
            .collect(),
        ..Evaluation::default()
    };
    if direction == Direction::Request && lacks_data(&sent) {
        return refused(sent.problems.get(..1).unwrap_or_default());
    }
    let organisations = known_organisations(&sent);
    let context = Context {
        today,
        lists,
        accepted_codes: &version.accepted_codes,
        organisations: &organisations,
    };
    let own_fields = || read::<R>(record, to, NestedLists::Ignore).unwrap_or_default();
    if direction == Direction::Reply {
        let sent = own_fields();
        if lacks_data(&sent) {
            return Evaluation::default();
        }
        return refused(Candidate::new(R::Owner::default(), None, sent, &context).problems());
    }
    // Only inputs of transitions have no shape.
    let purpose = R::shape(version)
        .is_some()
        .then(|| purpose.unwrap_or_else(|| guess::purpose(&sent, R::rules(version))));
    let ignored = ignored_lists(&mut sent, purpose, record, version, lists);
    let mut evaluation = if purpose == Some(Purpose::Update) {
        let mut found = partial_update::evaluate(own_fields(), from, version, &context);
        let mut refused = refused(&found.problems);
        refused
            .notices
            .splice(..0, findings(version, &found.notices));
        refused.notices.append(&mut found.findings);
        refused
    } else {
        evaluate_decision(sent, purpose, version, &context, refused)
    };
    evaluation.purpose = purpose;
    evaluation.notices.extend(findings(version, &ignored));
    evaluation
}

/// Returns the result of a request that creates a record, or of a transition.
fn evaluate_decision<R: EvaluatedRecord>(
    sent: ParsedRecord<R>,
    purpose: Option<Purpose>,
    version: &ApiVersion,
    context: &Context<'_>,
    refused: impl Fn(&[Problem]) -> Evaluation,
) -> Evaluation {
    // The state of this trainee allows all transitions.
    let state = Some(State::TrnReceived);
    let trainee = Trainee {
        state,
        trn: Some("0000000".to_owned()),
        ..Trainee::default()
    };
    let now = context.today.and_time(chrono::NaiveTime::MIN).and_utc();
    let target = Target {
        purpose,
        trainee: Some(&trainee),
        nested_id: "",
        now,
    };
    match R::decide(sent, target, &version.rules, context).unwrap_or_else(|| Ok(Vec::new())) {
        Ok(notices) => Evaluation {
            notices: findings(version, &notices),
            ..Evaluation::default()
        },
        Err(problems) => refused(&problems),
    }
}

/// Returns a notice for each nested list under its name in replies, which requests ignore.
fn ignored_lists<R: EvaluatedRecord>(
    sent: &mut ParsedRecord<R>,
    purpose: Option<Purpose>,
    record: &Value,
    version: &ApiVersion,
    lists: &Lists,
) -> Vec<Notice> {
    let names = ReadOnlyNames::take_from(sent);
    let comparison = ReplyComparison {
        version,
        lists,
        body: &json!({ DATA: record }),
        // Of a record that is not known, only nested lists are compared.
        stored: None,
        result: None,
    };
    // Fails only for documents of a stored record.
    let ignored = comparison.find_differences(&names).unwrap_or_default();
    let notices = ignored.into_iter().map(|difference| {
        let notice = difference.into_notice();
        match purpose {
            Some(Purpose::Update) => Notice {
                kind: NoticeKind::UseEndpoint,
                ..notice
            },
            Some(Purpose::Create) | None => notice,
        }
    });
    notices.collect()
}

/// Reads a record as the body of a request to the version `to`.
fn read<R: EvaluatedRecord>(
    record: &Value,
    to: &Served,
    nested: NestedLists,
) -> Result<ParsedRecord<R>, Malformed> {
    // Serialising a JSON tree cannot fail.
    let body =
        serde_json::to_vec(&Keyed(to.version.wire.envelope.request, record)).unwrap_or_default();
    // The translation has already reported unknown names, up to its limit.
    Reader {
        served: to,
        unknown: UnknownNames::Ignore,
        nested,
    }
    .read(&body)
}

/// Returns the organisations in a request, which count as known.
fn known_organisations<R: EvaluatedRecord>(sent: &ParsedRecord<R>) -> Organisations {
    Organisations {
        schools: distinct(R::schools(sent)),
        no_schools_loaded: true,
        no_training_partners_loaded: true,
        ..Organisations::default()
    }
}

/// Returns the defaults that the version sets in a record that `data` creates.
pub(super) fn applied_defaults<R: EvaluatedRecord>(
    data: &Map<String, Value>,
    served: &Served,
    lists: &Lists,
) -> Vec<(R::Field, &'static str)> {
    let data = Value::Object(data.clone());
    let Ok(mut sent) = read::<R>(&data, served, NestedLists::Read) else {
        return Vec::new();
    };
    let organisations = known_organisations(&sent);
    let context = Context {
        // No adjustment reads the date.
        today: NaiveDate::default(),
        lists,
        accepted_codes: &served.version.accepted_codes,
        organisations: &organisations,
    };
    let mut defaults = sent.defaults.clone();
    set_defaults(
        &mut sent,
        &R::Owner::default(),
        R::rules(served.version),
        &context,
    );
    defaults.retain(|(field, _)| sent.changes.requested(*field).is_some());
    defaults
}

/// Removes schools with a duplicate URN.
fn distinct(mut schools: Vec<School>) -> Vec<School> {
    let mut seen = HashSet::new();
    schools.retain(|school| seen.insert(school.urn.clone()));
    schools
}

/// Returns the notices as findings. Notices about unknown names are omitted, because the
/// translation reports these names. Notices about schools are omitted, because schools are not
/// looked up.
fn findings(version: &ApiVersion, notices: &[Notice]) -> Vec<Finding> {
    let finding = |notice: &Notice| {
        let code = match &notice.kind {
            NoticeKind::UnknownName { .. } | NoticeKind::GivenBySchool => return None,
            NoticeKind::UseEndpoint => "use_endpoint",
            NoticeKind::NotAnInput { .. } => "not_an_input",
            NoticeKind::NoMatch => "no_match",
            NoticeKind::MovesWith { .. } => "moves_with",
            NoticeKind::ReadOnly => "read_only",
            NoticeKind::Dropped { .. } => "fell_away",
            NoticeKind::NotInList { .. } => "not_in_list",
            NoticeKind::DecidedBy { .. } => "decided_by",
            NoticeKind::NoOtherGrade => "no_other_grade",
            NoticeKind::TimeLeftOut { .. } => "time_left_out",
        };
        Some(Finding::new(
            path(version, &notice.at),
            code,
            warning(version, notice)?,
        ))
    };
    notices.iter().filter_map(finding).collect()
}

/// Returns a finding with the replacement of an ended code; `None` for other problems.
fn ended_code(version: &ApiVersion, lists: &Lists, problem: &Problem) -> Option<Finding> {
    let (Path::Field(field) | Path::Nested { field, .. }) = &problem.at else {
        return None;
    };
    let ProblemKind::UnknownCode { value, .. } = &problem.kind else {
        return None;
    };
    let Some(Codes::Listed(list)) = field.info().codes else {
        return None;
    };
    let ended = EndedCode::find(list, value)?;
    let at = path(version, &problem.at);
    let label = version.label;
    let message = format!(
        "{at} has the code {value}, which {label} no longer accepts: {}",
        ended.successor
    );
    Some(Finding {
        candidates: candidates(ended, version, lists),
        ended: Some(ended),
        ..Finding::new(at, "code_ended", message)
    })
}

/// Returns the codes that can replace an ended code: its successor, or each code of the list that
/// the version accepts.
fn candidates(ended: EndedCode, version: &ApiVersion, lists: &Lists) -> Vec<CodeName> {
    let is_candidate = |code: &str| match ended.successor {
        Successor::Code(successor) => code == successor,
        Successor::None { .. } => version.accepted_codes.accepts(ended.list, code),
    };
    let entries = lists.entries(ended.list).iter();
    let named = entries
        .filter(|entry| is_candidate(&entry.code))
        .map(|entry| CodeName {
            code: version.wire.written(ended.list, &entry.code).to_owned(),
            name: entry.name.clone(),
        });
    named.collect()
}

/// Returns the result for a body that cannot be parsed.
fn unreadable(malformed: &Malformed) -> Evaluation {
    let message = format!("the body is not valid JSON: {malformed}");
    let problem = ErrorEntry {
        error: "BadRequest",
        message,
        located: None,
    };
    Evaluation {
        problems: vec![problem],
        ..Evaluation::default()
    }
}
