//! The table of routes below `/settings` and their access.

use adapter_kit::Method;
use trainee_file::Limits;

use crate::operators::{
    history, imports, organisations, registry_actions, registry_file, registry_queue, versions,
};
use crate::organisation::{
    activity, overview, people, readiness, requests, runs, tokens, trainees, usage,
};
use crate::request::context::{Handler, Route};
use crate::signing_in::{openid, sessions, sign_in, sign_in_mail};
use crate::upload::{columns, files, receiving, repairs, report, results, templates, uploads};

/// Except for forms with pasted files.
const MAX_FORM_BYTES: usize = 16_384;

const fn get(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::Get,
        path,
        handler,
        max_form_bytes: 0,
        max_file_bytes: 0,
    }
}

const fn post(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::Post,
        path,
        handler,
        max_form_bytes: MAX_FORM_BYTES,
        max_file_bytes: 0,
    }
}

const fn post_file(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::Post,
        path,
        handler,
        max_form_bytes: registry_file::MAX_FORM_BYTES,
        max_file_bytes: 0,
    }
}

const fn post_upload(path: &'static str, handler: Handler) -> Route {
    Route {
        method: Method::Post,
        path,
        handler,
        max_form_bytes: MAX_FORM_BYTES,
        max_file_bytes: Limits::UPLOAD.bytes,
    }
}

