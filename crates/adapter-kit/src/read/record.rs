//! Reads the changes of a record from a JSON object.

use std::borrow::Cow;
use std::marker::PhantomData;

use domain::problem::{NameHint, NoticeKind};
use domain::records::record::Changes as _;
use domain::{
    Deferral, FieldSet, Input, Kind, NestedRecord, Notice, ParsedRecord, Path, Problem,
    ProblemKind, Recommendation, Record, RecordField as _, Trainee, TraineeField, Withdrawal,
    for_nested_list, nested_kinds,
};
use serde::de::{MapAccess, SeqAccess};

use super::json::{Elements, Pairs, Scalar, Skip, Target};
use super::keys::{Keys, UnknownNames, nearest};
use super::limits::MAX_RECORDS;
use super::members::{SplitValue, add_member};
use super::tree::Node;
use super::values::{Single, Strings, is_empty, reject, set, set_formed, wrong_type};
use crate::form::MemberForm;
use crate::names::other_names::IgnoredName;
use crate::shape::{InputName, group_of};
use crate::versions::Served;
use crate::wire::WireRecord;

/// The handling of nested lists and of fields without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NestedLists {
    /// For a body that creates a record: reads nested lists, and lists the defaults of fields
    /// without a key.
    #[default]
    Read,
    /// For a body that changes a record: ignores nested lists with a notice, because their records
    /// have separate endpoints. Fields without a key keep their values.
    Ignore,
}

/// The settings for reading the bodies of one version.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The version.
    pub served: &'a Served,
    /// The handling of unknown names.
    pub unknown: UnknownNames,
    /// The handling of nested lists.
    pub nested: NestedLists,
}

/// A record that request bodies can have.
pub trait ReadableRecord: WireRecord {
    /// Reads a nested list into the changes. Only trainees have nested lists; for other records,
    /// skips the value.
    ///
    /// # Errors
    ///
    /// Fails if the text is not JSON or is nested too deeply.
    #[doc(hidden)]
    fn read_list<'de, A: MapAccess<'de>>(
        _: &mut ParsedRecord<Self>,
        _: Self::Field,
        pairs: &mut Pairs<'de, A>,
        _: Reader<'_>,
    ) -> Result<(), A::Error> {
        pairs.value(Skip)
    }
}

impl ReadableRecord for Withdrawal {}
impl ReadableRecord for Deferral {}
impl ReadableRecord for Recommendation {}
impl ReadableRecord for Trainee {
    fn read_list<'de, A: MapAccess<'de>>(
        sent: &mut ParsedRecord<Self>,
        list: TraineeField,
        pairs: &mut Pairs<'de, A>,
        reader: Reader<'_>,
    ) -> Result<(), A::Error> {
        let rejected = for_nested_list!(list, read_nested<_>(sent, pairs, reader)).transpose()?;
        if let Some(Err(kind)) = rejected {
            sent.unread.insert(list);
            sent.problems
                .push(Problem::at(Path::List(list.into()), kind));
        }
        Ok(())
    }
}

macro_rules! readable_kinds {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        $( impl ReadableRecord for domain::$record {} )+
    };
}
nested_kinds!([readable_kinds]);

/// Reads the records of a nested list. Adds their unrecognised names to those of the trainee. The
/// inner result is the problem of a value that is not a list of records. The outer result is an
/// error in the JSON text.
fn read_nested<'de, R: ReadableRecord + NestedRecord, A: MapAccess<'de>>(
    sent: &mut ParsedRecord<Trainee>,
    pairs: &mut Pairs<'de, A>,
    reader: Reader<'_>,
) -> Result<Result<(), ProblemKind>, A::Error> {
    let records = match pairs.value(List::<R>::new(reader))? {
        Ok(records) => records,
        Err(kind) => return Ok(Err(kind)),
    };
    for record in &records {
        sent.unrecognised.merge(&record.unrecognised);
    }
    *R::in_nested_mut(&mut sent.nested) = records;
    Ok(Ok(()))
}

/// Reads the record in `{"data": {...}}`, with the key of the version.
pub(super) struct Body<'a, R> {
    reader: Reader<'a>,
    record: PhantomData<R>,
}

impl<'a, R> Body<'a, R> {
    pub(super) fn new(reader: Reader<'a>) -> Self {
        Self {
            reader,
            record: PhantomData,
        }
    }
}

