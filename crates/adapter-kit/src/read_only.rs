//! Compares values sent under names of replies with the reply.
//!
//! Clients can send back a record as it was shown. A value that differs from the reply is lost, so
//! the client gets a notice, or a problem if it prefers strict handling. Two kinds of values are
//! never reported: the times of creation and of the last change, and values that the service
//! derives from inputs of the same request.

use std::sync::Mutex;

use domain::problem::NoticeKind;
use domain::records::record::Changes as _;
use domain::records::trainee::Sent;
use domain::{
    Field, FieldSet, Kind, Lists, NestedRecords, Notice, ParsedRecord, Path, Problem, ProblemKind,
    Record, RecordField as _, Stored, Trainee, TraineeField, for_each_nested,
};
use serde_json::Value;

use crate::names;
use crate::shape::{Entry, Shape};
use crate::version::ApiVersion;
use crate::view::write_record;
use crate::wire::{WireNested, WireRecord};

/// The times that the service sets with each change. Never reported.
const TIMES: [&str; 2] = ["created_at", "updated_at"];

/// The read-only names in a request, and the inputs in it.
#[derive(Debug)]
pub struct ReadOnlyNames<R: Record> {
    names: Vec<String>,
    /// The fields that the request sets or clears.
    inputs: FieldSet<R::Field>,
    nested: Vec<NestedName>,
    /// Whether the client prefers that a difference refuses the request.
    pub is_strict: bool,
}

/// A read-only name in a nested record of a new trainee. The service does not derive its value from
/// inputs of that record.
#[derive(Debug, Clone)]
struct NestedName {
    list: TraineeField,
    position: usize,
    name: String,
    input: Option<Field>,
}

/// The data of a comparison.
#[derive(Debug)]
pub struct ReplyComparison<'a, R: Record> {
    /// The version of the request.
    pub version: &'a ApiVersion,
    /// The code lists.
    pub lists: &'a Lists,
    /// The body of the request.
    pub body: &'a Value,
    /// The record before the request; `None` if the request creates the record.
    pub stored: Option<&'a R>,
    /// The record in the reply; `None` if the request is refused.
    pub result: Option<&'a R>,
}

/// A read-only name with a value that differs from the reply.
#[derive(Debug)]
pub struct Difference {
    at: Path,
    remedy: Remedy,
}

/// The way to change a value that has a read-only name.
#[derive(Debug)]
enum Remedy {
    /// The input that sets the value; `None` if only the service sets it.
    Input(Option<Field>),
    /// The endpoints of the nested records.
    Endpoint,
}

impl Difference {
    /// Returns the notice for a client that does not prefer strict handling.
    #[must_use]
    pub fn into_notice(self) -> Notice {
        let kind = match self.remedy {
            Remedy::Input(input) => NoticeKind::NotAnInput { input },
            Remedy::Endpoint => NoticeKind::UseEndpoint,
        };
        Notice { at: self.at, kind }
    }

    /// Returns the problem for a client that prefers strict handling.
    #[must_use]
    pub fn into_problem(self) -> Problem {
        let kind = match self.remedy {
            Remedy::Input(input) => ProblemKind::NotAnInput { input },
            Remedy::Endpoint => ProblemKind::UseEndpoint,
        };
        Problem { at: self.at, kind }
    }
}

impl<R: WireRecord> ReadOnlyNames<R> {
    /// Takes the read-only names of a request without those in nested records.
    #[must_use]
    pub fn take_from(sent: &mut ParsedRecord<R>) -> Self {
        let names = std::mem::take(&mut sent.read_only);
        let inputs = if names.is_empty() {
            FieldSet::new()
        } else {
            sent_inputs(sent)
        };
        Self {
            names,
            inputs,
            nested: Vec::new(),
            is_strict: sent.is_strict,
        }
    }

    /// Whether there is nothing to compare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.nested.is_empty()
    }
}

impl ReadOnlyNames<Trainee> {
    /// Takes the read-only names of a request that creates a trainee and nested records.
    #[must_use]
    pub fn take_with_nested(
        version: &ApiVersion,
        lists: &Lists,
        sent: &mut ParsedRecord<Trainee>,
    ) -> Self {
        let nested = for_each_nested!(take_nested(version, lists, &mut sent.nested)).concat();
        Self {
            nested,
            ..Self::take_from(sent)
        }
    }
}

