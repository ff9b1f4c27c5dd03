//! Accepted values of every input of every endpoint: each is shown, in a documented normal form
//! where there is one, or named in a `Warning`. A strict request may refuse it instead.

use std::collections::BTreeSet;

use adapter_kit::{ApiVersion, WireRecord};
use conformance::paths;
use domain::fields::field::Codes;
use domain::{
    Deferral, Degree, DegreeField, Kind, Lists, Placement, PlacementField, Recommendation,
    RecordField as _, TraineeField as F, Withdrawal,
};
use serde_json::{Map, Value, json};

use crate::api::support::versions::recommendation;
use crate::api::support::{Api, Body, Response, every_version, record, wire_values};

/// Number of values of an input that are sent together with values of other inputs.
const PAIRED: usize = 4;

/// Where a record is sent.
struct Site<'a> {
    api: &'a Api<'a>,
    method: &'static str,
    path: String,
    /// The fields that are sent besides.
    base: Map<String, Value>,
    /// The record that is changed, as it is shown.
    stored: Option<Value>,
    /// What a reply calls a field.
    shown_as: fn(&ApiVersion, &'static str) -> String,
}

/// A field as a request sends it.
struct SentField<'a> {
    name: &'a str,
    canonical: &'static str,
    kind: Kind,
    value: &'a Value,
}

/// Values for an input: some that it accepts, and some that look as if it did.
fn values(canonical: &str, kind: Kind, codes: Option<Codes>) -> Vec<Value> {
    let listed: Vec<&str> = match codes {
        Some(Codes::Listed(list)) => Lists::embedded().codes(list).collect(),
        Some(Codes::OneOf(words)) => words.to_vec(),
        None => Vec::new(),
    };
    let texts = match canonical {
        "training_partner_urn" => vec!["990004", "990020", "900020", "123456"],
        "training_partner_ukprn" => vec!["10090001", "10090002", "12345678"],
        "employing_school_urn" => vec!["990001", "900010"],
        "urn" => vec!["990001", "990002", "123456", "900020"],
        "name" => vec!["Oak School", " Elm "],
        "postcode" => vec!["AB1 2CD", "zz99zz"],
        "institution" => vec!["0117", "117", "00117", "0133", "9999", "Université \"X\""],
        "country" => vec!["FR", "XF", "GB", "QQ"],
        "grade" => vec!["02", "09", "12"],
        "graduation_year" => vec!["2019", "2018-07-01", "2017-07-01T10:00:00Z"],
        "ethnicity" => vec!["120", "160", "999"],
        "ethnic_group" => vec!["asian_ethnic_group", "white_ethnic_group", "martian"],
        "ethnic_background" => vec!["Chinese", "Caribbean", "martian"],
        "funding_method" => vec!["6", "C", "7"],
        "fund_code" => vec!["2", "7"],
        "training_route" => vec!["11", "12", "15", "18"],
        "training_initiative" | "additional_training_initiative" => vec!["011", "026"],
        "course_age_range" => vec!["13918", "13914", "13920"],
        "course_subject_1" => vec!["100403", "100511", "100510"],
        "course_subject_2" => vec!["100425", "100511"],
        "course_subject_3" => vec!["100417", "100511"],
        "application_id" => vec!["1234"],
        "course_year" => vec!["2", "12"],
        "agency_id" => vec!["0310261553102"],
        "email" => vec![" other@example.com "],
        _ if kind == Kind::Date => {
            vec![
                "2026-09-02",
                "1998-04-12",
                "1997-04-12T10:00:00Z",
                "2026-10-01T23:00:00Z",
                "2027-06-30",
            ]
        }
        _ if !listed.is_empty() => listed
            .iter()
            .copied()
            .step_by(listed.len().div_ceil(6))
            .collect(),
        _ => vec!["Zz 9", "  two   words ", "12345678901234567890123"],
    };
    let mut values: Vec<Value> = texts.into_iter().map(Value::from).collect();
    values.extend([json!(117), json!(2020), Value::Null, json!("")]);
    if kind == Kind::TextList {
        values.push(json!([
            "trainee_workload_issues",
            "trainee_workload_issues"
        ]));
    }
    values
}

