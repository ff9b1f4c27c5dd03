//! A browser as far as the settings need one: it keeps their two cookies, and sends the forms of
//! pages.

use std::cell::RefCell;

use data_encoding::BASE64URL_NOPAD;
use form_urlencoded::Serializer;
use ring::hmac;
use storage::accounts::users::{Actor, NewInvitation, UserRole};

use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Page, Register, Request, TextChecks as _};

/// The media type of forms.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// What separates the fields of a form with a file.
const BOUNDARY: &str = "----boundary7MA4YWxk";

/// A form as it is sent.
pub(crate) fn encode(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A link that a command makes, as its secret.
pub(crate) fn link(
    register: &Register,
    ukprn: Option<&'static str>,
    email: &'static str,
    role: UserRole,
) -> String {
    let request = NewInvitation {
        provider_ukprn: ukprn,
        email,
        role,
    };
    let invited =
        register.operate(move |session| session.invite_user(Actor::operator("operator"), request));
    invited.secret.reveal().to_owned()
}

/// The cookie that a reply sets, without its attributes.
pub(crate) fn cookie_of(page: &Page) -> Option<String> {
    let cookie = page.header("set-cookie")?;
    Some(cookie.split(';').next().unwrap().to_owned())
}

/// The text of an attribute or an element behind a beginning, unescaped as far as is needed.
#[track_caller]
pub(crate) fn text_after<'a>(page: &'a str, beginning: &str, end: &str) -> &'a str {
    let at = page
        .find(beginning)
        .unwrap_or_else(|| panic!("{beginning} is not in {page}"))
        + beginning.len();
    &page[at..at + page[at..].find(end).unwrap()]
}

/// What each form of a page holds.
pub(crate) fn form_token_of(page: &Page) -> &str {
    text_after(&page.text, "name=\"form_token\" value=\"", "\"")
}

/// What each form of a session holds, as any server makes it.
pub(crate) fn form_token_of_session(secret: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    BASE64URL_NOPAD.encode(hmac::sign(&key, b"form of the settings").as_ref())
}

/// The name of the cookie of a browser that was shown a form to sign in.
const BROWSER: &str = "__Host-register-browser=";
/// The name of the cookie with the page to open after signing in.
const WANTED: &str = "__Host-register-wanted=";

/// A person with a browser.
pub(crate) struct Browser<'a> {
    register: &'a Register,
    cookie: RefCell<Option<String>>,
    browser_cookie: RefCell<Option<String>>,
    wanted_cookie: RefCell<Option<String>>,
}

impl<'a> Browser<'a> {
    /// Not signed in.
    pub(crate) fn new(register: &'a Register) -> Self {
        Self {
            register,
            cookie: RefCell::new(None),
            browser_cookie: RefCell::new(None),
            wanted_cookie: RefCell::new(None),
        }
    }

    /// Just signed in.
    pub(crate) fn signed_in(
        register: &'a Register,
        ukprn: Option<&'static str>,
        email: &'static str,
        role: UserRole,
    ) -> Self {
        let browser = Self::new(register);
        let link = link(register, ukprn, email, role);
        browser.sign_in(&link).is(303);
        assert!(browser.cookie().is_some());
        browser
    }

    /// An admin of the organisation of the test.
    pub(crate) fn admin(register: &'a Register) -> Self {
        Self::signed_in(register, Some(UKPRN), "a@example.com", UserRole::Admin)
    }

    /// An editor of the organisation of the test.
    pub(crate) fn editor(register: &'a Register) -> Self {
        Self::signed_in(register, Some(UKPRN), "e@example.com", UserRole::Editor)
    }

    /// A viewer of the organisation of the test.
    pub(crate) fn viewer(register: &'a Register) -> Self {
        Self::signed_in(register, Some(UKPRN), "v@example.com", UserRole::Viewer)
    }

    /// An admin of the other organisation.
    pub(crate) fn other_admin(register: &'a Register) -> Self {
        let (ukprn, role) = (Some(OTHER_UKPRN), UserRole::Admin);
        Self::signed_in(register, ukprn, "o@example.com", role)
    }

    /// An operator of the service.
    pub(crate) fn operator(register: &'a Register) -> Self {
        Self::signed_in(register, None, "o@example.com", UserRole::Operator)
    }

