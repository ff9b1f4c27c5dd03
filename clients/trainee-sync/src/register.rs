//! The endpoints of the register that this program uses, in one version.
//!
//! The fields that a request can set are read from the OpenAPI document of the version, and their
//! codes from its code lists.

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use trainee_file::{INPUT_SUFFIX, LISTS, List, Names, at};

use crate::client::{Client, Reply, Request};
use crate::codes::VersionCodes;

/// The provider of the token.
#[derive(Debug, PartialEq, Clone)]
pub(crate) struct Account {
    pub(crate) ukprn: String,
    pub(crate) provider: String,
    pub(crate) environment: String,
    /// The most requests that the token can send at once, where they are limited.
    pub(crate) quota: Option<usize>,
}

/// A page of `GET /changes`.
#[derive(Debug, Deserialize)]
pub(crate) struct Changes {
    pub(crate) data: Vec<Change>,
    pub(crate) meta: ChangesMeta,
    #[serde(skip)]
    pub(crate) etag: Option<String>,
}

/// A trainee that changed, or was removed.
#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    pub(crate) trainee_id: String,
    /// Null where the trainee was removed.
    pub(crate) trainee: Option<Value>,
}

/// Where a page ends.
#[derive(Debug, Deserialize)]
pub(crate) struct ChangesMeta {
    pub(crate) after: String,
    pub(crate) has_more: bool,
}

/// What a request for changes came to.
#[derive(Debug)]
pub(crate) enum Followed {
    Page(Changes),
    /// Nothing has changed since the page with this entity tag.
    Unchanged,
    /// The register was restored or moved since the cursor was given out, or does not know it:
    /// begin again.
    CursorIsVoid,
}

/// One version of the register.
pub(crate) struct Register<'a> {
    pub(crate) client: &'a Client,
    /// The label of the version.
    pub(crate) version: &'a str,
}

