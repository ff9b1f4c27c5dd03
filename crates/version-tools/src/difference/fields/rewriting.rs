//! Fields whose values are written in another form.

use adapter_kit::form::{self, FormField, MemberForm, Reads};
use domain::{Kind, Value};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::difference::{Effect, Example};

/// The members and the form of a value before and after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rewriting {
    /// The members before.
    pub before: WrittenMembers,
    /// The members after.
    pub after: WrittenMembers,
    /// What a request of the old form causes, if its names are still valid.
    #[serde(skip)]
    pub effect: Effect,
}

/// The members of a value, and their form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WrittenMembers {
    /// The names, in order; several names for a split value.
    pub names: Vec<&'static str>,
    /// The form, such as `in months`; `None` for the common form.
    pub form: Option<String>,
    /// Sentences about the form, such as "Milliseconds are cut off."
    #[serde(skip)]
    pub notes: Vec<&'static str>,
    /// An object with a sample value.
    pub sample: Json,
}

/// A member of a value in one version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) form: Option<MemberForm>,
    pub(super) field: FormField,
}

impl Rewriting {
    /// Returns the change between the members of a value in two versions. Returns `None` if a
    /// version has no member.
    pub(super) fn between(before: &[Member], after: &[Member]) -> Option<Self> {
        let (old, new) = (before.first()?, after.first()?);
        let canonical = [new, old].iter().find_map(|member| {
            let samples = member.form?.form.samples(&member.field);
            Some(samples.into_iter().next()?.canonical)
        });
        let canonical = canonical.unwrap_or(Value::Null);
        Some(Self {
            before: WrittenMembers::new(old, before, &canonical),
            after: WrittenMembers::new(new, after, &canonical),
            effect: effect(old, new, &canonical),
        })
    }

    /// Returns the sample before and after.
    pub(super) fn example(&self) -> Example {
        Example::new(&self.before.sample, &self.after.sample)
    }

    /// Whether the value has other members.
    pub(super) fn has_other_names(&self) -> bool {
        self.before.names != self.after.names
    }
}

impl WrittenMembers {
    fn new(first: &Member, members: &[Member], canonical: &Value<'_>) -> Self {
        let reads = first.form.map(|form| form.form.reads(&first.field));
        let lost = match reads {
            Some(Reads::WithLoss(lost)) => Some(lost),
            Some(Reads::Nothing(reason)) => Some(reason),
            Some(Reads::All) | None => None,
        };
        let note = first.form.and_then(|form| form.form.note(&first.field));
        Self {
            names: members.iter().map(|member| member.name).collect(),
            form: first.form.map(|form| form.form.says()),
            notes: note.into_iter().chain(lost).collect(),
            sample: at_paths(
                members
                    .iter()
                    .map(|member| (member.name, member.write(canonical))),
            ),
        }
    }
}

impl Member {
    fn write(&self, value: &Value<'_>) -> Json {
        match self.form {
            Some(form) => form.write(value, &self.field),
            None => form::plain(value),
        }
    }

    /// Reads a written value, or returns `None` if the version refuses its type.
    fn read(&self, written: &Json) -> Option<Value<'static>> {
        if let Some(form) = self.form {
            return form::read(form.form, written, &self.field);
        }
        let kind = self.field.kind;
        let takes_numbers = matches!(kind, Kind::Text | Kind::Year | Kind::Integer);
        if let Some(text) = written.as_str() {
            let takes_text = takes_numbers || kind == Kind::Date;
            return takes_text.then(|| Value::Text(text.to_owned().into()));
        }
        if let Some(number) = written.as_i64() {
            return takes_numbers.then_some(Value::Integer(number));
        }
        let flag = written.as_bool().filter(|_| kind == Kind::Boolean)?;
        Some(Value::Boolean(flag))
    }
}

/// Returns the effect of sending a value in the old form under a valid name.
fn effect(old: &Member, new: &Member, canonical: &Value<'_>) -> Effect {
    match new.read(&old.write(canonical)) {
        None => Effect::Refused,
        Some(value) if value.to_plain_text() == canonical.to_plain_text() => Effect::WorthKnowing,
        Some(_) => Effect::RecordedDifferently,
    }
}

/// Returns an object with values at the paths of fields. Fields of a group, such as
/// `withdrawal.date` and `withdrawal.trigger`, are in one nested object.
fn at_paths(values: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    let mut object = Map::new();
    for (path, value) in values {
        let Some((group, name)) = path.split_once('.') else {
            object.insert(path.to_owned(), value);
            continue;
        };
        if let Some(members) = object
            .entry(group)
            .or_insert_with(|| json!({}))
            .as_object_mut()
        {
            members.insert(name.to_owned(), value);
        }
    }
    Json::Object(object)
}
