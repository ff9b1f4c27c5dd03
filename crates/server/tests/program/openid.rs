//! The options of signing in by OpenID Connect: what contradicts itself does not start, and an
//! issuer may be away.

use super::support::Workplace;
use super::support::running::Running;
use super::users::{ask, browser, form_token};

/// Options that contradict each other, and the reason that is given.
const CONTRADICTORY: &str = "
--oidc-issuer http://id.example --oidc-client-id register | --oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST
--oidc-issuer id.example --oidc-client-id register | --oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST
--oidc-issuer https://me:zqxsecret@id.example --oidc-client-id register | --oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST
--oidc-issuer https://id.example --oidc-client-id register --oidc-client-secret-file empty | the file is empty
--oidc-issuer https://id.example --oidc-client-id register --oidc-client-secret-file absent | --oidc-client-secret-file
--oidc-issuer https://id.example --oidc-client-id register --settings off | which are off
--oidc-issuer http://127.0.0.1:1 --oidc-client-id register --settings on --environment production | must be https://HOST
";
/// Options that need another one.
const INCOMPLETE: &str = "
--oidc-issuer https://id.example | --oidc-client-id
--oidc-client-id register | --oidc-issuer
--oidc-provider-claim ukprn | --oidc-issuer
--oidc-operator-value staff | --oidc-role-claim
";

#[test]
fn contradictory_options_stop_the_start() {
    let place = Workplace::new();
    place.write("empty", " \n");
    for (status, cases) in [(1, CONTRADICTORY), (2, INCOMPLETE)] {
        for case in cases.trim().lines() {
            let (options, expected) = case.split_once(" | ").unwrap();
            let ended = place.run(format!("serve --listen 127.0.0.1:0 {options}"));
            ended.ends(status, &[expected]);
            let said = ended.stderr();
            assert!(ended.stdout().is_empty() && !said.contains("zqx"), "{said}");
            let lines = said.lines();
            let errors = lines.filter(|line| line.starts_with("trainee-register: "));
            assert!(status == 2 || errors.count() == 1, "{said}");
        }
    }
}

#[test]
fn server_without_issuer_logs_failures_without_contents() {
    let place = Workplace::new();
    // No issuer is there.
    let options = "--registry off --oidc-issuer http://127.0.0.1:1 --oidc-client-id register";
    let mut command = Running::command(&place, options);
    command.env("RUST_LOG", "debug");
    let mut server = Running::begin_command(command);
    server.wait_until_it_listens();
    let (browser, base) = (browser(), server.base.clone());
    let url = |path: &str| format!("{base}/settings/sign-in{path}");
    let shown = ask(&browser, &url(""), "", None);
    let is_offered = shown.text.contains("Sign in at 127.0.0.1");
    assert!(shown.status == 200 && is_offered, "{}", shown.text);
    let form = format!("form_token={}", form_token(&shown.text));
    let begun = ask(&browser, &url("/oidc"), &shown.cookie, Some(&form));
    assert_eq!(begun.status, 503);
    let cookie = format!(
        "__Host-register-sign-in={}",
        "zqxC".repeat(11).split_at(43).0
    );
    let answer =
        url("/oidc/callback?state=zqxstate&code=zqxcode&iss=zqxissuer&error_description=zqxname");
    assert_eq!(ask(&browser, &answer, &cookie, None).status, 403);
    let log = server.stop();
    let failed = |line: &&str| line.contains("OpenID Connect sign-in failed");
    let failures: Vec<_> = log.lines().filter(failed).collect();
    let [failure] = failures[..] else {
        panic!("{log}")
    };
    assert!(failure.contains("issuer: 127.0.0.1; "), "{failure}");
    let refused = failure.matches("Connection refused").count();
    assert_eq!(refused, 1, "{failure}");
    assert!(log.contains("callback") && !log.contains("zqx"), "{log}");
}
