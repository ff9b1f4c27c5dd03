//! The links of `user invite`: where they lead, and what is said about them.

use super::support::Workplace;
use super::support::running::{FOR_OPERATORS, Running};
use super::users::{browser, sign_in};

const OF_PROVIDER: &str = "--provider 10012345";

/// The link to the settings of a provider or to the pages of operators, and what was said about it.
fn invite(place: &Workplace, options: &str) -> (String, String) {
    let ended = place.run(format!("user invite --email a@example.com {options}"));
    let said = ended.stderr().to_owned();
    (ended.done(), said)
}

/// Requires that the link to the settings or to the pages of operators begins with this.
#[track_caller]
fn leads_to(place: &Workplace, options: &str, site: &str) -> String {
    let (link, said) = invite(place, options);
    assert!(
        link.starts_with(&format!("{site}/settings/sign-in/")),
        "{link}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    link
}

fn serve(place: &Workplace, options: &str) -> Running {
    let options = format!("{FOR_OPERATORS} {options}");
    let mut server = Running::begin_command(Running::command(place, &options));
    server.wait_until_it_listens();
    server
}

fn place(environment: &str) -> Workplace {
    let place = Workplace::new();
    place.done(format!("migrate --environment {environment}"));
    place.done("provider add --ukprn 10012345 --name Ashdown");
    place
}

#[test]
fn links_lead_to_last_served_address() {
    let place = place("sandbox");
    for (whom, site, option) in [
        (OF_PROVIDER, "http://127.0.0.1:8080", "use --settings-url"),
        (
            "--operator",
            "http://127.0.0.1:9464",
            "use --operator-pages-url",
        ),
    ] {
        let (link, said) = invite(&place, whom);
        assert!(link.starts_with(site), "{link}");
        assert!(
            said.contains(option) && !said.contains("production"),
            "{said}"
        );
    }

    // Next to the API, and on the listener for operators.
    let server = serve(&place, "");
    for (whom, site) in [
        (OF_PROVIDER, &server.base),
        ("--operator", &server.operators),
    ] {
        sign_in(&browser(), &leads_to(&place, whom, site));
    }
    server.stop();

    // A configured address wins, and that of the command wins over that of the server.
    let server = serve(
        &place,
        "--settings-url https://register.example --operator-pages settings",
    );
    leads_to(&place, OF_PROVIDER, "https://register.example");
    let (link, _) = invite(&place, "--operator");
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
    let elsewhere = format!("{OF_PROVIDER} --settings-url https://other.example");
    leads_to(&place, &elsewhere, "https://other.example");
    server.stop();

    // Nowhere.
    let server = serve(&place, "--settings off");
    for (whom, option) in [
        (OF_PROVIDER, "--settings on"),
        ("--operator", "--operator-pages"),
    ] {
        let (_, said) = invite(&place, whom);
        let is_warned = said.contains("opens only if a server runs with");
        assert!(is_warned && said.contains(option), "{said}");
    }
    server.stop();
}

#[test]
fn production_link_warns_while_settings_are_off() {
    let place = place("production");
    let warning = "the link opens only if a server runs with --settings on (REGISTER_SETTINGS)";
    let options = format!("{OF_PROVIDER} --settings-url https://register.example");
    assert!(invite(&place, &options).1.contains(warning));
    for (settings, is_warned) in [("on", false), ("off", true)] {
        let server = serve(&place, &format!("--settings {settings}"));
        let (_, said) = invite(&place, &options);
        assert_eq!(said.contains(warning), is_warned, "{said}");
        server.stop();
    }
}