/// The shown forms of a value.
fn normal_forms(field: &SentField<'_>, record: &Value) -> Vec<Value> {
    let mut forms = vec![field.value.clone()];
    let text = match field.value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => {
            let distinct: Vec<_> = items
                .iter()
                .enumerate()
                .filter(|(at, one)| !items[..*at].contains(one))
                .collect();
            return vec![distinct.into_iter().map(|(_, one)| one.clone()).collect()];
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => String::new(),
    };
    forms.push(json!(text));
    forms.push(json!(text.split_whitespace().collect::<Vec<_>>().join(" ")));
    match (field.canonical, field.kind, text.as_str()) {
        (_, Kind::Date, _) => forms.extend(text.get(..10).map(Value::from)),
        (_, Kind::Year, _) => forms.extend(
            text.get(..4)
                .and_then(|year| year.parse::<i64>().ok())
                .map(Value::from),
        ),
        ("grade", _, "09") => forms.push(json!("14")),
        ("institution", _, "0133") => forms.push(json!("0149")),
        // A degree without a country is one of the United Kingdom.
        ("country", _, "XF" | "GB") if !record["uk_degree"].is_null() => forms.push(Value::Null),
        // They stand for no school and no partner.
        ("employing_school_urn" | "training_partner_urn", _, "900010" | "900020") => {
            forms.push(Value::Null);
        }
        _ => {}
    }
    if text.trim().is_empty() {
        forms.push(Value::Null);
        let instead: Vec<&str> = match field.canonical {
            "ethnicity" => vec!["997"],
            "ethnic_group" => vec!["not_provided_ethnic_group"],
            "ethnic_background" => vec!["Not provided"],
            // The link is removed when all keys of it that are sent are blank.
            _ => vec![],
        };
        forms.extend(instead.into_iter().map(Value::from));
        if field.canonical == "trainee_start_date" {
            forms.push(record["itt_start_date"].clone());
        }
    }
    forms
}

impl Site<'_> {
    fn send(&self, fields: &[(&str, &Value)], prefer: &str) -> Response {
        let mut data = self.base.clone();
        data.extend(
            fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).clone())),
        );
        let prefer = ["validate-only", prefer].join(", ");
        self.api
            .request(self.method, &self.path)
            .header("Prefer", &prefer)
            .json(json!({ "data": data }))
            .send()
    }

    /// Reason why the reply does not show the outcome of a value. `None` if it does.
    fn lost(
        &self,
        field: &SentField<'_>,
        others: &[(&str, &Value)],
        reply: &Response,
    ) -> Option<String> {
        let is_blank = field.value.is_null()
            || field
                .value
                .as_str()
                .is_some_and(|text| text.trim().is_empty());
        // On create it counts as absent.
        if is_blank && self.stored.is_none() {
            return None;
        }
        let data = reply.data();
        let record = data.as_array().map_or(data, |list| &list[0]);
        let name = (self.shown_as)(self.api.version, field.canonical);
        let mut forms = normal_forms(field, record);
        // A value equal to the one that is shown counts as not sent.
        if self.stored.as_ref().is_some_and(|stored| {
            forms.contains(paths::get(stored.as_object().unwrap(), &name).unwrap_or(&Value::Null))
        }) {
            return None;
        }
        let shown = paths::get(record.as_object().unwrap(), &name).unwrap_or(&Value::Null);
        if self.api.version.label.to_string() == "v2025.0"
            && field.canonical.starts_with("course_subject_")
        {
            // Primary teaching comes first, and the others follow.
            let subjects = [
                "course_subject_one",
                "course_subject_two",
                "course_subject_three",
            ];
            if subjects.iter().any(|name| record[name] == *field.value) {
                return None;
            }
            forms.extend(
                (record["course_subject_one"] == "100511" && is_blank).then(|| shown.clone()),
            );
        }
        if is_blank && field.canonical.starts_with("training_partner_") {
            let is_kept_by_other = |(name, value): &(&str, &Value)| {
                *name != field.name
                    && name.contains("partner")
                    && value.as_str().is_some_and(|text| !text.is_empty())
            };
            if others.iter().any(is_kept_by_other) {
                return None;
            }
        }
        let is_named = |text: &&str| text.contains(&format!("{} ", field.name));
        if forms.contains(shown) || reply.warnings().iter().any(is_named) {
            return None;
        }
        let sent: Vec<String> = others
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        Some(format!(
            "{} {} {{{}}}: {} is shown as {shown}",
            self.method,
            self.path,
            sent.join(", "),
            field.name
        ))
    }

    /// Sends each value of each input alone, and each two of those that an adjustment reads
    /// together.
    fn check<R: WireRecord>(&self) {
        let inputs = R::inputs(self.api.version).entries;
        let (mut lost, mut accepted) = (Vec::new(), BTreeSet::new());
        let inputs: Vec<_> = inputs
            .iter()
            .filter(|input| input.field.info().kind != Kind::Records)
            .collect();
        let mut send = |sent: &[SentField<'_>]| {
            let fields: Vec<(&str, &Value)> =
                sent.iter().map(|field| (field.name, field.value)).collect();
            // What is refused otherwise is refused in a strict request too.
            for prefer in ["respond-async", "handling=strict"] {
                let reply = self.send(&fields, prefer);
                if reply.status >= 300 {
                    assert_eq!(reply.status, 422, "{:#}", reply.body);
                    break;
                }
                accepted.extend(sent.iter().map(|field| field.canonical));
                lost.extend(
                    sent.iter()
                        .filter_map(|field| self.lost(field, &fields, &reply)),
                );
            }
        };
        let is_read_together = |one: R::Field, other: R::Field| {
            let adjustments = R::rules(self.api.version)
                .iter()
                .filter(|rule| matches!(rule.run, domain::rules::Run::Adjust(_)));
            adjustments
                .clone()
                .any(|rule| rule.reads.contains(&one) && rule.reads.contains(&other))
        };
        for (at, input) in inputs.iter().enumerate() {
            let info = input.field.info();
            for (number, value) in values(info.name, info.kind, info.codes)
                .into_iter()
                .enumerate()
            {
                let value = wire_values::written::<R>(self.api.version, input.field, value);
                let field = || SentField {
                    name: input.name,
                    canonical: info.name,
                    kind: info.kind,
                    value: &value,
                };
                send(&[field()]);
                if number >= PAIRED {
                    continue;
                }
                for other in inputs
                    .iter()
                    .skip(at + 1)
                    .filter(|other| is_read_together(input.field, other.field))
                {
                    let second = other.field.info();
                    for other_value in values(second.name, second.kind, second.codes)
                        .into_iter()
                        .take(PAIRED)
                    {
                        let value =
                            &wire_values::written::<R>(self.api.version, other.field, other_value);
                        let (name, canonical, kind) = (other.name, second.name, second.kind);
                        send(&[
                            field(),
                            SentField {
                                name,
                                canonical,
                                kind,
                                value,
                            },
                        ]);
                    }
                }
            }
        }
        assert!(
            lost.is_empty(),
            "in {}:\n{}",
            self.api.version.label,
            lost.join("\n")
        );
        let never: Vec<_> = inputs
            .iter()
            .filter(|input| !accepted.contains(input.field.info().name))
            .collect();
        assert!(
            never.is_empty(),
            "never accepted: {:?}",
            never.iter().map(|input| input.name).collect::<Vec<_>>()
        );
    }
}