impl<'de, R: ReadableRecord> Target<'de> for Body<'_, R> {
    type Output = ParsedRecord<R>;

    fn scalar(self, _: Scalar<'de>) -> Self::Output {
        without_data()
    }

    fn object<A: MapAccess<'de>>(self, mut pairs: Pairs<'de, A>) -> Result<Self::Output, A::Error> {
        let envelope = &self.reader.served.version.wire.envelope;
        let mut sent: Option<ParsedRecord<R>> = None;
        let mut is_repeated = false;
        let mut keys = Keys::default();
        while let Some(key) = pairs.key()? {
            if key != envelope.request {
                pairs.value(Skip)?;
                keys.add_unknown(&key, |_| NameHint::None);
            } else if sent.is_none() {
                let record = pairs.value(ObjectReader::new(self.reader))?;
                sent = Some(record.unwrap_or_else(without_data));
            } else {
                pairs.value(Skip)?;
                is_repeated = true;
            }
        }
        let mut sent = sent.unwrap_or_else(without_data);
        if is_repeated {
            sent.problems
                .push(Problem::at(Path::Data, ProblemKind::RepeatedKey));
        }
        keys.report(&mut sent.problems, &mut sent.notices, self.reader.unknown);
        Ok(sent)
    }
}

/// Returns the result of reading a body without `data`.
pub(super) fn without_data<R: Record>() -> ParsedRecord<R> {
    ParsedRecord {
        problems: vec![Problem::at(Path::Data, ProblemKind::NoData)],
        ..ParsedRecord::default()
    }
}

/// Reads the changes of one record. The result is `None` if the value is not an object or is an
/// empty object.
struct ObjectReader<'a, R> {
    reader: Reader<'a>,
    record: PhantomData<R>,
}

impl<'a, R> ObjectReader<'a, R> {
    fn new(reader: Reader<'a>) -> Self {
        Self {
            reader,
            record: PhantomData,
        }
    }
}

impl<'de, R: ReadableRecord> Target<'de> for ObjectReader<'_, R> {
    type Output = Option<ParsedRecord<R>>;

    fn scalar(self, _: Scalar<'de>) -> Self::Output {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut pairs: Pairs<'de, A>) -> Result<Self::Output, A::Error> {
        let mut record = RecordReader::new(self.reader);
        let mut is_empty = true;
        while let Some(key) = pairs.key()? {
            is_empty = false;
            record.read_pair(key, &mut pairs)?;
        }
        Ok((!is_empty).then(|| record.finish()))
    }
}

/// A record that is being read.
struct RecordReader<'a, 'de, R: Record> {
    reader: Reader<'a>,
    sent: ParsedRecord<R>,
    /// Fields with at least one key.
    seen: FieldSet<R::Field>,
    /// Fields with several keys.
    repeated: FieldSet<R::Field>,
    /// Keys with names of other versions, their fields and their values.
    other_names: Vec<(String, R::Field, Scalar<'de>)>,
    /// Values that the version splits into several members.
    split: Vec<SplitValue<R::Field>>,
    /// Keys that are not inputs.
    keys: Keys,
    /// Whether the record has any key other than those of read-only fields.
    has_other_keys: bool,
}

impl<'a, 'de, R: ReadableRecord> RecordReader<'a, 'de, R> {
    fn new(reader: Reader<'a>) -> Self {
        Self {
            reader,
            sent: ParsedRecord {
                is_strict: reader.unknown == UnknownNames::Reject,
                ..ParsedRecord::default()
            },
            seen: FieldSet::new(),
            repeated: FieldSet::new(),
            other_names: Vec::new(),
            split: Vec::new(),
            keys: Keys::default(),
            has_other_keys: false,
        }
    }

    /// Reads the value of a key of the record. A path such as `withdrawal.date` is an unknown key.
    fn read_pair<A: MapAccess<'de>>(
        &mut self,
        key: Cow<'de, str>,
        pairs: &mut Pairs<'de, A>,
    ) -> Result<(), A::Error> {
        let inputs = R::inputs(self.reader.served.version);
        if inputs.has_groups && group_of(&key).is_some() {
            pairs.value(Skip)?;
            self.add_unknown(&key, None);
            return Ok(());
        }
        if !inputs.is_group(&key) {
            return self.read_field(key, pairs);
        }
        self.has_other_keys = true;
        if !self.keys.add_known(&key) {
            return pairs.value(Skip);
        }
        pairs.value(InGroup {
            record: self,
            group: &key,
        })
    }

