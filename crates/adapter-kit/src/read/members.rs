//! Reads values that a version splits into several members.

use std::sync::Arc;

use domain::fields::parsed::{PartialValue, SentPart};
use domain::{Kind, ParsedRecord, Path, Problem, Record, RecordField, Value};
use serde_json::Value as Json;

use super::values::{has_control_character, set_canonical, wrong_type};
use crate::form::{Form, FormField, MemberForm};

/// The sent members of a split value.
#[derive(Debug)]
pub(super) struct SplitValue<F> {
    pub(super) field: F,
    form: &'static dyn Form,
    /// The names and values of the members that the request has.
    sent: Vec<(usize, &'static str, Json)>,
}

/// Adds a member to the split values of a record.
pub(super) fn add_member<F: RecordField>(
    values: &mut Vec<SplitValue<F>>,
    field: F,
    MemberForm { form, member }: MemberForm,
    name: &'static str,
    written: Json,
) {
    let sent = (member, name, written);
    match values.iter_mut().find(|value| value.field == field) {
        Some(value) => value.sent.push(sent),
        None => values.push(SplitValue {
            field,
            form,
            sent: vec![sent],
        }),
    }
}

impl<F: RecordField> SplitValue<F> {
    /// Sets the field, or reports the problem of the first member that cannot be read. If the body
    /// changes a record, members without a key keep their stored values.
    pub(super) fn set<R: Record<Field = F>>(self, sent: &mut ParsedRecord<R>, is_change: bool) {
        let field: FormField = self.field.info().into();
        let parts = SentMembers {
            form: self.form,
            field,
            members: self
                .sent
                .iter()
                .map(|(member, _, written)| (*member, written.clone()))
                .collect(),
        };
        let is_partial = self.sent.len() < self.form.members();
        if is_partial && is_change {
            // The domain adds the stored rest.
            let is_readable = |(_, _, written): &(usize, &str, Json)| {
                matches!(written, Json::Null | Json::String(_))
                    && !written.as_str().is_some_and(has_control_character)
            };
            return if self.sent.iter().all(is_readable) {
                sent.partial.push(PartialValue {
                    field: self.field,
                    sent: Arc::new(parts),
                });
            } else {
                self.reject(sent, field);
            };
        }
        match parts.read(&Value::Null) {
            Some(value) => set_canonical(sent, self.field, value),
            None => self.reject(sent, field),
        }
    }

    /// Reports the first member that cannot be read by itself.
    fn reject<R: Record<Field = F>>(self, sent: &mut ParsedRecord<R>, field: FormField) {
        let cannot_be_read = |(member, _, written): &&(usize, &'static str, Json)| {
            let alone = SentMembers {
                form: self.form,
                field,
                members: vec![(*member, written.clone())],
            };
            alone.read(&Value::Null).is_none()
        };
        let wrong = self.sent.iter().find(cannot_be_read);
        sent.unread.insert(self.field);
        if let Some((_, name, _)) = wrong.or(self.sent.first()) {
            sent.problems.push(Problem::at(
                Path::Key((*name).to_owned()),
                wrong_type(Kind::Text),
            ));
        }
    }
}

/// Some members of a split value.
#[derive(Debug)]
struct SentMembers {
    form: &'static dyn Form,
    field: FormField,
    members: Vec<(usize, Json)>,
}

impl SentMembers {
    /// Reads the members together with the other members of a stored value. Returns `None` if the
    /// form does not write these members.
    fn read(&self, stored: &Value<'_>) -> Option<Value<'static>> {
        let mut written = self.form.write(stored, &self.field);
        for (member, sent) in &self.members {
            if let Some(member) = written.get_mut(member) {
                *member = sent.clone();
            }
        }
        self.form.read(&written, &self.field)
    }
}

impl SentPart for SentMembers {
    fn complete(&self, stored: &Value<'_>) -> Option<Value<'static>> {
        self.read(stored)
    }
}