/// Takes the read-only names of the nested records of one kind, except for those of times and of
/// values that the service derives from inputs of the record.
fn take_nested<R: WireNested>(
    version: &ApiVersion,
    lists: &Lists,
    nested: &mut NestedRecords<Sent>,
) -> Vec<NestedName> {
    let mut taken = Vec::new();
    for (position, sent) in R::in_nested_mut(nested).iter_mut().enumerate() {
        let ReadOnlyNames { names, inputs, .. } = ReadOnlyNames::take_from(sent);
        for name in names {
            let entries = entries_at(&R::shapes(version).alone, &name);
            let sources = source_fields::<R>(&entries, &R::default(), lists);
            if !entries.iter().any(|entry| is_time(entry)) && !inputs.contains_any(&sources) {
                taken.push(NestedName {
                    list: R::LIST,
                    position,
                    name,
                    input: find_input::<R>(version, &sources),
                });
            }
        }
    }
    taken
}

/// Returns the fields that a request sets or clears.
fn sent_inputs<R: Record>(sent: &ParsedRecord<R>) -> FieldSet<R::Field> {
    let fields = R::Field::ALL.iter().copied();
    let partial = sent.partial.iter().map(|value| value.field);
    fields
        .filter(|field| sent.changes.requested(*field).is_some())
        .chain(partial)
        .collect()
}

impl<R: WireRecord> ReplyComparison<'_, R> {
    /// Returns the names whose values differ from the reply. A refused update is compared with the
    /// stored record. Of a refused creation, only nested lists are compared: a record that is not
    /// known has no nested records.
    ///
    /// # Errors
    ///
    /// Fails if an imported document is not JSON.
    pub fn find_differences(
        &self,
        names: &ReadOnlyNames<R>,
    ) -> Result<Vec<Difference>, serde_json::Error> {
        let Some(shape) = R::shape(self.version) else {
            return Ok(Vec::new());
        };
        let key = self.version.wire.envelope.request;
        let data = self.body.get(key).unwrap_or(&Value::Null);
        let mut shown = Vec::new();
        for record in self.result.into_iter().chain(self.stored) {
            shown.push(self.render(record)?);
        }
        let skipped = self.skipped_in_lists();
        let mut found = Vec::new();
        for name in &names.names {
            let sent = value_at(data, name);
            let entries = entries_at(shape, name);
            let is_silent = self.stored.is_none() && is_empty(sent)
                || entries.iter().any(|entry| is_time(entry))
                || shown
                    .iter()
                    .any(|record| is_shown(sent, value_at(record, name), &skipped));
            if is_silent {
                continue;
            }
            if let Some(remedy) = self.find_remedy(&entries, names, data) {
                found.push(Difference {
                    at: Path::Key(name.clone()),
                    remedy,
                });
            }
        }
        if self.result.is_some() {
            let differing = names
                .nested
                .iter()
                .filter(|one| self.differs_in_list(one, data, &shown));
            found.extend(differing.map(NestedName::to_difference));
        }
        Ok(found)
    }

    /// Returns a record as JSON in the form of the version.
    fn render(&self, record: &R) -> Result<Value, serde_json::Error> {
        let mut json = Vec::new();
        write_record::<R>(self.version, record, self.lists, &mut json)?;
        serde_json::from_slice(&json)
    }

    /// Returns the remedy for a differing value; `None` if the value is not reported.
    fn find_remedy(
        &self,
        entries: &[&Entry<R>],
        names: &ReadOnlyNames<R>,
        data: &Value,
    ) -> Option<Remedy> {
        if let Some(list) = entries.iter().find_map(|entry| entry.nested_list()) {
            if self.stored.is_some() {
                return Some(Remedy::Endpoint);
            }
            // Of a refused creation, it is not known how its nested records would be shown.
            let is_unknown =
                self.result.is_none() && data.get(names::list(self.version, list.into())).is_some();
            return (!is_unknown).then(|| Remedy::Input(Some(list.into())));
        }
        let sources = source_fields(entries, self.result.or(self.stored)?, self.lists);
        (!names.inputs.contains_any(&sources))
            .then(|| Remedy::Input(find_input::<R>(self.version, &sources)))
    }

    /// Whether no record of the nested list in the reply shows the value. Positions are not
    /// compared, because replies sort the records.
    fn differs_in_list(&self, name: &NestedName, data: &Value, shown: &[Value]) -> bool {
        let sent = data
            .get(names::list(self.version, name.list.into()))
            .and_then(|list| list.get(name.position))
            .map_or(&Value::Null, |record| value_at(record, &name.name));
        let list = self.version.shapes.trainee.name_of(name.list);
        let mut records = shown
            .iter()
            .filter_map(|trainee| trainee.get(list?)?.as_array())
            .flatten();
        !is_empty(sent) && !records.any(|record| value_at(record, &name.name) == sent)
    }

    /// Returns the names in nested records that are not compared: those of times, and for a new
    /// record those of identifiers.
    fn skipped_in_lists(&self) -> Vec<&'static str> {
        for_each_nested!(skipped_names(self.version, self.stored.is_none())).concat()
    }
}

