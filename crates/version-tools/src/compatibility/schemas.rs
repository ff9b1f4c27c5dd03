//! Compares two schemas. Everything that a request may contain must stay allowed, and everything
//! that a reply contained must stay present.

use std::collections::BTreeSet;

use adapter_kit::body_kind::Direction;
use serde_json::Value;

use super::{Changes, entries};

/// Maximum depth of a comparison. No contract has deeper schemas, but a schema in a file could
/// refer to itself.
const MAX_DEPTH: usize = 24;

/// The documents that contain the schemas.
pub(super) struct Schemas<'a> {
    pub(super) before: &'a Value,
    pub(super) now: &'a Value,
}

/// A comparison of two schemas and their parts.
struct Comparison<'a, 'c> {
    schemas: &'a Schemas<'a>,
    direction: Direction,
    changes: &'c mut Changes,
}

/// Bounds that are stricter when they grow.
const LOWER_BOUNDS: [&str; 4] = ["minLength", "minItems", "minimum", "minProperties"];
/// Bounds that are stricter when they shrink.
const UPPER_BOUNDS: [&str; 3] = ["maxLength", "maxItems", "maximum"];

impl Schemas<'_> {
    /// Compares the old and the new schema of a value.
    pub(super) fn compare(
        &self,
        place: &str,
        subject: &str,
        before: &Value,
        now: &Value,
        direction: Direction,
        changes: &mut Changes,
    ) {
        Comparison {
            schemas: self,
            direction,
            changes,
        }
        .compare(place, subject, before, now, 0);
    }
}

/// Follows the `$ref` of a schema. Returns the schema itself, and its name if it was referenced.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> (&'a Value, Option<&'a str>) {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let target = document.pointer(reference.trim_start_matches('#'));
            (target.unwrap_or(schema), reference.rsplit('/').next())
        }
        None => (schema, None),
    }
}

/// Returns the JSON types that a schema allows; `None` if the schema does not name any.
fn types(schema: &Value) -> Option<BTreeSet<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some(BTreeSet::from([one.as_str()])),
        Value::Array(several) => Some(several.iter().filter_map(Value::as_str).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn requires(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|other| other == name))
}

