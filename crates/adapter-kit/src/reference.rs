//! The code lists as JSON, for clients that want to know the codes.

use domain::lists::{Entry, WithdrawalReason};
use domain::transition::{FUTURE_INTERESTS, TRIGGERS};
use domain::{List, Lists};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::json;

/// The name of the list of withdrawal reasons, which has a form of its own.
const WITHDRAWAL_REASONS: &str = "withdrawal_reasons";

/// All lists, by name.
#[derive(Debug)]
pub struct AllLists<'a>(pub &'a Lists);

/// One list.
#[derive(Debug)]
pub enum OneList<'a> {
    /// A list of codes.
    Codes(List, &'a [Entry]),
    /// The reasons of a withdrawal, which go with a trigger.
    WithdrawalReasons(&'a [WithdrawalReason]),
}

impl<'a> OneList<'a> {
    /// The list of that name.
    #[must_use]
    pub fn named(name: &str, lists: &'a Lists) -> Option<Self> {
        if name == WITHDRAWAL_REASONS {
            return Some(Self::WithdrawalReasons(lists.withdrawal_reasons()));
        }
        let list = List::ALL.iter().copied().find(|list| list.name() == name)?;
        Some(Self::Codes(list, lists.entries(list)))
    }
}

/// The names of all lists.
pub fn names() -> impl Iterator<Item = &'static str> {
    List::ALL.iter().map(|list| list.name()).chain([WITHDRAWAL_REASONS])
}

impl Serialize for AllLists<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for list in List::ALL {
            object.serialize_entry(list.name(), &OneList::Codes(*list, self.0.entries(*list)))?;
        }
        object.serialize_entry(WITHDRAWAL_REASONS, &OneList::WithdrawalReasons(self.0.withdrawal_reasons()))?;
        object.end()
    }
}

impl Serialize for OneList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        match self {
            Self::Codes(list, entries) => {
                let description = list.meaning();
                let display_name = display_name(list.name());
                object.serialize_entry(
                    "metadata",
                    &json!({ "name": list.name(), "display_name": display_name, "description": description }),
                )?;
                let entry = |entry: &Entry| {
                    json!({
                        "code": entry.code,
                        "display_name": entry.name,
                        "start_year": entry.start_year,
                        "end_year": entry.end_year,
                    })
                };
                object.serialize_entry("entries", &entries.iter().map(entry).collect::<Vec<_>>())?;
            }
            Self::WithdrawalReasons(reasons) => {
                let display_name = display_name(WITHDRAWAL_REASONS);
                object.serialize_entry(
                    "metadata",
                    &json!({ "name": WITHDRAWAL_REASONS, "display_name": display_name }),
                )?;
                object.serialize_entry("triggers", TRIGGERS)?;
                object.serialize_entry("future_interest", FUTURE_INTERESTS)?;
                let by_trigger = TRIGGERS
                    .iter()
                    .flat_map(|trigger| reasons.iter().filter(move |reason| reason.trigger == **trigger));
                let entry = |reason: &WithdrawalReason| {
                    json!({
                        "code": reason.code,
                        "display_name": reason.name,
                        "trigger": reason.trigger,
                        "requires_another_reason": reason.requires_another_reason,
                        "requires_safeguarding_concern_reasons": reason.requires_safeguarding_concern_reasons,
                    })
                };
                object.serialize_entry("entries", &by_trigger.map(entry).collect::<Vec<_>>())?;
            }
        }
        object.end()
    }
}

/// The name of a list as words.
fn display_name(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