/// Grouped by path.
pub static ROUTES: &[Route] = &[
    get("", Handler::SignedIn(overview::show)),
    get("/", Handler::Public(overview::drop_slash)),
    get("/sign-in", Handler::Public(sign_in::explain)),
    post("/sign-in", Handler::Public(sign_in::accept)),
    post("/sign-in/mail", Handler::Public(sign_in_mail::ask)),
    post("/sign-in/oidc", Handler::Public(openid::begin)),
    get(openid::CALLBACK, Handler::Public(openid::come_back)),
    post(
        "/sign-in/oidc/organisation",
        Handler::Public(openid::choose),
    ),
    get("/sign-in/{secret}", Handler::Public(sign_in::show_link)),
    post("/sign-out", Handler::SignedIn(sign_in::sign_out)),
    get("/signed-out", Handler::Public(sign_in::confirm_sign_out)),
    post(
        "/sign-out-everywhere",
        Handler::SignedIn(sign_in::sign_out_everywhere),
    ),
    get("/sessions", Handler::SignedIn(sessions::list)),
    post("/sessions/{id}/end", Handler::SignedIn(sessions::end)),
    get("/tokens", Handler::Organisation(tokens::list)),
    post("/tokens", Handler::Admin(tokens::issue)),
    get("/tokens/{id}/rotate", Handler::Admin(tokens::ask_to_rotate)),
    post("/tokens/{id}/rotate", Handler::Admin(tokens::rotate)),
    get("/tokens/{id}/revoke", Handler::Admin(tokens::ask_to_revoke)),
    post("/tokens/{id}/revoke", Handler::Admin(tokens::revoke)),
    get("/requests", Handler::Own(runs::list)),
    get("/requests/search", Handler::Own(requests::list)),
    post("/requests/keys", Handler::Admin(runs::switch_keys)),
    get("/requests/uploads/{id}", Handler::Uploader(report::show)),
    get(
        "/requests/uploads/{id}/report.csv",
        Handler::Uploader(report::download),
    ),
    get("/requests/{id}", Handler::Own(runs::show)),
    get("/requests/{id}/refused.csv", Handler::Own(runs::download)),
    get("/usage", Handler::Own(usage::show)),
    get("/usage.csv", Handler::Own(usage::download)),
    get("/readiness", Handler::Own(readiness::show)),
    get("/people", Handler::Organisation(people::list)),
    post("/people", Handler::Admin(people::invite)),
    get("/people/{id}", Handler::Admin(people::show)),
    post("/people/{id}/role", Handler::Admin(people::change_role)),
    post(
        "/people/{id}/sign-out",
        Handler::Admin(sessions::sign_out_person),
    ),
    post("/people/{id}/remove", Handler::Admin(people::remove)),
    get("/organisations", Handler::Operator(organisations::list)),
    get(
        "/organisations/add",
        Handler::Operator(organisations::ask_to_add),
    ),
    post("/organisations/add", Handler::Operator(organisations::add)),
    get(
        "/organisations/{ukprn}",
        Handler::OperatorAdmin(organisations::show),
    ),
    post(
        "/organisations/{ukprn}/rename",
        Handler::OperatorAdmin(organisations::rename),
    ),
    get(
        "/organisations/{ukprn}/close",
        Handler::OperatorAdmin(organisations::ask_to_close),
    ),
    post(
        "/organisations/{ukprn}/close",
        Handler::OperatorAdmin(organisations::close),
    ),
    post(
        "/organisations/{ukprn}/reopen",
        Handler::OperatorAdmin(organisations::reopen),
    ),
    get(
        "/organisations/{ukprn}/tokens",
        Handler::OperatorOrganisation(tokens::list),
    ),
    post(
        "/organisations/{ukprn}/tokens",
        Handler::OperatorAdmin(tokens::issue),
    ),
    get(
        "/organisations/{ukprn}/tokens/{id}/rotate",
        Handler::OperatorAdmin(tokens::ask_to_rotate),
    ),
    post(
        "/organisations/{ukprn}/tokens/{id}/rotate",
        Handler::OperatorAdmin(tokens::rotate),
    ),
    get(
        "/organisations/{ukprn}/tokens/{id}/revoke",
        Handler::OperatorAdmin(tokens::ask_to_revoke),
    ),
    post(
        "/organisations/{ukprn}/tokens/{id}/revoke",
        Handler::OperatorAdmin(tokens::revoke),
    ),
    get(
        "/organisations/{ukprn}/people",
        Handler::OperatorOrganisation(people::list),
    ),
    post(
        "/organisations/{ukprn}/people",
        Handler::OperatorAdmin(people::invite),
    ),
    get(
        "/organisations/{ukprn}/people/{id}",
        Handler::OperatorAdmin(people::show),
    ),
    post(
        "/organisations/{ukprn}/people/{id}/role",
        Handler::OperatorAdmin(people::change_role),
    ),
    post(
        "/organisations/{ukprn}/people/{id}/sign-out",
        Handler::OperatorAdmin(sessions::sign_out_person),
    ),
    post(
        "/organisations/{ukprn}/people/{id}/remove",
        Handler::OperatorAdmin(people::remove),
    ),
    get("/trainees", Handler::Uploader(trainees::list)),
    get("/trainees.csv", Handler::Uploader(trainees::download)),
    post("/trainees/search", Handler::Uploader(trainees::search)),
    post("/trainees/view", Handler::Uploader(trainees::show)),
    get("/upload", Handler::Uploader(uploads::list)),
    post_upload("/upload", Handler::Uploader(receiving::accept)),
    get(
        "/upload/template/{version}.csv",
        Handler::Uploader(templates::download),
    ),
    get("/upload/{id}", Handler::Uploader(results::show)),
    post("/upload/{id}/columns", Handler::Uploader(columns::assign)),
    post("/upload/{id}/repairs", Handler::Uploader(repairs::choose)),
    post("/upload/{id}/send", Handler::Uploader(results::send)),
    get(
        "/upload/{id}/refused.csv",
        Handler::Uploader(files::download_refused),
    ),
    post("/upload/{id}/delete", Handler::Uploader(uploads::delete)),
    get("/registry", Handler::Operator(registry_queue::list)),
    get(
        "/registry/trainee",
        Handler::Operator(registry_actions::ask),
    ),
    post(
        "/registry/trainee",
        Handler::Operator(registry_actions::act),
    ),
    get("/registry/file", Handler::Operator(registry_file::ask)),
    post_file("/registry/file", Handler::Operator(registry_file::act)),
    get("/history", Handler::Operator(history::ask)),
    post("/history", Handler::Operator(history::show)),
    get("/imports", Handler::Operator(imports::list)),
    get("/imports/{id}", Handler::Operator(imports::show)),
    get("/versions", Handler::Operator(versions::show)),
    get("/activity", Handler::SignedIn(activity::list)),
];
