//! The columns of a file, by the fields of their cells.
//!
//! The name of a column is the name of a field. For a field of a nested record, the list and the
//! number of the record (from 1) precede it, such as `placements.1.urn` or `degrees.2.degree_id`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::headings::{FIELDS, IGNORED_HEADINGS, bare_key};

/// The identifier of a trainee.
pub const TRAINEE_ID: &str = "trainee_id";
/// The time of the last change of a trainee, in a record and in a file.
pub const UPDATED_AT: &str = "updated_at";
/// The text after the name of a nested list in the body of a request.
pub const INPUT_SUFFIX: &str = "_attributes";
/// The name of a column to leave out.
const IGNORED: &str = "ignored";
/// The maximum number of nested records of a list in a row.
const MAX_NUMBER: usize = 99;

/// A list of records within a trainee.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct List {
    /// The name of the list in a record, in a path and in a column.
    pub name: &'static str,
    /// The field that identifies a record of the list.
    pub id: &'static str,
    /// The name of one record, in headings such as `Placement 1 URN`.
    pub one: &'static str,
    /// The name of one record to show.
    pub label: &'static str,
}

/// The lists of records within a trainee.
pub const LISTS: [List; 2] = [
    List {
        name: "placements",
        id: "placement_id",
        one: "placement",
        label: "Placement",
    },
    List {
        name: "degrees",
        id: "degree_id",
        one: "degree",
        label: "Degree",
    },
];

/// The field of the cells of a column. `Display` writes the name of the column, and
/// [`Names::recognise`] reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// The identifier of the trainee to change.
    TraineeId,
    /// The time of the trainee's last change when the file was made.
    UpdatedAt,
    /// A field that a request can set.
    Field(String),
    /// A field of a nested record, or its identifier.
    Nested {
        /// The list of the record.
        list: List,
        /// The number of the record in its row, from 1.
        number: usize,
        /// The field.
        field: String,
    },
    /// A field that the register sets, or a column to leave out.
    Ignored,
}

impl Column {
    /// Returns the name of a column to show to persons, such as `Date of birth`.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::TraineeId => "Trainee ID of the register".to_owned(),
            Self::UpdatedAt => "Last change".to_owned(),
            Self::Ignored => "Left out".to_owned(),
            Self::Field(field) => field_label(None, field),
            Self::Nested {
                list,
                number,
                field,
            } => format!(
                "{} {number}: {}",
                list.label,
                field_label(Some(*list), field)
            ),
        }
    }
}

/// The label of a field. A field without everyday names is shown by its name.
fn field_label(list: Option<List>, field: &str) -> String {
    let known = FIELDS
        .iter()
        .find(|known| split_name(known.name) == (list, field));
    known.map_or_else(|| field.replace('_', " "), |known| known.label.to_owned())
}

/// Returns the list of a nested record, and the field; no list for a field of the trainee.
fn split_name(name: &str) -> (Option<List>, &str) {
    for list in LISTS {
        let field = name.strip_prefix(list.name);
        if let Some(field) = field.and_then(|rest| rest.strip_prefix('.')) {
            return (Some(list), field);
        }
    }
    (None, name)
}

impl fmt::Display for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TraineeId => formatter.write_str(TRAINEE_ID),
            Self::UpdatedAt => formatter.write_str(UPDATED_AT),
            Self::Field(field) => formatter.write_str(field),
            Self::Nested {
                list,
                number,
                field,
            } => write!(formatter, "{}.{number}.{field}", list.name),
            Self::Ignored => formatter.write_str(IGNORED),
        }
    }
}

/// The fields of a record that a file can set, by all their names in headings.
#[derive(Debug, Default, Clone)]
pub struct Names {
    trainee: FieldNames,
    lists: [FieldNames; LISTS.len()],
    read_only: BTreeSet<String>,
}

/// The fields of one kind of record.
#[derive(Debug, Default, Clone)]
struct FieldNames {
    /// The fields in the order of their addition.
    fields: Vec<String>,
    by_name: BTreeMap<String, String>,
}

impl FieldNames {
    /// Adds a name of a field. A name that is already known keeps its field.
    fn add(&mut self, name: &str, field: &str) {
        if !self.fields.iter().any(|known| known == field) {
            self.fields.push(field.to_owned());
        }
        self.by_name
            .entry(heading_key(name))
            .or_insert_with(|| field.to_owned());
    }
}

impl Names {
    /// Adds a field of trainees by one of its names. The first field of a name keeps it, so add
    /// the names of the newest version first.
    pub fn add_field(&mut self, name: &str, field: &str) {
        self.trainee.add(name, field);
    }

    /// Adds a field of a nested record by one of its names, like [`Names::add_field`]. Does nothing
    /// if [`LISTS`] has no such list.
    pub fn add_nested(&mut self, list: &str, name: &str, field: &str) {
        let place = LISTS.iter().position(|known| known.name == list);
        if let Some(names) = place.and_then(|place| self.lists.get_mut(place)) {
            names.add(name, field);
        }
    }

    /// Adds a field that the register sets, so that a column of it is ignored.
    pub fn add_read_only(&mut self, name: &str) {
        self.read_only.insert(heading_key(name));
    }

