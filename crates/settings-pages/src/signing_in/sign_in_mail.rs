//! Asking for a sign-in link by e-mail.
//!
//! The reply has the same page, status and time whether or not the address belongs to a user: the
//! request only queues a row, and the server decides when it sends mails.

use askama::Template;
use storage::error::{Refusal, StorageError};
use storage::session::Session;

use super::sign_in::{EMAIL, explain_faults};
use crate::request::form::Faults;
use crate::request::page::{Frame, PageError, Reply};
use crate::request::page_request::PageRequest;

#[derive(Template)]
#[template(path = "settings/sign_in_mail.html")]
struct OnItsWay {
    frame: Frame,
}

pub(crate) fn ask(session: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    if !request.settings.sends_mail {
        return Err(PageError::NotFound);
    }
    match session.queue_sign_in_mail(request.form.value(EMAIL), request.origin()) {
        Ok(()) => Reply::render(&OnItsWay {
            frame: Frame::with_sign_in_form(request),
        }),
        Err(StorageError::Refused(Refusal::InvalidEmail)) => {
            let mut faults = Faults::default();
            faults.add(EMAIL, crate::organisation::people::NO_EMAIL);
            explain_faults(request, faults)
        }
        Err(error) => Err(error.into()),
    }
}
