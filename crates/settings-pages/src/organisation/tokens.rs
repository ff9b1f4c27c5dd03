//! Management of the tokens of an organisation: listing, creating, replacing and revoking. The text
//! of a token appears only in the reply that creates it.

use askama::Template;
use chrono::{Days, NaiveDate, TimeDelta};
use domain::values::iso_8601::read_date;
use http_kit::paths;
use http_kit::responses::page::day;
use storage::accounts::tokens::{MAX_NAME_CHARS, NewToken, Rotation, TokenRecord, expiry_dates};
use storage::accounts::users::SignedIn;
use storage::base::token::{Token, TokenStatus};
use storage::error::{Refusal, StorageError};
use storage::session::{Provider, Session};

use crate::organisation::overview::Names;
use crate::request::context::AdminContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;

/// The default for days with two valid tokens after a replacement.
const OVERLAP_DAYS: u64 = 7;
/// The maximum lifetime of a token.
const MAX_OVERLAP_DAYS: u64 = 180;
/// An identical form within this time counts as sent twice.
const TWICE_WITHIN: TimeDelta = TimeDelta::minutes(1);
const MADE_TWICE: &str = "A token with this name was created less than a minute ago. \
                          If you did not copy it, revoke it and try again";

#[derive(Template)]
#[template(path = "settings/tokens.html")]
struct Tokens<'a> {
    frame: Frame,
    tokens: Vec<Listed>,
    form: &'a Form,
    faults: Faults,
    latest: Option<NaiveDate>,
}

struct Listed {
    token: TokenRecord,
    made_by: String,
    last_version: Option<String>,
    tag: &'static str,
}

impl Listed {
    fn is_active(&self) -> bool {
        self.token.status == TokenStatus::Active
    }
}

#[derive(Template)]
#[template(path = "settings/token_shown.html")]
struct Shown<'a> {
    frame: Frame,
    token: &'a str,
    record: TokenRecord,
    /// The replaced token.
    old: Option<TokenRecord>,
    /// Addresses for a test, newest version first. Only paths if the host of the API is unknown
    /// here.
    tries: Vec<String>,
    has_addresses: bool,
    /// `None` if the listener has no API.
    explorer: Option<String>,
}

#[derive(Template)]
#[template(path = "settings/rotate.html")]
struct Rotate {
    frame: Frame,
    token: TokenRecord,
    overlap: String,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "settings/revoke.html")]
struct Revoke {
    frame: Frame,
    token: TokenRecord,
}

/// Lists the tokens. Admins also get the form for a new token.
pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
    organisation: &Provider,
) -> Result<Reply, PageError> {
    Reply::render(&load_tokens_page(
        session,
        request,
        signed_in,
        organisation,
        Faults::default(),
    )?)
}

fn load_tokens_page<'a>(
    session: &mut Session<'_>,
    request: &'a PageRequest,
    signed_in: &SignedIn,
    organisation: &Provider,
    faults: Faults,
) -> Result<Tokens<'a>, StorageError> {
    let records = session.list_tokens(Some(&organisation.ukprn))?;
    let names = Names::load(session, &organisation.ukprn, signed_in)?;
    let mut versions = session.last_versions(&records)?;
    // Newest first.
    let listed = records.into_iter().rev().map(|token| Listed {
        made_by: names.convert(&token.created_by),
        last_version: versions.remove(&token.id),
        tag: match token.status {
            TokenStatus::Active => "tag-good",
            TokenStatus::Expired | TokenStatus::Revoked => "tag-plain",
        },
        token,
    });
    Ok(Tokens {
        frame: Frame::with_organisation(request, signed_in, organisation, SettingsSection::Tokens),
        tokens: listed.collect(),
        form: &request.form,
        faults,
        latest: expiry_dates(session.today()).map(|dates| *dates.end()),
    })
}

/// Creates a token and shows it once.
pub(crate) fn issue(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    let name = faults.keep("name", check_name(request.form.value("name")));
    let expires_on = faults.keep(
        "expires",
        parse_expiry(request.form.value("expires"), session.today()),
    );
    if let Some(name) = name.filter(|_| faults.is_empty())
        && was_just_made(session, &admin.organisation.ukprn, name, None)?
    {
        faults.add("name", MADE_TWICE);
    }
    let (Some(name), Some(expires_on), true) = (name, expires_on, faults.is_empty()) else {
        return Reply::render_faults(&load_tokens_page(
            session,
            request,
            admin.signed_in,
            admin.organisation,
            faults,
        )?);
    };
    let (token, record) = session.issue_token(&NewToken {
        provider_ukprn: &admin.organisation.ukprn,
        environment: request.state.environment,
        name,
        created_by: admin.actor,
        expires_on,
    })?;
    show_new_token(request, admin, &token, record, None)
}

