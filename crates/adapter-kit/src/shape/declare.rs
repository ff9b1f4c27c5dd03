//! The macros that declare the fields of a version, and their build-time functions.

use domain::Record;

use super::{Entry, InputName, Part, Source};

/// Sorts inputs by name at build time. The standard library cannot sort at build time.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn sorted<F: Copy, const N: usize>(mut names: [InputName<F>; N]) -> [InputName<F>; N] {
    // Insertion sort: the inputs before `end` are sorted.
    let mut end = 1;
    while end < N {
        let mut at = end;
        while at > 0 && precedes(names[at].name, names[at - 1].name) {
            names.swap(at, at - 1);
            at -= 1;
        }
        end += 1;
    }
    names
}

/// Whether a text comes before another one in the order of bytes.
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
const fn precedes(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return one[at] < other[at];
        }
        at += 1;
    }
    one.len() < other.len()
}

/// Returns the total length of the lists.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn total<T>(lists: &[&[T]]) -> usize {
    let mut at = 0;
    let mut total = 0;
    while at < lists.len() {
        total += lists[at].len();
        at += 1;
    }
    total
}

/// Concatenates lists at build time. The first list must not be empty.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn concatenated<T: Copy, const N: usize>(lists: &[&[T]]) -> [T; N] {
    let mut all = [lists[0][0]; N];
    let mut list = 0;
    let mut to = 0;
    while list < lists.len() {
        let mut from = 0;
        while from < lists[list].len() {
            all[to] = lists[list][from];
            to += 1;
            from += 1;
        }
        list += 1;
    }
    all
}

/// Returns the names of entries, in order.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn names<R: Record, const N: usize>(entries: &[Entry<R>]) -> [InputName<()>; N] {
    let mut names = [InputName::new("", ()); N];
    let mut at = 0;
    while at < N {
        names[at].name = entries[at].name;
        at += 1;
    }
    names
}

/// Whether any field is in a group: its name is a path with a dot.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn any_in_group<F: Copy>(names: &[InputName<F>]) -> bool {
    let mut at = 0;
    while at < names.len() {
        let name = names[at].name.as_bytes();
        let mut letter = 0;
        while letter < name.len() {
            if name[letter] == b'.' {
                return true;
            }
            letter += 1;
        }
        at += 1;
    }
    false
}

/// Returns the entries of a joined text: one copy of `first` for each field.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn joined_entries<R: Record, const N: usize>(
    first: Entry<R>,
    fields: [R::Field; N],
    separator: &'static str,
) -> [Entry<R>; N] {
    let mut entries = [first; N];
    let mut index = 0;
    while index < N {
        entries[index].source = Source::Field(fields[index]);
        entries[index].part = Some(Part {
            index,
            count: N,
            separator,
        });
        entries[index].is_plain = false;
        index += 1;
    }
    entries
}

/// Returns the inputs of a joined text: one copy of `first` for each field.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn joined_inputs<F: Copy, const N: usize>(
    first: InputName<F>,
    fields: [F; N],
    separator: &'static str,
) -> [InputName<F>; N] {
    let mut inputs = [first; N];
    let mut index = 0;
    while index < N {
        inputs[index].field = fields[index];
        inputs[index].part = Some(Part {
            index,
            count: N,
            separator,
        });
        index += 1;
    }
    inputs
}

