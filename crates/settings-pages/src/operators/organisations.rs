//! Management of organisations by operators: adding, renaming, closing and reopening. Tokens and
//! users of an organisation are managed on the pages of the organisation.

use std::collections::HashMap;

use adapter_kit::{Endpoint, Versions};
use askama::Template;
use chrono::TimeDelta;
use storage::accounts::providers::ProviderRecord;
use storage::accounts::users::{MAX_ORGANISATION_NAME_CHARS, OrganisationSummary, SignedIn};
use storage::error::{Refusal, StorageError};
use storage::maintenance::register_state::{LastBackup, RegisterState};
use storage::observations::totals::TotalKind;
use storage::session::Session;

use crate::request::context::{AdminContext, OperatorContext};
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;

const WRITES_DAYS: i64 = 7;

#[derive(Template)]
#[template(path = "settings/organisations.html")]
struct Organisations {
    frame: Frame,
    state: RegisterState,
    sends_mail: bool,
    /// Newest version first.
    writes: Vec<VersionWrites>,
    days: i64,
    organisations: Vec<OrganisationSummary>,
}

struct VersionWrites {
    label: String,
    writes: i64,
    /// Of the writes in all versions.
    percent: i64,
}

#[derive(Template)]
#[template(path = "settings/add_organisation.html")]
struct AddOrganisation<'a> {
    frame: Frame,
    form: &'a Form,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "settings/organisation.html")]
struct Organisation {
    frame: Frame,
    provider: ProviderRecord,
    name: String,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "settings/close_organisation.html")]
struct CloseOrganisation {
    frame: Frame,
    provider: ProviderRecord,
}

pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    show_all(session, request, operator.signed_in)
}

/// Shows all organisations as the first page of an operator.
pub(crate) fn show_all(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let frame = Frame::new(request, signed_in, SettingsSection::Overview);
    Reply::render(&Organisations {
        frame,
        state: session.register_state()?,
        sends_mail: request.settings.sends_mail,
        writes: load_writes(session, request.versions)?,
        days: WRITES_DAYS,
        organisations: session.organisation_summaries()?,
    })
}

/// Counts the accepted and refused writes of the last days for each served version.
fn load_writes(
    session: &mut Session<'_>,
    versions: &Versions,
) -> Result<Vec<VersionWrites>, StorageError> {
    let mut counts: HashMap<String, i64> = HashMap::new();
    let since = session.now().date_naive() - TimeDelta::days(WRITES_DAYS - 1);
    session.totals_since(since, |total| {
        let endpoint = Endpoint::ALL
            .iter()
            .find(|known| known.name() == total.endpoint);
        // The other kinds count the same requests again.
        if total.kind == TotalKind::Request && endpoint.is_some_and(|known| known.row().writes()) {
            *counts.entry(total.version).or_default() += total.requests;
        }
    })?;
    let all: i64 = counts.values().sum();
    // Every served version has a line, also without writes.
    let labels = versions.iter().rev().map(|served| served.label.clone());
    let writes = labels.map(|label| {
        let writes = counts.get(&label).copied().unwrap_or_default();
        VersionWrites {
            label,
            writes,
            percent: (writes * 100).checked_div(all).unwrap_or_default(),
        }
    });
    Ok(writes.collect())
}

pub(crate) fn ask_to_add(
    _: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let frame = Frame::new(request, operator.signed_in, SettingsSection::Overview);
    Reply::render(&AddOrganisation {
        frame,
        form: &request.form,
        faults: Faults::default(),
    })
}

pub(crate) fn add(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    match session.add_organisation(
        operator.actor,
        request.form.value("ukprn"),
        request.form.value("name"),
    ) {
        Ok(added) => return Ok(Reply::Redirect(Target::Organisation(Some(added.ukprn)))),
        Err(StorageError::Refused(Refusal::InvalidUkprn)) => {
            faults.add("ukprn", "Enter a UKPRN of 8 digits");
        }
        Err(StorageError::Refused(Refusal::UkprnTaken)) => {
            faults.add("ukprn", "An organisation with this UKPRN already exists");
        }
        Err(StorageError::Refused(Refusal::InvalidProviderName)) => {
            faults.add("name", describe_invalid_name());
        }
        Err(error) => return Err(error.into()),
    }
    let frame = Frame::new(request, operator.signed_in, SettingsSection::Overview);
    Reply::render_faults(&AddOrganisation {
        frame,
        form: &request.form,
        faults,
    })
}

pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let provider = session.provider(&admin.organisation.ukprn)?;
    let frame = admin.build_frame(request, SettingsSection::Elsewhere);
    let name = provider.name.clone();
    Reply::render(&Organisation {
        frame,
        provider,
        name,
        faults: Faults::default(),
    })
}

pub(crate) fn rename(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let name = request.form.value("name");
    match session.rename_organisation(admin.actor, &admin.organisation.ukprn, name) {
        Ok(_) => Ok(redirect_to_organisation(admin)),
        Err(StorageError::Refused(Refusal::InvalidProviderName)) => {
            let mut faults = Faults::default();
            faults.add("name", describe_invalid_name());
            let provider = session.provider(&admin.organisation.ukprn)?;
            let frame = admin.build_frame(request, SettingsSection::Elsewhere);
            Reply::render_faults(&Organisation {
                frame,
                provider,
                name: name.to_owned(),
                faults,
            })
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn ask_to_close(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let provider = session.provider(&admin.organisation.ukprn)?;
    Reply::render(&CloseOrganisation {
        frame: admin.build_frame(request, SettingsSection::Elsewhere),
        provider,
    })
}

pub(crate) fn close(
    session: &mut Session<'_>,
    _: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    session.close_organisation(admin.actor, &admin.organisation.ukprn)?;
    Ok(redirect_to_organisation(admin))
}

pub(crate) fn reopen(
    session: &mut Session<'_>,
    _: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    session.reopen_organisation(admin.actor, &admin.organisation.ukprn)?;
    Ok(redirect_to_organisation(admin))
}

fn redirect_to_organisation(admin: &AdminContext<'_>) -> Reply {
    Reply::Redirect(Target::Organisation(admin.ukprn_of_other()))
}

fn describe_invalid_name() -> String {
    format!("Enter a name on one line, with up to {MAX_ORGANISATION_NAME_CHARS} characters")
}