fn same_name(_: &ApiVersion, canonical: &'static str) -> String {
    canonical.to_owned()
}

fn name_in_trainee(version: &ApiVersion, canonical: &'static str) -> String {
    let aliases = [canonical.to_owned(), format!("withdrawal_{canonical}")];
    let mut fields = F::ALL
        .iter()
        .filter(|field| aliases.iter().any(|alias| *alias == field.info().name));
    let name = fields
        .next()
        .and_then(|field| version.shapes.trainee.name_of(*field));
    // The date of a recommendation.
    name.unwrap_or("outcome_date").to_owned()
}

fn data(body: impl Into<Value>) -> Map<String, Value> {
    let body: Value = body.into();
    body["data"].as_object().unwrap().clone()
}

fn object(record: Value) -> Map<String, Value> {
    record.as_object().unwrap().clone()
}

#[test]
fn no_trainee_value_is_lost_silently() {
    every_version(|api| {
        let site = |method, path: String, base, stored| Site {
            api,
            method,
            path,
            base,
            stored,
            shown_as: name_in_trainee,
        };
        site("POST", "/trainees".to_owned(), data(api.example()), None).check::<domain::Trainee>();
        let body = api
            .example()
            .with(F::training_partner_urn, "990004")
            .with(F::training_initiative, "026");
        let created = api.create(body.with(F::ethnicity, "120").with(F::disability1, "58"));
        let stored = Some(created.data.clone());
        site("PATCH", created.path(), Map::new(), stored).check::<domain::Trainee>();
    });
}

