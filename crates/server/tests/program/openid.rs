//! The options of signing in by OpenID Connect: what contradicts itself does not start, and an
//! issuer may be away.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use test_support::Process;

use crate::program::support::Workplace;
use crate::program::users::{ask, browser, form_token};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];
/// No issuer is there.
const ISSUER: [&str; 4] = [
    "--oidc-issuer",
    "http://127.0.0.1:1",
    "--oidc-client-id",
    "register",
];

#[test]
fn contradictory_options_stop_the_start_with_a_reason() {
    let place = Workplace::new();
    let empty = place.write("empty", " \n").display().to_string();
    let absent = place.path("absent").display().to_string();
    let of = |issuer| ["--oidc-issuer", issuer, "--oidc-client-id", "register"];
    let file = |path| {
        [
            &of("https://id.example")[..],
            &["--oidc-client-secret-file", path],
        ]
        .concat()
    };
    for (options, expected) in [
        (
            of("http://id.example").to_vec(),
            "--oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST",
        ),
        (
            of("id.example").to_vec(),
            "--oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST",
        ),
        (
            of("https://me:zqxsecret@id.example").to_vec(),
            "--oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST",
        ),
        (file(&empty), "the file is empty"),
        (file(&absent), "--oidc-client-secret-file"),
        (
            [&of("https://id.example")[..], &["--settings", "off"]].concat(),
            "which are off",
        ),
        (
            [
                &ISSUER[..],
                &["--settings", "on", "--environment", "production"],
            ]
            .concat(),
            "must be https://HOST",
        ),
    ] {
        let ended = place.run(&[&SERVE[..], &options].concat(), None);
        assert_eq!(
            (ended.status(), ended.stdout()),
            (1, ""),
            "{options:?}: {}",
            ended.stderr()
        );
        assert!(
            ended.stderr().contains(expected) && !ended.stderr().contains("zqx"),
            "{options:?}: {}",
            ended.stderr()
        );
        let errors = ended
            .stderr()
            .lines()
            .filter(|line| line.starts_with("trainee-register: "));
        assert_eq!(errors.count(), 1, "{options:?}: {}", ended.stderr());
    }
    for (options, expected) in [
        (
            &["--oidc-issuer", "https://id.example"][..],
            "--oidc-client-id",
        ),
        (&["--oidc-client-id", "register"], "--oidc-issuer"),
        (&["--oidc-provider-claim", "ukprn"], "--oidc-issuer"),
        (&["--oidc-operator-value", "staff"], "--oidc-role-claim"),
    ] {
        let ended = place.run(&[&SERVE[..], options].concat(), None);
        assert_eq!(ended.status(), 2, "{options:?}: {}", ended.stderr());
        assert!(
            ended.stderr().contains(expected),
            "{options:?}: {}",
            ended.stderr()
        );
    }
}

#[test]
fn server_starts_without_issuer_and_logs_failures_without_contents() {
    let place = Workplace::new();
    let mut command = place.command(&[&SERVE[..], &ISSUER].concat(), None);
    command
        .env("RUST_LOG", "debug")
        .env("REGISTER_REGISTRY", "off")
        .stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let mut log = BufReader::new(process.stderr())
        .lines()
        .map_while(Result::ok);
    let address = log
        .find_map(|line| Some(line.split_once("listening on http://")?.1.to_owned()))
        .unwrap();
    let (browser, url) = (browser(), |path: &str| {
        format!("http://{address}/settings/sign-in{path}")
    });
    let shown = ask(&browser, &url(""), "", None);
    assert!(
        shown.status == 200 && shown.text.contains("Sign in at 127.0.0.1"),
        "{}",
        shown.text
    );
    let form = format!("form_token={}", form_token(&shown.text));
    assert_eq!(
        ask(&browser, &url("/oidc"), &shown.cookie, Some(&form)).status,
        503
    );
    let cookie = format!(
        "__Host-register-sign-in={}",
        "zqxC".repeat(11).split_at(43).0
    );
    let answer =
        url("/oidc/callback?state=zqxstate&code=zqxcode&iss=zqxissuer&error_description=zqxname");
    assert_eq!(ask(&browser, &answer, &cookie, None).status, 403);
    process.signal("TERM");
    assert!(process.wait().success());
    let rest: Vec<String> = log.collect();
    let failures: Vec<_> = rest
        .iter()
        .filter(|line| line.contains("OpenID Connect sign-in failed"))
        .collect();
    assert_eq!(failures.len(), 1, "{rest:#?}");
    assert!(failures[0].contains("issuer: 127.0.0.1; "), "{failures:?}");
    assert_eq!(
        failures[0].matches("Connection refused").count(),
        1,
        "{failures:?}"
    );
    assert!(
        rest.iter().any(|line| line.contains("callback")),
        "{rest:#?}"
    );
    assert!(rest.iter().all(|line| !line.contains("zqx")), "{rest:#?}");
}
