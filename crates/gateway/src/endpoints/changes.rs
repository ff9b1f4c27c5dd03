//! The changes of all trainees of a provider, for clients that keep a copy: an addition of this
//! service.

use actix_web::http::StatusCode;
use actix_web::http::header::LINK;
use adapter_kit::view::View;
use adapter_kit::wire_form::DATA;
use adapter_kit::{Endpoint, identifiers};
use domain::listing::MAX_PER_PAGE;
use domain::values::iso_8601;
use domain::{RecordField as _, TraineeField};
use http_kit::cursor::CursorScope;
use serde::Serialize;
use storage::records::trainees::{Change, ChangePlace, ChangeQuery, Nested};
use storage::session::ProviderSession;

use crate::error::ApiError;
use crate::request::HandlerContext;
use crate::request::query;
use crate::response::{ApiResponse, PageKeys};

/// The scope of the cursors of changes, so that cursors of lists are refused.
const SCOPE: &str = "changes";

/// The object that describes the position of a reply among all changes.
#[derive(Serialize)]
struct Meta {
    /// The cursor for the next request.
    after: String,
    /// Whether further changes are already available.
    has_more: bool,
}

/// The keys of a reply with changes, in all versions.
const KEYS: PageKeys<'_> = PageKeys {
    list: DATA,
    meta: "meta",
};

/// The problem of a cursor that cannot be opened.
const NO_CURSOR: &str = "is not a cursor of these changes: it is damaged, or of another version or provider; begin again \
                         without it";

/// `GET /changes`
pub(super) fn list(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let query =
        query::changes(request.query(), request.refused_parameters()).map_err(ApiError::Filters)?;
    let label = request.version().label.to_string();
    let ukprn = session.provider().ukprn.clone();
    let scope = CursorScope {
        ukprn: &ukprn,
        version: &label,
        query: SCOPE,
    };
    let after = match &query.after {
        Some(cursor) => Some(
            request
                .state
                .cursors
                .open::<ChangePlace>(scope, cursor)
                .map_err(|error| ApiError::from_cursor(error, "after", NO_CURSOR))?,
        ),
        None => None,
    };
    let standing = session.standing()?;
    let place = format!("{} {}", query.limit, query.after.as_deref().unwrap_or(""));
    let tag = request.tag_of_list(&standing, session.today(), &place);
    // A request that may wait learns first whether there are changes.
    if request.wait.is_none()
        && let Some(not_modified) = request.not_modified(&tag)
    {
        return Ok(not_modified);
    }
    let found = session.changes(ChangeQuery {
        after: after.as_ref(),
        limit: query.limit,
        standing: &standing,
    })?;
    let page = found.ok_or(ApiError::CursorOutdated)?;
    let mut cursor = String::new();
    let write = |change: &Change, out: &mut Vec<u8>| write(request, change, out);
    let reply = ApiResponse::entries(StatusCode::OK, &page.changes, write, KEYS, |written| {
        let (place, has_more) = page.position_after(written);
        // Without new changes, the client gets its own cursor back instead of a new one.
        cursor = match query
            .after
            .as_ref()
            .filter(|_| after.as_ref() == Some(&place))
        {
            Some(same) => same.clone(),
            None => request.state.cursors.seal(scope, &place)?,
        };
        Ok(Meta {
            after: cursor.clone(),
            has_more,
        })
    })?;
    let (base, path, limit) = (
        request.version().label.base_path(),
        request.version().row(Endpoint::ListChanges).path,
        query.limit,
    );
    let next = format!("<{base}{path}?limit={limit}&after={cursor}>; rel=\"next\"");
    let reply = reply.with(LINK.as_str(), next).with_warnings(
        query
            .limit_cut
            .then(|| format!("limit is {MAX_PER_PAGE} at most")),
    );
    Ok(ApiResponse {
        has_changes: !page.changes.is_empty(),
        ..request.not_modified_if_cached_as(reply, tag)
    })
}

/// Writes a change as `{"trainee_id": ..., "removed_at": ..., "trainee": {...}}`. For a removed
/// trainee, `trainee` is null.
fn write(request: &HandlerContext<'_>, change: &Change, out: &mut Vec<u8>) -> Result<(), ApiError> {
    let name = TraineeField::trainee_id.info().name;
    let id = identifiers::write(request.version(), name, &change.trainee_id);
    let at = change.discarded_at.map(iso_8601::timestamp);
    out.extend_from_slice(b"{\"trainee_id\":");
    serde_json::to_writer(&mut *out, &id).map_err(ApiError::unwritable)?;
    out.extend_from_slice(b",\"removed_at\":");
    serde_json::to_writer(&mut *out, &at).map_err(ApiError::unwritable)?;
    out.extend_from_slice(b",\"trainee\":");
    match at {
        Some(_) => out.extend_from_slice(b"null"),
        None => {
            let trainee = change.trainee.read(Nested::With)?;
            View::trainee(request.version(), &trainee, request.state.lists)
                .write(out)
                .map_err(ApiError::unwritable)?;
        }
    }
    out.push(b'}');
    Ok(())
}
