//! What a person has chosen about the repairs of a file: the accepted repairs, and the order of day
//! and month.

use serde::{Deserialize, Serialize};
use trainee_file::{DateOrder, Mangled, Repair};

use crate::request::form::Form;

/// The field of the form with the order of day and month.
const DATE_ORDER: &str = "date-order";
/// The value of a chosen repair.
const ON: &str = "on";

/// The choices about repairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepairChoices {
    /// Whether the person was asked.
    pub(crate) are_made: bool,
    /// The names of the accepted repairs.
    accepted: Vec<String>,
    /// The chosen order of day and month, as the form names it; blank if none was chosen.
    date_order: String,
}

impl RepairChoices {
    /// The choices of a form about repairs with these names.
    pub(crate) fn from_form(form: &Form, repairs: impl Iterator<Item = String>) -> Self {
        Self {
            are_made: true,
            accepted: repairs.filter(|name| form.value(name) == ON).collect(),
            date_order: form.value(DATE_ORDER).to_owned(),
        }
    }

    /// The chosen order of day and month.
    pub(crate) fn date_order(&self) -> Option<DateOrder> {
        match self.date_order.as_str() {
            "day_first" => Some(DateOrder::DayFirst),
            "month_first" => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }

    /// Whether a repair with a name is accepted. The choice of the order of day and month accepts the
    /// repairs to this order.
    pub(crate) fn accepts(&self, name: &str, repair: &Repair) -> bool {
        let chosen = match self.date_order() {
            Some(DateOrder::DayFirst) => Some(Mangled::DayFirst),
            Some(DateOrder::MonthFirst) => Some(Mangled::MonthFirst),
            None => None,
        };
        chosen == Some(repair.kind) || self.accepted.iter().any(|accepted| accepted == name)
    }
}

/// What happened, by its name; `None` for an unknown name.
pub(crate) fn repair_kind(name: &str) -> Option<Mangled> {
    Mangled::ALL.into_iter().find(|kind| kind.name() == name)
}