    /// Reads the value of a field. `key` is the path of the field.
    fn read_field<A: MapAccess<'de>>(
        &mut self,
        key: Cow<'de, str>,
        pairs: &mut Pairs<'de, A>,
    ) -> Result<(), A::Error> {
        let served = self.reader.served;
        if let Some(input) = R::inputs(served.version).input(&key) {
            return self.read_input(input, key, pairs);
        }
        let names = R::other_names(&served.other_names);
        if let Some((name, field)) = names.refused.iter().find(|(name, _)| *name == key) {
            self.sent.unrecognised.add_of_other_version(name);
            self.has_other_keys = true;
            let value = pairs.value(Single)?;
            if self.keys.add_known(&key) {
                self.other_names.push((key.into_owned(), *field, value));
            }
            return Ok(());
        }
        pairs.value(Skip)?;
        // Clients can send back the fields that responses show.
        if R::shape(served.version).is_some_and(|shape| shape.shows(&key)) {
            if self.keys.add_known(&key) {
                self.sent.read_only.push(key.into_owned());
            }
            return Ok(());
        }
        let ignored = names.ignored.iter().find(|ignored| ignored.name == key);
        self.add_unknown(&key, ignored);
        Ok(())
    }

    /// Adds a key that is not a name of the version. `ignored` is the name of another version.
    fn add_unknown(&mut self, key: &str, ignored: Option<&IgnoredName>) {
        self.has_other_keys = true;
        match ignored {
            Some(ignored) => self.sent.unrecognised.add_of_other_version(ignored.name),
            None => self.sent.unrecognised.unknown += 1,
        }
        if self.reader.unknown == UnknownNames::Ignore {
            self.keys.add_known(key);
            return;
        }
        let inputs = R::inputs(self.reader.served.version);
        self.keys
            .add_unknown(key, |key| match ignored.and_then(|ignored| ignored.later) {
                Some(later) => NameHint::Later {
                    version: later.version.to_string(),
                    field: later.field,
                },
                None => nearest(key, inputs.entries.iter().map(|input| input.name))
                    .map_or(NameHint::None, NameHint::Nearest),
            });
    }

    /// Reads the value of an input. Reports a repeated key, and skips its value.
    fn read_input<A: MapAccess<'de>>(
        &mut self,
        input: &'static InputName<R::Field>,
        key: Cow<'de, str>,
        pairs: &mut Pairs<'de, A>,
    ) -> Result<(), A::Error> {
        self.has_other_keys = true;
        if let Some(form) = input.form {
            return self.read_formed(input, form, &key, pairs);
        }
        let field = input.field;
        let is_list = field.info().kind == Kind::Records;
        if !self.seen.insert(field) {
            pairs.value(Skip)?;
            if self.repeated.insert(field) {
                reject(&mut self.sent, field, ProblemKind::RepeatedKey);
            }
        } else if is_list && self.reader.nested == NestedLists::Ignore {
            pairs.value(Skip)?;
            self.keys.add_list(&key);
        } else if is_list {
            R::read_list(&mut self.sent, field, pairs, self.reader)?;
        } else if field.info().kind == Kind::TextList {
            match pairs.value(Strings)? {
                Ok(None) => self.sent.changes.clear(field),
                Ok(Some(texts)) => drop(self.sent.changes.set(field, Input::TextList(texts))),
                Err(kind) => reject(&mut self.sent, field, kind),
            }
        } else {
            let version = self.reader.served.version;
            // A joined text sets the fields of all its parts.
            if input.part.is_some() {
                for part in R::inputs(version).parts(input) {
                    self.seen.insert(part.field);
                }
            }
            set(&mut self.sent, version, input, pairs.value(Single)?);
        }
        Ok(())
    }

    /// Reads the value of an input in another form. A repeated key is reported, and so is one
    /// within the value.
    fn read_formed<A: MapAccess<'de>>(
        &mut self,
        input: &'static InputName<R::Field>,
        form: MemberForm,
        key: &str,
        pairs: &mut Pairs<'de, A>,
    ) -> Result<(), A::Error> {
        let mut repeated_keys = Vec::new();
        let written = pairs.value(Node {
            path: &mut String::new(),
            repeated_keys: &mut repeated_keys,
        })?;
        let is_split = form.form.members() > 1;
        let is_new_field = self.seen.insert(input.field);
        if is_split && !self.keys.add_known(key) {
            return Ok(());
        }
        if !is_split && !is_new_field || !repeated_keys.is_empty() {
            if self.repeated.insert(input.field) {
                reject(&mut self.sent, input.field, ProblemKind::RepeatedKey);
            }
        } else if is_split {
            add_member(&mut self.split, input.field, form, input.name, written);
        } else {
            set_formed(&mut self.sent, input.field, form.form, &written);
        }
        Ok(())
    }

    /// Clears all fields of a group.
    fn clear_group(&mut self, group: &str) {
        for input in R::inputs(self.reader.served.version).in_group(group) {
            self.seen.insert(input.field);
            self.sent.changes.clear(input.field);
        }
    }

    /// Reports that the value of a group is not an object.
    fn reject_group(&mut self, group: &str) {
        for input in R::inputs(self.reader.served.version).in_group(group) {
            self.sent.unread.insert(input.field);
        }
        self.sent.problems.push(Problem::at(
            Path::Key(group.to_owned()),
            wrong_type(Kind::Document),
        ));
    }

    /// Returns the changes of the record, with the problems and notices of all its keys.
    fn finish(mut self) -> ParsedRecord<R> {
        let is_change = self.reader.nested == NestedLists::Ignore;
        for value in std::mem::take(&mut self.split) {
            value.set(&mut self.sent, is_change);
        }
        for (key, field, value) in std::mem::take(&mut self.other_names) {
            if !self.repeats_sent_value(field, value) {
                self.sent.unread.insert(field);
                let kind = ProblemKind::OtherVersionsName {
                    field: field.into(),
                };
                self.sent.problems.push(Problem::at(Path::Key(key), kind));
            }
        }
        if self.reader.nested == NestedLists::Read {
            self.list_defaults();
        }
        self.keys.report(
            &mut self.sent.problems,
            &mut self.sent.notices,
            self.reader.unknown,
        );
        if !self.has_other_keys {
            self.sent.notices.push(Notice {
                at: Path::Data,
                kind: NoticeKind::ReadOnly,
            });
        }
        self.sent
    }

    /// Whether the request sends the same value under the right name of the field. The name of
    /// another version is accepted then.
    fn repeats_sent_value(&self, field: R::Field, value: Scalar<'_>) -> bool {
        let version = self.reader.served.version;
        let mut alone = ParsedRecord::<R>::default();
        if let Some(input) = R::inputs(version).find_by_field(field) {
            set(&mut alone, version, input, value);
        }
        self.seen.contains(field)
            && alone.problems.is_empty()
            && alone.changes.requested(field) == self.sent.changes.requested(field)
    }

    /// Lists the defaults of fields without a key.
    fn list_defaults(&mut self) {
        for input in R::inputs(self.reader.served.version).entries {
            if let Some(default) = input.default
                && !self.seen.contains(input.field)
            {
                self.sent.defaults.push((input.field, default));
            }
        }
    }
}

