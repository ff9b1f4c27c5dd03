//! What a version would answer to a record.

use std::collections::HashSet;

use adapter_kit::compose::Data;
use adapter_kit::names::path;
use adapter_kit::problems::{ErrorEntry, Errors, warning};
use adapter_kit::read::{Malformed, Nest, NestedLists, Reader, UnknownNames, lacks_data};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Served;
use domain::commands::CreationContext;
use domain::organisations::{Organisations, School, URNS_WITHOUT_SCHOOL, is_urn};
use domain::problem::NoticeKind;
use domain::record::Changes as _;
use domain::{
    Candidate, Change, Context, Deferral, Degree, Notice, ParsedRecord, Placement, Problem, Recommendation, Rule,
    State, Trainee, Value as Held, Withdrawal, commands,
};
use serde_json::Value;

use super::about::{Direction, Purpose};
use super::findings::Remark;
use super::{Setting, partial};

/// What a version would answer.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) purpose: Option<Purpose>,
    pub(super) problems: Vec<ErrorEntry>,
    pub(super) notices: Vec<Remark>,
}

/// What the rules found: what the client would be told, or all problems.
type Found = Result<Vec<Notice>, Vec<Problem>>;

/// A record on which a version decides.
pub(super) trait Judged: Nest {
    /// The rules that bind the version, where a record can be changed by itself; without them, a request
    /// for the record only ever moves a trainee.
    fn rules(_: &ApiVersion) -> Option<&'static [Rule<Self>]> {
        None
    }

    /// Decides on a request that makes the record, or moves a trainee.
    fn decide(
        sent: ParsedRecord<Self>,
        version: &ApiVersion,
        context: &Context<'_>,
        origin: &CreationContext<'_>,
    ) -> Found;

    /// Schools that a request mentions.
    fn schools(_: &ParsedRecord<Self>) -> Vec<School> {
        Vec::new()
    }
}

impl Judged for Trainee {
    fn rules(version: &ApiVersion) -> Option<&'static [Rule<Self>]> {
        Some(version.rules.trainee)
    }

    fn decide(
        sent: ParsedRecord<Self>,
        version: &ApiVersion,
        context: &Context<'_>,
        origin: &CreationContext<'_>,
    ) -> Found {
        commands::create(sent, &version.rules, context, origin).map(|decision| decision.notices)
    }

    fn schools(sent: &ParsedRecord<Self>) -> Vec<School> {
        sent.nested.placements.iter().flat_map(Placement::schools).collect()
    }
}

impl Judged for Placement {
    fn rules(version: &ApiVersion) -> Option<&'static [Rule<Self>]> {
        Some(version.rules.placement)
    }

    fn decide(
        sent: ParsedRecord<Self>,
        version: &ApiVersion,
        context: &Context<'_>,
        origin: &CreationContext<'_>,
    ) -> Found {
        commands::add(sent, &version.rules, context, origin).map(|decision| decision.notices)
    }

    /// A school with the URN, called what the request calls it.
    fn schools(sent: &ParsedRecord<Self>) -> Vec<School> {
        let text = |change: &Change<String>| if let Change::Set(text) = change { Some(text.clone()) } else { None };
        let urn = text(&sent.changes.urn).filter(|urn| is_urn(urn) && !URNS_WITHOUT_SCHOOL.contains(&urn.as_str()));
        let school = urn.map(|urn| School {
            id: 0,
            name: text(&sent.changes.name).unwrap_or_else(|| urn.clone()),
            urn,
            postcode: text(&sent.changes.postcode),
            open: true,
        });
        school.into_iter().collect()
    }
}

impl Judged for Degree {
    fn rules(version: &ApiVersion) -> Option<&'static [Rule<Self>]> {
        Some(version.rules.degree)
    }

    fn decide(
        sent: ParsedRecord<Self>,
        version: &ApiVersion,
        context: &Context<'_>,
        origin: &CreationContext<'_>,
    ) -> Found {
        commands::add(sent, &version.rules, context, origin).map(|decision| decision.notices)
    }
}

impl Judged for Withdrawal {
    fn decide(
        sent: ParsedRecord<Self>,
        version: &ApiVersion,
        context: &Context<'_>,
        origin: &CreationContext<'_>,
    ) -> Found {
        commands::transition::<domain::Withdrawal>(&anybody(), sent, &version.rules, context, origin.now)
            .map(|decision| decision.notices)
    }
}

impl Judged for Deferral {
    fn decide(
        sent: ParsedRecord<Self>,
        version: &ApiVersion,
        context: &Context<'_>,
        origin: &CreationContext<'_>,
    ) -> Found {
        commands::transition::<domain::Deferral>(&anybody(), sent, &version.rules, context, origin.now)
            .map(|decision| decision.notices)
    }
}

impl Judged for Recommendation {
    fn decide(
        sent: ParsedRecord<Self>,
        version: &ApiVersion,
        context: &Context<'_>,
        origin: &CreationContext<'_>,
    ) -> Found {
        commands::transition::<domain::Recommendation>(&anybody(), sent, &version.rules, context, origin.now)
            .map(|decision| decision.notices)
    }
}