/// Declares the fields of a record in the responses of a version.
///
/// - `field`: a field with its canonical name.
/// - `name = field`: a field with another name. The same field may appear twice.
/// - `name = field + "-" + field`: several fields joined into one text. The text is null if no
///   field has a value.
/// - `group { name = field, ... }`: an object that groups fields. The object is null if no field
///   has a value.
/// - `name => OWN`: a field of this version only, a
///   [`VersionField`](crate::VersionField).
/// - `name = field as FORM`: values in another form, a constant that implements
///   [`Form`](crate::form::Form).
/// - `name = field[0] as FORM`: one member of a value that the form splits.
/// - `when_set` behind a field: responses omit the field if it has no value.
/// - `read_only` behind a field: the contract marks the field as read-only.
///
/// ```
/// use adapter_kit::{Shape, shape};
/// use domain::{Degree, DegreeField};
///
/// const DEGREE: Shape<Degree> = shape! { Degree, DegreeField:
///     degree_id, uk_degree, topic = subject, result { mark = grade, other = other_grade },
/// };
/// assert!(DEGREE.shows("topic") && !DEGREE.shows("subject"));
/// assert!(DEGREE.shows("result.mark") && DEGREE.shows("result"));
/// ```
#[macro_export]
macro_rules! shape {
    (@list $record:ty, $field:ident, $group:tt $(
        $name:ident $(= $canonical:ident $([$member:literal])? $(+ $separator:literal + $next:ident)*)? $(=> $own:ident)?
            $({ $($inner:tt)+ })? $($modifier:ident)*
    ),+ $(,)?) => {
        &[$($crate::shape!(@item $record, $field, $group $name [$($canonical $([$member])? $($separator $next)*)?] [$($own)?]
            [$({ $($inner)+ })?] [$($modifier)*])),+]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [] [] [] $modifiers:tt) => {
        &[$crate::shape!(@entry $group $name $crate::shape::Source::Field($field::$name), 0, $modifiers)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [$canonical:ident] [] [] $modifiers:tt) => {
        &[$crate::shape!(@entry $group $name $crate::shape::Source::Field($field::$canonical), 0, $modifiers)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [$canonical:ident [$member:literal]] [] [] $modifiers:tt) => {
        &[$crate::shape!(@entry $group $name $crate::shape::Source::Field($field::$canonical), $member, $modifiers)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [] [$own:ident] [] $modifiers:tt) => {
        &[$crate::shape!(@entry $group $name $crate::shape::Source::Own(&$own), 0, $modifiers)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident
        [$first:ident $separator:literal $second:ident $($other:literal $next:ident)*] [] [] $modifiers:tt) => {{
        $(const { assert!($crate::shape::declare::is_same($separator, $other), "one text has one separator") };)*
        &$crate::shape::declare::joined_entries::<$record, _>(
            $crate::shape!(@entry $group $name $crate::shape::Source::Field($field::$first), 0, $modifiers),
            [$field::$first, $field::$second $(, $field::$next)*],
            $separator,
        )
    }};
    (@item $record:ty, $field:ident, [] $name:ident [] [] [{ $($inner:tt)+ }] []) => {{
        const LISTS: &[&[$crate::shape::Entry<$record>]] = $crate::shape!(@list $record, $field, [$name] $($inner)+);
        const ALL: [$crate::shape::Entry<$record>; $crate::shape::declare::total(LISTS)] = $crate::shape::declare::concatenated(LISTS);
        &ALL
    }};
    (@entry $group:tt $name:ident $source:expr, $member:literal, [as $form:ident $($modifier:ident)*]) => {
        $crate::shape::Entry {
            form: Some($crate::form::MemberForm { form: &$form, member: $member }),
            is_plain: false,
            ..$crate::shape!(@entry $group $name $source, $member, [$($modifier)*])
        }
    };
    (@entry [$($group:ident)?] $name:ident $source:expr, $member:literal, [$($modifier:ident)*]) => {
        $crate::shape::Entry {
            name: concat!($(stringify!($group), ".",)? stringify!($name)),
            key: concat!(",\"", stringify!($name), "\":"),
            source: $source,
            when_set: false $(|| $crate::shape!(@is_when_set $modifier))*,
            read_only: false $(|| $crate::shape!(@is_read_only $modifier))*,
            group: $crate::shape!(@group $($group)?),
            part: None,
            form: None,
            is_plain: true,
        }
    };
    (@group) => { None };
    (@group $group:ident) => {
        Some($crate::shape::Group {
            name: stringify!($group),
            key: concat!(",\"", stringify!($group), "\":"),
        })
    };
    (@is_when_set when_set) => { true };
    (@is_when_set read_only) => { false };
    (@is_read_only when_set) => { false };
    (@is_read_only read_only) => { true };
    ($record:ty, $field:ident: $($items:tt)+) => {{
        const LISTS: &[&[$crate::shape::Entry<$record>]] = $crate::shape!(@list $record, $field, [] $($items)+);
        const ENTRIES: [$crate::shape::Entry<$record>; $crate::shape::declare::total(LISTS)] =
            $crate::shape::declare::concatenated(LISTS);
        const NAMES: [$crate::shape::InputName<()>; $crate::shape::declare::total(LISTS)] =
            $crate::shape::declare::sorted($crate::shape::declare::names(&ENTRIES));
        $crate::shape::Shape::<$record> {
            entries: &ENTRIES,
            names: &NAMES,
            has_groups: $crate::shape::declare::any_in_group(&NAMES),
        }
    }};
}

/// Declares the fields of a record that requests of a version can set.
///
/// - `field`: a field with its canonical name.
/// - `name = field`: a field with another name.
/// - `name = field + "-" + field`: several fields joined into one text.
/// - `group { name = field, ... }`: an object that groups fields. Fields without a key keep their
///   values. Null instead of the object clears all fields of the group.
/// - `name as Integer`: the only accepted JSON type, `Integer` or `Text`.
/// - `name = field as FORM`: values in another form, and `name = field[0] as FORM`: one member of a
///   value that the form splits; see [`shape!`](crate::shape!). An update that sends only some
///   members keeps the others.
/// - `name or "01"`: the canonical value for new records if the request has no key for the field.
///
/// ```
/// use adapter_kit::{Inputs, inputs};
/// use domain::{Deferral, DeferralField};
///
/// const DEFERRAL: Inputs<Deferral> = inputs! { Deferral, DeferralField:
///     defer_date, why = defer_reason,
/// };
/// assert_eq!(DEFERRAL.field("why"), Some(DeferralField::defer_reason));
/// assert_eq!(DEFERRAL.field("defer_reason"), None);
/// ```
#[macro_export]
macro_rules! inputs {
    (@list $record:ty, $field:ident, $group:tt $(
        $name:ident $(= $canonical:ident $([$member:literal])? $(+ $separator:literal + $next:ident)*)? $({ $($inner:tt)+ })?
            $(as $kind:ident)? $(or $default:literal)?
    ),+ $(,)?) => {
        &[$($crate::inputs!(@item $record, $field, $group $name [$($canonical $([$member])? $($separator $next)*)?]
            [$({ $($inner)+ })?] [$($kind)?] [$($default)?])),+]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [] [] $kind:tt $default:tt) => {
        &[$crate::inputs!(@input $field $group $name $name 0 $kind $default)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [$canonical:ident] [] $kind:tt $default:tt) => {
        &[$crate::inputs!(@input $field $group $name $canonical 0 $kind $default)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [$canonical:ident [$member:literal]] [] $kind:tt $default:tt) => {
        &[$crate::inputs!(@input $field $group $name $canonical $member $kind $default)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident
        [$first:ident $separator:literal $second:ident $($other:literal $next:ident)*] [] [] []) => {{
        $(const { assert!($crate::shape::declare::is_same($separator, $other), "one text has one separator") };)*
        $(const { assert!($field::$next.definition().input, "a request cannot set this field") };)*
        const { assert!($field::$second.definition().input, "a request cannot set this field") };
        &$crate::shape::declare::joined_inputs(
            $crate::inputs!(@input $field $group $name $first 0 [] []),
            [$field::$first, $field::$second $(, $field::$next)*],
            $separator,
        )
    }};
    (@item $record:ty, $field:ident, [] $name:ident [] [{ $($inner:tt)+ }] [] []) => {{
        type Name = $crate::shape::InputName<<$record as ::domain::Record>::Field>;
        const LISTS: &[&[Name]] = $crate::inputs!(@list $record, $field, [$name] $($inner)+);
        const ALL: [Name; $crate::shape::declare::total(LISTS)] = $crate::shape::declare::concatenated(LISTS);
        &ALL
    }};
    (@input $field:ident [$($group:ident)?] $name:ident $canonical:ident $member:literal [$($kind:ident)?] [$($default:literal)?]) => {{
        const { assert!($field::$canonical.definition().input, "a request cannot set this field") };
        $crate::shape::InputName {
            name: concat!($(stringify!($group), ".",)? stringify!($name)),
            field: $field::$canonical,
            accepts: $crate::inputs!(@accepts $($kind)?),
            default: $crate::inputs!(@some $($default)?),
            part: None,
            form: $crate::inputs!(@form $member $($kind)?),
        }
    }};
    (@accepts Integer) => { Some($crate::shape::JsonType::Integer) };
    (@accepts Text) => { Some($crate::shape::JsonType::Text) };
    (@accepts $($form:ident)?) => { None };
    (@form $member:literal Integer) => { None };
    (@form $member:literal Text) => { None };
    (@form $member:literal) => { None };
    (@form $member:literal $form:ident) => {
        Some($crate::form::MemberForm { form: &$form, member: $member })
    };
    (@some) => { None };
    (@some $value:expr) => { Some($value) };
    ($record:ty, $field:ident: $($items:tt)+) => {{
        type Name = $crate::shape::InputName<<$record as ::domain::Record>::Field>;
        const LISTS: &[&[Name]] = $crate::inputs!(@list $record, $field, [] $($items)+);
        const ENTRIES: [Name; $crate::shape::declare::total(LISTS)] = $crate::shape::declare::concatenated(LISTS);
        const BY_NAME: [Name; $crate::shape::declare::total(LISTS)] = $crate::shape::declare::sorted(ENTRIES);
        $crate::shape::Inputs::<$record> {
            entries: &ENTRIES,
            by_name: &BY_NAME,
            has_groups: $crate::shape::declare::any_in_group(&ENTRIES),
        }
    }};
}

/// Whether two texts are equal, at build time.
#[must_use]
pub const fn is_same(one: &str, other: &str) -> bool {
    !precedes(one, other) && !precedes(other, one)
}
