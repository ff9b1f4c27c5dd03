//! The result of a translation.

use adapter_kit::label::Label;
use adapter_kit::problems::ErrorEntry;
use domain::ended_codes::EndedCode;
use serde::Serialize;
use serde_json::Value;

use super::BodyKind;
use crate::difference::CodeName;

/// A translated body with its changes. Serialises as an object with the names of the fields; the
/// kind of the first body is flattened into it.
///
/// Paths are positions in the body, such as `degrees_attributes[1].subject`. Indexes count
/// from 0. In an array of bodies and in a list, the path begins with an index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Translation {
    /// The version of the body.
    pub from: Label,
    /// The target version.
    pub to: Label,
    /// The kind of the body, or of the first body; empty if there is no record.
    #[serde(flatten)]
    pub body_kind: BodyKind,
    /// The translated body: keys in the same order, values and unknown keys unchanged.
    pub data: Value,
    /// All renamed keys.
    pub renames: Vec<Rename>,
    /// All values without a field in the target version. Null is not a value.
    pub lost: Vec<Loss>,
    /// The problems that the target version would report, with its codes and names.
    pub problems: Vec<ErrorEntry>,
    /// Further notes for the client.
    pub notices: Vec<Finding>,
    /// The translation of the body as a reply if it was read as a request, or as a request if it was
    /// read as a reply. Present if the caller gave no direction and the body has problems as both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Box<Translation>>,
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
            otherwise: None,
        }
    }

    /// Adds the problems and notices of the record at a path.
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

/// A renamed key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rename {
    /// The path, in the names of the source version.
    pub path: String,
    /// The name in the source version.
    pub from: String,
    /// The name in the target version.
    pub to: &'static str,
}

/// A value without a field in the target version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loss {
    /// The path, in the names of the source version.
    pub path: String,
    /// The name in the source version.
    pub name: String,
    /// The value.
    pub value: Value,
    /// The reason of the loss.
    pub why: LossReason,
    /// The name of the field with the same value, in the source version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// A description in one sentence.
    pub message: String,
}

/// The reason that a value has no field in the target version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// Only the source version has the field.
    #[serde(rename = "own_field")]
    VersionField,
    /// The field is a copy of another field, and the target version has no such copy.
    Copy,
    /// No request of the target version can set the field.
    NotSet,
    /// The target version does not show the field.
    NotShown,
    /// Another key of the body has the target name.
    NameTaken,
}

/// A note about a translation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The path, in the names of the source version. The path of a finding of the target version's
    /// rules is in the names of the target version.
    pub path: String,
    /// The code: `unknown_name`, `name_of_target`, `foreign_name`, `said_twice`, `part_missing`,
    /// `may_be_refused`, `code_ended`, `use_endpoint`, `not_an_input`, `no_match`,
    /// `moves_with`, `read_only`, `fell_away`, `not_in_list`, `decided_by`, `no_other_grade` or `time_left_out`.
    pub code: &'static str,
    /// A description in one sentence.
    pub message: String,
    /// The known name that is most similar to an unknown one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<&'static str>,
    /// The codes that a client can send instead of an ended code, as the target version writes
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<CodeName>,
    /// The ended code of a note with the code `code_ended`. The message describes it to clients.
    #[serde(skip)]
    pub ended: Option<EndedCode>,
}

impl Finding {
    pub(super) fn new(path: impl Into<String>, code: &'static str, message: String) -> Self {
        Self {
            path: path.into(),
            code,
            message,
            nearest: None,
            candidates: Vec::new(),
            ended: None,
        }
    }
}

/// Joins two paths. Either can be empty.
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
    fn loss_reasons_serialise_as_documented() {
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
