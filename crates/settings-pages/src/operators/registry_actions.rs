//! Registry actions on one trainee by an operator: the form, and the result.

use askama::Template;
use chrono::NaiveDate;
use domain::Trn;
use domain::commands::registry::Reinstatement;
use domain::values::iso_8601::read_date;
use registry::actions::{RegistryAction, RegistryActionError, perform_for_operator};
use storage::session::Session;

use crate::operators::registry_confirm;
use crate::operators::registry_queue::build_address;
use crate::request::context::OperatorContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The actions: the names of their commands, and their labels in the form.
pub(crate) const ACTIONS: [(&str, &str); 6] = [
    ("issue-trn", "Issue a TRN"),
    ("award", "Confirm the award"),
    ("reinstate", "Reinstate a deferred trainee"),
    ("return-recommendation", "Return a recommendation"),
    ("undo-withdrawal", "Undo a withdrawal"),
    ("discard", "Discard the record"),
];

#[derive(Template)]
#[template(path = "settings/registry_trainee.html")]
struct TraineeForm<'a> {
    frame: Frame,
    form: &'a Form,
    faults: Faults,
    actions: [(&'static str, &'static str); 6],
    is_production: bool,
    /// The result of the action, if one was performed.
    outcome: Option<String>,
}

/// Shows the form, with values from the address.
pub(crate) fn ask(
    _: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    Reply::render(&build_page(
        request,
        operator,
        &request.query,
        Faults::default(),
        None,
    ))
}

pub(crate) fn act(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let form = &request.form;
    let mut faults = Faults::default();
    let trainee_id = form.value("trainee_id");
    let action = read_action(form, &mut faults);
    if trainee_id.is_empty() {
        faults.add("trainee_id", "Enter the trainee identifier");
    }
    let Some(action) = action.filter(|_| faults.is_empty()) else {
        return Reply::render_faults(&build_page(request, operator, form, faults, None));
    };
    if registry_confirm::needs_confirmation(&action, form) {
        let question = format!("Discard the record of trainee {trainee_id}?");
        return registry_confirm::ask(
            request,
            operator,
            question,
            build_address("/trainee"),
            &["trainee_id", "action"],
        );
    }
    match perform_for_operator(session, trainee_id, &action, operator.actor) {
        Ok(outcome) => {
            let repeated = if outcome.changed { "" } else { "no change: " };
            let outcome = format!("Trainee {trainee_id}: {repeated}{}", outcome.standing);
            Reply::render(&build_page(
                request,
                operator,
                &Form::default(),
                Faults::default(),
                Some(outcome),
            ))
        }
        Err(RegistryActionError::Storage(error)) => Err(error.into()),
        Err(
            error @ (RegistryActionError::UnknownTrainee
            | RegistryActionError::NumberRequired
            | RegistryActionError::Erased
            | RegistryActionError::Refused(_)),
        ) => {
            faults.add("trainee_id", format!("The action failed: {error}"));
            Reply::render_faults(&build_page(request, operator, form, faults, None))
        }
    }
}

fn build_page<'a>(
    request: &PageRequest,
    operator: &OperatorContext<'_>,
    form: &'a Form,
    faults: Faults,
    outcome: Option<String>,
) -> TraineeForm<'a> {
    let is_production = request.state.environment == storage::base::token::Environment::Production;
    let frame = Frame::new(request, operator.signed_in, SettingsSection::Registry);
    TraineeForm {
        frame,
        form,
        faults,
        actions: ACTIONS,
        is_production,
        outcome,
    }
}

/// Reads the action. Adds a fault for each invalid field, and returns `None` then.
fn read_action(form: &Form, faults: &mut Faults) -> Option<RegistryAction> {
    let action = faults.keep("action", find_action(form.value("action")))?;
    match &action {
        RegistryAction::IssueTrn(_) => {
            let trn = match form.value("trn") {
                "" => None,
                text => Some(
                    faults.keep(
                        "trn",
                        text.parse::<Trn>()
                            .map_err(|_| "Enter a TRN of 7 digits".to_owned()),
                    )?,
                ),
            };
            Some(RegistryAction::IssueTrn(trn))
        }
        RegistryAction::Reinstate(_) => {
            // Both fields are read before the first fault ends the reading.
            let date = read_optional_date(form, "date", faults);
            let itt_end_date = read_optional_date(form, "itt_end_date", faults);
            Some(RegistryAction::Reinstate(Reinstatement {
                date: date?,
                itt_end_date: itt_end_date?,
            }))
        }
        RegistryAction::Award
        | RegistryAction::ReturnRecommendation
        | RegistryAction::UndoWithdrawal
        | RegistryAction::Discard => Some(action),
    }
}

/// Reads a date. Returns `None` if it is invalid, and `Some(None)` if the field is empty.
fn read_optional_date(
    form: &Form,
    name: &'static str,
    faults: &mut Faults,
) -> Option<Option<NaiveDate>> {
    let text = form.value(name);
    if text.is_empty() {
        return Some(None);
    }
    let date = read_date(text)
        .ok_or_else(|| "Enter a date of the form YYYY-MM-DD, or leave the field empty".to_owned());
    faults.keep(name, date).map(Some)
}

/// Finds an action by its name, without data such as a TRN. `Err` is the fault of the field.
pub(crate) fn find_action(name: &str) -> Result<RegistryAction, String> {
    Ok(match name {
        "issue-trn" => RegistryAction::IssueTrn(None),
        "award" => RegistryAction::Award,
        "reinstate" => RegistryAction::Reinstate(Reinstatement::default()),
        "return-recommendation" => RegistryAction::ReturnRecommendation,
        "undo-withdrawal" => RegistryAction::UndoWithdrawal,
        "discard" => RegistryAction::Discard,
        _ => return Err("Choose an action".to_owned()),
    })
}