/// Reads the fields of a group. Null clears all of them.
struct InGroup<'r, 'a, 'de, R: Record> {
    record: &'r mut RecordReader<'a, 'de, R>,
    group: &'r str,
}

impl<'de, R: ReadableRecord> Target<'de> for InGroup<'_, '_, 'de, R> {
    type Output = ();

    fn scalar(self, value: Scalar<'de>) {
        match value {
            Scalar::Null => self.record.clear_group(self.group),
            Scalar::Text(_) | Scalar::Integer(_) | Scalar::Boolean(_) | Scalar::Other => {
                self.record.reject_group(self.group);
            }
        }
    }

    fn object<A: MapAccess<'de>>(self, mut pairs: Pairs<'de, A>) -> Result<(), A::Error> {
        while let Some(key) = pairs.key()? {
            self.record
                .read_field(Cow::Owned(format!("{}.{key}", self.group)), &mut pairs)?;
        }
        Ok(())
    }
}

/// Reads a nested list. Null and a blank string count as an empty list.
struct List<'a, R>(ObjectReader<'a, R>);

impl<'a, R> List<'a, R> {
    fn new(reader: Reader<'a>) -> Self {
        Self(ObjectReader::new(reader))
    }
}

impl<'de, R: ReadableRecord> Target<'de> for List<'_, R> {
    type Output = Result<Vec<ParsedRecord<R>>, ProblemKind>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if is_empty(&value) {
            Ok(Vec::new())
        } else {
            Err(wrong_type(Kind::Records))
        }
    }

    fn array<A: SeqAccess<'de>>(
        self,
        mut elements: Elements<'de, A>,
    ) -> Result<Self::Output, A::Error> {
        let mut records = Vec::new();
        while records.len() < MAX_RECORDS {
            match elements.next(ObjectReader::<R>::new(self.0.reader))? {
                Some(record) => records.push(record.unwrap_or_else(without_object)),
                None => return Ok(Ok(records)),
            }
        }
        let has_more = elements.skip_rest()? > 0;
        Ok(if has_more {
            Err(ProblemKind::TooMany { max: MAX_RECORDS })
        } else {
            Ok(records)
        })
    }
}

/// Returns the result of reading an element that is not an object with fields. All its fields are
/// unread, so that the only problem is at the position of the element.
fn without_object<R: Record>() -> ParsedRecord<R> {
    ParsedRecord {
        unread: R::Field::ALL.iter().copied().collect(),
        ..without_data()
    }
}
