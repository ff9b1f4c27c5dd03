//! Edits of a contract: those that break a client, and those that do not.

use serde_json::{Value, json};
use version_tools::compatibility::Contract;

/// An edit of a contract.
pub(super) struct Edit {
    /// What it is.
    pub(super) name: &'static str,
    /// What the change that it causes is about; nothing where no change is to be told.
    pub(super) names: &'static str,
    /// Makes it.
    pub(super) make: fn(&mut Contract),
}

const fn edit(name: &'static str, names: &'static str, make: fn(&mut Contract)) -> Edit {
    Edit { name, names, make }
}

fn schema<'a>(contract: &'a mut Contract, name: &str) -> &'a mut Value {
    &mut contract.openapi["components"]["schemas"][name]
}

fn property<'a>(contract: &'a mut Contract, name: &str, property: &str) -> &'a mut Value {
    &mut schema(contract, name)["properties"][property]
}

fn operation<'a>(contract: &'a mut Contract, method: &str, path: &str) -> &'a mut Value {
    &mut contract.openapi["paths"][path][method]
}

fn remove(object: &mut Value, key: &str) -> Value {
    object.as_object_mut().unwrap().shift_remove(key).unwrap()
}

fn push(array: &mut Value, value: Value) {
    array.as_array_mut().unwrap().push(value);
}

fn without(array: &mut Value, value: &Value) {
    array.as_array_mut().unwrap().retain(|other| other != value);
}

