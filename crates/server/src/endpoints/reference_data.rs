//! The code lists (contract, section 4.19).

use actix_web::http::StatusCode;
use actix_web::http::header::CACHE_CONTROL;
use adapter_kit::names::shown;
use adapter_kit::reference;
use storage::session::ProviderSession;

use crate::http::error::{Failure, Missing};
use crate::http::request::Call;
use crate::http::response::Reply;

pub mod rendered;

/// `GET /reference-data`
pub(super) fn show(_: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let mut parameters = form_urlencoded::parse(call.query().as_bytes());
    let field = parameters.find(|(name, value)| name == "field" && !value.trim().is_empty()).map(|(_, value)| value);
    let written = match field {
        None => call.written_lists.all()?,
        Some(name) => {
            let list = reference::list_named(call.version(), &name).map(|list| call.written_lists.named(list));
            match list.transpose()?.flatten() {
                Some(written) => written,
                None => return Err(Failure::NotFound(Missing::List(shown(&name)))),
            }
        }
    };
    let tag = written.entity_tag().to_owned();
    let reply = call.unless_tag_held(Reply::shared(StatusCode::OK, written), tag);
    Ok(reply.with(CACHE_CONTROL.as_str(), "private, max-age=3600"))
}