/// A trainee whose state allows every transition, and of whom nothing else is known.
fn anybody() -> Trainee {
    Trainee { state: Some(State::TrnReceived), trn: Some("0000000".to_owned()), ..Trainee::default() }
}

/// What a version would answer to the record.
pub(super) fn verdict<R: Judged>(
    record: &Value,
    direction: Direction,
    purpose: Option<Purpose>,
    to: &Served,
    setting: Setting<'_>,
) -> Verdict {
    let sent = match read::<R>(record, to, NestedLists::Read) {
        Ok(sent) => sent,
        Err(malformed) => return unreadable(&malformed),
    };
    let version = to.version;
    if direction == Direction::Request && lacks_data(&sent) {
        return told(to, setting, None, Err(sent.problems.into_iter().take(1).collect()));
    }
    let organisations = Organisations {
        schools: distinct(R::schools(&sent)),
        no_schools_loaded: true,
        no_training_partners_loaded: true,
        ..Organisations::default()
    };
    let context = Context {
        today: setting.today,
        lists: setting.lists,
        accepted_codes: &version.accepted_codes,
        organisations: &organisations,
    };
    let rules = R::rules(version).filter(|_| direction == Direction::Request);
    let purpose = rules.map(|rules| purpose.unwrap_or_else(|| usual_purpose(&sent, rules)));
    match (direction, rules.filter(|_| purpose == Some(Purpose::Update))) {
        (Direction::Reply, _) => {
            let sent = read::<R>(record, to, NestedLists::PassOver).unwrap_or(sent);
            let problems = if lacks_data(&sent) {
                Vec::new()
            } else {
                Candidate::new(R::Owner::default(), None, sent, &context).problems().to_vec()
            };
            told(to, setting, None, Err(problems))
        }
        (Direction::Request, Some(rules)) => {
            let sent = read::<R>(record, to, NestedLists::PassOver).unwrap_or(sent);
            let partial = partial::judge(sent, rules, version, &context);
            let mut verdict = told(to, setting, purpose, Err(partial.problems));
            verdict.notices.extend(remarks(version, &partial.notices));
            verdict.notices.extend(partial.remarks);
            verdict
        }
        (Direction::Request, None) => {
            let now = setting.today.and_time(chrono::NaiveTime::MIN).and_utc();
            let origin = CreationContext { now, ukprn: "", next_id: &|| None };
            told(to, setting, purpose, R::decide(sent, version, &context, &origin))
        }
    }
}

fn read<R: Nest>(record: &Value, to: &Served, nested: NestedLists) -> Result<ParsedRecord<R>, Malformed> {
    // A tree of JSON is always written.
    let body = serde_json::to_vec(&Data { data: record }).unwrap_or_default();
    Reader { served: to, unknown: UnknownNames::Tell, nested }.read(&body)
}

/// An update, when less than half of what every such record must have is there.
fn usual_purpose<R: Judged>(sent: &ParsedRecord<R>, rules: &[Rule<R>]) -> Purpose {
    let demanded = || rules.iter().filter_map(Rule::required_field);
    let there = |field: &R::Field| {
        sent.unread.contains(*field) || sent.changes.requested(*field).is_some_and(|value| value != Held::Null)
    };
    if demanded().filter(there).count() * 2 < demanded().count() { Purpose::Update } else { Purpose::Create }
}

/// The schools, the first of each URN.
fn distinct(mut schools: Vec<School>) -> Vec<School> {
    let mut seen = HashSet::new();
    schools.retain(|school| seen.insert(school.urn.clone()));
    schools
}

fn told(to: &Served, setting: Setting<'_>, purpose: Option<Purpose>, found: Found) -> Verdict {
    match found {
        Ok(notices) => Verdict { purpose, problems: Vec::new(), notices: remarks(to.version, &notices) },
        Err(problems) => {
            let problems = Errors::of(to, setting.lists, &problems).errors;
            Verdict { purpose, problems, notices: Vec::new() }
        }
    }
}

/// What a client of the version would be told. Unknown names were told already, and no school was asked.
fn remarks(version: &ApiVersion, notices: &[Notice]) -> Vec<Remark> {
    let remark = |notice: &Notice| {
        let code = match &notice.kind {
            NoticeKind::UnknownName { .. } | NoticeKind::GivenBySchool => return None,
            NoticeKind::UseEndpoint => "use_endpoint",
            NoticeKind::NoMatch => "no_match",
            NoticeKind::MovesWith { .. } => "moves_with",
            NoticeKind::Dropped { .. } => "fell_away",
        };
        Some(Remark::new(path(version, &notice.at), code, warning(version, notice)?))
    };
    notices.iter().filter_map(remark).collect()
}

/// What is answered to a body that no version reads.
fn unreadable(malformed: &Malformed) -> Verdict {
    let message = format!("the body is not valid JSON: {malformed}");
    let problem = ErrorEntry { error: "BadRequest", message, located: None };
    Verdict { problems: vec![problem], ..Verdict::default() }
}
