//! The macros that list the fields of a version, and what they compute at build time.

use domain::Record;

use super::{Entry, InputName, Part, Source};

/// Sorts names at build time.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn sorted<F: Copy, const N: usize>(mut names: [InputName<F>; N]) -> [InputName<F>; N] {
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

/// The number of entries in some lists of them.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn total<T>(lists: &[&[T]]) -> usize {
    let (mut at, mut total) = (0, 0);
    while at < lists.len() {
        total += lists[at].len();
        at += 1;
    }
    total
}

/// Puts lists behind each other at build time.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn concatenated<T: Copy, const N: usize>(lists: &[&[T]]) -> [T; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut to) = (0, 0);
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

/// The names of fields, unsorted.
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

/// Whether any field is in a group.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "at build time, where an index out of bounds does not compile"
)]
pub const fn any_in_group<F: Copy>(names: &[InputName<F>]) -> bool {
    let mut at = 0;
    while at < names.len() {
        let (name, mut letter) = (names[at].name.as_bytes(), 0);
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

/// The parts of a text, each as an entry that is otherwise like the first.
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
        index += 1;
    }
    entries
}

/// The same for a request.
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

/// Lists the fields of a record in a version's responses.
///
/// - `name = field`: a name that is not the canonical one. A field can be shown under a second
///   name, as a copy.
/// - `name = field + "-" + field`: several fields as one text, which is null while none of them has
///   a value.
/// - `group { name = field, ... }`: an object that groups fields, and is null while none of them
///   has a value.
/// - `name => OWN`: a field of this version alone, by its [`VersionField`].
/// - `when_set` behind a field shows it only with a value; `read_only` says in the contract that no
///   request sets it.
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
        $name:ident $(= $canonical:ident $(+ $separator:literal + $next:ident)*)? $(=> $own:ident)?
            $({ $($inner:tt)+ })? $($modifier:ident)*
    ),+ $(,)?) => {
        &[$($crate::shape!(@item $record, $field, $group $name [$($canonical $($separator $next)*)?] [$($own)?]
            [$({ $($inner)+ })?] [$($modifier)*])),+]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [] [] [] $modifiers:tt) => {
        &[$crate::shape!(@entry $group $name $crate::shape::Source::Field($field::$name), $modifiers)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [$canonical:ident] [] [] $modifiers:tt) => {
        &[$crate::shape!(@entry $group $name $crate::shape::Source::Field($field::$canonical), $modifiers)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [] [$own:ident] [] $modifiers:tt) => {
        &[$crate::shape!(@entry $group $name $crate::shape::Source::Own(&$own), $modifiers)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident
        [$first:ident $separator:literal $second:ident $($other:literal $next:ident)*] [] [] $modifiers:tt) => {{
        $(const { assert!($crate::shape::declare::is_same($separator, $other), "one text has one separator") };)*
        &$crate::shape::declare::joined_entries::<$record, _>(
            $crate::shape!(@entry $group $name $crate::shape::Source::Field($field::$first), $modifiers),
            [$field::$first, $field::$second $(, $field::$next)*],
            $separator,
        )
    }};
    (@item $record:ty, $field:ident, [] $name:ident [] [] [{ $($inner:tt)+ }] []) => {{
        const LISTS: &[&[$crate::shape::Entry<$record>]] = $crate::shape!(@list $record, $field, [$name] $($inner)+);
        const ALL: [$crate::shape::Entry<$record>; $crate::shape::declare::total(LISTS)] = $crate::shape::declare::concatenated(LISTS);
        &ALL
    }};
    (@entry [$($group:ident)?] $name:ident $source:expr, [$($modifier:ident)*]) => {
        $crate::shape::Entry {
            name: concat!($(stringify!($group), ".",)? stringify!($name)),
            key: concat!(",\"", stringify!($name), "\":"),
            source: $source,
            when_set: false $(|| $crate::shape!(@is_when_set $modifier))*,
            read_only: false $(|| $crate::shape!(@is_read_only $modifier))*,
            group: $crate::shape!(@group $($group)?),
            part: None,
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

/// Lists the fields of a record that a version's requests can set.
///
/// - `name = field`: a name that is not the canonical one.
/// - `name = field + "-" + field`: several fields as one text.
/// - `group { name = field, ... }`: an object that groups fields. A request that has a part of the
///   group leaves the others as they are; null clears all of them.
/// - `name as Integer`: the one JSON type that the version accepts, `Integer` or `Text`.
/// - `name or "01"`: the canonical value of a new record whose request has no key for the field.
///
/// ```
/// use adapter_kit::{Inputs, inputs};
/// use domain::{Deferral, DeferralField};
///
/// const DEFERRAL: Inputs<Deferral> = inputs! { Deferral, DeferralField: defer_date, why = defer_reason };
/// assert_eq!(DEFERRAL.field("why"), Some(DeferralField::defer_reason));
/// assert_eq!(DEFERRAL.field("defer_reason"), None);
/// ```
#[macro_export]
macro_rules! inputs {
    (@list $record:ty, $field:ident, $group:tt $(
        $name:ident $(= $canonical:ident $(+ $separator:literal + $next:ident)*)? $({ $($inner:tt)+ })?
            $(as $kind:ident)? $(or $default:literal)?
    ),+ $(,)?) => {
        &[$($crate::inputs!(@item $record, $field, $group $name [$($canonical $($separator $next)*)?]
            [$({ $($inner)+ })?] [$($kind)?] [$($default)?])),+]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [] [] $kind:tt $default:tt) => {
        &[$crate::inputs!(@input $field $group $name $name $kind $default)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident [$canonical:ident] [] $kind:tt $default:tt) => {
        &[$crate::inputs!(@input $field $group $name $canonical $kind $default)]
    };
    (@item $record:ty, $field:ident, $group:tt $name:ident
        [$first:ident $separator:literal $second:ident $($other:literal $next:ident)*] [] [] []) => {{
        $(const { assert!($crate::shape::declare::is_same($separator, $other), "one text has one separator") };)*
        $(const { assert!($field::$next.definition().input, "a request cannot set this field") };)*
        const { assert!($field::$second.definition().input, "a request cannot set this field") };
        &$crate::shape::declare::joined_inputs(
            $crate::inputs!(@input $field $group $name $first [] []),
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
    (@input $field:ident [$($group:ident)?] $name:ident $canonical:ident [$($kind:ident)?] [$($default:literal)?]) => {{
        const { assert!($field::$canonical.definition().input, "a request cannot set this field") };
        $crate::shape::InputName {
            name: concat!($(stringify!($group), ".",)? stringify!($name)),
            field: $field::$canonical,
            accepts: $crate::inputs!(@some $($crate::shape::JsonType::$kind)?),
            default: $crate::inputs!(@some $($default)?),
            part: None,
        }
    }};
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

/// Whether two texts are the same, at build time.
#[must_use]
pub const fn is_same(one: &str, other: &str) -> bool {
    !precedes(one, other) && !precedes(other, one)
}
