//! What came of a translation.

use adapter_kit::label::Label;
use adapter_kit::problems::ErrorEntry;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::about::About;
use super::judge::Verdict;

/// A body in the spelling of another version, and all that was done to it. Serialises as an object with
/// the names of the fields; what the first body was taken for stands among them.
///
/// A path says where something stands in the body, such as `degrees_attributes[1].subject`: positions
/// count from 0, and begin the path in an array of bodies and in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Translation {
    /// The version of the body.
    #[serde(serialize_with = "label")]
    pub from: Label,
    /// The version in whose spelling it stands now.
    #[serde(serialize_with = "label")]
    pub to: Label,
    /// What the body, or the first of them, was taken for; nothing when there is no record in it.
    #[serde(flatten)]
    pub taken_for: About,
    /// The body as the other version spells it: keys in the same order, values and unknown keys as they
    /// were.
    pub data: Value,
    /// Every name that changed.
    pub renames: Vec<Rename>,
    /// Every value that has no place in the other version. Null is no value.
    pub lost: Vec<Loss>,
    /// What the other version would answer to the body, each with the code and the field in its names.
    pub problems: Vec<ErrorEntry>,
    /// What one should know besides.
    pub notices: Vec<Remark>,
}

fn label<S: Serializer>(label: &Label, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(label)
}

impl Translation {
    pub(super) fn new(from: Label, to: Label) -> Self {
        Self {
            from,
            to,
            taken_for: About::default(),
            data: Value::Null,
            renames: Vec::new(),
            lost: Vec::new(),
            problems: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Whether the other version takes the body as it is spelt now, without a value left out.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.problems.is_empty()
    }

    /// Adds what would be answered to a record that stands somewhere.
    pub(super) fn add(&mut self, verdict: Verdict, at: &str) {
        for mut problem in verdict.problems {
            if let Some(located) = &mut problem.located {
                located.field = join(at, &located.field);
            }
            self.problems.push(problem);
        }
        for mut notice in verdict.notices {
            notice.path = join(at, &notice.path);
            self.notices.push(notice);
        }
    }
}

/// A name that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rename {
    /// Where it stood, in the names of the version that it comes from.
    pub path: String,
    /// The name there.
    pub from: String,
    /// The name in the other version.
    pub to: &'static str,
}

/// A value that has no place in the other version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loss {
    /// Where it stood, in the names of the version that it comes from.
    pub path: String,
    /// The name there.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Why there is no place for it.
    pub why: Why,
    /// The name, in the version that it comes from, of the field that holds the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The same in words.
    pub message: String,
}

/// Why a value has no place in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The field exists in the version that it comes from alone.
    OwnField,
    /// The field is a copy of another one, and the other version has no such copy.
    Copy,
    /// No request of the other version can set the field.
    NotSet,
    /// The other version does not show the field.
    NotShown,
    /// The name in the other version is taken by another key of the body.
    NameTaken,
}

/// Something that one should know of a translation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Where. In the names of the version that the body comes from, but for what the other version would
    /// say, which is in its own.
    pub path: String,
    /// What, for programs: `unknown_name`, `name_of_target`, `foreign_name`, `said_twice`,
    /// `may_be_refused`, `use_endpoint`, `no_match` or `fell_away`.
    pub code: &'static str,
    /// What, in words.
    pub message: String,
    /// The known name that an unknown one is most likely a slip of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<&'static str>,
}

impl Remark {
    pub(super) fn new(path: impl Into<String>, code: &'static str, message: String) -> Self {
        Self { path: path.into(), code, message, nearest: None }
    }
}

/// The path of something below a place; the place can be the body itself.
pub(super) fn join(at: &str, below: &str) -> String {
    match (at, below) {
        ("", _) => below.to_owned(),
        (_, "") => at.to_owned(),
        (_, _) => format!("{at}.{below}"),
    }
}
