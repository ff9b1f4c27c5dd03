//! The requests of an organisation in recent months, as a chart, a table and a file.

use askama::Template;
use storage::accounts::users::SignedIn;
use storage::session::ProviderSession;

use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::usage_by_month::{UsageByMonth, chart};

/// The number of months shown, including the current one.
const MONTHS: u8 = 12;
/// The name of the file.
const FILE: &str = "usage.csv";

#[derive(Template)]
#[template(path = "settings/usage.html")]
struct Usage {
    frame: Frame,
    usage: UsageByMonth,
    chart: String,
}

/// Shows the page.
pub(crate) fn show(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let usage = UsageByMonth::load_own(session, MONTHS)?;
    let chart = chart::svg(&usage).map_err(PageError::Template)?;
    Reply::page(&Usage {
        frame: Frame::new(request, signed_in, SettingsSection::Usage),
        usage,
        chart,
    })
}

/// Returns the table as a CSV file.
pub(crate) fn download(
    session: &mut ProviderSession<'_>,
    _: &PageRequest,
    _: &SignedIn,
) -> Result<Reply, PageError> {
    let usage = UsageByMonth::load_own(session, MONTHS)?;
    Ok(Reply::Csv(FILE, usage.csv().map_err(PageError::File)?))
}
