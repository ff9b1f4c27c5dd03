//! The texts of error pages.

use actix_web::http::StatusCode;

/// The status and the text of an error page.
pub(super) struct ErrorText {
    pub(super) status: StatusCode,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

impl ErrorText {
    pub(super) const fn new(status: StatusCode, title: &'static str, text: &'static str) -> Self {
        Self {
            status,
            title,
            text,
        }
    }
}

pub(super) const NEEDS_HTTPS: ErrorText = ErrorText::new(
    StatusCode::FORBIDDEN,
    "This page needs HTTPS",
    "Without encryption, attackers could take over your session. Use an address that \
     begins with https:, or ask the register's operator for one.",
);
pub(super) const NOT_FOUND: ErrorText = ErrorText::new(
    StatusCode::NOT_FOUND,
    "Page not found",
    "Check the address, or go to the overview.",
);
pub(super) const NOT_PERMITTED: ErrorText = ErrorText::new(
    StatusCode::FORBIDDEN,
    "Your role does not allow this",
    "Ask an admin of your organisation to make the change or to change your role.",
);
pub(super) const LINK_NOT_VALID: ErrorText = ErrorText::new(
    StatusCode::GONE,
    "This link is not valid",
    "A link works once. It expires after a limited time, or when the same user gets a \
     newer invitation. Go to the sign-in page, or ask the sender for a new link.",
);
pub(super) const NO_ACCESS: ErrorText = ErrorText::new(
    StatusCode::FORBIDDEN,
    "You do not have access",
    "Your account is not linked to an organisation. Ask an admin of your organisation \
     or the register's operator to invite your e-mail address. Then sign in again \
     within 15 minutes.",
);
pub(super) const SIGN_IN_NOT_AVAILABLE: ErrorText = ErrorText::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "Sign-in is not available",
    "The sign-in service does not respond correctly. The error was logged. Try again \
     in a moment.",
);
pub(super) const NOT_SIGNED_IN: ErrorText = ErrorText::new(
    StatusCode::FORBIDDEN,
    "You are not signed in",
    "Start again, and complete the sign-in within 10 minutes in the same browser.",
);
pub(super) const TOO_MANY_TOKENS: ErrorText = ErrorText::new(
    StatusCode::CONFLICT,
    "Your organisation has too many tokens",
    "No token was created. Revoke unused tokens, then try again.",
);
pub(super) const TOO_MANY_UPLOADS: ErrorText = ErrorText::new(
    StatusCode::CONFLICT,
    "You have too many uploads",
    "The file was not stored. Delete an upload, then try again.",
);
pub(super) const ORGANISATION_CLOSED: ErrorText = ErrorText::new(
    StatusCode::CONFLICT,
    "The organisation is closed",
    "Nothing was changed. Reopen the organisation first.",
);
pub(super) const OTHER_SITE: ErrorText = ErrorText::new(
    StatusCode::FORBIDDEN,
    "The form was sent from another site",
    "Nothing was changed. Open the page on this site and send its form again.",
);
pub(super) const OTHER_SESSION: ErrorText = ErrorText::new(
    StatusCode::FORBIDDEN,
    "The form is out of date",
    "Nothing was changed. You have signed in again since you opened this page. Open it \
     again and send its form.",
);
pub(super) const OTHER_BROWSER: ErrorText = ErrorText::new(
    StatusCode::FORBIDDEN,
    "The form belongs to another browser",
    "You are not signed in. Allow cookies for this site, open the page or the link \
     again, and press the button.",
);
pub(super) const TOO_MANY_FORMS: ErrorText = ErrorText::new(
    StatusCode::TOO_MANY_REQUESTS,
    "Too many forms",
    "Nothing was changed. Try again in a minute.",
);
pub(super) const NO_FORM: ErrorText = ErrorText::new(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "The request is not a form",
    "Open the page, and send its form.",
);
pub(super) const BUSY: ErrorText = ErrorText::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "The server is busy",
    "Nothing was changed. Try again in a moment.",
);