    /// The fields of trainees, in the order of their addition.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.trainee.fields
    }

    /// The fields of the records of a list, in the order of their addition.
    #[must_use]
    pub fn nested_fields(&self, list: List) -> &[String] {
        let names = LISTS.iter().position(|known| *known == list);
        names
            .and_then(|place| self.lists.get(place))
            .map_or(&[], |names| &names.fields)
    }

    /// Returns the column of a heading; `None` if no field has this name, or several have it. A
    /// heading is the name of a column, of a field, or an everyday name, in any case, with spaces,
    /// underscores or neither.
    #[must_use]
    pub fn recognise(&self, heading: &str) -> Option<Column> {
        let mut columns = self.find_columns(heading).into_iter();
        columns.next().filter(|_| columns.len() == 0)
    }

    /// Returns the columns that a heading can name. Everyday names are only used if the heading is
    /// not the name of a field.
    pub(crate) fn find_columns(&self, heading: &str) -> Vec<Column> {
        if let Some(column) = self.named(&heading_key(heading)) {
            return vec![column];
        }
        let key = bare_key(heading);
        let (list, number, rest) = nested_heading(&key)
            .map_or((None, 1, ""), |nested| (Some(nested.0), nested.1, nested.2));
        let mut columns = Vec::new();
        for known in FIELDS {
            let (known_list, field) = split_name(known.name);
            // A degree can have further headings such as `Degree 2 university`.
            let is_of_record = known_list.is_some() && known_list == list && known.has(rest);
            if !is_of_record && !known.has(&key) {
                continue;
            }
            let number = if is_of_record { number } else { 1 };
            let name = match known_list {
                Some(list) => format!("{}.{number}.{field}", list.name),
                None => field.to_owned(),
            };
            columns.extend(self.named(&heading_key(&name)));
        }
        columns
    }

    /// The column of a [`heading_key`].
    fn named(&self, key: &str) -> Option<Column> {
        if key == heading_key(TRAINEE_ID) {
            return Some(Column::TraineeId);
        }
        if key == heading_key(UPDATED_AT) {
            return Some(Column::UpdatedAt);
        }
        if let Some(field) = self.trainee.by_name.get(key) {
            return Some(Column::Field(field.clone()));
        }
        if self.read_only.contains(key) || key == IGNORED || IGNORED_HEADINGS.contains(&key) {
            return Some(Column::Ignored);
        }
        let (list, number, name) = nested_name(key).or_else(|| nested_heading(key))?;
        let field = if name == heading_key(list.id) {
            list.id
        } else {
            let position = LISTS.iter().position(|known| *known == list)?;
            self.lists.get(position)?.by_name.get(name)?
        };
        Some(Column::Nested {
            list,
            number,
            field: field.to_owned(),
        })
    }
}

/// The letters, digits and dots of a heading, in lower case: one key for `first_names`,
/// `First Names` and `firstNames`.
pub(crate) fn heading_key(heading: &str) -> String {
    heading
        .chars()
        .filter(|character| character.is_alphanumeric() || *character == '.')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns the list, the number and the field of a name such as `placements.1.urn`. `None` for
/// other names.
#[must_use]
pub fn nested_name(name: &str) -> Option<(List, usize, &str)> {
    let mut parts = name.splitn(3, '.');
    let list = parts.next()?;
    let list = LISTS.into_iter().find(|known| known.name == list)?;
    let number = parse_number(parts.next()?)?;
    Some((list, number, parts.next()?))
}

/// Like [`nested_name`], for the keys of headings such as `Placement 1 URN`, `First placement URN`
/// and `Degree Subject`.
fn nested_heading(key: &str) -> Option<(List, usize, &str)> {
    for (ordinal, number) in [("first", 1), ("second", 2), ("third", 3)] {
        let rest = key.strip_prefix(ordinal);
        if let Some((list, field)) = rest.and_then(strip_record) {
            return Some((list, number, field));
        }
    }
    let (list, rest) = strip_record(key)?;
    let field = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    let number = rest.strip_suffix(field).filter(|number| !number.is_empty());
    // A heading without a number is about the first record.
    Some((list, number.map_or(Some(1), parse_number)?, field))
}

/// Removes the name of a nested record from the beginning of a key.
fn strip_record(key: &str) -> Option<(List, &str)> {
    LISTS
        .into_iter()
        .find_map(|list| Some((list, key.strip_prefix(list.one)?)))
}

/// The number of a nested record in its row, from 1; `None` for other texts.
fn parse_number(text: &str) -> Option<usize> {
    let number = text.parse().ok()?;
    (1..=MAX_NUMBER).contains(&number).then_some(number)
}

/// Returns the positions of two columns of the same field. `None` if there are none.
#[must_use]
pub fn find_repeated_column(columns: &[Column]) -> Option<(usize, usize)> {
    let mut first = BTreeMap::new();
    for (position, column) in columns.iter().enumerate() {
        if *column == Column::Ignored {
            continue;
        }
        if let Some(earlier) = first.insert(column.to_string(), position) {
            return Some((earlier, position));
        }
    }
    None
}
