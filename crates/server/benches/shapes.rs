//! What shapes and versions cost: a record that is written through a shape against one that is written by a derived
//! serialiser, and a version among three against the same version among thirty.
//!
//! Everything is measured side by side in one run; `docs/performance.md` holds the ratios.

#![expect(missing_docs, reason = "criterion makes the entry points")]

use std::borrow::Cow;
use std::hint::black_box;

use adapter_kit::compose::Request;
use adapter_kit::read::{NestedLists, Reader, UnknownNames};
use adapter_kit::view::View;
use adapter_kit::{ApiVersion, Label, Served, Versions};
use chrono::{DateTime, NaiveDate, Utc};
use criterion::{Criterion, criterion_group, criterion_main};
use domain::{
    Degree, DegreeField, Lists, Placement, PlacementField, Record, Stored, Trainee, TraineeField, Value, iso_8601,
};
use fixtures::example;
use serde::{Serialize, Serializer};
use server::versions;

/// The value of a field as a derived serialiser holds it.
trait Held {
    fn held(value: Value<'_>) -> Self;
}

#[derive(Serialize)]
struct Text(Option<String>);
#[derive(Serialize)]
struct Number(Option<i64>);
#[derive(Serialize)]
struct Flag(bool);
#[derive(Serialize)]
struct Texts(Vec<String>);
#[derive(Serialize)]
struct Nothing(Option<()>);
struct Day(Option<NaiveDate>);
struct Timestamp(Option<DateTime<Utc>>);
struct Uuid(Option<uuid::Uuid>);

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(day) => serializer.collect_str(&day),
            None => serializer.serialize_none(),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(moment) => serializer.serialize_str(&iso_8601::timestamp(moment)),
            None => serializer.serialize_none(),
        }
    }
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(uuid) => serializer.collect_str(&uuid),
            None => serializer.serialize_none(),
        }
    }
}

macro_rules! held {
    ($($kind:ident: $pattern:pat => $some:expr, else $none:expr;)+) => {$(
        impl Held for $kind {
            fn held(value: Value<'_>) -> Self {
                Self(if let $pattern = value { $some } else { $none })
            }
        }
    )+};
}
held! {
    Text: Value::Text(text) => Some(Cow::into_owned(text)), else None;
    Number: Value::Integer(number) => Some(number), else None;
    Flag: Value::Boolean(flag) => flag, else false;
    Texts: Value::TextList(texts) => texts.into_iter().map(Cow::into_owned).collect(), else Vec::new();
    Nothing: Value::Document(_) => Some(()), else None;
    Day: Value::Date(day) => Some(day), else None;
    Timestamp: Value::Timestamp(moment) => Some(moment), else None;
    Uuid: Value::Uuid(uuid) => Some(uuid), else None;
}

macro_rules! derived {
    (
        $name:ident of $record:ident by $fields:ident: $($kind:ty { $($field:ident),+ $(,)? })+
        $(; nested $($list:ident: $nested:ident),+)?
    ) => {
        #[derive(Serialize)]
        struct $name { $($($field: $kind,)+)+ $($($list: Vec<$nested>,)+)? }

        impl $name {
            fn of(record: &dyn Stored<$record>, lists: &Lists) -> Self {
                Self {
                    $($($field: Held::held($record::shown(record, $fields::$field, lists)),)+)+
                    $($($list: record.nested().$list.into_iter().map(|nested| $nested::of(nested, lists)).collect(),)+)?
                }
            }
        }
    };
}
derived! { DerivedTrainee of Trainee by TraineeField:
    Text {
        trainee_id, provider_trainee_id, application_id, agency_id, trn, first_names, middle_names, last_name,
        previous_last_name, email, nationality, sex, ni_number, ethnicity, ethnic_group, ethnic_background,
        additional_ethnic_background, diversity_disclosure, disability_disclosure, disability1, disability2,
        training_route, course_subject_1, course_subject_2, course_subject_3, course_age_range, course_education_phase,
        course_qualification, course_level, course_title, course_uuid, course_year, study_mode, itt_aim,
        itt_qualification_aim, iqts_country, region, training_initiative, additional_training_initiative, fund_code,
        funding_method, bursary_tier, ukprn, employing_school_urn, training_partner_urn, training_partner_ukprn, state,
        defer_reason, withdrawal_trigger, withdrawal_future_interest, withdrawal_another_reason,
        withdrawal_safeguarding_concern_reasons, commencement_status, record_source, placement_detail,
    }
    Number { course_min_age, course_max_age }
    Flag {
        ebacc, applying_for_bursary, applying_for_scholarship, applying_for_grant, training_partner_not_applicable,
        employing_school_not_applicable, submission_ready, created_from_legacy, created_from_agency, agency_editable,
    }
    Day {
        date_of_birth, course_itt_start_date, itt_start_date, itt_end_date, trainee_start_date, outcome_date,
        reinstate_date, pg_apprenticeship_start_date, defer_date, withdrawal_date,
    }
    Timestamp {
        created_at, updated_at, submitted_for_trn_at, recommended_for_award_at, awarded_at, discarded_at,
        agency_updated_at, slug_sent_to_registry_at,
    }
    Texts { withdrawal_reasons }
    Nothing { additional_legacy_data }
    ; nested placements: DerivedPlacement, degrees: DerivedDegree
}
derived! { DerivedPlacement of Placement by PlacementField:
    Text { placement_id, urn, name, address, postcode }
    Timestamp { created_at, updated_at }
}
derived! { DerivedDegree of Degree by DegreeField:
    Text { degree_id, uk_degree, non_uk_degree, subject, institution, grade, other_grade, country }
    Number { graduation_year }
    Uuid { institution_uuid, uk_degree_uuid, subject_uuid, grade_uuid }
    Timestamp { created_at, updated_at }
}

