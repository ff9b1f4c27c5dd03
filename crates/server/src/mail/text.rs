//! The subjects and texts of mails.

use askama::Template;
use http_kit::paths;
use http_kit::responses::page::day;
use storage::accounts::mails::ExpiringToken;
use storage::accounts::mails::{InvitationLink, MailContent, SignInLink};
use storage::base::token::Environment;

use super::LinkSites;

/// The subject and the text of a mail.
pub(super) struct MailText {
    pub(super) subject: String,
    pub(super) body: String,
}

/// A link with its target, such as the name of an organisation.
struct NamedLink {
    target: String,
    link: String,
}

#[derive(Template)]
#[template(path = "mail/sign_in.txt")]
struct SignInText {
    environment: Environment,
    links: Vec<NamedLink>,
}

#[derive(Template)]
#[template(path = "mail/invitation.txt")]
struct InvitationText {
    environment: Environment,
    target: String,
    role: &'static str,
    link: String,
    until: String,
}

#[derive(Template)]
#[template(path = "mail/token_expiry.txt")]
struct TokenExpiryText<'a> {
    environment: Environment,
    token: &'a ExpiringToken,
    expires_on: String,
    /// The address of the page of tokens, if it is served.
    page: Option<String>,
}

impl MailText {
    /// The text for the content of a mail.
    ///
    /// # Errors
    ///
    /// When a template fails.
    pub(super) fn new(
        content: &MailContent,
        sites: &LinkSites,
        environment: Environment,
    ) -> askama::Result<Self> {
        let (subject, body) = match content {
            MailContent::SignIn(links) => {
                let text = SignInText {
                    environment,
                    links: links.iter().map(|link| named_link(link, sites)).collect(),
                };
                ("Your link to sign in".to_owned(), text.render()?)
            }
            MailContent::Invitation(link) => (
                "Your invitation".to_owned(),
                invitation(link, sites, environment).render()?,
            ),
            MailContent::TokenExpiry(token) => {
                let expires_on = day(token.expires_on);
                let subject = format!("A token expires on {expires_on}");
                let text = TokenExpiryText {
                    environment,
                    token,
                    expires_on,
                    page: sites
                        .organisations
                        .as_ref()
                        .map(|site| format!("{site}{}/tokens", paths::SETTINGS)),
                };
                (subject, text.render()?)
            }
        };
        let subject = match environment {
            Environment::Sandbox => format!("Trainee Register (sandbox): {subject}"),
            Environment::Production => format!("Trainee Register: {subject}"),
        };
        Ok(Self { subject, body })
    }
}

fn named_link(link: &SignInLink, sites: &LinkSites) -> NamedLink {
    NamedLink {
        target: target(link.organisation.as_deref()),
        link: paths::sign_in(
            site(link.organisation.as_deref(), sites),
            link.secret.reveal(),
        ),
    }
}

fn invitation(
    link: &InvitationLink,
    sites: &LinkSites,
    environment: Environment,
) -> InvitationText {
    let organisation = link.organisation.as_deref();
    InvitationText {
        environment,
        target: target(organisation),
        role: link.role.name(),
        link: paths::sign_in(site(organisation, sites), link.secret.reveal()),
        until: format!(
            "{}, {} UTC",
            day(link.expires_at.date_naive()),
            link.expires_at.format("%H:%M")
        ),
    }
}

/// The name of an organisation, or of the operators' pages for `None`.
fn target(organisation: Option<&str>) -> String {
    organisation.unwrap_or("The operators' pages").to_owned()
}

/// The site of the pages of organisations, or of the operators' pages. Links to other pages are not
/// created.
fn site<'a>(organisation: Option<&str>, sites: &'a LinkSites) -> &'a str {
    let site = if organisation.is_some() {
        &sites.organisations
    } else {
        &sites.operators
    };
    site.as_deref().unwrap_or_default()
}
