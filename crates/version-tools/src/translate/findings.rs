//! The result of a translation.

use adapter_kit::label::Label;
use adapter_kit::problems::ErrorEntry;
use serde::Serialize;
use serde_json::Value;

use super::BodyKind;

/// A translated body, and what was done to it. Serialises as an object with the names of the
/// fields; the kind of the first body is among them.
///
/// A path is that of a place in the body, such as `degrees_attributes[1].subject`: positions count
/// from 0, and begin the path in an array of bodies and in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Translation {
    /// The version of the body.
    pub from: Label,
    /// The version that it was translated into.
    pub to: Label,
    /// The kind of the body, or of the first of them; empty when there is no record in it.
    #[serde(flatten)]
    pub body_kind: BodyKind,
    /// The translated body: keys in the same order, values and unknown keys unchanged.
    pub data: Value,
    /// Every name that changed.
    pub renames: Vec<Rename>,
    /// Every value for which the other version has no field. Null is no value.
    pub lost: Vec<Loss>,
    /// What the other version would answer to the body, each with the code and the field in its
    /// names.
    pub problems: Vec<ErrorEntry>,
    /// What a client should know.
    pub notices: Vec<Finding>,
}

impl Translation {
    pub(super) fn new(from: Label, to: Label) -> Self {
        Self {
            from,
            to,
            body_kind: BodyKind::default(),
            data: Value::Null,
            renames: Vec::new(),
            lost: Vec::new(),
            problems: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Adds what would be answered to the record at a path.
    pub(super) fn add(&mut self, problems: Vec<ErrorEntry>, notices: Vec<Finding>, at: &str) {
        for mut problem in problems {
            if let Some(located) = &mut problem.located {
                located.field = join(at, &located.field);
            }
            self.problems.push(problem);
        }
        for mut notice in notices {
            notice.path = join(at, &notice.path);
            self.notices.push(notice);
        }
    }
}

/// A name that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rename {
    /// The path, in the names of the version that it comes from.
    pub path: String,
    /// Its name.
    pub from: String,
    /// The name in the other version.
    pub to: &'static str,
}

/// A value for which the other version has no field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loss {
    /// The path, in the names of the version that it comes from.
    pub path: String,
    /// Its name.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Why there is no place for it.
    pub why: LossReason,
    /// The name, in the version that it comes from, of the field with the same value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The same as a sentence.
    pub message: String,
}

/// Why a value has no place in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// Only the version that it comes from has the field.
    #[serde(rename = "own_field")]
    VersionField,
    /// The field is a copy of another one, and the other version has no such copy.
    Copy,
    /// No request of the other version can set the field.
    NotSet,
    /// The other version does not show the field.
    NotShown,
    /// The name in the other version is taken by another key of the body.
    NameTaken,
}

/// Something that a client should know of a translation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The path. In the names of the version that the body comes from, except for what the other
    /// version would answer, which is in its own.
    pub path: String,
    /// The code: `unknown_name`, `name_of_target`, `foreign_name`, `said_twice`, `may_be_refused`,
    /// `code_ended`, `use_endpoint`, `no_match`, `moves_with`, `read_only` or `fell_away`.
    pub code: &'static str,
    /// The same as a sentence.
    pub message: String,
    /// The known name that an unknown one is most likely a misspelling of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<&'static str>,
}

impl Finding {
    pub(super) fn new(path: impl Into<String>, code: &'static str, message: String) -> Self {
        Self {
            path: path.into(),
            code,
            message,
            nearest: None,
        }
    }
}

/// The path of something below a path, which can be that of the body itself.
pub(super) fn join(at: &str, below: &str) -> String {
    match (at, below) {
        ("", _) => below.to_owned(),
        (_, "") => at.to_owned(),
        (_, _) => format!("{at}.{below}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_losses_are_the_documented_words() {
        let reasons = [
            LossReason::VersionField,
            LossReason::Copy,
            LossReason::NotSet,
            LossReason::NotShown,
            LossReason::NameTaken,
        ];
        let words = serde_json::to_string(&reasons).unwrap();
        assert_eq!(
            words,
            r#"["own_field","copy","not_set","not_shown","name_taken"]"#
        );
    }
}
