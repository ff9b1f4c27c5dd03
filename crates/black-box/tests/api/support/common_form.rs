//! Replies in the common form, so that a scenario reads the reply of each version in the same way.

use adapter_kit::problems::{TRANSITION, UNPROCESSABLE};
use adapter_kit::read::IDEMPOTENCY_KEY;
use adapter_kit::{ApiVersion, Envelope, PageMember, ProblemForm};
use domain::Code;
use serde_json::{Map, Value, json};

/// The version of a path such as `/api/v2026.1/trainees`, if one with this label is served.
pub(crate) fn version_of(path: &str) -> Option<&'static ApiVersion> {
    let label = path.strip_prefix("/api/")?.split('/').next()?;
    versions::all()
        .named(label)
        .ok()
        .map(|served| served.version)
}

/// The media type of a reply of the version.
pub(crate) fn media_type(version: Option<&ApiVersion>, status: u16) -> &'static str {
    match version.map(|version| version.wire.problems) {
        Some(ProblemForm::Details) if status >= 400 => ProblemForm::Details.media_type(),
        Some(ProblemForm::Details | ProblemForm::Errors) | None => {
            "application/json; charset=utf-8"
        }
    }
}

/// The body of a reply in the common form.
pub(crate) fn converted(version: &ApiVersion, status: u16, body: Value) -> Value {
    let body = if status >= 400 && version.wire.problems == ProblemForm::Details {
        errors(&body)
    } else {
        body
    };
    let mut body = page(version, body);
    for result in body
        .get_mut("data")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let Some(result) = result.as_object_mut() else {
            continue;
        };
        if version.wire.envelope.record_links && result.contains_key(IDEMPOTENCY_KEY) {
            result.shift_remove("links");
        }
        if let Some(problem) = result.shift_remove("problem") {
            result.extend(errors(&problem).as_object().unwrap().clone());
        }
    }
    if let (true, Some(body)) = (version.wire.envelope.record_links, body.as_object_mut()) {
        body.shift_remove("links");
    }
    body
}

/// Problem details as a list of errors, or of parameters.
fn errors(details: &Value) -> Value {
    let text = |name: &str| {
        details[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name} in {details:#}"))
    };
    let error = camel_case(text("title"));
    if error == "Unauthorized" {
        return json!({ "error": error });
    }
    let problems = details
        .get("errors")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    if problems
        .iter()
        .any(|problem| problem.get("parameter").is_some())
    {
        let mut parameters = Map::new();
        for problem in &problems {
            let texts = parameters
                .entry(problem["parameter"].as_str().unwrap())
                .or_insert_with(|| json!([]));
            texts
                .as_array_mut()
                .unwrap()
                .push(problem["detail"].clone());
        }
        return json!({ "message": text("detail"), "errors": parameters });
    }
    let transitions = [Code::Transition, Code::NoNextStep, Code::NotStarted];
    let entry = |problem: &Value| {
        let is_transition = transitions
            .iter()
            .any(|code| problem["code"] == code.name());
        let error = if is_transition {
            TRANSITION
        } else {
            UNPROCESSABLE
        };
        json!({
            "error": error,
            "message": problem["detail"],
            "code": problem["code"],
            "field": field(problem["pointer"].as_str().unwrap()),
        })
    };
    let mut entries: Vec<Value> = problems.iter().map(entry).collect();
    if entries.is_empty() {
        entries.push(json!({ "error": error, "message": text("detail") }));
    }
    let mut common = json!({ "errors": entries });
    if let Some(data) = details.get("data") {
        common["data"] = data.clone();
    }
    common
}

/// The name of an error in one word.
fn camel_case(title: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    title.split(' ').map(capital).collect()
}

/// The path that a JSON pointer stands for.
fn field(pointer: &str) -> String {
    let steps = pointer
        .trim_start_matches('/')
        .split('/')
        .map(|step| step.replace("~1", "/").replace("~0", "~"));
    let mut path = String::new();
    for step in steps.skip_while(|step| step == "data") {
        match step.parse::<usize>() {
            Ok(position) if !path.is_empty() => path += &format!("[{position}]"),
            Ok(_) | Err(_) => {
                path += if path.is_empty() { "" } else { "." };
                path += &step;
            }
        }
    }
    if path.is_empty() {
        "data".to_owned()
    } else {
        path
    }
}

/// What a page says about itself, under the common names. A version that does not say how many
/// pages there are says how many records there are, and how many of them are on a page.
fn page(version: &ApiVersion, mut body: Value) -> Value {
    let Envelope {
        list,
        page: (name, members),
        ..
    } = version.wire.envelope;
    if list == Envelope::COMMON.list && (name, members) == Envelope::COMMON.page {
        return body;
    }
    let Some(object) = body.as_object_mut() else {
        return body;
    };
    if let Some(records) = object.shift_remove(list) {
        object.insert(Envelope::COMMON.list.to_owned(), records);
    }
    let page = if name.is_empty() {
        let mut own = object.clone();
        own.retain(|key, _| members.iter().any(|(member, _)| member == key));
        object.retain(|key, _| !own.contains_key(key));
        Some(Value::Object(own)).filter(|own| own != &json!({}))
    } else {
        object.shift_remove(name)
    };
    let Some(page) = page else {
        return body;
    };
    let value = |member: PageMember| {
        let (name, _) = members.iter().find(|(_, known)| *known == member)?;
        page.get(*name).and_then(Value::as_u64)
    };
    let pages = value(PageMember::Pages).or_else(|| {
        let (total, per_page) = (value(PageMember::Total)?, value(PageMember::PerPage)?);
        Some(total.div_ceil(per_page))
    });
    let mut meta = Map::new();
    for (name, member) in Envelope::COMMON.page.1 {
        let value = if *member == PageMember::Pages {
            pages
        } else {
            value(*member)
        };
        meta.extend(value.map(|value| ((*name).to_owned(), json!(value))));
    }
    object.insert("meta".to_owned(), Value::Object(meta));
    body
}
