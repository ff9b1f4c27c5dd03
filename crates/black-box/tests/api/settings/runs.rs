//! The page of imports and refusals: runs, their refused records by the provider's own key, the
//! file, and the setting for keys.

use domain::{Trainee, TraineeField as F};
use serde_json::json;
use versions::SERVED;

use super::browser::{Browser, text_after};
use super::requests::links_lead_somewhere;
use crate::api::support::bodies::input;
use crate::api::support::register::TOKEN_NAME;
use crate::api::support::{Api, Page, Register, TextChecks as _, every_version};

/// The addresses of the runs on the page, newest first.
fn run_addresses(page: &Page) -> Vec<String> {
    let links = page.text.split("<a href=\"/settings/requests/").skip(1);
    links
        .map(|rest| &rest[..rest.find('"').unwrap()])
        .filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|id| format!("/settings/requests/{id}"))
        .collect()
}

/// Sends a batch with a trainee twice, and one without a last name. On PostgreSQL the later item of
/// the same trainee can be the one that is registered.
fn send_batch(api: &Api<'_>) {
    let valid = api.example().with(F::provider_trainee_id, "26-000001");
    let again = api.example().with(F::provider_trainee_id, "26-000002");
    let invalid = api
        .example()
        .with(F::provider_trainee_id, "26-000003")
        .without(F::last_name);
    let item = |key: &str, body| json!({ "idempotency_key": key, "data": serde_json::Value::from(body)["data"] });
    let items = json!([item("1", valid), item("2", again), item("3", invalid)]);
    api.request("POST", "/trainees/batch")
        .json(items)
        .send()
        .is(200);
}

#[test]
fn batch_shows_refused_records_by_key_with_sentences() {
    every_version(|api| {
        let register = api.register;
        send_batch(api);
        register.write_record();
        let admin = Browser::admin(register);
        let runs = admin.open("/settings/requests").is(200);
        runs.shows(&[
            "3 records: 1 registered, 1 refused, 1 already registered",
            ">5 Oct, 09:00</time>",
        ]);
        let [address] = run_addresses(&runs).try_into().unwrap();
        let run = admin.open(&address).is(200);
        let rows = text_after(&run.text, "<tbody>", "</tbody>");
        let last_name = input::<Trainee>(api.version, F::last_name);
        rows.shows(&[
            ">26-000003<",
            &format!("<code>{last_name}</code> "),
            "cannot be blank",
            "this trainee is already present",
        ]);
        assert_ne!(
            rows.contains(">26-000001<"),
            rows.contains(">26-000002<"),
            "{rows}"
        );
        assert!(links_lead_somewhere(&admin, &run.text) >= 1);
        let file = admin.open(&format!("{address}/refused.csv")).is(200).text;
        file.shows(&[&format!("26-000003,{last_name},cannot be blank,blank,422,")]);
    });
}

#[test]
fn single_requests_are_one_run_until_a_pause() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    for time in ["09:00", "09:09", "09:30"] {
        register.clock.set(&format!("2026-10-05T{time}:00Z"));
        api.send("POST", "/trainees", api.example().without(F::last_name))
            .is(422);
        register.write_record();
    }
    let runs = Browser::admin(&register).open("/settings/requests").is(200);
    assert_eq!(run_addresses(&runs).len(), 2, "{}", runs.text);
    runs.shows(&["2 records: 2 refused", "1 record: 1 refused"]);
}

#[test]
fn refused_check_is_marked_and_counted_apart() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    let body = || api.example().without(F::last_name);
    register.clock.set("2026-10-05T09:00:00Z");
    api.send("POST", "/trainees", body()).is(422);
    register.clock.set("2026-10-05T09:09:00Z");
    api.request("POST", "/trainees")
        .header("Prefer", "validate-only")
        .json(serde_json::Value::from(body()))
        .send()
        .is(422);
    register.write_record();
    let admin = Browser::admin(&register);
    let runs = admin.open("/settings/requests").is(200);
    runs.shows(&[
        "2 records: 1 refused, 1 refused in a check",
        ">5 Oct, 09:09</time>",
        &format!(">{TOKEN_NAME}<"),
    ]);
    let [address] = run_addresses(&runs).try_into().unwrap();
    let run = admin.open(&address).is(200);
    assert_eq!(run.text.matches("check only").count(), 1, "{}", run.text);
    let file = admin.open(&format!("{address}/refused.csv")).is(200).text;
    let checks: Vec<_> = file
        .lines()
        .filter_map(|line| line.rsplit(',').next())
        .collect();
    assert_eq!(checks, ["is_check", "false", "true"], "{file}");
}

#[test]
fn run_of_another_provider_is_not_found() {
    let register = Register::start();
    send_batch(&register.api(SERVED[0]));
    register.write_record();
    let [address] = run_addresses(&Browser::admin(&register).open("/settings/requests"))
        .try_into()
        .unwrap();
    let other = Browser::other_admin(&register);
    other.open(&address).is(404);
    other.open(&format!("{address}/refused.csv")).is(404);
    assert!(run_addresses(&other.open("/settings/requests").is(200)).is_empty());
}

#[test]
fn switched_off_keys_are_removed_and_items_are_numbered() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    send_batch(&api);
    register.write_record();
    let admin = Browser::admin(&register);
    let [address] = run_addresses(&admin.open("/settings/requests"))
        .try_into()
        .unwrap();
    admin
        .send("/settings/requests/keys", &[("keys", "off")])
        .is(303);
    let run = admin.open(&address).is(200).text;
    run.lacks(&["26-00000"]);
    run.shows(&[">item 3<"]);
    assert_ne!(run.contains(">item 1<"), run.contains(">item 2<"), "{run}");
    let activity = admin.open("/settings/activity").is(200).text;
    activity.shows(&["switched the storage of record keys"]);
    let viewer = Browser::viewer(&register);
    let page = viewer
        .see("/settings/requests", &["does not store the keys"])
        .text;
    page.lacks(&["name=\"keys\""]);
}
