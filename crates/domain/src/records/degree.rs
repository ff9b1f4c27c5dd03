//! A degree that the trainee held before the training.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::fields::dictionary::record;
use crate::fields::field_set::FieldSet;
use crate::fields::value::{Text, Timestamp, Value, Year};
use crate::lists::{List, Lists};
use crate::records::record::{NestedKind, Stored};

record! {
    /// A degree that the trainee held before the training.
    Degree / DegreeField / DegreeChanges named "degree" of (), implied by completion {
        inputs {
            /// Type of a degree awarded in the United Kingdom.
            uk_degree: Text, code_of List::DegreeType;
            /// Type of a degree awarded elsewhere.
            non_uk_degree: Text, code_of List::DegreeType;
            /// Subject of the degree.
            subject: Text, code_of List::DegreeSubject;
            /// Institution that awarded the degree, in the United Kingdom.
            institution: Text;
            /// Year of graduation.
            graduation_year: Year;
            /// Grade of the degree.
            grade: Text, code_of List::DegreeGrade;
            /// Grade in other words, where the grade says that it is another.
            other_grade: Text;
            /// Country of the award, if it was not the United Kingdom.
            country: Text;
        }
        service {
            /// Identifier of the degree, made by the service; null while a request is only tried
            /// out.
            degree_id: Text;
            /// When the degree was recorded.
            created_at: Timestamp, never_null;
            /// When the degree changed last.
            updated_at: Timestamp, never_null;
        }
        derived {
            /// Reference entry of the institution.
            institution_uuid: uuid::Uuid = institution_uuid;
            /// Reference entry of the type of a degree awarded in the United Kingdom.
            uk_degree_uuid: uuid::Uuid = uk_degree_uuid;
            /// Reference entry of the subject.
            subject_uuid: uuid::Uuid = subject_uuid;
            /// Reference entry of the grade.
            grade_uuid: uuid::Uuid = grade_uuid;
        }
    }
}

/// The nationality code of the United Kingdom. Requests may use this code as a country, although
/// the list of countries has other codes for the United Kingdom.
const UNITED_KINGDOM: &str = "GB";

/// The kind of a degree, by the country of the award. A degree has all required fields of its kind
/// and none of its excluded fields (contract, section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DegreeKind {
    /// Awarded in the United Kingdom.
    Uk,
    /// Awarded in another country.
    Foreign,
}

impl DegreeKind {
    /// Returns the fields that every degree of this kind must have.
    #[must_use]
    pub const fn required(self) -> &'static [DegreeField] {
        match self {
            Self::Uk => &[DegreeField::uk_degree],
            Self::Foreign => &[DegreeField::country, DegreeField::non_uk_degree],
        }
    }

    /// Returns the fields that no degree of this kind may have.
    #[must_use]
    pub const fn excluded(self) -> &'static [DegreeField] {
        match self {
            Self::Uk => &[DegreeField::country, DegreeField::non_uk_degree],
            Self::Foreign => &[DegreeField::uk_degree, DegreeField::institution],
        }
    }
}

/// Whether a country is the United Kingdom or a part of it.
#[must_use]
pub fn is_uk_country(code: &str, lists: &Lists) -> bool {
    code == UNITED_KINGDOM || lists.is_uk(code)
}

/// Returns the kind of a degree.
///
/// The country decides. Without a country, the degree is foreign only if it has a foreign type, no
/// UK type and no institution.
#[must_use]
pub fn kind(degree: &dyn Stored<Degree>, lists: &Lists) -> DegreeKind {
    let is_uk = match degree.text(DegreeField::country) {
        Some(country) => is_uk_country(&country, lists),
        None => {
            degree.has(DegreeField::institution)
                || degree.has(DegreeField::uk_degree)
                || !degree.has(DegreeField::non_uk_degree)
        }
    };
    if is_uk {
        DegreeKind::Uk
    } else {
        DegreeKind::Foreign
    }
}

impl Degree {
    /// Returns the kind of the degree; see [`kind()`].
    #[must_use]
    pub fn kind(&self, lists: &Lists) -> DegreeKind {
        kind(self, lists)
    }

    /// Whether the degree has all required fields and no excluded fields of its kind.
    #[must_use]
    pub fn is_whole(&self, lists: &Lists) -> bool {
        let kind = self.kind(lists);
        let has_value = |field: &DegreeField| self.stored(*field) != Value::Null;
        kind.required().iter().all(has_value) && !kind.excluded().iter().any(has_value)
    }
}

impl NestedKind for Degree {
    /// Degrees with equal values in these fields are duplicates (contract, section 4.10).
    const DUPLICATE_FIELDS: &'static [DegreeField] = &[
        DegreeField::subject,
        DegreeField::graduation_year,
        DegreeField::country,
        DegreeField::uk_degree,
        DegreeField::non_uk_degree,
        DegreeField::grade,
    ];

    fn compare(&self, other: &Self) -> Ordering {
        (self.graduation_year, self.created_at).cmp(&(other.graduation_year, other.created_at))
    }
}

/// Implements `Record::implied_changes`: any change of a degree that is not whole also counts as a
/// change of its types. Then the rules about the kind run.
fn completion(
    stored: &Degree,
    _: &DegreeChanges,
    sent: &FieldSet<DegreeField>,
    lists: &Lists,
) -> &'static [DegreeField] {
    if sent.is_empty() || stored.is_whole(lists) {
        &[]
    } else {
        &[DegreeField::uk_degree, DegreeField::non_uk_degree]
    }
}

/// Returns the entry of the institution. A UK degree without a listed institution has the entry
/// "other UK institution", which has no code.
fn institution_uuid<'a>(degree: &'a dyn Stored<Degree>, lists: &'a Lists) -> Value<'a> {
    match degree.text(DegreeField::institution) {
        Some(code) => lists
            .uuid(List::Institution, &code)
            .map_or(Value::Null, Value::Uuid),
        None if kind(degree, lists) == DegreeKind::Uk => Value::Uuid(Lists::other_uk_institution()),
        None => Value::Null,
    }
}

fn uk_degree_uuid<'a>(degree: &'a dyn Stored<Degree>, lists: &'a Lists) -> Value<'a> {
    entry(lists, List::DegreeType, degree.text(DegreeField::uk_degree))
}

fn subject_uuid<'a>(degree: &'a dyn Stored<Degree>, lists: &'a Lists) -> Value<'a> {
    entry(
        lists,
        List::DegreeSubject,
        degree.text(DegreeField::subject),
    )
}

fn grade_uuid<'a>(degree: &'a dyn Stored<Degree>, lists: &'a Lists) -> Value<'a> {
    entry(lists, List::DegreeGrade, degree.text(DegreeField::grade))
}

/// Returns the stable identifier of a code in a list; null for a missing or unknown code.
fn entry<'a>(lists: &Lists, list: List, code: Option<Cow<'_, str>>) -> Value<'a> {
    code.and_then(|code| lists.uuid(list, &code))
        .map_or(Value::Null, Value::Uuid)
}
