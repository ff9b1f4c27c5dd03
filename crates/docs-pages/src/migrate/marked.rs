//! A body before and after a translation, line by line, with notes about changed names and values.
//!
//! Each mark has a text, so that it does not depend on colour. Paths of lines are the same as in a
//! translation: they omit `data` around a record.

use std::collections::BTreeMap;

use serde_json::Value;
use version_tools::translate::Translation;

/// Maximum number of lines shown of one body.
const MAX_LINES: usize = 3_000;
/// Maximum number of bytes shown of one body. There is a limit because the whole page stays in
/// memory until the client has received it.
const MAX_SHOWN_BYTES: usize = 65_536;

/// A line of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The text, indented.
    pub(super) text: String,
    /// The most serious change in this line, if any.
    pub(super) mark: Option<Mark>,
    /// Descriptions of the changes.
    pub(super) notes: Vec<String>,
}

/// A change of a name or a value, in ascending order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// The name has changed.
    Renamed,
    /// The other version would refuse the value.
    Problem,
    /// The other version has no field for the value.
    Lost,
}

impl Mark {
    /// Returns the CSS class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Renamed => "row-renamed",
            Self::Problem => "row-problem",
            Self::Lost => "row-lost",
        }
    }
}

/// The shown part of a body.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// The shown lines.
    pub(super) lines: Vec<Line>,
    /// The number of lines that are not shown.
    pub(super) more: usize,
}

/// Returns the lines of the body as sent and as translated, with notes about the changes.
pub(super) fn sides(sent: &Value, translation: &Translation) -> (Marked, Marked) {
    let to = translation.to;
    let mut old = Notes::default();
    for rename in &translation.renames {
        old.add(
            &rename.path,
            Mark::Renamed,
            format!("renamed to {}", rename.to),
        );
    }
    for loss in &translation.lost {
        old.add(&loss.path, Mark::Lost, format!("no field in {to}"));
    }
    let mut new = Notes::default();
    let names = translation
        .renames
        .iter()
        .map(|rename| (rename.path.as_str(), rename))
        .collect();
    for (path, was) in renamed_places(sent, &names) {
        new.add(&path, Mark::Renamed, format!("was {was}"));
    }
    for problem in translation
        .problems
        .iter()
        .filter_map(|problem| problem.located.as_ref())
    {
        new.add(
            &problem.field,
            Mark::Problem,
            "problem, see below".to_owned(),
        );
    }
    (written(sent, &old), written(&translation.data, &new))
}

/// The most serious change and the notes for each path.
#[derive(Debug, Default)]
struct Notes(BTreeMap<String, (Option<Mark>, Vec<String>)>);

