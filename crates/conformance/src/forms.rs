//! Checks of the forms of fields: every form reads what it writes.

use adapter_kit::form::{FormField, MemberForm, Reads, Sample, read, read_text};
use adapter_kit::identifiers;
use adapter_kit::shape::{Inputs, Shape};
use adapter_kit::wire::{WireNested, WireRecord};
use domain::{
    Lists, Record, RecordField as _, Stored, Trainee, TraineeField, Value, for_each_nested,
};

use crate::case::{Case, CheckFailure};

/// Checks the forms of all fields of the version: the samples hold in both directions, a field that
/// requests can set has the same form in requests and in responses, and this form can be read.
pub(super) fn check_forms(case: Case<'_>) -> Result<(), CheckFailure> {
    let version = case.version();
    check_record_forms(case, Trainee::inputs(version), &version.shapes.trainee)?;
    check_identifiers(case, &version.shapes.trainee, TraineeField::trainee_id)?;
    check_filters(case)?;
    for_each_nested!(check_nested_forms(case))
        .into_iter()
        .collect()
}

fn check_nested_forms<R: WireNested>(case: Case<'_>) -> Result<(), CheckFailure> {
    let inputs = R::inputs(case.version());
    let shapes = R::shapes(case.version());
    check_record_forms(case, inputs, &shapes.alone)?;
    check_record_forms(case, inputs, &shapes.in_trainee)?;
    check_identifiers(case, &shapes.alone, R::ID)?;
    check_identifiers(case, &shapes.in_trainee, R::ID)
}

/// Checks that paths have the identifiers that replies show, and that these are read back. An
/// erasure finds stored replies by the canonical identifier, so the written one must contain it.
fn check_identifiers<R: Record>(
    case: Case<'_>,
    shape: &Shape<R>,
    id: R::Field,
) -> Result<(), CheckFailure> {
    const ID: &str = "3Rc8XUqXw4hJk2vNm7tYpZbA";
    let version = case.version();
    let name = id.info().name;
    for entry in shape
        .entries
        .iter()
        .filter(|entry| entry.field() == Some(id))
    {
        let value = Value::text(ID);
        let shown = entry
            .form
            .map(|form| form.write(&value, &entry.form_field()));
        let shown = shown.unwrap_or_else(|| ID.into());
        let written = identifiers::write(version, name, ID);
        if shown != *written {
            return case.fail(
                name,
                format!("is {shown} in replies and {written} in paths"),
            );
        }
        let stays_in_paths = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !written.contains(ID) || !written.bytes().all(stays_in_paths) {
            return case.fail(
                name,
                format!("is written as {written}; it must contain {ID}, and else only letters, digits and -._~"),
            );
        }
        let is = identifiers::read(version, name, &written);
        if is.as_deref() != Some(ID) {
            return case.fail(name, format!("is {written} in paths, and read as {is:?}"));
        }
    }
    Ok(())
}

/// Checks that each filter is read as it is written.
fn check_filters(case: Case<'_>) -> Result<(), CheckFailure> {
    let forms = case.version().inputs.filters;
    for (filter, _) in forms {
        let Some(form) = filter.form(forms) else {
            continue;
        };
        let field = filter.form_field();
        check_samples(case, filter.name(), form, &field)?;
        for value in filter.values() {
            let written = filter.write(forms, &value);
            let is = read_text(form.form, &written, &field);
            if is.as_ref() != Some(&value) {
                return case.fail(
                    filter.name(),
                    format!("is written as {written} and read as {is:?} instead of {value:?}"),
                );
            }
        }
    }
    Ok(())
}

fn check_record_forms<R: Record>(
    case: Case<'_>,
    inputs: &Inputs<R>,
    shape: &Shape<R>,
) -> Result<(), CheckFailure> {
    for entry in shape.entries {
        if let Some(form) = entry.form {
            check_samples(case, entry.name, form, &entry.form_field())?;
        }
    }
    for input in inputs.entries {
        let field = input.field.info().into();
        let contract = input.form.map(|form| form.contract(&field));
        let shown = shape.entries.iter().find(|entry| entry.name == input.name);
        let shown = shown.map(|entry| entry.form.map(|form| form.contract(&field)));
        if shown.is_some_and(|shown| shown != contract) {
            return case.fail(input.name, "has different forms in requests and responses");
        }
        let Some(form) = input.form else { continue };
        if let Reads::Nothing(reason) = form.form.reads(&field) {
            return case.fail(input.name, format!("can be set but not be read: {reason}"));
        }
        let members = inputs
            .all_of_field(input.field)
            .filter(|other| other.form.is_some())
            .count();
        if members != form.form.members() {
            return case.fail(
                input.name,
                format!("has {members} of {} members", form.form.members()),
            );
        }
        check_samples(case, input.name, form, &field)?;
    }
    Ok(())
}

/// Checks that each sample is written and read as it says.
fn check_samples(
    case: Case<'_>,
    name: &str,
    MemberForm { form, .. }: MemberForm,
    field: &FormField,
) -> Result<(), CheckFailure> {
    let samples = form.samples(field);
    if samples.is_empty() {
        return case.fail(name, "has no samples of its form");
    }
    for Sample { canonical, written } in samples {
        let is = form.write(&canonical, field);
        if is != written {
            return case.fail(
                name,
                format!("writes {canonical:?} as {is} instead of {written}"),
            );
        }
        check_read(
            case,
            name,
            MemberForm { form, member: 0 },
            field,
            &canonical,
        )?;
    }
    Ok(())
}

/// Checks that each field of a record in another form reads what it writes.
pub(super) fn check_values<R: Record>(
    case: Case<'_>,
    shape: &Shape<R>,
    record: &dyn Stored<R>,
) -> Result<(), CheckFailure> {
    for entry in shape.entries {
        let Some(form) = entry.form else { continue };
        if form.form.reads(&entry.form_field()) == Reads::All {
            let value = entry.value(record, Lists::embedded());
            check_read(case, entry.name, form, &entry.form_field(), &value)?;
        }
    }
    Ok(())
}

/// Checks that a form reads the value that it writes.
fn check_read(
    case: Case<'_>,
    name: &str,
    MemberForm { form, .. }: MemberForm,
    field: &FormField,
    value: &Value<'_>,
) -> Result<(), CheckFailure> {
    if matches!(form.reads(field), Reads::Nothing(_)) {
        return Ok(());
    }
    let written = form.write(value, field);
    let is = read(form, &written, field);
    if is.as_ref() == Some(value) {
        return Ok(());
    }
    case.fail(
        name,
        format!("is written as {written} and read as {is:?} instead of {value:?}"),
    )
}
