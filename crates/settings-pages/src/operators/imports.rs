//! Reports on imported files, for operators: the counts of rows, and the refused rows.

use askama::Template;
use storage::observations::imports::{ImportRecord, RefusedLine};
use storage::session::Session;

use crate::request::context::OperatorContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The imports on a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "settings/imports.html")]
struct Imports {
    frame: Frame,
    imports: Vec<ImportRecord>,
    /// The number of the last import on the page, if older imports exist.
    before: Option<i64>,
}

#[derive(Template)]
#[template(path = "settings/import.html")]
struct Import {
    frame: Frame,
    import: ImportRecord,
    refused: Vec<RefusedLine>,
    /// Refused rows whose reasons are not stored.
    others: u64,
}

/// Shows a page of imports, newest first.
pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    // One more than a page, to find out whether older imports exist.
    let most = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    let mut imports = session.list_imports(request.query.value("before").parse().ok(), most)?;
    let has_more = imports.len() > PAGE;
    imports.truncate(PAGE);
    let before = imports.last().filter(|_| has_more).map(|import| import.id);
    Reply::render(&Imports {
        frame: Frame::new(request, operator.signed_in, SettingsSection::Imports),
        imports,
        before,
    })
}

pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let (import, refused) = session.import(request.id()?)?.ok_or(PageError::NotFound)?;
    let frame = Frame::new(request, operator.signed_in, SettingsSection::Imports);
    let others = import
        .refused
        .saturating_sub(u64::try_from(refused.len()).unwrap_or(u64::MAX));
    Reply::render(&Import {
        frame,
        import,
        refused,
        others,
    })
}
