//! The pages of usage and of readiness, and the file.

use domain::{Trainee, TraineeField as F};
use versions::SERVED;

use super::browser::{Browser, text_after};
use super::requests::{links_lead_somewhere, oldest_and_newest};
use crate::api::support::bodies::input;
use crate::api::support::{Register, Setup, TextChecks as _};

/// A field that the oldest version and the newest one call differently.
const RENAMED: F = F::course_subject_1;

#[test]
fn usage_is_shown_as_chart_text_table_and_file() {
    let register = Register::start();
    let viewer = Browser::viewer(&register);
    viewer.see("/settings/usage", &["There are no requests yet"]);
    assert_eq!(
        viewer.open("/settings/usage.csv").is(200).text,
        "month,version,endpoint,requests\n"
    );

    let (oldest, newest) = oldest_and_newest(&register);
    register.clock.set("2026-09-05T09:00:00Z");
    oldest.get("/info").is(200);
    register.clock.set("2026-10-05T09:00:00Z");
    oldest.get("/info").is(200);
    newest.get("/info").is(200);
    newest.get("/trainees?status=gone").is(422);
    register.write_record();

    let (first, last) = (SERVED[0].label, SERVED.last().unwrap().label);
    let page = viewer.open("/settings/usage").is(200).text;
    let chart = text_after(&page, "<svg", "</svg>");
    let description = format!("2026-09: {first} 1. 2026-10: {first} 1, {last} 2.");
    chart.shows(&["role=\"img\"", &description]);
    chart.lacks(&["style", "<script"]);
    let rows = [
        ["2026-09", &first.to_string(), "GET /info", "1"],
        ["2026-10", &first.to_string(), "GET /info", "1"],
        ["2026-10", &last.to_string(), "GET /info", "1"],
        ["2026-10", &last.to_string(), "GET /trainees", "1"],
    ];
    let cells = |[month, version, endpoint, requests]: [&str; 4]| {
        format!(
            "<th scope=\"row\" data-name=\"Month\">{month}</th><td data-name=\"Version\">{version}</td>\
             <td data-name=\"Endpoint\">{endpoint}</td><td data-name=\"Requests\">{requests}</td>"
        )
    };
    for row in rows {
        page.shows(&[&cells(row)]);
    }
    assert_eq!(page.matches("data-name=\"Month\"").count(), rows.len());
    page.shows(&["href=\"/settings/usage.csv\""]);

    let file = viewer.open("/settings/usage.csv").is(200);
    let lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
    assert_eq!(
        file.text,
        format!("month,version,endpoint,requests\n{}\n", lines.join("\n"))
    );
    for (name, value) in [
        ("content-type", "text/csv; charset=utf-8"),
        ("content-disposition", "attachment; filename=\"usage.csv\""),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(file.header(name), Some(value));
    }
}

#[test]
fn readiness_links_blocked_writes_to_their_explanation() {
    let register = Register::with_setup(Setup {
        shadow_share: 100,
        ..Setup::default()
    });
    let viewer = Browser::viewer(&register);
    let (oldest, newest) = oldest_and_newest(&register);
    newest.get("/info").is(200);
    register.write_record();
    viewer.see("/settings/readiness", &["do not need to change anything"]);

    oldest.get("/info").is(200);
    register.write_record();
    let page = viewer.open("/settings/readiness").is(200).text;
    page.shows(&["No writes have been checked yet", "You sent one request"]);

    // One that the newest version accepts, and one with a date that it refuses.
    oldest.create(oldest.example());
    let late = oldest
        .example()
        .with(F::last_name, "Another")
        .with(F::itt_end_date, "2036-07-31");
    let late = oldest.send("POST", "/trainees", late);
    assert_eq!(late.status, 201, "{late:?}");
    register.write_record();
    let page = viewer.open("/settings/readiness").is(200).text;
    let label = SERVED.last().unwrap().label;
    page.shows(&[
        &format!("{label} would accept 50 % of your recent writes"),
        "1 of 2 checked writes",
        "Fewer than 50 writes are too few",
        "Problems in",
        "data-name=\"Problem\"",
    ]);
    assert!(links_lead_somewhere(&viewer, &page) >= 2);
    page.lacks(&["2036-07-31"]);
    // What was sent has other names there.
    let renamed = text_after(&page, "Renamed fields in", "</table>");
    let (before, after) = (
        input::<Trainee>(SERVED[0], RENAMED),
        input::<Trainee>(SERVED.last().unwrap(), RENAMED),
    );
    assert_ne!(before, after);
    renamed.shows(&[
        &format!("<code>{before}</code>"),
        &format!("<code>{after}</code>"),
        ">2</td>",
    ]);
}

#[test]
fn readiness_says_how_the_share_moved_from_week_to_week() {
    let register = Register::with_setup(Setup {
        shadow_share: 100,
        ..Setup::default()
    });
    let (oldest, newest) = (register.api(SERVED[0]), SERVED.last().unwrap().label);
    let late = |name: &str| {
        oldest
            .example()
            .with(F::last_name, name)
            .with(F::itt_end_date, "2036-07-31")
    };
    register.clock.set("2026-10-05T09:00:00Z"); // a Monday
    for (name, body) in [("First", late("First")), ("Second", late("Second"))] {
        assert_eq!(oldest.send("POST", "/trainees", body).status, 201, "{name}");
    }
    register.write_record();
    register.clock.set("2026-10-12T09:00:00Z");
    oldest.create(oldest.example());
    assert_eq!(oldest.send("POST", "/trainees", late("Third")).status, 201);
    register.write_record();
    let page = Browser::viewer(&register)
        .open("/settings/readiness")
        .is(200)
        .text;
    let row = |monday: &str, checked: u8, accepted: u8, percent: u8| {
        format!(
            "<th scope=\"row\" data-name=\"Week starting\">{monday}</th><td data-name=\"Writes checked\">{checked}</td>\
             <td data-name=\"{newest} would accept\"><meter max=\"{checked}\" value=\"{accepted}\" aria-hidden=\"true\"></meter>{accepted} ({percent} %)</td>"
        )
    };
    let rows = [
        row("5 October 2026", 2, 0, 0),
        row("12 October 2026", 2, 1, 50),
    ];
    let at = rows.map(|row| page.find(&row).unwrap_or_else(|| panic!("{row} in {page}")));
    assert!(at.is_sorted());
}

#[test]
fn pages_say_when_nothing_is_logged_or_tried() {
    let words = [
        "has switched off the record of requests",
        "has switched off write checks",
    ];
    let shown = |register: &Register| {
        let viewer = Browser::viewer(register);
        let pages = ["/settings/requests", "/settings/readiness"]
            .map(|path| viewer.open(path).is(200).text);
        [pages[0].contains(words[0]), pages[1].contains(words[1])]
    };
    for (shadow_share, records_requests) in [(10, true), (0, false)] {
        let register = Register::with_setup(Setup {
            shadow_share,
            records_requests,
            ..Setup::default()
        });
        assert_eq!(shown(&register), [!records_requests; 2]);
    }
}

#[test]
fn readiness_names_what_belongs_to_other_versions() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest(&register);
    // The body of the newest version, with names that the oldest does not have.
    oldest.send("POST", "/trainees", newest.example());
    register.write_record();
    let viewer = Browser::viewer(&register);
    let page = viewer.open("/settings/readiness").is(200).text;
    page.shows(&[
        "Field names from other versions in requests",
        "data-name=\"Field name\"",
    ]);
    assert!(links_lead_somewhere(&viewer, &page) >= 2);
}