fn newest() -> &'static Served {
    let Some(newest) = versions::all().newest() else { unreachable!("there is a version") };
    newest
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// A buffer that begins as large as that of a derived serialiser.
fn written(view: &View<'_, Trainee>) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    if view.write(&mut out).is_err() {
        out.clear();
    }
    out
}

fn writing(criterion: &mut Criterion) {
    let (lists, trainee) = (Lists::embedded(), example::trainee());
    let derived = DerivedTrainee::of(&trainee, lists);
    let shown = || View::trainee(newest().version, &trainee, lists);
    let fields = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap_or_default();
    assert_eq!(fields(&written(&shown())), fields(&bytes(&derived)), "both write the same record");
    let mut group = criterion.benchmark_group("a record as JSON");
    group.bench_function("derived", |bencher| bencher.iter(|| bytes(black_box(&derived))));
    group.bench_function("through a shape", |bencher| bencher.iter(|| written(black_box(&shown()))));
    // What a derived serialiser needs first: a struct with the fields that are computed.
    group.bench_function("derived, with the struct that it needs", |bencher| {
        bencher.iter(|| bytes(&DerivedTrainee::of(black_box(&trainee), lists)));
    });
    group.finish();
}

/// So many versions side by side, the newest of them the same as ever.
fn side_by_side(count: u16) -> &'static Versions {
    let real: Vec<&ApiVersion> = versions::all().iter().map(|served| served.version).collect();
    let years = 1_990..1_990 + count;
    let more = real.into_iter().cycle().zip(years).map(|(version, year)| {
        // For the length of the program, as the real ones.
        let relabelled = ApiVersion { label: Label::release(year, 0), ..*version };
        &*Box::leak(Box::new(relabelled))
    });
    let list: Vec<&'static ApiVersion> = more.collect();
    Box::leak(Box::new(Versions::new(&list)))
}

fn versions_side_by_side(criterion: &mut Criterion) {
    let (lists, trainee) = (Lists::embedded(), example::trainee());
    let mut group = criterion.benchmark_group("one version among others");
    for count in [3, 30] {
        let Some(served) = side_by_side(count).newest() else { continue };
        let body = Request { version: served.version, record: &trainee, lists }.body().unwrap_or_default();
        let reader = Reader { served, unknown: UnknownNames::Warn, nested: NestedLists::Read };
        group.bench_function(format!("read, {count} versions"), |bencher| {
            bencher.iter(|| reader.read::<Trainee>(black_box(&body)).is_ok());
        });
        group.bench_function(format!("written, {count} versions"), |bencher| {
            bencher.iter(|| written(black_box(&View::trainee(served.version, &trainee, lists))));
        });
    }
    group.finish();
}

criterion_group!(benches, writing, versions_side_by_side);
criterion_main!(benches);