#[test]
fn no_nested_value_is_lost_silently() {
    every_version(|api| {
        let trainee = api.create(api.example());
        let of = |method, path: String, base, stored| Site {
            api,
            method,
            path,
            base,
            stored,
            shown_as: same_name,
        };
        let placements = format!("{}/placements", trainee.path());
        let named = object(record::<Placement>(
            api.version,
            &[(PlacementField::name, "Oak School")],
        ));
        of("POST", placements.clone(), named, None).check::<Placement>();
        let degrees = format!("{}/degrees", trainee.path());
        let uk = [
            (DegreeField::subject, "100485"),
            (DegreeField::uk_degree, "083"),
            (DegreeField::grade, "02"),
            (DegreeField::graduation_year, "2015"),
        ];
        let foreign = [
            (DegreeField::subject, "100425"),
            (DegreeField::country, "FR"),
            (DegreeField::non_uk_degree, "083"),
            (DegreeField::graduation_year, "2016"),
        ];
        for fields in [uk, foreign] {
            of(
                "POST",
                degrees.clone(),
                object(record::<Degree>(api.version, &fields)),
                None,
            )
            .check::<Degree>();
            let added = api
                .send(
                    "POST",
                    &degrees,
                    json!({ "data": record::<Degree>(api.version, &fields) }),
                )
                .is(201);
            let stored = added.data()[0].clone();
            let path = format!("{degrees}/{}", stored["degree_id"].as_str().unwrap());
            of("PATCH", path, Map::new(), Some(stored)).check::<Degree>();
        }
        for urn in ["990001", "123456"] {
            let fields = [
                (PlacementField::urn, urn),
                (PlacementField::name, "Oak School"),
                (PlacementField::postcode, "AB1 2CD"),
            ];
            let body = json!({ "data": record::<Placement>(api.version, &fields) });
            let added = api.send("POST", &placements, body).is(201);
            let stored = added.data().clone();
            let path = format!("{placements}/{}", stored["placement_id"].as_str().unwrap());
            of("PATCH", path, Map::new(), Some(stored)).check::<Placement>();
        }
    });
}

#[test]
fn no_transition_value_is_lost_silently() {
    every_version(|api| {
        let trainee = api.create(api.example().with(F::training_route, "11"));
        let placement = record::<Placement>(api.version, &[(PlacementField::urn, "990003")]);
        api.send(
            "POST",
            &format!("{}/placements", trainee.path()),
            json!({ "data": placement }),
        )
        .is(201);
        let of = |action: &str, base| {
            let path = format!("{}/{action}", trainee.path());
            Site {
                api,
                method: "POST",
                path,
                base,
                stored: None,
                shown_as: name_in_trainee,
            }
        };
        of("withdraw", data(Body::withdrawal(api.version))).check::<Withdrawal>();
        of("defer", object(json!({ "defer_date": "2026-10-01" }))).check::<Deferral>();
        of(
            recommendation(api.version),
            object(json!({ "qts_standards_met_date": "2026-10-01" })),
        )
        .check::<Recommendation>();
    });
}

fn with_institution(api: &Api<'_>, institution: impl Into<Value>) -> Value {
    let mut degree = record::<Degree>(
        api.version,
        &[
            (DegreeField::subject, "100485"),
            (DegreeField::uk_degree, "083"),
            (DegreeField::grade, "02"),
            (DegreeField::graduation_year, "2015"),
        ],
    );
    degree["institution"] = institution.into();
    degree
}

#[test]
fn excess_value_warnings_are_counted() {
    every_version(|api| {
        let degree = |number: usize| {
            let mut degree = with_institution(api, format!("{}", 990_000 + number));
            degree["graduation_year"] = json!(1980 + number);
            degree["colour"] = json!("red");
            degree
        };
        let body = |count: usize| {
            let degrees: Vec<Value> = (0..count).map(degree).collect();
            api.example()
                .with(F::last_name, format!("With {count}"))
                .with(F::degrees, degrees)
        };
        let few = api.send("POST", "/trainees", body(8)).is(201);
        assert_eq!(few.warnings().len(), 10);
        assert_eq!(
            few.warnings()
                .iter()
                .filter(|text| text.contains(" institution "))
                .count(),
            8
        );
        let many = api.send("POST", "/trainees", body(30)).is(201);
        assert_eq!(many.warnings().len(), 10);
        assert_eq!(
            many.warnings()
                .iter()
                .filter(|text| text.contains(" institution "))
                .count(),
            9
        );
        assert_eq!(
            many.warnings()[9],
            "299 - \"21 more warnings about values are left out\""
        );
    });
}