/// `old` is the token that the new one replaces.
fn show_new_token(
    request: &PageRequest,
    admin: &AdminContext<'_>,
    token: &Token,
    record: TokenRecord,
    old: Option<TokenRecord>,
) -> Result<Reply, PageError> {
    let frame = admin.build_frame(request, SettingsSection::Tokens);
    let has_addresses = request.settings.is_site_of_api;
    let site = if has_addresses {
        request.organisations_site()
    } else {
        ""
    };
    let tries = request.versions.iter().rev();
    let tries = tries.map(|served| format!("{site}{}/info", served.version.label.base_path()));
    let newest = request.versions.newest().filter(|_| has_addresses);
    Reply::render(&Shown {
        frame,
        explorer: newest.map(|newest| format!("{}/", paths::documentation(newest.version.label))),
        token: token.reveal(),
        record,
        old,
        tries: tries.collect(),
        has_addresses,
    })
}

pub(crate) fn ask_to_rotate(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let token = find_active_token(session, request, admin)?;
    let frame = admin.build_frame(request, SettingsSection::Tokens);
    Reply::render(&Rotate {
        frame,
        token,
        overlap: OVERLAP_DAYS.to_string(),
        faults: Faults::default(),
    })
}

/// Replaces a token and shows the new one once.
pub(crate) fn rotate(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let token = find_active_token(session, request, admin)?;
    let mut faults = Faults::default();
    let overlap = request.form.value("overlap");
    let days = faults.keep("overlap", parse_overlap_days(overlap));
    if was_just_made(session, &token.provider_ukprn, &token.name, Some(token.id))? {
        faults.add("overlap", MADE_TWICE);
    }
    let (Some(days), true) = (days, faults.is_empty()) else {
        let frame = admin.build_frame(request, SettingsSection::Tokens);
        return Reply::render_faults(&Rotate {
            frame,
            token,
            overlap: overlap.to_owned(),
            faults,
        });
    };
    let rotation = Rotation {
        environment: request.state.environment,
        created_by: admin.actor,
        expires_on: None,
        overlap: Days::new(days),
    };
    let rotated = session.rotate_token(token.id, &rotation)?;
    show_new_token(
        request,
        admin,
        &rotated.token,
        rotated.new,
        Some(rotated.old),
    )
}

pub(crate) fn ask_to_revoke(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let token = find_active_token(session, request, admin)?;
    Reply::render(&Revoke {
        frame: admin.build_frame(request, SettingsSection::Tokens),
        token,
    })
}

pub(crate) fn revoke(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    session.revoke_token(request.id()?, admin.actor)?;
    Ok(Reply::Redirect(Target::Tokens(admin.ukprn_of_other())))
}

fn find_active_token(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<TokenRecord, PageError> {
    let token = session.token(admin.actor, request.id()?)?;
    match token.status {
        TokenStatus::Active => Ok(token),
        TokenStatus::Expired | TokenStatus::Revoked => Err(Refusal::UnknownToken.into()),
    }
}

/// Whether the same form was sent before, within a minute.
fn was_just_made(
    session: &mut Session<'_>,
    ukprn: &str,
    name: &str,
    other_than: Option<i64>,
) -> Result<bool, StorageError> {
    let since = session.now() - TWICE_WITHIN;
    let tokens = session.list_tokens(Some(ukprn))?;
    // A revoked token does not count: its user may not have copied it, and tries again.
    let mut active = tokens
        .iter()
        .filter(|token| token.status == TokenStatus::Active);
    Ok(active.any(|token| {
        token.name == name && token.created_at > since && Some(token.id) != other_than
    }))
}

/// Checks a name. `Err` is the fault of the field.
fn check_name(name: &str) -> Result<&str, String> {
    if name.is_empty() {
        return Err(
            "Enter the software that uses the token, such as your student record system".to_owned(),
        );
    }
    if name.chars().any(char::is_control) {
        return Err("Enter a name on one line, without control characters".to_owned());
    }
    let is_short = name.chars().count() <= MAX_NAME_CHARS;
    if is_short {
        Ok(name)
    } else {
        Err(format!("Enter a name of up to {MAX_NAME_CHARS} characters"))
    }
}

/// Parses the expiry date. Returns `None` if the field is empty; `Err` is the fault of the field.
fn parse_expiry(text: &str, today: NaiveDate) -> Result<Option<NaiveDate>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let expires_on = read_date(text).ok_or_else(|| {
        "Enter a date of the form YYYY-MM-DD, or leave the field empty".to_owned()
    })?;
    match expiry_dates(today).filter(|dates| !dates.contains(&expires_on)) {
        Some(dates) => Err(format!(
            "Enter a date from {} to {}",
            day(*dates.start()),
            day(*dates.end())
        )),
        None => Ok(Some(expires_on)),
    }
}

/// Parses the number of days. `Err` is the fault of the field.
fn parse_overlap_days(text: &str) -> Result<u64, String> {
    let days = text
        .parse()
        .ok()
        .filter(|days| (1..=MAX_OVERLAP_DAYS).contains(days));
    days.ok_or_else(|| format!("Enter a number of days from 1 to {MAX_OVERLAP_DAYS}"))
}
