//! What a person has chosen about the repairs of a file: the accepted repairs, and the order of day
//! and month.

use serde::{Deserialize, Serialize};
use trainee_file::{DateOrder, Mangled, Repair};

use crate::request::form::Form;

/// The field of the form with the order of day and month.
pub(crate) const DATE_ORDER: &str = "date-order";
/// The value of a checked box.
const ON: &str = "on";

/// The choices, as they are stored with an upload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RepairChoices {
    /// The names of the accepted repairs, and of those whose cells are right as they are.
    pub(crate) accepted: Vec<String>,
    #[serde(with = "date_order_name")]
    pub(crate) date_order: Option<DateOrder>,
}

/// Writes an order as its name.
mod date_order_name {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use trainee_file::DateOrder;

    use super::{date_order_by_name, date_order_name};

    pub(super) fn serialize<S: Serializer>(
        order: &Option<DateOrder>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(order.map_or("", date_order_name))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<DateOrder>, D::Error> {
        Ok(date_order_by_name(&String::deserialize(from)?))
    }
}

impl RepairChoices {
    /// Reads the stored choices. A text of another form means no choices.
    pub(crate) fn read(stored: &str) -> Self {
        serde_json::from_str(stored).unwrap_or_default()
    }

    /// Whether anything was chosen.
    pub(crate) fn has_any(&self) -> bool {
        *self != Self::default()
    }

    /// The choices as they are stored.
    pub(crate) fn to_stored(&self) -> String {
        // Lists of texts are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Adds the choices of a form about these repairs.
    pub(crate) fn add(&mut self, form: &Form, repairs: impl IntoIterator<Item = String>) {
        let chosen = repairs.into_iter().filter(|name| form.value(name) == ON);
        self.accepted.extend(chosen);
        self.date_order = date_order_by_name(form.value(DATE_ORDER)).or(self.date_order);
    }

    /// Whether a repair is accepted: by its name, or by the order of day and month.
    pub(crate) fn accepts(&self, name: &str, repair: &Repair) -> bool {
        let needed = match repair.kind {
            Mangled::DayFirst => Some(DateOrder::DayFirst),
            Mangled::MonthFirst => Some(DateOrder::MonthFirst),
            Mangled::LostZeros
            | Mangled::Decimals
            | Mangled::ScientificNotation
            | Mangled::LostDigits
            | Mangled::YearFirst
            | Mangled::MixedDates
            | Mangled::UndecidedDates
            | Mangled::MonthNames
            | Mangled::DayNumbers
            | Mangled::DatesOfYears
            | Mangled::CodeNames
            | Mangled::TextFormulas
            | Mangled::Formulas
            | Mangled::ErrorValues => None,
        };
        needed.is_some() && needed == self.date_order
            || self.accepted.iter().any(|accepted| accepted == name)
    }
}

/// The name of an order in forms and stored choices.
fn date_order_name(order: DateOrder) -> &'static str {
    match order {
        DateOrder::DayFirst => "day_first",
        DateOrder::MonthFirst => "month_first",
    }
}

fn date_order_by_name(name: &str) -> Option<DateOrder> {
    [DateOrder::DayFirst, DateOrder::MonthFirst]
        .into_iter()
        .find(|order| date_order_name(*order) == name)
}
