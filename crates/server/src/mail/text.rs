//! The subjects and texts of mails.

use askama::Template;
use http_kit::paths;
use http_kit::responses::page::day;
use storage::accounts::mails::{ExpiringToken, InvitationLink, MailContent, SignInLink};
use storage::base::token::Environment;

use super::LinkSites;
use super::transport::SendError;

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
    /// [`SendError::NoPages`] if the pages of a link are not served, and [`SendError::Unusable`] if
    /// a template fails.
    pub(super) fn new(
        content: &MailContent,
        sites: &LinkSites,
        environment: Environment,
    ) -> Result<Self, SendError> {
        let (subject, body) = match content {
            MailContent::SignIn(links) => {
                let links = links.iter().map(|link| named_link(link, sites));
                let text = SignInText {
                    environment,
                    links: links.collect::<Result<_, _>>()?,
                };
                ("Your link to sign in".to_owned(), text.render())
            }
            MailContent::Invitation(link) => {
                let text = invitation(link, sites, environment)?;
                ("Your invitation".to_owned(), text.render())
            }
            MailContent::TokenExpiry(token) => {
                let expires_on = day(token.expires_on);
                let subject = format!("A token expires on {expires_on}");
                let site = sites.organisations.as_ref();
                let text = TokenExpiryText {
                    environment,
                    token,
                    expires_on,
                    page: site.map(|site| format!("{site}{}/tokens", paths::SETTINGS)),
                };
                (subject, text.render())
            }
        };
        let subject = match environment {
            Environment::Sandbox => format!("Trainee Register (sandbox): {subject}"),
            Environment::Production => format!("Trainee Register: {subject}"),
        };
        let body = body.map_err(|_| SendError::Unusable)?;
        Ok(Self { subject, body })
    }
}

/// A sign-in link with the name of its organisation. Fails if its pages are not served.
fn named_link(link: &SignInLink, sites: &LinkSites) -> Result<NamedLink, SendError> {
    let organisation = link.organisation.as_deref();
    Ok(NamedLink {
        target: target(organisation),
        link: paths::sign_in(site(organisation, sites)?, link.secret.reveal()),
    })
}

/// The values of the template of an invitation. Fails if the pages of the link are not served.
fn invitation(
    link: &InvitationLink,
    sites: &LinkSites,
    environment: Environment,
) -> Result<InvitationText, SendError> {
    let organisation = link.organisation.as_deref();
    Ok(InvitationText {
        environment,
        target: target(organisation),
        role: link.role.name(),
        link: paths::sign_in(site(organisation, sites)?, link.secret.reveal()),
        until: format!(
            "{}, {} UTC",
            day(link.expires_at.date_naive()),
            link.expires_at.format("%H:%M")
        ),
    })
}

/// The name of an organisation, or of the operators' pages for `None`.
fn target(organisation: Option<&str>) -> String {
    organisation.unwrap_or("The operators' pages").to_owned()
}

/// The site of the pages of organisations, or of the operators' pages for `None`. Fails if these
/// pages are not served.
fn site<'a>(organisation: Option<&str>, sites: &'a LinkSites) -> Result<&'a str, SendError> {
    let site = if organisation.is_some() {
        &sites.organisations
    } else {
        &sites.operators
    };
    site.as_deref().ok_or(SendError::NoPages)
}

#[cfg(test)]
mod tests {
    use storage::accounts::users::{Secret, UserRole};

    use super::*;

    fn sites() -> LinkSites {
        LinkSites {
            organisations: Some("https://register.example".to_owned()),
            operators: None,
        }
    }

    fn invitation_of(organisation: Option<&str>) -> MailContent {
        MailContent::Invitation(InvitationLink {
            secret: Secret::from_bytes(&[0; 32]),
            email: "ada@example.com".to_owned(),
            role: UserRole::Admin,
            organisation: organisation.map(str::to_owned),
            expires_at: "2026-03-03T12:05:00Z".parse().unwrap(),
        })
    }

    #[test]
    fn invitation_names_organisation_role_link_and_end() {
        let content = invitation_of(Some("Zoë & Sons' College"));
        let text = MailText::new(&content, &sites(), Environment::Production).unwrap();
        assert_eq!(text.subject, "Trainee Register: Your invitation");
        let secret = "A".repeat(43);
        let expected = format!(
            "You are invited to the settings of the Trainee Register (production).\n\n\
             Zoë & Sons' College\nYour role: admin\n\n\
             Open this link and choose \"Sign in\":\n\
             https://register.example/settings/sign-in/{secret}\n\n\
             The link works once, until 3 March 2026, 12:05 UTC. If it has expired, ask the\n\
             person who invited you for a new one."
        );
        assert_eq!(text.body, expected);
    }

    #[test]
    fn link_to_unserved_pages_is_not_sent() {
        let text = MailText::new(&invitation_of(None), &sites(), Environment::Sandbox);
        assert!(matches!(text, Err(SendError::NoPages)));
    }

    #[test]
    fn reminder_names_token_day_and_page() {
        let content = MailContent::TokenExpiry(ExpiringToken {
            name: "Student records".to_owned(),
            organisation: "Ashdown University".to_owned(),
            expires_on: "2026-05-01".parse().unwrap(),
        });
        let text = MailText::new(&content, &sites(), Environment::Sandbox).unwrap();
        let subject = "Trainee Register (sandbox): A token expires on 1 May 2026";
        assert_eq!(text.subject, subject);
        for part in [
            "Token: Student records",
            "refused from 1 May 2026",
            "\nhttps://register.example/settings/tokens\n",
            "an admin of Ashdown University",
        ] {
            assert!(text.body.contains(part), "{}", text.body);
        }
    }
}