/// Returns the values as JSON, separated by commas.
fn listed(values: &[&Value]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Comparison<'_, '_> {
    /// Compares two schemas and the schemas inside them. `depth` is the number of enclosing
    /// schemas.
    fn compare(&mut self, place: &str, subject: &str, before: &Value, now: &Value, depth: usize) {
        let (before, name) = resolved(self.schemas.before, before);
        let (now, _) = resolved(self.schemas.now, now);
        // A named schema is compared once, for all places that use it.
        let place = match (name, self.direction) {
            (Some(name), Direction::Request) => &format!("{name} in requests"),
            (Some(name), Direction::Reply) => &format!("{name} in replies"),
            (None, _) => place,
        };
        // A schema that refers to itself would never end.
        if depth > MAX_DEPTH {
            return;
        }
        self.compare_types(place, subject, before, now);
        self.compare_codes(place, subject, before, now);
        self.compare_forms(place, subject, before, now);
        if self.direction == Direction::Request {
            self.compare_bounds(place, subject, before, now);
        }
        self.compare_properties(place, before, now, depth);
        match (before.get("items"), now.get("items")) {
            (Some(old), Some(new)) => self.compare(place, subject, old, new, depth + 1),
            (None, Some(_)) if self.direction == Direction::Request => {
                self.changes
                    .breaking(place, subject, "has entries of only one form");
            }
            (Some(_), None) if self.direction == Direction::Reply => {
                self.changes
                    .breaking(place, subject, "has entries of any form");
            }
            (Some(_) | None, None) | (None, Some(_)) => {}
        }
        for key in ["anyOf", "allOf", "oneOf"] {
            self.compare_parts(place, subject, (key, before, now), depth);
        }
    }

    /// Compares the parts of a schema that combines schemas with `key`: `anyOf`, `allOf` or
    /// `oneOf`.
    fn compare_parts(
        &mut self,
        place: &str,
        subject: &str,
        (key, before, now): (&str, &Value, &Value),
        depth: usize,
    ) {
        let parts = |schema: &Value| {
            schema
                .get(key)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let old = parts(before);
        let new = parts(now);
        for (old, new) in old.iter().zip(&new) {
            self.compare(place, subject, old, new, depth + 1);
        }
        // The parts of `anyOf` and `oneOf` are alternatives. An additional one breaks clients that
        // read replies, and a removed one breaks clients that send requests. The parts of `allOf`
        // are conditions, with the opposite effect.
        let are_alternatives = key != "allOf";
        let breaks = match new.len().cmp(&old.len()) {
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Greater => are_alternatives == (self.direction == Direction::Reply),
            std::cmp::Ordering::Less => are_alternatives == (self.direction == Direction::Request),
        };
        self.changes.add(breaks, place, subject, "has other forms");
    }

    /// Compares the JSON types. Requests must keep the old types, and replies must not have new
    /// types.
    fn compare_types(&mut self, place: &str, subject: &str, before: &Value, now: &Value) {
        let old = types(before);
        let new = types(now);
        let (Some(old), Some(new)) = (&old, &new) else {
            if old != new {
                self.changes.breaking(place, subject, "is of another type");
            }
            return;
        };
        let removed: Vec<&str> = old.difference(new).copied().collect();
        let added: Vec<&str> = new.difference(old).copied().collect();
        match self.direction {
            Direction::Request if !removed.is_empty() => {
                let what = format!("can no longer be {}", removed.join(", "));
                self.changes.breaking(place, subject, what);
            }
            Direction::Request if !added.is_empty() => {
                let what = format!("can also be {}", added.join(", "));
                self.changes.additive(place, subject, what);
            }
            Direction::Reply if !added.is_empty() => {
                let what = format!("can be {}", added.join(", "));
                self.changes.breaking(place, subject, what);
            }
            Direction::Reply if !removed.is_empty() => {
                let what = format!("is never {}", removed.join(", "));
                self.changes.additive(place, subject, what);
            }
            Direction::Request | Direction::Reply => {}
        }
    }

    /// Compares codes. A request must keep its codes. New codes are allowed in both directions
    /// (contract, section 9.1).
    fn compare_codes(&mut self, place: &str, subject: &str, before: &Value, now: &Value) {
        let codes = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
        match (codes(before), codes(now)) {
            (Some(old), Some(new)) => {
                let removed: Vec<&Value> = old.iter().filter(|code| !new.contains(code)).collect();
                let added: Vec<&Value> = new.iter().filter(|code| !old.contains(code)).collect();
                if !removed.is_empty() && self.direction == Direction::Request {
                    self.changes.breaking(
                        place,
                        subject,
                        format!("can no longer be {}", listed(&removed)),
                    );
                }
                for code in added {
                    self.changes
                        .additive(place, subject, format!("can be {code}"));
                }
            }
            (None, Some(_)) if self.direction == Direction::Request => {
                self.changes
                    .breaking(place, subject, "must be one of a few codes");
            }
            (Some(_), None) if self.direction == Direction::Request => {
                self.changes.additive(place, subject, "can be any text");
            }
            (Some(_), None) => {
                self.changes
                    .breaking(place, subject, "is no longer one of a few codes")
            }
            (None, Some(_) | None) => {}
        }
    }

    /// Compares the formats and patterns of texts. Any change breaks clients, except a removed
    /// condition on requests and a new condition on replies.
    fn compare_forms(&mut self, place: &str, subject: &str, before: &Value, now: &Value) {
        for key in ["format", "pattern"] {
            let old = before.get(key);
            let new = now.get(key);
            if old == new {
                continue;
            }
            let is_compatible = match self.direction {
                Direction::Request => new.is_none(),
                Direction::Reply => old.is_none(),
            };
            let what = format!("has another {key}");
            self.changes.add(!is_compatible, place, subject, what);
        }
    }

    /// Compares the bounds of a value in requests.
    fn compare_bounds(&mut self, place: &str, subject: &str, before: &Value, now: &Value) {
        // The sign makes the larger number the stricter one for lower and for upper bounds.
        let lower = LOWER_BOUNDS.map(|key| (key, 1.0));
        let upper = UPPER_BOUNDS.map(|key| (key, -1.0));
        for (key, sign) in lower.into_iter().chain(upper) {
            let strictness = |schema: &Value| {
                let bound = schema.get(key).and_then(Value::as_f64);
                bound.map_or(f64::NEG_INFINITY, |bound| bound * sign)
            };
            let old = strictness(before);
            let new = strictness(now);
            if new > old {
                self.changes
                    .breaking(place, subject, format!("has a narrower limit ({key})"));
            } else if new < old {
                self.changes
                    .additive(place, subject, format!("has a wider limit ({key})"));
            }
        }
    }

    /// Compares the properties of an object: removed, new, and newly required or optional ones.
    fn compare_properties(&mut self, place: &str, before: &Value, now: &Value, depth: usize) {
        let old = entries(before.get("properties"));
        let new = entries(now.get("properties"));
        let is_request = self.direction == Direction::Request;
        for (name, schema) in &old {
            let Some((_, other)) = new.iter().find(|(other, _)| other == name) else {
                self.changes.breaking(place, name, "is removed or renamed");
                continue;
            };
            let what = match (requires(before, name), requires(now, name)) {
                (false, true) => Some(if is_request {
                    "is required"
                } else {
                    "is always present"
                }),
                (true, false) => Some(if is_request {
                    "can be left out"
                } else {
                    "is not always present"
                }),
                (true, true) | (false, false) => None,
            };
            if let Some(what) = what {
                // A property breaks requests if it becomes required, and replies if it becomes
                // optional.
                let breaks = is_request == requires(now, name);
                self.changes.add(breaks, place, name, what);
            }
            self.compare(place, name, schema, other, depth + 1);
        }
        for (name, _) in &new {
            let existed = old.iter().any(|(other, _)| other == name);
            if existed {
                continue;
            }
            if is_request && requires(now, name) {
                self.changes.breaking(place, name, "is new and required");
            } else {
                self.changes.additive(place, name, "is new");
            }
        }
    }
}