impl Notes {
    /// Adds a note to a path, unless the path has the same note already.
    fn add(&mut self, path: &str, mark: Mark, note: String) {
        let (worst, notes) = self.0.entry(path.to_owned()).or_default();
        *worst = (*worst).max(Some(mark));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// A position in a body.
#[derive(Debug, Clone)]
enum BodyPosition {
    /// The root: a body, or an array of bodies.
    Whole,
    /// The body of one request or reply.
    Body(String),
    /// The value of `data`: a record, or a list of records.
    Data(String),
    /// A record or a value in it.
    Inside(String),
    /// A value next to `data`; it has no notes.
    Beside,
}

impl BodyPosition {
    /// Returns the position of the value of a key. `has_data` says whether the object has the key
    /// `data`.
    fn key(&self, key: &str, has_data: bool) -> Self {
        let below = |at: &str| {
            Self::Inside(if at.is_empty() {
                key.to_owned()
            } else {
                format!("{at}.{key}")
            })
        };
        match self.body() {
            Self::Body(at) if has_data && key == "data" => Self::Data(at),
            Self::Body(_) if has_data => Self::Beside,
            Self::Whole | Self::Beside => Self::Beside,
            Self::Body(at) | Self::Data(at) | Self::Inside(at) => below(&at),
        }
    }

    /// Returns the position of an element of an array.
    fn position(&self, position: usize) -> Self {
        match self {
            Self::Whole => Self::Body(format!("[{position}]")),
            Self::Body(at) | Self::Data(at) | Self::Inside(at) => {
                Self::Inside(format!("{at}[{position}]"))
            }
            Self::Beside => Self::Beside,
        }
    }

    /// Returns `Body` for an object at the root, and the position itself otherwise.
    fn body(&self) -> Self {
        match self {
            Self::Whole => Self::Body(String::new()),
            Self::Body(_) | Self::Data(_) | Self::Inside(_) | Self::Beside => self.clone(),
        }
    }

    /// Returns the path of a position that can have notes; `None` for the other positions.
    fn path(&self) -> Option<&str> {
        match self {
            Self::Data(at) | Self::Inside(at) => Some(at),
            Self::Whole | Self::Body(_) | Self::Beside => None,
        }
    }
}

/// Returns the paths of renamed keys in the translated body, each with the previous name.
fn renamed_places<'a>(
    sent: &Value,
    renames: &BTreeMap<&str, &'a version_tools::translate::Rename>,
) -> Vec<(String, &'a str)> {
    fn walk<'a>(
        value: &Value,
        old: &BodyPosition,
        new: &BodyPosition,
        renames: &BTreeMap<&str, &'a version_tools::translate::Rename>,
        found: &mut Vec<(String, &'a str)>,
    ) {
        match value {
            Value::Array(values) => {
                for (position, value) in values.iter().enumerate() {
                    walk(
                        value,
                        &old.position(position),
                        &new.position(position),
                        renames,
                        found,
                    );
                }
            }
            Value::Object(object) => {
                let has_data = object.contains_key("data");
                for (key, value) in object {
                    let old = old.key(key, has_data);
                    let rename = old.path().and_then(|path| renames.get(path));
                    let new = new.key(rename.map_or(key, |rename| rename.to), has_data);
                    if let (Some(rename), Some(path)) = (rename, new.path()) {
                        found.push((path.to_owned(), &rename.from));
                    }
                    walk(value, &old, &new, renames, found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    walk(
        sent,
        &BodyPosition::Whole,
        &BodyPosition::Whole,
        renames,
        &mut found,
    );
    found
}

/// Writes the lines of a body.
fn written(body: &Value, notes: &Notes) -> Marked {
    let mut writer = Writer {
        notes,
        marked: Marked::default(),
        shown_bytes: 0,
    };
    writer.value("", body, &BodyPosition::Whole, 0, "", None);
    writer.marked
}

/// Writes the lines of a body, up to the limits.
struct Writer<'a> {
    notes: &'a Notes,
    marked: Marked,
    shown_bytes: usize,
}

impl Writer<'_> {
    /// Adds a line with an indentation of `depth` steps, or counts it as not shown.
    fn line(&mut self, depth: usize, text: &str, mark: Option<Mark>, notes: Vec<String>) {
        let bytes = 2 * depth + text.len();
        let fits =
            self.marked.lines.len() < MAX_LINES && self.shown_bytes + bytes <= MAX_SHOWN_BYTES;
        // The shown lines are the beginning of the body, without gaps.
        if fits && self.marked.more == 0 {
            self.shown_bytes += bytes;
            let text = format!("{}{text}", "  ".repeat(depth));
            self.marked.lines.push(Line { text, mark, notes });
        } else {
            self.marked.more += 1;
        }
    }

    /// Writes a value between the texts `before` and `after`. The mark of a lost value applies to
    /// everything in it.
    fn value(
        &mut self,
        before: &str,
        value: &Value,
        place: &BodyPosition,
        depth: usize,
        after: &str,
        outer: Option<Mark>,
    ) {
        let (own, notes) = place
            .path()
            .and_then(|path| self.notes.0.get(path))
            .cloned()
            .unwrap_or_default();
        let mark = own.max(outer);
        let inner = mark.filter(|mark| *mark == Mark::Lost);
        let comma = |position: usize, length: usize| if position + 1 < length { "," } else { "" };
        match value {
            Value::Array(values) if !values.is_empty() => {
                self.line(depth, &format!("{before}["), mark, notes);
                for (position, value) in values.iter().enumerate() {
                    let comma = comma(position, values.len());
                    self.value(
                        "",
                        value,
                        &place.position(position),
                        depth + 1,
                        comma,
                        inner,
                    );
                }
                self.line(depth, &format!("]{after}"), inner, Vec::new());
            }
            Value::Object(object) if !object.is_empty() => {
                self.line(depth, &format!("{before}{{"), mark, notes);
                let has_data = object.contains_key("data");
                for (position, (key, value)) in object.iter().enumerate() {
                    let name = format!("{}: ", Value::from(key.as_str()));
                    let comma = comma(position, object.len());
                    self.value(
                        &name,
                        value,
                        &place.key(key, has_data),
                        depth + 1,
                        comma,
                        inner,
                    );
                }
                self.line(depth, &format!("}}{after}"), inner, Vec::new());
            }
            Value::Array(_)
            | Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {
                self.line(depth, &format!("{before}{value}{after}"), mark, notes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use adapter_kit::Label;
    use adapter_kit::problems::{ErrorEntry, Located};
    use serde_json::json;
    use version_tools::translate::{BodyKind, Loss, LossReason, Rename};

    use super::*;

    fn translation() -> Translation {
        Translation {
            from: Label::release(1998, 0),
            to: Label::release(1999, 0),
            body_kind: BodyKind::default(),
            data: json!({ "data": { "hat": "x", "coats": [{ "size": 9 }] }, "note": { "cap": 1 } }),
            renames: vec![
                Rename {
                    path: "cap".to_owned(),
                    from: "cap".to_owned(),
                    to: "hat",
                },
                Rename {
                    path: "coats[0].width".to_owned(),
                    from: "width".to_owned(),
                    to: "size",
                },
            ],
            lost: vec![Loss {
                path: "shoes".to_owned(),
                name: "shoes".to_owned(),
                value: json!([1]),
                why: LossReason::NotSet,
                same_as: None,
                message: String::new(),
            }],
            problems: vec![ErrorEntry {
                error: "UnprocessableEntity",
                message: String::new(),
                located: Some(Located {
                    code: "blank",
                    field: "coats[0].size".to_owned(),
                }),
            }],
            notices: Vec::new(),
            otherwise: None,
        }
    }

    fn annotations(marked: &Marked) -> Vec<String> {
        let marks = marked.lines.iter().filter(|line| line.mark.is_some());
        marks
            .map(|line| format!("{} <- {}", line.text.trim(), line.notes.join("; ")))
            .collect()
    }

    #[test]
    fn only_changes_are_marked_on_both_sides() {
        let sent = json!({ "data": { "cap": "x", "shoes": [1], "coats": [{ "width": 9 }] }, "note": { "cap": 1 } });
        let (old, new) = sides(&sent, &translation());
        assert_eq!(
            annotations(&old),
            [
                "\"cap\": \"x\", <- renamed to hat",
                "\"shoes\": [ <- no field in v1999.0",
                "1 <- ",
                "], <- ",
                "\"width\": 9 <- renamed to size"
            ]
        );
        assert_eq!(
            annotations(&new),
            [
                "\"hat\": \"x\", <- was cap",
                "\"size\": 9 <- was width; problem, see below"
            ]
        );
    }

    #[test]
    fn lines_are_the_pretty_printed_body() {
        let sent = json!({ "data": [{ "a": null, "b": [], "c": {}, "d": "\"<" }, 1.5, [true]] });
        let (old, _) = sides(&sent, &translation());
        let text: Vec<_> = old.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            text.join("\n"),
            serde_json::to_string_pretty(&sent).unwrap()
        );
    }

    #[test]
    fn beginning_of_long_body_is_shown() {
        let (old, _) = sides(&Value::from(vec![1; 5_000]), &translation());
        assert_eq!((old.lines.len(), old.more), (MAX_LINES, 2_002));
        let (old, _) = sides(
            &serde_json::json!(["x", "y".repeat(MAX_SHOWN_BYTES), "z"]),
            &translation(),
        );
        assert_eq!((old.lines.len(), old.more), (2, 3));
    }
}
