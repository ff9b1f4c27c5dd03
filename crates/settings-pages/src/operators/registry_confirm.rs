//! The page that asks again before the registry does what it cannot undo.

use askama::Template;
use registry::actions::RegistryAction;

use crate::request::context::OperatorContext;
use crate::request::form::Form;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The name of the field with which the page's form says that it was read.
pub(crate) const CONFIRMED: &str = "confirmed";

#[derive(Template)]
#[template(path = "settings/registry_confirm.html")]
struct Confirm<'a> {
    frame: Frame,
    question: String,
    /// Where the form is sent, which is where it came from.
    action: String,
    /// What was filled in.
    fields: Vec<(&'static str, &'a str)>,
}

/// Whether an action is to be asked for again: nothing brings a record back that was discarded.
pub(crate) fn is_due(action: &RegistryAction, form: &Form) -> bool {
    matches!(action, RegistryAction::Discard) && form.value(CONFIRMED).is_empty()
}

/// The page, with a form that holds these fields of the one that was sent.
pub(crate) fn ask(
    request: &PageRequest,
    operator: &OperatorContext<'_>,
    question: String,
    action: String,
    fields: &[&'static str],
) -> Result<Reply, PageError> {
    Reply::page(&Confirm {
        frame: Frame::new(request, operator.signed_in, SettingsSection::Registry),
        question,
        action,
        fields: fields
            .iter()
            .map(|name| (*name, request.form.untrimmed(name)))
            .collect(),
    })
}
