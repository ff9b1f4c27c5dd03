//! A degree that the trainee held before the training.

use crate::dictionary::record;
use crate::lists::{List, Lists};
use crate::value::{Moment, Text, Value, Year};

record! {
    /// A degree that the trainee held before the training.
    Degree / DegreeField / DegreeChanges named "degree" of () {
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
            /// Identifier of the degree, made by the service; null while a request is only tried out.
            degree_id: Text;
            /// When the degree was recorded.
            created_at: Moment, always;
            /// When the degree changed last.
            updated_at: Moment, always;
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
        nested {}
    }
}

impl Degree {
    /// Whether the degree was awarded in the United Kingdom: such a degree holds no country.
    #[must_use]
    pub fn is_uk(&self) -> bool {
        self.country.is_none()
    }

    /// Whether the two are the same degree: subject, year of graduation, country, both degree types
    /// and grade are equal, null to null (contract, section 4.10).
    #[must_use]
    pub fn duplicates(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.graduation_year == other.graduation_year
            && self.country == other.country
            && self.uk_degree == other.uk_degree
            && self.non_uk_degree == other.non_uk_degree
            && self.grade == other.grade
    }
}

/// A degree from the United Kingdom without a listed institution is one of "other UK institution",
/// which has an entry but no code.
fn institution_uuid<'a>(degree: &'a Degree, lists: &'a Lists) -> Value<'a> {
    match &degree.institution {
        Some(code) => lists.uuid(List::Institution, code).map_or(Value::Null, Value::Uuid),
        None if degree.is_uk() => Value::Uuid(Lists::other_uk_institution()),
        None => Value::Null,
    }
}

fn uk_degree_uuid<'a>(degree: &'a Degree, lists: &'a Lists) -> Value<'a> {
    entry(lists, List::DegreeType, degree.uk_degree.as_deref())
}

fn subject_uuid<'a>(degree: &'a Degree, lists: &'a Lists) -> Value<'a> {
    entry(lists, List::DegreeSubject, degree.subject.as_deref())
}

fn grade_uuid<'a>(degree: &'a Degree, lists: &'a Lists) -> Value<'a> {
    entry(lists, List::DegreeGrade, degree.grade.as_deref())
}

fn entry<'a>(lists: &Lists, list: List, code: Option<&str>) -> Value<'a> {
    code.and_then(|code| lists.uuid(list, code)).map_or(Value::Null, Value::Uuid)
}
