//! Checks that the defaults of a version yield to the values of a request.

use adapter_kit::names::path_in_message;
use adapter_kit::problems::message;
use adapter_kit::read::UnknownNames;
use adapter_kit::versions::Versions;
use adapter_kit::wire::WireRecord;
use domain::commands::{CreationContext, Decision};
use domain::{
    Kind, Lists, ParsedRecord, Problem, RecordField as _, Trainee, commands, for_each_nested,
};
use serde_json::{Map, Value as Json};

use crate::case::{Case, CheckFailure, NestedCase};
use crate::paths;
use crate::sample::{PROVIDER, Sample};

const CHECK: &str = "defaults_yield_to_sent_values";

/// Checks each input with a default, for each record: a request without the key creates the same
/// record as a request with null, unless null leaves the field without a value. The default then
/// leaves all sent values as they are, and the version still accepts the request.
///
/// # Errors
///
/// Returns the first case that fails.
pub fn defaults_yield_to_sent_values(
    versions: &Versions,
    sample: &Sample,
) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let version = served.version;
        for (case, trainee) in Case::new(CHECK, served, sample).each(&sample.stored) {
            let context = case.context();
            let origin = CreationContext {
                now: sample.now(),
                ukprn: PROVIDER,
                next_id: &|| None,
            };
            check_record(case, trainee, |sent| {
                commands::create(sent, &version.rules, &context, &origin)
            })?;
            for_each_nested!(check_nested(case, trainee, &origin))
                .into_iter()
                .collect::<Result<(), _>>()?;
        }
    }
    Ok(())
}

/// Checks the nested records of one kind.
fn check_nested<R: NestedCase>(
    case: Case<'_>,
    trainee: &Trainee,
    origin: &CreationContext<'_>,
) -> Result<(), CheckFailure> {
    let rules = &case.version().rules;
    let context = case.context();
    R::records(trainee).iter().try_for_each(|record| {
        check_record(case, record, |sent| {
            commands::add(sent, rules, &context, origin)
        })
    })
}

/// Checks the defaults of the inputs of one record. `create` creates a record from a request.
fn check_record<R: WireRecord + adapter_kit::read::ReadableRecord>(
    case: Case<'_>,
    record: &R,
    create: impl Fn(ParsedRecord<R>) -> Result<Decision<R>, Vec<Problem>>,
) -> Result<(), CheckFailure> {
    let inputs = R::inputs(case.version()).entries;
    let create = |request: &Map<String, Json>| {
        let sent = case.read::<R>(request, UnknownNames::Reject)?;
        Ok(create(sent).map(|decision| decision.record))
    };
    for input in inputs.iter().filter(|input| input.default.is_some()) {
        let mut request = case.request(record)?;
        paths::put(&mut request, input.name, Json::Null);
        // A version can require the field. Then only the default makes the request valid.
        let Ok(without) = create(&request)? else {
            continue;
        };
        paths::remove(&mut request, input.name);
        // A request needs at least one key.
        if request.is_empty() {
            continue;
        }
        let with = match create(&request)? {
            Ok(with) => with,
            Err(problems) => return case.fail(input.name, refusal(case, &problems)),
        };
        let lists = Lists::embedded();
        let empty = R::default();
        let undecided = empty.value(input.field, lists);
        let is_decided = without.value(input.field, lists) != undecided;
        let sent = paths::flattened(&request);
        let changed = inputs
            .iter()
            .filter(|other| other.field.info().kind != Kind::Records)
            .filter(|other| other.field == input.field || sent.contains_key(other.name))
            .filter(|other| is_decided || other.field != input.field)
            .find(|other| without.value(other.field, lists) != with.value(other.field, lists));
        if let Some(changed) = changed {
            let before = without.value(changed.field, lists);
            let after = with.value(changed.field, lists);
            let fault = format!(
                "is {after:?} instead of {before:?} with the default of {}",
                input.name
            );
            return case.fail(changed.name, fault);
        }
    }
    Ok(())
}

