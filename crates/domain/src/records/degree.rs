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
            /// Country in which the degree was awarded, when it was not the United Kingdom.
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

/// The United Kingdom as a nationality; the list of countries has only its parts.
const UNITED_KINGDOM: &str = "GB";

/// Where a degree was awarded. A degree is of one kind: it has what the kind needs and nothing of
/// the other (contract, section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DegreeKind {
    /// In the United Kingdom.
    Uk,
    /// In another country.
    Foreign,
}

impl DegreeKind {
    /// Fields without which a degree of this kind is not whole.
    #[must_use]
    pub const fn required(self) -> &'static [DegreeField] {
        match self {
            Self::Uk => &[DegreeField::uk_degree],
            Self::Foreign => &[DegreeField::country, DegreeField::non_uk_degree],
        }
    }

    /// Fields that a degree of this kind does not have.
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

/// The kind of a degree. One that is not whole is of the kind that its country says; without a
/// country it is foreign only when its type is, and nothing says otherwise.
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
    /// The kind of the degree; see [`kind`].
    #[must_use]
    pub fn kind(&self, lists: &Lists) -> DegreeKind {
        kind(self, lists)
    }

    /// Whether the degree has all that its kind needs and nothing of the other kind.
    #[must_use]
    pub fn is_whole(&self, lists: &Lists) -> bool {
        let kind = self.kind(lists);
        let has_value = |field: &DegreeField| self.stored(*field) != Value::Null;
        kind.required().iter().all(has_value) && !kind.excluded().iter().any(has_value)
    }
}

impl NestedKind for Degree {
    const REFUSES_DUPLICATES: bool = true;

    fn compare(&self, other: &Self) -> Ordering {
        (self.graduation_year, self.created_at).cmp(&(other.graduation_year, other.created_at))
    }

    /// Whether the two are the same degree: subject, year of graduation, country, both degree types
    /// and grade are equal, null to null (contract, section 4.10).
    fn duplicates(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.graduation_year == other.graduation_year
            && self.country == other.country
            && self.uk_degree == other.uk_degree
            && self.non_uk_degree == other.non_uk_degree
            && self.grade == other.grade
    }
}

/// Any change of a degree that is not whole settles its kind too, whatever else it changes.
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

/// A degree from the United Kingdom without a listed institution is one of "other UK institution",
/// which has an entry but no code.
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

fn entry<'a>(lists: &Lists, list: List, code: Option<Cow<'_, str>>) -> Value<'a> {
    code.and_then(|code| lists.uuid(list, &code))
        .map_or(Value::Null, Value::Uuid)
}
