//! Signing in by OpenID Connect while the issuer is away.

use super::support::Workplace;
use super::support::running::Running;
use super::users::{ask, browser, form_token};

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