/// Edits that break a client.
pub(super) const BREAKING: &[Edit] = &[
    edit("a field of a reply is removed", "trn", |contract| {
        remove(&mut schema(contract, "Trainee")["properties"], "trn");
    }),
    edit("a field of a reply is renamed", "email", |contract| {
        let properties = &mut schema(contract, "Trainee")["properties"];
        properties["e_mail"] = remove(properties, "email");
    }),
    edit("a field of a reply may be missing", "state", |contract| {
        without(
            &mut schema(contract, "Trainee")["required"],
            &json!("state"),
        );
    }),
    edit("a field of a reply may be null", "state", |contract| {
        property(contract, "Trainee", "state")["type"] = json!(["string", "null"]);
    }),
    edit("a field of a reply changes its type", "ebacc", |contract| {
        property(contract, "Trainee", "ebacc")["type"] = json!("string");
    }),
    edit(
        "a date of a reply changes its format",
        "date_of_birth",
        |contract| {
            property(contract, "Trainee", "date_of_birth")["format"] = json!("date-time");
        },
    ),
    edit(
        "a moment of a reply loses its milliseconds",
        "created_at",
        |contract| {
            property(contract, "Placement", "created_at")["pattern"] = json!("^.*Z$");
        },
    ),
    edit(
        "a field of a nested record is removed",
        "address",
        |contract| {
            remove(
                &mut schema(contract, "PlacementOfTrainee")["properties"],
                "address",
            );
        },
    ),
    edit(
        "the codes of a field of a reply are not told any more",
        "state",
        |contract| {
            remove(property(contract, "Trainee", "state"), "enum");
        },
    ),
    edit("an input is removed", "ni_number", |contract| {
        remove(
            &mut schema(contract, "NewTrainee")["properties"],
            "ni_number",
        );
    }),
    edit("an input is renamed", "defer_reason", |contract| {
        let properties = &mut schema(contract, "Deferral")["properties"];
        properties["reason"] = remove(properties, "defer_reason");
    }),
    edit("an optional input is demanded", "ni_number", |contract| {
        push(
            &mut schema(contract, "NewTrainee")["required"],
            json!("ni_number"),
        );
    }),
    edit("a new input is demanded", "shoe_size", |contract| {
        *property(contract, "NewTrainee", "shoe_size") = json!({ "type": "string" });
        push(
            &mut schema(contract, "NewTrainee")["required"],
            json!("shoe_size"),
        );
    }),
    edit(
        "a limit of an input is narrower",
        "first_names",
        |contract| {
            property(contract, "NewTrainee", "first_names")["maxLength"] = json!(50);
        },
    ),
    edit("an input gets a limit", "ni_number", |contract| {
        property(contract, "TraineeChanges", "ni_number")["maxLength"] = json!(9);
    }),
    edit(
        "an input cannot be null any more",
        "ni_number",
        |contract| {
            property(contract, "TraineeChanges", "ni_number")["type"] =
                json!(["string", "integer"]);
        },
    ),
    edit(
        "an input cannot be a number any more",
        "itt_aim",
        |contract| {
            property(contract, "NewTrainee", "itt_aim")["type"] = json!("string");
        },
    ),
    edit("an input must have a form", "email", |contract| {
        property(contract, "TraineeChanges", "email")["pattern"] = json!("@example.com$");
    }),
    edit("a code of an input is removed", "sex", |contract| {
        without(
            &mut property(contract, "NewTrainee", "sex")["enum"],
            &json!("96"),
        );
    }),
    edit("an input of any text gets codes", "ni_number", |contract| {
        property(contract, "NewTrainee", "ni_number")["enum"] = json!(["1"]);
    }),
    edit(
        "a code of a long list is not accepted any more",
        "100511",
        |contract| {
            without(
                &mut contract.shape["codes"]["course_subject"],
                &json!("100511"),
            );
        },
    ),
    edit(
        "fewer nested records can be sent",
        "placements_attributes",
        |contract| {
            property(contract, "NewTrainee", "placements_attributes")["anyOf"][0]["maxItems"] =
                json!(10);
        },
    ),
    edit(
        "an endpoint is removed",
        "POST /trainees/{trainee_id}/defer",
        |contract| {
            remove(
                &mut contract.openapi["paths"],
                "/trainees/{trainee_id}/defer",
            );
        },
    ),
    edit(
        "a method is removed",
        "PUT /trainees/{trainee_id}",
        |contract| {
            remove(
                &mut contract.openapi["paths"]["/trainees/{trainee_id}"],
                "put",
            );
        },
    ),
    edit("a success has another status", "201", |contract| {
        let responses = &mut operation(contract, "post", "/trainees")["responses"];
        responses["200"] = remove(responses, "201");
    }),
    edit("an error has another status", "409", |contract| {
        let responses = &mut operation(contract, "post", "/trainees")["responses"];
        responses["422"] = remove(responses, "409");
    }),
    edit("the shape of errors changes", "message", |contract| {
        let entry = &mut schema(contract, "Error")["properties"];
        entry["detail"] = remove(entry, "message");
    }),
    edit("the media type changes", "application/json", |contract| {
        let content = &mut operation(contract, "get", "/info")["responses"]["200"]["content"];
        content["application/hal+json"] = remove(content, "application/json");
    }),
    edit("a filter is removed", "since", |contract| {
        operation(contract, "get", "/trainees")["parameters"]
            .as_array_mut()
            .unwrap()
            .retain(|p| p["name"] != "since");
    }),
    edit("a filter is demanded", "academic_cycle", |contract| {
        operation(contract, "get", "/trainees")["parameters"][0]["required"] = json!(true);
    }),
    edit(
        "a header of a reply is removed",
        "Preference-Applied",
        |contract| {
            remove(
                &mut operation(contract, "post", "/trainees")["responses"]["201"]["headers"],
                "Preference-Applied",
            );
        },
    ),
    edit(
        "tokens are sent in another way",
        "Authorization",
        |contract| {
            contract.openapi["components"]["securitySchemes"]["token"]["scheme"] = json!("basic");
        },
    ),
    edit("a rule is added", "first_names_are_capital", |contract| {
        contract.shape["rules"]["trainee"]["first_names_are_capital"] = json!("check");
    }),
    edit(
        "an adjustment is dropped",
        "trainee_start_date_as_planned",
        |contract| {
            remove(
                &mut contract.shape["rules"]["trainee"],
                "trainee_start_date_as_planned",
            );
        },
    ),
    edit("an exception year is dropped", "2025", |contract| {
        without(&mut contract.shape["exception_years"], &json!(2025));
    }),
    edit("the words of messages change", "messages", |contract| {
        contract.shape["words"]["training_partner"] = json!("school partner");
    }),
    edit(
        "problems of nested records have another form",
        "nested_errors",
        |contract| {
            contract.shape["nested_errors"] = json!("flat");
        },
    ),
];

