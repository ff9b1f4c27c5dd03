//! The page of versions, as operators get it.

use domain::TraineeField as F;
use versions::SERVED;

use super::browser::{Browser, text_after};
use super::requests::links_lead_somewhere;
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Register, Setup, TextChecks as _};

/// What the table says in the row of a version, in the column "Removable".
fn verdict(page: &str, label: &str) -> String {
    let row = page.split("<tr>").find(|row| {
        row.contains(&format!(">{label}</")) && row.contains("data-name=\"Removable\"")
    });
    text_after(row.unwrap(), "data-name=\"Removable\">", "<").to_owned()
}

#[test]
fn furthest_organisation_comes_first_with_its_remaining_obstacles() {
    let register = Register::with_setup(Setup {
        shadow_share: 100,
        ..Setup::default()
    });
    let oldest = SERVED[0];
    // The first organisation is behind by its number, and further than the other one.
    let (behind, ahead) = (register.api(oldest), register.other_provider(oldest));
    ahead.create(ahead.example());
    let late = behind.example().with(F::itt_end_date, "2036-07-31");
    assert_eq!(behind.send("POST", "/trainees", late).status, 201);
    register.write_record();
    let operator = Browser::operator(&register);
    let page = operator.open("/settings/versions").is(200).text;
    let section = text_after(&page, &format!("<h2 id=\"{}\">", oldest.label), "</table>");
    let at = |text: &str| {
        section
            .find(text)
            .unwrap_or_else(|| panic!("{text} in {section}"))
    };
    assert!(at(&format!("({OTHER_UKPRN})")) < at(&format!("({UKPRN})")));
    assert!(at("100 % of 1 (too few") < at(">0 % of 1 (too few"));
    section.shows(&["<code>itt_end_date</code>", "in one write"]);
    page.lacks(&["2036-07-31"]);
    assert_eq!(verdict(&page, &oldest.label.to_string()), "no, in use");
    assert_eq!(
        verdict(&page, &SERVED.last().unwrap().label.to_string()),
        "no, newest version"
    );
    assert!(links_lead_somewhere(&operator, &page) >= 1);
}

#[test]
fn unused_version_is_removable_once_counts_go_back_far_enough() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    let (oldest, newest) = (SERVED[0].label.to_string(), SERVED.last().unwrap());
    let shown = || verdict(&operator.open("/settings/versions").is(200).text, &oldest);
    assert_eq!(shown(), "unknown, not enough data yet");
    register.api(newest).get("/info").is(200);
    register.write_record();
    assert_eq!(shown(), "unknown, not enough data yet");
    register.clock.set("2026-11-02T09:00:00Z");
    let later = Browser::operator(&register);
    assert_eq!(
        verdict(&later.open("/settings/versions").is(200).text, &oldest),
        "unknown, not enough data yet"
    );
    register.clock.set("2026-11-03T09:00:00Z");
    let later = Browser::operator(&register);
    assert_eq!(
        verdict(&later.open("/settings/versions").is(200).text, &oldest),
        "yes, not used"
    );
}
