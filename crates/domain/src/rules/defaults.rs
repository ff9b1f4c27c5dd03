//! The defaults of a version: values for fields that the request for a new record does not decide.

use std::borrow::Cow;

use crate::fields::field::RecordField as _;
use crate::fields::parsed::ParsedRecord;
use crate::fields::value::{Input, Value};
use crate::lists::Lists;
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::record::{Changes as _, Record, Stored as _};
use crate::rules::{Rule, Stage, apply_stage};

/// Moves each default that applies to the changes of a new record, and drops the others.
///
/// A default applies only if no sent value decides its field. The adjustments of the version show
/// this: without the default the field has no value, and with it the record keeps all sent values.
/// For example, a sent ethnic group and background decide the ethnicity.
pub fn set_defaults<R: Record>(
    sent: &mut ParsedRecord<R>,
    owner: &R::Owner,
    rules: &[Rule<R>],
    context: &Context<'_>,
) {
    let adjusted = |sent: &ParsedRecord<R>| {
        let mut candidate = Candidate::new(owner.clone(), None, sent.clone(), context);
        apply_stage(Stage::Adjust, &mut candidate, rules, context);
        candidate
    };
    for (field, default) in std::mem::take(&mut sent.defaults) {
        let mut with_default = sent.clone();
        with_default
            .changes
            .set(field, Input::Text(Cow::Borrowed(default)));
        if is_undecided(
            field,
            &adjusted(sent),
            &adjusted(&with_default),
            context.lists,
        ) {
            *sent = with_default;
        }
    }
}

/// Whether a field has no value without its default, and the default keeps the sent values.
fn is_undecided<R: Record>(
    field: R::Field,
    without_default: &Candidate<R>,
    with_default: &Candidate<R>,
    lists: &Lists,
) -> bool {
    let without = &without_default.record;
    let with = &with_default.record;
    let has_value = without.stored(field) != Value::Null
        || R::shown(without, field, lists) != R::shown(&R::Flat::default(), field, lists);
    let keeps_value = |sent: &R::Field| {
        let shown = R::shown(with, *sent, lists);
        shown == R::shown(without, *sent, lists)
            || without_default.requested().requested(*sent) == Some(shown)
    };
    let mut sent_fields = R::Field::ALL
        .iter()
        .filter(|field| without_default.has_key(**field));
    !has_value && with != without && sent_fields.all(keeps_value)
}