/// Edits that break no client.
pub(super) const HARMLESS: &[Edit] = &[
    edit("a field of a reply is added", "shoe_size", |contract| {
        *property(contract, "Trainee", "shoe_size") = json!({ "type": "string" });
        push(
            &mut schema(contract, "Trainee")["required"],
            json!("shoe_size"),
        );
    }),
    edit("an optional input is added", "shoe_size", |contract| {
        *property(contract, "NewTrainee", "shoe_size") = json!({ "type": "string" });
    }),
    edit("an input can be left out", "sex", |contract| {
        without(
            &mut schema(contract, "NewTrainee")["required"],
            &json!("sex"),
        );
    }),
    edit("a limit of an input is wider", "first_names", |contract| {
        property(contract, "NewTrainee", "first_names")["maxLength"] = json!(80);
    }),
    edit(
        "an input has no limit any more",
        "first_names",
        |contract| {
            remove(property(contract, "NewTrainee", "first_names"), "maxLength");
        },
    ),
    edit("an input can be null", "sex", |contract| {
        property(contract, "NewTrainee", "sex")["type"] = json!(["string", "integer", "null"]);
    }),
    edit("an input can have any form", "first_names", |contract| {
        remove(property(contract, "NewTrainee", "first_names"), "pattern");
    }),
    edit("a code of an input is added", "sex", |contract| {
        push(
            &mut property(contract, "NewTrainee", "sex")["enum"],
            json!("97"),
        );
    }),
    edit("a code of a long list is accepted", "999999", |contract| {
        push(
            &mut contract.shape["codes"]["course_subject"],
            json!("999999"),
        );
    }),
    edit(
        "a field of a reply is never null any more",
        "email",
        |contract| {
            property(contract, "Trainee", "email")["type"] = json!("string");
        },
    ),
    edit(
        "an endpoint is added",
        "GET /trainees/{trainee_id}/portrait",
        |contract| {
            let operation = operation(contract, "get", "/info").clone();
            contract.openapi["paths"]["/trainees/{trainee_id}/portrait"] =
                json!({ "get": operation });
        },
    ),
    edit(
        "an endpoint is deprecated",
        "POST /trainees/{trainee_id}/defer",
        |contract| {
            operation(contract, "post", "/trainees/{trainee_id}/defer")["deprecated"] = json!(true);
        },
    ),
    edit("an optional filter is added", "q", |contract| {
        let parameter = json!({ "name": "q", "in": "query", "required": false, "schema": { "type": "string" } });
        push(
            &mut operation(contract, "get", "/trainees")["parameters"],
            parameter,
        );
    }),
    edit("another error can be answered", "451", |contract| {
        let responses = &mut operation(contract, "get", "/info")["responses"];
        responses["451"] = responses["503"].clone();
    }),
    edit("a header of a reply is added", "ETag", |contract| {
        let header = json!({ "schema": { "type": "string" } });
        operation(contract, "get", "/info")["responses"]["200"]["headers"]["ETag"] = header;
    }),
    edit(
        "a rule is dropped",
        "date_of_birth_not_in_future",
        |contract| {
            remove(
                &mut contract.shape["rules"]["trainee"],
                "date_of_birth_not_in_future",
            );
        },
    ),
    edit("an exception year is added", "2027", |contract| {
        push(&mut contract.shape["exception_years"], json!(2027));
    }),
    edit("fields stand in another order", "", |contract| {
        let properties = &mut schema(contract, "Trainee")["properties"];
        let first = remove(properties, "trainee_id");
        properties["trainee_id"] = first;
    }),
    edit("a description is worded better", "", |contract| {
        property(contract, "Trainee", "trn")["description"] =
            json!("The teacher reference number.");
    }),
    edit("an example changes", "", |contract| {
        operation(contract, "get", "/info")["responses"]["200"]["content"]["application/json"]["example"] =
            json!({});
    }),
];
