//! The requests of an organisation in recent months, as a chart, a table and a file.

use askama::Template;
use storage::accounts::users::SignedIn;
use storage::session::ProviderSession;

use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::usage_by_month::{UsageByMonth, chart};

/// Including the current month.
const MONTHS: u8 = 12;
const FILE: &str = "usage.csv";

#[derive(Template)]
#[template(path = "settings/usage.html")]
struct Usage {
    frame: Frame,
    usage: UsageByMonth,
    chart: String,
}

pub(crate) fn show(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let usage = UsageByMonth::load_own(session, MONTHS)?;
    let chart = chart::draw(&usage).map_err(PageError::Template)?;
    Reply::render(&Usage {
        frame: Frame::new(request, signed_in, SettingsSection::Usage),
        usage,
        chart,
    })
}

pub(crate) fn download(
    session: &mut ProviderSession<'_>,
    _: &PageRequest,
    _: &SignedIn,
) -> Result<Reply, PageError> {
    let usage = UsageByMonth::load_own(session, MONTHS)?;
    Ok(Reply::Csv(
        FILE,
        usage.write_csv().map_err(PageError::File)?,
    ))
}