impl Register<'_> {
    fn path(&self, path: &str) -> String {
        format!("/api/{}{path}", self.version)
    }

    /// `GET /account`.
    pub(crate) fn account(&self) -> Result<Account> {
        let reply = self
            .client
            .send(&Request::get("GET /account", self.path("/account")))?;
        if reply.status != 200 {
            return Err(reply.refusal());
        }
        let data = at(&reply.body, "data");
        let text = |value: &Value| {
            value
                .as_str()
                .map(str::to_owned)
                .context("the register did not say whose token this is")
        };
        Ok(Account {
            ukprn: text(at(at(data, "provider"), "ukprn"))?,
            provider: text(at(at(data, "provider"), "name"))?,
            environment: text(&data["environment"])?,
            quota: reply.quota,
        })
    }

    /// `GET /changes`: those after the cursor, or all trainees without one. With `wait`, in
    /// seconds, the request waits where there are none. `known` is the entity tag of an earlier
    /// page after the same cursor.
    pub(crate) fn changes(
        &self,
        after: Option<&str>,
        limit: usize,
        wait: Option<u64>,
        known: Option<&str>,
    ) -> Result<Followed> {
        let after_parameter = after
            .map(|after| format!("&after={after}"))
            .unwrap_or_default();
        let path = self.path(&format!("/changes?limit={limit}{after_parameter}"));
        let mut request = Request::get("GET /changes", path);
        if let Some(wait) = wait {
            request = request.header("Prefer", format!("wait={wait}"));
        }
        if let Some(known) = known {
            request = request.header("If-None-Match", known);
        }
        let reply = self.client.send(&request)?;
        match reply.status {
            200 => {
                let page = Changes::deserialize(reply.body)
                    .context("the register answered with something other than changes")?;
                Ok(Followed::Page(Changes {
                    etag: reply.etag,
                    ..page
                }))
            }
            304 if known.is_some() => Ok(Followed::Unchanged),
            // The end of a version is a 410 too, with a link to the one to use.
            410 if after.is_some() && !reply.has_link => Ok(Followed::CursorIsVoid),
            422 if after.is_some() && !at(at(&reply.body, "errors"), "after").is_null() => {
                Ok(Followed::CursorIsVoid)
            }
            _ => Err(reply.refusal()),
        }
    }

    /// `GET /trainees/{trainee_id}`, with its entity tag.
    pub(crate) fn trainee(&self, trainee_id: &str) -> Result<Reply> {
        self.client.send(&Request::get(
            "GET /trainees/{id}",
            self.path(&format!("/trainees/{trainee_id}")),
        ))
    }

    /// `GET` of a record within a trainee, with its entity tag.
    pub(crate) fn nested(&self, trainee_id: &str, list: List, nested_id: &str) -> Result<Reply> {
        let path = self.path(&format!("/trainees/{trainee_id}/{}/{nested_id}", list.name));
        self.client
            .send(&Request::get("GET of a nested record", path))
    }

    /// `POST /trainees/batch`. The header `Prefer` holds for every trainee of it.
    pub(crate) fn batch(&self, body: String, prefer: &str) -> Result<Reply> {
        let request = Request::with_body(
            "POST /trainees/batch",
            "POST",
            self.path("/trainees/batch"),
            body,
        );
        self.client.send(&request.header("Prefer", prefer))
    }

    /// `PATCH` of a trainee, if it still has the entity tag.
    pub(crate) fn update(
        &self,
        trainee_id: &str,
        body: String,
        etag: &str,
        prefer: &str,
    ) -> Result<Reply> {
        let path = self.path(&format!("/trainees/{trainee_id}"));
        let request = Request::with_body("PATCH /trainees/{id}", "PATCH", path, body);
        self.client
            .send(&request.header("If-Match", etag).header("Prefer", prefer))
    }

    /// `PATCH` of a record within a trainee, if it still has the entity tag.
    pub(crate) fn update_nested(
        &self,
        trainee_id: &str,
        (list, nested_id): (List, &str),
        body: String,
        (etag, prefer): (&str, &str),
    ) -> Result<Reply> {
        let path = self.path(&format!("/trainees/{trainee_id}/{}/{nested_id}", list.name));
        let request = Request::with_body("PATCH of a nested record", "PATCH", path, body);
        self.client
            .send(&request.header("If-Match", etag).header("Prefer", prefer))
    }

    /// `POST` of a record within a trainee.
    pub(crate) fn add_nested(
        &self,
        trainee_id: &str,
        list: List,
        body: String,
        (key, prefer): (&str, &str),
    ) -> Result<Reply> {
        let path = self.path(&format!("/trainees/{trainee_id}/{}", list.name));
        let request = Request::with_body("POST of a nested record", "POST", path, body);
        self.client.send(
            &request
                .header("Idempotency-Key", key)
                .header("Prefer", prefer),
        )
    }

    /// The fields that a request of the version can set, from its OpenAPI document.
    pub(crate) fn input_fields(&self) -> Result<InputFields> {
        let reply = self.client.send(&Request::get(
            "GET openapi.json",
            self.path("/openapi.json"),
        ))?;
        if reply.status != 200 {
            return Err(reply.refusal());
        }
        read_fields(&reply.body)
            .context("the OpenAPI document of the version does not say which fields a trainee has")
    }

    /// `GET /reference-data` of the list with the codes of a field.
    pub(crate) fn code_list(&self, field: &str) -> Result<Value> {
        let path = self.path(&format!("/reference-data?field={field}"));
        let reply = self
            .client
            .send(&Request::get("GET /reference-data", path))?;
        match reply.status {
            200 => Ok(reply.body),
            _ => Err(reply.refusal()),
        }
    }

    /// `POST /docs/translate`, which needs no token.
    pub(crate) fn translate(&self, question: &Value) -> Result<Reply> {
        let request = Request::with_body(
            "POST /docs/translate",
            "POST",
            "/docs/translate",
            question.to_string(),
        );
        let reply = self.client.send(&request)?;
        match reply.status {
            200 | 413 => Ok(reply),
            _ => Err(reply.refusal()),
        }
    }
}

/// The fields that a request can set: their names and their kinds.
#[derive(Debug, Default)]
pub(crate) struct InputFields {
    pub(crate) names: Names,
    pub(crate) codes: VersionCodes,
}

