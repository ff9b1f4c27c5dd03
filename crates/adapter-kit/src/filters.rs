//! The filters and the order of lists, which are query parameters.
//!
//! A version can write the values of a filter in another form, see [`AllInputs`](crate::AllInputs).
//! `since`, `include` and the parameters of pages are written alike in all versions.

use std::borrow::Cow;

use domain::fields::field::Codes;
use domain::listing::Status;
use domain::{Kind, Value};

use crate::form::{Form, FormField, MemberForm, to_text};

/// A filter, or the order, of the list of trainees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The academic cycle, by the calendar year of its start.
    AcademicCycle,
    /// The status of the trainees.
    Status,
    /// Whether the trainees have a teacher reference number.
    HasTrn,
    /// The order by the time of the last change.
    SortOrder,
}

/// The values of `sort_order`.
const ORDERS: &[&str] = &["asc", "desc"];

/// The filters that a version writes in another form.
pub type FilterForms = &'static [(Filter, &'static dyn Form)];

impl Filter {
    /// All filters.
    pub const ALL: [Self; 4] = [
        Self::AcademicCycle,
        Self::Status,
        Self::HasTrn,
        Self::SortOrder,
    ];

    /// Returns the name of the query parameter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AcademicCycle => "academic_cycle",
            Self::Status => "status",
            Self::HasTrn => "has_trn",
            Self::SortOrder => "sort_order",
        }
    }

    /// Describes the filter in one sentence, without its values.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::AcademicCycle => {
                "The year when the academic cycle begins; the current cycle by default."
            }
            Self::Status => "Only trainees of that status.",
            Self::HasTrn => "Only trainees with, or only trainees without, a TRN.",
            Self::SortOrder => {
                "The order by the time of the last change; the newest first by default."
            }
        }
    }

    /// Returns the canonical values; of the academic cycle, one of them.
    #[must_use]
    pub fn values(self) -> Vec<Value<'static>> {
        let texts = |texts: &[&'static str]| texts.iter().copied().map(Value::text).collect();
        match self {
            Self::AcademicCycle => vec![Value::Integer(2026)],
            Self::Status => texts(Status::NAMES),
            Self::HasTrn => vec![Value::Boolean(true), Value::Boolean(false)],
            Self::SortOrder => texts(ORDERS),
        }
    }

    /// Returns the properties of the values that a form can depend on.
    #[must_use]
    pub const fn form_field(self) -> FormField {
        let (kind, codes) = match self {
            Self::AcademicCycle => (Kind::Year, None),
            Self::Status => (Kind::Text, Some(Codes::OneOf(Status::NAMES))),
            Self::HasTrn => (Kind::Boolean, None),
            Self::SortOrder => (Kind::Text, Some(Codes::OneOf(ORDERS))),
        };
        FormField { kind, codes }
    }

    /// Returns the form of the filter in a version with these forms; `None` for the common form.
    #[must_use]
    pub fn form(self, forms: FilterForms) -> Option<MemberForm> {
        let (_, form) = forms.iter().find(|(filter, _)| *filter == self)?;
        Some(MemberForm {
            form: *form,
            member: 0,
        })
    }

    /// Writes a value of the filter as the text of a query parameter.
    #[must_use]
    pub fn write<'a>(self, forms: FilterForms, value: &'a Value<'_>) -> Cow<'a, str> {
        match self.form(forms) {
            Some(form) => Cow::Owned(to_text(form.write(value, &self.form_field()))),
            None => value.to_plain_text().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::{CodeWords, ThreeWords, read_text};

    const FORMS: FilterForms = &[
        (
            Filter::HasTrn,
            &ThreeWords {
                yes: "with",
                no: "without",
                unknown: "any",
            },
        ),
        (
            Filter::SortOrder,
            &CodeWords(&[("asc", "oldest_first"), ("desc", "newest_first")]),
        ),
    ];

    #[test]
    fn value_is_written_in_the_form_of_the_version() {
        for (filter, value, common, other) in [
            (Filter::HasTrn, Value::Boolean(true), "true", "with"),
            (Filter::SortOrder, Value::text("asc"), "asc", "oldest_first"),
            (Filter::AcademicCycle, Value::Integer(2026), "2026", "2026"),
        ] {
            assert_eq!(filter.write(&[], &value), common);
            assert_eq!(filter.write(FORMS, &value), other);
        }
    }

    #[test]
    fn text_of_a_number_or_boolean_is_read_as_such() {
        use crate::form::{Flag, NUMBER};

        let year = Filter::AcademicCycle.form_field();
        assert_eq!(
            read_text(&NUMBER, "2026", &year),
            Some(Value::Integer(2026))
        );
        assert_eq!(read_text(&NUMBER, "soon", &year), None);
        let flag = Flag {
            yes: "asc",
            no: "desc",
        };
        let order = Filter::SortOrder.form_field();
        assert_eq!(read_text(&flag, "true", &order), Some(Value::text("asc")));
    }
}