    /// Opens a link, and presses its button; the page that says that it cannot be used where there
    /// is no button.
    pub(crate) fn sign_in(&self, link: &str) -> Page {
        let page = self.open(&format!("/settings/sign-in/{link}"));
        if page.status == 200 {
            self.press(link, form_token_of(&page))
        } else {
            page
        }
    }

    /// Sends the form of a link.
    pub(crate) fn press(&self, link: &str, form_token: &str) -> Page {
        self.send_form(
            "/settings/sign-in",
            &[("form_token", form_token), ("secret", link)],
        )
    }

    /// The cookie of the session.
    pub(crate) fn cookie(&self) -> Option<String> {
        self.cookie.borrow().clone()
    }

    /// Replaces a cookie.
    pub(crate) fn set_cookie(&self, cookie: Option<String>) {
        *self.cookie.borrow_mut() = cookie;
    }

    /// A request with the cookies.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request<'a> {
        let cookies: Vec<_> = self
            .cookie()
            .into_iter()
            .chain(self.browser_cookie.borrow().clone())
            .chain(self.wanted_cookie.borrow().clone())
            .collect();
        let request = self.register.request(method, path);
        if cookies.is_empty() {
            request
        } else {
            request.header("Cookie", &cookies.join("; "))
        }
    }

    /// Opens a page.
    pub(crate) fn open(&self, path: &str) -> Page {
        self.kept(self.request("GET", path).page())
    }

    /// Opens a page, and checks that it has these texts.
    #[track_caller]
    pub(crate) fn see(&self, path: &str, texts: &[&str]) -> Page {
        let page = self.open(path).is(200);
        page.shows(texts);
        page
    }

    /// Sends a form as it is.
    pub(crate) fn send_form(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        self.kept(
            self.request("POST", path)
                .bytes(encode(fields))
                .header("Content-Type", FORM)
                .page(),
        )
    }

    /// Keeps the cookies of the page.
    fn kept(&self, page: Page) -> Page {
        for set in page.header_values("set-cookie") {
            let cookie = set.split(';').next().unwrap().to_owned();
            let jar = if cookie.starts_with(BROWSER) {
                &self.browser_cookie
            } else if cookie.starts_with(WANTED) {
                &self.wanted_cookie
            } else {
                &self.cookie
            };
            *jar.borrow_mut() = Some(cookie).filter(|cookie| !cookie.ends_with('='));
        }
        page
    }

    /// A request with a form that has a file.
    pub(crate) fn file_request(&self, path: &str, form_token: &str, file: &[u8]) -> Request<'a> {
        self.file_request_with(path, &[("form_token", form_token)], file)
    }

    /// A request with a form that has these fields and a file.
    fn file_request_with(&self, path: &str, fields: &[(&str, &str)], file: &[u8]) -> Request<'a> {
        let fields: String = fields
            .iter()
            .map(|(name, value)| {
                format!(
                    "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
                )
            })
            .collect();
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"t.csv\"\r\nContent-Type: text/csv\r\n\r\n"
        );
        let end = format!("\r\n--{BOUNDARY}--\r\n");
        let body = [fields.as_bytes(), head.as_bytes(), file, end.as_bytes()].concat();
        let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
        self.request("POST", path)
            .bytes(body)
            .header("Content-Type", &media_type)
    }

    /// Uploads a file of trainees.
    pub(crate) fn upload(&self, file: &[u8]) -> Page {
        let token = self.form_token();
        self.kept(self.file_request("/settings/upload", &token, file).page())
    }

    /// Uploads one sheet of a workbook.
    pub(crate) fn upload_sheet(&self, workbook: &[u8], sheet: &str) -> Page {
        let token = self.form_token();
        let fields = [("form_token", token.as_str()), ("sheet", sheet)];
        self.kept(
            self.file_request_with("/settings/upload", &fields, workbook)
                .page(),
        )
    }

    /// Sends a form with what the pages of the session hold.
    pub(crate) fn send(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.form_token();
        self.send_form(path, &[&[("form_token", token.as_str())], fields].concat())
    }

    /// What each form of the session holds.
    pub(crate) fn form_token(&self) -> String {
        form_token_of(&self.open("/settings").is(200)).to_owned()
    }
}