impl NestedName {
    fn to_difference(&self) -> Difference {
        Difference {
            at: Path::Key(self.name.clone()).nested(self.list.into(), self.position),
            remedy: Remedy::Input(self.input),
        }
    }
}

/// Returns the names of the times of a nested record, and of its identifier if the record is new.
fn skipped_names<R: WireNested>(version: &ApiVersion, is_new: bool) -> Vec<&'static str> {
    let shape = &R::shapes(version).in_trainee;
    let id = is_new.then_some(R::ID);
    [R::CREATED_AT, R::UPDATED_AT]
        .into_iter()
        .chain(id)
        .filter_map(|field| shape.name_of(field))
        .collect()
}

/// Returns the fields at a path, or all fields of the group at the path.
fn entries_at<'a, R: Record>(shape: &'a Shape<R>, path: &str) -> Vec<&'a Entry<R>> {
    let is_at_path = |entry: &&Entry<R>| {
        entry.name == path || entry.group.is_some_and(|group| group.name == path)
    };
    shape.entries.iter().filter(is_at_path).collect()
}

fn is_time<R: Record>(entry: &Entry<R>) -> bool {
    entry
        .field()
        .is_some_and(|field| TIMES.contains(&field.info().name))
}

/// Returns the value at a path, such as `withdrawal.date`; null for a missing value.
fn value_at<'a>(record: &'a Value, path: &str) -> &'a Value {
    path.split('.')
        .try_fold(record, |value, name| value.get(name))
        .unwrap_or(&Value::Null)
}

/// Whether the value is null, false or empty.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(pairs) => pairs.is_empty(),
    }
}

/// Whether a record shows the sent value. Of an object, only sent keys are compared, except for
/// those in `skipped`.
fn is_shown(sent: &Value, shown: &Value, skipped: &[&str]) -> bool {
    match (sent, shown) {
        (Value::Object(pairs), Value::Object(_)) => pairs.iter().all(|(name, value)| {
            skipped.contains(&name.as_str())
                || is_shown(value, shown.get(name).unwrap_or(&Value::Null), skipped)
        }),
        (Value::Array(values), Value::Array(others)) => {
            values.len() == others.len()
                && values
                    .iter()
                    .zip(others)
                    .all(|(value, other)| is_shown(value, other, skipped))
        }
        _ => sent == shown,
    }
}

/// Returns the fields that the service reads for the value of the entries, in the order of reading.
/// The fields are observed, because the dictionary has only the functions that compute
/// derived values.
fn source_fields<R: Record>(entries: &[&Entry<R>], record: &R, lists: &Lists) -> Vec<R::Field> {
    let mut sources = Vec::new();
    for entry in entries {
        let observed = Observed {
            record,
            read: Mutex::default(),
        };
        drop(entry.value(&observed, lists));
        let mut read = observed.read.into_inner().unwrap_or_default();
        // A UUID is that of one code, which is read first. The fields read after it say only how to
        // show a missing code.
        if entry.kind() == Kind::Uuid {
            read.truncate(1);
        }
        let set_from = entry.field().and_then(|field| field.info().set_from);
        let input = R::Field::ALL
            .iter()
            .find(|field| Some(field.info().name) == set_from);
        sources.extend(read.into_iter().chain(input.copied()));
    }
    sources
}

/// Returns the first of the fields that requests of the version can set.
fn find_input<R: WireRecord>(version: &ApiVersion, fields: &[R::Field]) -> Option<Field> {
    let inputs = R::inputs(version);
    let input = fields
        .iter()
        .find(|field| inputs.find_by_field(**field).is_some());
    input.map(|field| (*field).into())
}

/// A record that notes which of its fields are read.
#[derive(Debug)]
struct Observed<'a, R: Record> {
    record: &'a R,
    read: Mutex<Vec<R::Field>>,
}

impl<R: Record> Stored<R> for Observed<'_, R> {
    fn stored(&self, field: R::Field) -> domain::Value<'_> {
        if let Ok(mut read) = self.read.lock() {
            read.push(field);
        }
        self.record.stored(field)
    }
}
