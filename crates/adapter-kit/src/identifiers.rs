//! Identifiers of records outside of the records: in paths, addresses and entries of changes.
//!
//! The entry of the identifier in the shape of the version decides the form. Functions take the
//! name of the placeholder in paths, such as `trainee_id`, which is the canonical name of the field.
//! Other crates handle canonical identifiers only.

use std::borrow::Cow;

use domain::{Record, RecordField as _, TraineeField, Value, for_each_nested};

use crate::form::{FormField, MemberForm, read_text, to_text};
use crate::shape::Shape;
use crate::version::ApiVersion;
use crate::wire::WireNested;

/// Writes an identifier in the form of the version.
#[must_use]
pub fn write<'a>(version: &ApiVersion, name: &str, id: &'a str) -> Cow<'a, str> {
    match form(version, name) {
        Some((form, field)) => Cow::Owned(to_text(form.write(&Value::text(id), &field))),
        None => Cow::Borrowed(id),
    }
}

/// Reads an identifier, or returns `None` for a text that the version does not write.
#[must_use]
pub fn read<'a>(version: &ApiVersion, name: &str, written: &'a str) -> Option<Cow<'a, str>> {
    let Some((form, field)) = form(version, name) else {
        return Some(Cow::Borrowed(written));
    };
    let id = read_text(form.form, written, &field)?;
    Some(Cow::Owned(id.to_plain_text()?.into_owned()))
}

/// Replaces the placeholders of a path by identifiers, each with the name of its placeholder.
#[must_use]
pub fn fill(version: &ApiVersion, path: &str, ids: &[(&str, String)]) -> String {
    ids.iter().fold(path.to_owned(), |path, (name, id)| {
        path.replace(&format!("{{{name}}}"), &write(version, name, id))
    })
}

/// Returns the form of the identifiers with a name; `None` for the common form.
#[must_use]
pub fn form(version: &ApiVersion, name: &str) -> Option<(MemberForm, FormField)> {
    let field = TraineeField::trainee_id;
    if name == field.info().name {
        return form_in(&version.shapes.trainee, field);
    }
    for_each_nested!(nested_form(version, name))
        .into_iter()
        .find_map(|form| form)
}

fn nested_form<R: WireNested>(version: &ApiVersion, name: &str) -> Option<(MemberForm, FormField)> {
    (name == R::ID.info().name)
        .then(|| form_in(&R::shapes(version).alone, R::ID))
        .flatten()
}

fn form_in<R: Record>(shape: &Shape<R>, id: R::Field) -> Option<(MemberForm, FormField)> {
    let entry = shape
        .entries
        .iter()
        .find(|entry| entry.field() == Some(id))?;
    Some((entry.form?, entry.form_field()))
}
