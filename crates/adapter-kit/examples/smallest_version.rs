//! The smallest version: three fields, one rule, one form, and a request with its reply. Run it with
//! `cargo run -p adapter-kit --example smallest_version`.

use adapter_kit::form::Flag;
use adapter_kit::problems::Errors;
use adapter_kit::read::{NestedLists, Reader, UnknownNames};
use adapter_kit::view::View;
use adapter_kit::{
    AllInputs, ApiVersion, Endpoint, Endpoints, Inputs, Label, NestedErrors, Publication, Shape,
    Shapes, Status, Versions, Vocabulary, Wire, date, inputs, shape,
};
use domain::commands::{CreationContext, create};
use domain::records::organisations::Organisations;
use domain::rules::{Rules, required};
use domain::{AcceptedCodes, Context, List, Lists, Trainee, TraineeField};

/// Clients of this version write the study mode, `01` or `31`, as a boolean.
const FULL_TIME: Flag = Flag {
    yes: "01",
    no: "31",
};
const IN_REPLIES: Shape<Trainee> = shape! { Trainee, TraineeField: surname = last_name, full_time = study_mode as FULL_TIME, state };
const IN_REQUESTS: Inputs<Trainee> =
    inputs! { Trainee, TraineeField: surname = last_name, full_time = study_mode as FULL_TIME };

static SMALLEST: ApiVersion = ApiVersion {
    label: Label::release(2030, 0),
    publication: Publication {
        since: Some(date(2030, 9, 1)),
        status: Status::Released,
        deprecated_on: None,
        sunset_on: None,
    },
    shapes: Shapes {
        trainee: IN_REPLIES,
        ..Shapes::NONE
    },
    inputs: AllInputs {
        trainee: IN_REQUESTS,
        ..AllInputs::NONE
    },
    rules: Rules {
        trainee: &[required::LAST_NAME],
        ..Rules::NONE
    },
    accepted_codes: AcceptedCodes {
        funding_exception_years: &[],
        accepted: &[(List::StudyMode, &["01", "31"])],
    },
    endpoints: Endpoints {
        available: &[Endpoint::CreateTrainee],
        deprecated: &[],
    },
    refuses_names_up_to: Label::release(2030, 0),
    nested_errors: NestedErrors::Nested,
    vocabulary: Vocabulary {
        training_partner: "partner",
    },
    wire: Wire::COMMON,
    notes: &[],
};

/// Returns the reply to a request that registers a trainee.
fn register(body: &str) -> Result<String, Box<dyn std::error::Error>> {
    let versions = Versions::new(&[&SMALLEST]);
    let served = versions.find(SMALLEST.label).ok_or("not served")?;
    let reader = Reader {
        served,
        unknown: UnknownNames::Warn,
        nested: NestedLists::Read,
    };
    let sent = reader.read::<Trainee>(body.as_bytes())?;
    let lists = Lists::embedded();
    let context = Context {
        today: date(2030, 10, 5),
        lists,
        accepted_codes: &SMALLEST.accepted_codes,
        organisations: &Organisations::default(),
    };
    let creation = CreationContext {
        now: "2030-10-05T09:00:00Z".parse()?,
        ukprn: "10012345",
        next_id: &|| Some("1".to_owned()),
    };
    let mut reply = Vec::new();
    match create(sent, &SMALLEST.rules, &context, &creation) {
        Ok(decision) => View::trainee(&SMALLEST, &decision.record, lists).write(&mut reply)?,
        Err(problems) => {
            let errors = Errors::from_problems(served, lists, &problems);
            serde_json::to_writer(&mut reply, &errors)?;
        }
    }
    Ok(String::from_utf8(reply)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for body in [
        r#"{"data":{"surname":"Ash","full_time":true}}"#,
        r#"{"data":{"full_time":"yes"}}"#,
    ] {
        println!("{body}\n{}\n", register(body)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_has_names_and_forms_of_the_version() {
        let reply = register(r#"{"data":{"surname":"Ash","full_time":true}}"#).unwrap();
        let expected = r#"{"surname":"Ash","full_time":true,"state":"submitted_for_trn"}"#;
        assert_eq!(reply, expected);
    }

    #[test]
    fn refusal_names_every_field_of_the_version() {
        let reply = register(r#"{"data":{"full_time":"yes"}}"#).unwrap();
        let errors: serde_json::Value = serde_json::from_str(&reply).unwrap();
        let messages: Vec<_> = errors["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| &error["message"])
            .collect();
        let expected = [
            "full_time \"yes\" is not in the list; it can be true, false",
            "surname cannot be blank",
        ];
        assert_eq!(messages, expected);
    }
}