/// The names of the code lists and of the fields with codes, which the parameter `field` of
/// `GET /reference-data` takes. Null in a version without this endpoint.
fn listed_fields(document: &Value) -> &Value {
    let parameters = document.pointer("/paths/~1reference-data/get/parameters");
    let mut parameters = parameters.and_then(Value::as_array).into_iter().flatten();
    parameters
        .find(|parameter| at(parameter, "name") == "field")
        .map_or(&Value::Null, |field| at(at(field, "schema"), "enum"))
}

fn read_fields(document: &Value) -> Result<InputFields> {
    let schema = |name: &str| at(at(at(document, "components"), "schemas"), name);
    let referenced =
        |value: &Value| Some(at(value, "$ref").as_str()?.rsplit('/').next()?.to_owned());
    let data = |path: &str| {
        referenced(
            document
                .pointer(path)?
                .pointer("/content/application~1json/schema/properties/data")?,
        )
    };
    let create =
        data("/paths/~1trainees/post/requestBody").context("a registration has no schema")?;
    let InputFields {
        mut names,
        mut codes,
    } = InputFields::default();
    codes.add_listed_fields(listed_fields(document));
    for (field, property) in schema(&create)["properties"]
        .as_object()
        .context("a registration has no fields")?
    {
        let list = LISTS
            .iter()
            .find(|list| field.strip_suffix(INPUT_SUFFIX) == Some(list.name));
        let Some(list) = list else {
            names.add_field(field, field);
            codes.add_field(None, field, property);
            continue;
        };
        let choices = property["anyOf"]
            .as_array()
            .map_or(std::slice::from_ref(property), Vec::as_slice);
        let Some(record) = choices
            .iter()
            .find_map(|choice| referenced(&choice["items"]))
        else {
            bail!("{field} has no schema");
        };
        let fields = schema(&record)["properties"].as_object().into_iter();
        for (field, property) in fields.flatten() {
            names.add_nested(list.name, field, field);
            codes.add_field(Some(*list), field, property);
        }
    }
    let shown = data("/paths/~1trainees~1{trainee_id}/get/responses/200")
        .context("a trainee has no schema")?;
    let fields = schema(&shown)["properties"]
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys());
    for field in fields {
        names.add_read_only(field);
    }
    Ok(InputFields { names, codes })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainee_file::{CellKind, Codes as _, Column};

    use super::*;

    #[test]
    fn inputs_are_read_from_the_schemas() {
        let body = |name: &str| {
            let data = json!({ "$ref": format!("#/components/schemas/{name}") });
            json!({ "content": { "application/json": { "schema": { "properties": { "data": data } } } } })
        };
        let nested = |name: &str| {
            let items = json!({ "$ref": format!("#/components/schemas/{name}") });
            json!({ "anyOf": [{ "type": "array", "items": items }, { "type": "string" }] })
        };
        let document = json!({
            "paths": {
                "/reference-data": { "get": { "parameters": [
                    { "name": "field", "schema": { "enum": ["grade"] } },
                ] } },
                "/trainees": { "post": { "requestBody": body("New") } },
                "/trainees/{trainee_id}": { "get": { "responses": { "200": body("Shown") } } },
            },
            "components": { "schemas": {
                "New": { "properties": {
                    "first_names": {}, "placements_attributes": nested("P"), "degrees_attributes": nested("D"),
                } },
                "P": { "properties": { "urn": {} } },
                "D": { "properties": { "subject": {}, "grade": {} } },
                "Shown": { "properties": { "first_names": {}, "state": {}, "placements": {} } },
            } },
        });
        let InputFields { names, codes } = read_fields(&document).unwrap();
        assert_eq!(names.fields(), ["first_names"]);
        assert_eq!(names.nested_fields(LISTS[0]), ["urn"]);
        assert_eq!(names.nested_fields(LISTS[1]), ["subject", "grade"]);
        assert_eq!(names.recognise("state"), Some(Column::Ignored));
        assert_eq!(codes.kind(Some(LISTS[1]), "grade"), CellKind::Code);
        assert_eq!(codes.kind(Some(LISTS[1]), "subject"), CellKind::Text);
        assert!(read_fields(&json!({})).is_err());
    }
}
