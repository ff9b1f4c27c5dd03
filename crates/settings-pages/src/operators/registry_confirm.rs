//! Confirmation of registry actions that cannot be undone.

use askama::Template;
use registry::actions::RegistryAction;

use crate::request::context::OperatorContext;
use crate::request::form::Form;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

pub(crate) const CONFIRMED: &str = "confirmed";

#[derive(Template)]
#[template(path = "settings/registry_confirm.html")]
struct Confirm<'a> {
    frame: Frame,
    question: String,
    /// The target of the form, which is the address of the original form.
    action: String,
    /// The values of the original form.
    fields: Vec<(&'static str, &'a str)>,
}

pub(crate) fn needs_confirmation(action: &RegistryAction, form: &Form) -> bool {
    // All other actions can be undone.
    matches!(action, RegistryAction::Discard) && form.value(CONFIRMED).is_empty()
}

/// Shows the confirmation, with a form that repeats these fields.
pub(crate) fn ask(
    request: &PageRequest,
    operator: &OperatorContext<'_>,
    question: String,
    action: String,
    fields: &[&'static str],
) -> Result<Reply, PageError> {
    Reply::render(&Confirm {
        frame: Frame::new(request, operator.signed_in, SettingsSection::Registry),
        question,
        action,
        fields: fields
            .iter()
            .map(|name| (*name, request.form.raw_value(name)))
            .collect(),
    })
}