/// Describes the first problem of a request that only a default makes invalid.
fn refusal(case: Case<'_>, problems: &[Problem]) -> String {
    let version = case.version();
    let first = problems.first().map(|problem| {
        let at = path_in_message(version, &problem.at);
        format!("{at} {}", message(version, Lists::embedded(), problem))
    });
    format!(
        "has a default that makes a valid request invalid: {}",
        first.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use adapter_kit::version::{AllInputs, ApiVersion, NestedShapes, Shapes};
    use adapter_kit::{Inputs, inputs, shape};
    use domain::rules::{Rule, Rules, Run, diversity, funding, organisation, placement};
    use domain::{Degree, DegreeField, Placement, PlacementField, TraineeField};

    use super::*;
    use crate::sample_version::{SAMPLE_VERSION, check_version};

    const RULES: &[Rule<Trainee>] = &[
        domain::rules::dates::START_AS_PLANNED,
        diversity::ETHNICITY,
        funding::VETERANS_INITIATIVE,
        organisation::TRAINING_PARTNER,
    ];

    /// Returns a version with inputs of trainees and their rules.
    const fn with_inputs(trainee: Inputs<Trainee>, rules: &'static [Rule<Trainee>]) -> ApiVersion {
        ApiVersion {
            shapes: Shapes {
                trainee: shape! { Trainee, TraineeField:
                    trainee_id, ethnicity, ethnic_group, ethnic_background, training_partner_urn, training_partner_ukprn,
                    training_initiative, funding_method, itt_start_date, trainee_start_date, placements, degrees,
                },
                placement: NestedShapes::from_shape(shape! { Placement, PlacementField:
                    placement_id, urn, name, postcode, school_id,
                }),
                ..SAMPLE_VERSION.shapes
            },
            inputs: AllInputs {
                trainee,
                ..SAMPLE_VERSION.inputs
            },
            rules: Rules {
                trainee: rules,
                placement: &[placement::SCHOOL],
                ..SAMPLE_VERSION.rules
            },
            ..SAMPLE_VERSION
        }
    }

    const ETHNICITY: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        ethnicity or "998", ethnic_group, ethnic_background,
    };
    const PAIR: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        ethnicity, ethnic_group or "asian_ethnic_group", ethnic_background or "Chinese",
    };
    const PARTNER_URN: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        training_partner_urn or "100002", training_partner_ukprn,
    };
    const PARTNER_UKPRN: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        training_partner_urn, training_partner_ukprn or "10000001",
    };
    const INITIATIVE: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        training_initiative or "009", funding_method,
    };
    const START: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        itt_start_date, trainee_start_date or "2020-01-01",
    };

    #[test]
    fn default_yields_to_inputs_that_decide_its_field() {
        for inputs in [
            ETHNICITY,
            PAIR,
            PARTNER_URN,
            PARTNER_UKPRN,
            INITIATIVE,
            START,
        ] {
            check_version(defaults_yield_to_sent_values, with_inputs(inputs, RULES)).unwrap();
        }
    }

    #[test]
    fn default_of_nested_record_yields_to_sent_values() {
        let inputs = |placement, degree| AllInputs {
            placement,
            degree,
            ..SAMPLE_VERSION.inputs
        };
        const PLACEMENT: Inputs<Placement> = SAMPLE_VERSION.inputs.placement;
        const DEGREE: Inputs<Degree> = SAMPLE_VERSION.inputs.degree;
        for inputs in [
            inputs(
                inputs! { Placement, PlacementField: urn or "100001", name, postcode },
                DEGREE,
            ),
            inputs(
                inputs! { Placement, PlacementField: urn, name or "A", postcode or "AB1 2CD" },
                DEGREE,
            ),
            inputs(
                PLACEMENT,
                inputs! { Degree, DegreeField:
                    uk_degree or "083", non_uk_degree, topic = subject, institution, graduation_year, grade, country,
                },
            ),
            inputs(
                PLACEMENT,
                inputs! { Degree, DegreeField:
                    uk_degree, non_uk_degree or "083", topic = subject, institution, graduation_year, grade, country,
                },
            ),
            inputs(
                PLACEMENT,
                inputs! { Degree, DegreeField:
                    uk_degree, non_uk_degree, topic = subject, institution or "0149", graduation_year, grade, country,
                },
            ),
            inputs(
                PLACEMENT,
                inputs! { Degree, DegreeField:
                    uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, country or "FR",
                },
            ),
        ] {
            let version = ApiVersion {
                inputs,
                ..with_inputs(SAMPLE_VERSION.inputs.trainee, RULES)
            };
            check_version(defaults_yield_to_sent_values, version).unwrap();
        }
    }

    #[test]
    fn value_for_missing_key_fails_the_check() {
        const FILLED: Rule<Trainee> = Rule {
            name: "ethnicity_filled",
            description: "is 998 if it is not sent",
            section: "",
            reads: &[TraineeField::ethnicity],
            run: Run::Adjust(|candidate, _| {
                if !candidate.has_key(TraineeField::ethnicity) {
                    candidate.record.ethnicity = Some("998".to_owned());
                }
            }),
        };
        let version = with_inputs(ETHNICITY, &[diversity::ETHNICITY, FILLED]);
        let failure = check_version(defaults_yield_to_sent_values, version).unwrap_err();
        assert_eq!(
            (failure.check, failure.field.as_str()),
            ("defaults_yield_to_sent_values", "ethnicity")
        );
    }
}
