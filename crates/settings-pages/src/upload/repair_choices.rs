//! What a person has chosen about the repairs of a file: the accepted repairs, and the order of day
//! and month.

use serde::{Deserialize, Serialize};
use trainee_file::{DateOrder, Mangled, Repair};

use crate::request::form::Form;

const DATE_ORDER: &str = "date-order";
const ON: &str = "on";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepairChoices {
    /// Whether the person was asked.
    pub(crate) are_made: bool,
    /// Names of repairs.
    accepted: Vec<String>,
    /// The name in the form; blank if none was chosen.
    date_order: String,
}

impl RepairChoices {
    pub(crate) fn from_form(form: &Form, repairs: impl Iterator<Item = String>) -> Self {
        Self {
            are_made: true,
            accepted: repairs.filter(|name| form.value(name) == ON).collect(),
            date_order: form.value(DATE_ORDER).to_owned(),
        }
    }

    pub(crate) fn date_order(&self) -> Option<DateOrder> {
        match self.date_order.as_str() {
            "day_first" => Some(DateOrder::DayFirst),
            "month_first" => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }

    pub(crate) fn accepts(&self, name: &str, repair: &Repair) -> bool {
        // The choice of the order of day and month accepts the repairs to this order.
        let chosen = match self.date_order() {
            Some(DateOrder::DayFirst) => Some(Mangled::DayFirst),
            Some(DateOrder::MonthFirst) => Some(Mangled::MonthFirst),
            None => None,
        };
        chosen == Some(repair.kind) || self.accepted.iter().any(|accepted| accepted == name)
    }
}

pub(crate) fn find_kind(name: &str) -> Option<Mangled> {
    Mangled::ALL.into_iter().find(|kind| kind.name() == name)
}
