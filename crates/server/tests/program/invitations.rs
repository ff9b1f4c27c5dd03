//! The links of `user invite`: where they lead, and what is said about them.

use crate::program::support::Workplace;
use crate::program::support::running::Running;
use crate::program::users::{browser, sign_in};

const OF_PROVIDER: [&str; 2] = ["--provider", "10012345"];

/// The link to the settings of a provider or to the pages of operators, and what was said about it.
fn invite(place: &Workplace, whom: &[&str], options: &[&str]) -> (String, String) {
    let ended = place.run(
        &[
            &["user", "invite", "--email", "a@example.com"],
            whom,
            options,
        ]
        .concat(),
        None,
    );
    assert_eq!(ended.status(), 0, "{}", ended.stderr());
    (
        ended.stdout().trim_end().to_owned(),
        ended.stderr().to_owned(),
    )
}

fn site(link: &str) -> &str {
    link.split_once("/settings/sign-in/").unwrap().0
}

fn serve(place: &Workplace, arguments: &[&str]) -> Running {
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--operator-listen",
        "127.0.0.1:0",
    ];
    let mut server = Running::begin_with(place, &[&serve, arguments].concat());
    server.wait_until_it_listens();
    server
}

fn stop(server: Running) {
    server.signal("TERM");
    assert!(server.wait().success());
}

fn place(environment: &str) -> Workplace {
    let place = Workplace::new();
    for command in [
        &["migrate", "--environment", environment][..],
        &[
            "provider",
            "add",
            "--ukprn",
            "10012345",
            "--name",
            "Ashdown University",
        ],
    ] {
        assert_eq!(place.run(command, None).status(), 0);
    }
    place
}

#[test]
fn links_lead_to_where_the_register_was_last_served() {
    let place = place("sandbox");
    let (link, said) = invite(&place, &OF_PROVIDER, &[]);
    assert_eq!(site(&link), "http://127.0.0.1:8080");
    assert!(
        said.contains("use --settings-url") && !said.contains("production"),
        "{said}"
    );
    let (link, said) = invite(&place, &["--operator"], &[]);
    assert_eq!(site(&link), "http://127.0.0.1:9464");
    assert!(said.contains("use --operator-pages-url"), "{said}");

    // Next to the API, and on the listener for operators.
    let server = serve(&place, &[]);
    for (whom, is_public) in [(&OF_PROVIDER[..], true), (&["--operator"], false)] {
        let (link, said) = invite(&place, whom, &[]);
        assert_eq!(site(&link) == server.base, is_public, "{link}");
        assert_eq!(said.lines().count(), 1, "{said}");
        sign_in(&browser(), &link);
    }
    stop(server);

    // A configured address wins, and that of the command wins over that of the server.
    let server = serve(
        &place,
        &[
            "--settings-url",
            "https://register.example",
            "--operator-pages",
            "settings",
        ],
    );
    assert_eq!(
        site(&invite(&place, &OF_PROVIDER, &[]).0),
        "https://register.example"
    );
    assert!(site(&invite(&place, &["--operator"], &[]).0).starts_with("http://127.0.0.1:"));
    let elsewhere = invite(
        &place,
        &OF_PROVIDER,
        &["--settings-url", "https://other.example"],
    )
    .0;
    assert_eq!(site(&elsewhere), "https://other.example");
    stop(server);

    // Nowhere.
    let server = serve(&place, &["--settings", "off"]);
    for (whom, option) in [
        (&OF_PROVIDER[..], "--settings on"),
        (&["--operator"], "--operator-pages"),
    ] {
        let (_, said) = invite(&place, whom, &[]);
        assert!(
            said.contains("opens only if a server runs with") && said.contains(option),
            "{said}"
        );
    }
    stop(server);
}

#[test]
fn production_link_warns_while_no_server_serves_the_settings() {
    let place = place("production");
    let warning = "the link opens only if a server runs with --settings on (REGISTER_SETTINGS)";
    let options = ["--settings-url", "https://register.example"];
    assert!(invite(&place, &OF_PROVIDER, &options).1.contains(warning));
    for (settings, is_warned) in [("on", false), ("off", true)] {
        let server = serve(&place, &["--settings", settings]);
        let (_, said) = invite(&place, &OF_PROVIDER, &options);
        assert_eq!(said.contains(warning), is_warned, "{said}");
        stop(server);
    }
}
