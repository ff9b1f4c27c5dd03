//! The pages with the trainees of an organisation.

use domain::TraineeField as F;
use serde_json::json;
use storage::accounts::users::UserRole;
use versions::SERVED;

use super::browser::Browser;
use crate::api::support::{Register, TextChecks as _};

#[test]
fn trainees_are_listed_found_downloaded_and_shown_with_their_history() {
    let register = Register::start();
    let api = register.api(SERVED[SERVED.len() - 1]);
    let created = api.create(
        api.example()
            .with(F::provider_trainee_id, "=26-1")
            .with(F::last_name, "Zqxcanary"),
    );
    api.request("PATCH", &created.path())
        .json(json!({ "data": { "last_name": "Newcanary" } }))
        .send()
        .is(200);
    let editor = Browser::editor(&register);

    let list = editor.open("/settings/trainees").is(200);
    list.shows(&["1 trainee in", "Newcanary", "=26-1", "Submitted for TRN"]);
    assert_eq!(list.header("cache-control"), Some("no-store"));
    let filtered = editor.open("/settings/trainees?has_trn=true").is(200);
    filtered.lacks(&["Newcanary"]);
    editor.open("/settings/trainees?page=x").is(404);
    let file = editor.open("/settings/trainees.csv").is(200);
    assert!(
        file.text.starts_with("provider_trainee_id,trainee_id,")
            && file.text.contains("\n'=26-1,")
            && file.text.contains(",Newcanary,"),
        "{}",
        file.text
    );

    let search = |text: &str| editor.send("/settings/trainees/search", &[("text", text)]);
    search("newcan").is(200).shows(&["=26-1"]);
    search("=26-1").is(200).shows(&["Newcanary"]);
    search("Zqx").is(200).lacks(&["=26-1"]);
    search("").is(422);

    let view = [("trainee_id", created.id())];
    let shown = editor.send("/settings/trainees/view", &view).is(200);
    shown.shows(&[
        "Registers a trainee, by token 1 (Student records system).",
        "Last name: Newcanary, before Zqxcanary",
    ]);
    let log = editor.open("/settings/activity").is(200).text;
    let entry = format!("viewed a trainee: trainee {}", created.id());
    assert!(
        log.matches(&entry).count() == 1 && !log.contains("canary"),
        "{log}"
    );
}

#[test]
fn trainees_of_other_organisations_and_viewers_stay_hidden() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    let created = api.create(api.example().with(F::last_name, "Zqxcanary"));
    let other = Browser::other_admin(&register);
    let view = [("trainee_id", created.id())];
    other.send("/settings/trainees/view", &view).is(404);
    for page in [
        other.open("/settings/trainees").is(200),
        other.open("/settings/trainees.csv").is(200),
        other
            .send("/settings/trainees/search", &[("text", "Zqxcanary")])
            .is(200),
    ] {
        page.lacks(&[created.id()]);
    }
    let log = other.open("/settings/activity").is(200).text;
    log.lacks(&["viewed a trainee"]);
    let viewer = Browser::viewer(&register);
    viewer.open("/settings/trainees").is(403);
    viewer.open("/settings").lacks(&["/settings/trainees"]);
}

#[test]
fn first_pages_show_what_needs_attention() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    api.create(api.example());
    api.send("POST", "/trainees", api.example().without(F::last_name))
        .is(422);
    let check = json!({ "data": { "email": 7 } });
    api.request("POST", "/trainees")
        .header("Prefer", "validate-only")
        .json(check)
        .send()
        .is(422);
    register.write_record();
    let own = Browser::editor(&register).open("/settings").is(200);
    own.shows(&[
        "Upload trainees",
        "1 request was refused since yesterday",
        "1 trainee waits for a TRN",
    ]);
    let operator = Browser::signed_in(&register, None, "p@example.com", UserRole::Operator);
    let state = operator.open("/settings").is(200);
    state.shows(&[
        "/settings/registry\">1<",
        "Requests refused today</dt><dd>1<",
        "Last backup",
        "<progress max=\"100\" value=\"100\">",
    ]);
}
