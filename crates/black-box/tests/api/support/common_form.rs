//! Replies in the common form, so that a scenario reads the reply of each version in the same way.

use adapter_kit::problems::{TRANSITION, UNPROCESSABLE};
use adapter_kit::read::IDEMPOTENCY_KEY;
use adapter_kit::wire_form::DATA;
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
    let details = version.filter(|version| version.wire.problems == ProblemForm::DETAILS);
    match details {
        Some(_) if status >= 400 => ProblemForm::DETAILS.media_type,
        Some(_) | None => "application/json; charset=utf-8",
    }
}

/// The body of a request, or the items of a batch, with the key of the version for `data`.
pub(crate) fn request(version: &ApiVersion, mut body: Value) -> Value {
    let key = version.wire.envelope.request;
    match body.as_array_mut() {
        Some(items) => items.iter_mut().for_each(|item| rename(item, DATA, key)),
        None => rename(&mut body, DATA, key),
    }
    body
}

/// Renames a key of an object, if the object has it.
fn rename(body: &mut Value, from: &str, to: &str) {
    if from == to {
        return;
    }
    if let Some(object) = body.as_object_mut()
        && let Some(value) = object.shift_remove(from)
    {
        object.insert(to.to_owned(), value);
    }
}

/// The body of a reply in the common form.
pub(crate) fn converted(version: &ApiVersion, status: u16, body: Value) -> Value {
    let envelope = &version.wire.envelope;
    let body = if status >= 400 {
        errors(version, body)
    } else {
        body
    };
    let mut body = page(version, body);
    rename(&mut body, envelope.record, DATA);
    for result in body
        .get_mut(DATA)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if result.get(IDEMPOTENCY_KEY).is_none() {
            continue;
        }
        rename(result, envelope.record, DATA);
        let Some(result) = result.as_object_mut() else {
            continue;
        };
        if envelope.record_links {
            result.shift_remove("links");
        }
        if let Some(problem) = result.shift_remove("problem") {
            result.extend(errors(version, problem).as_object().unwrap().clone());
        }
    }
    if let (true, Some(body)) = (envelope.record_links, body.as_object_mut()) {
        body.shift_remove("links");
    }
    body
}

/// An error reply in the common form.
fn errors(version: &ApiVersion, body: Value) -> Value {
    let key = version.wire.envelope.request;
    let form = version.wire.problems;
    if form == ProblemForm::DETAILS {
        details(&body, key)
    } else if form == ProblemForm::BY_POINTER {
        by_pointer(&body, key)
    } else {
        body
    }
}

/// Problems by JSON pointer as a list of errors, or of parameters.
fn by_pointer(body: &Value, request_key: &str) -> Value {
    if body["error"] == "Unauthorized" && body["message"] == "there is no valid token" {
        return json!({ "error": "Unauthorized" });
    }
    if let Some(parameters) = body.get("parameters") {
        return json!({ "message": body["message"], "errors": parameters });
    }
    let mut entries = Vec::new();
    for (pointer, problems) in body["errors"].as_object().into_iter().flatten() {
        for problem in problems.as_array().unwrap() {
            let (code, message) = (&problem["code"], &problem["message"]);
            entries.push(entry(code, message, &field(pointer, request_key)));
        }
    }
    if entries.is_empty() {
        entries.push(json!({ "error": body["error"], "message": body["message"] }));
    }
    let mut common = json!({ "errors": entries });
    if let Some(data) = body.get("data") {
        common["data"] = data.clone();
    }
    common
}

/// A problem in the common form.
fn entry(code: &Value, message: &Value, field: &str) -> Value {
    let transitions = [Code::Transition, Code::NoNextStep, Code::NotStarted];
    let is_transition = transitions.iter().any(|known| code == known.name());
    let error = if is_transition {
        TRANSITION
    } else {
        UNPROCESSABLE
    };
    json!({ "error": error, "message": message, "code": code, "field": field })
}

/// Problem details as a list of errors, or of parameters.
fn details(details: &Value, request_key: &str) -> Value {
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
    let entry = |problem: &Value| {
        let pointer = problem["pointer"].as_str().unwrap();
        entry(
            &problem["code"],
            &problem["detail"],
            &field(pointer, request_key),
        )
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
fn field(pointer: &str, request_key: &str) -> String {
    let steps = pointer
        .trim_start_matches('/')
        .split('/')
        .map(|step| step.replace("~1", "/").replace("~0", "~"));
    let mut path = String::new();
    for step in steps.skip_while(|step| step == request_key) {
        match step.parse::<usize>() {
            Ok(position) if !path.is_empty() => path += &format!("[{position}]"),
            Ok(_) | Err(_) => {
                path += if path.is_empty() { "" } else { "." };
                path += &step;
            }
        }
    }
    if path.is_empty() {
        DATA.to_owned()
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
