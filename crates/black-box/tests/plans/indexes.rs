//! No request goes through a table that grows.

use chrono::{DateTime, NaiveDate};
use storage::base::cause::Cause;
use storage::base::token::Environment;
use storage::observations::request_log::{Outcome, PAGE, RequestFilter};
use storage::observations::usage::{CheckCount, ProblemCount, UsageBatch};
use storage::session::Session;
use test_support::Database;

use super::asking::ask_everything;
use super::explaining::{Explainer, GROWING};
use super::hearing::Hearing;
use crate::api::support::Register;
use crate::api::support::register::{OTHER_UKPRN, UKPRN};

/// What is written behind requests: counts of all kinds, and what of them is no longer kept.
fn count_usage(register: &Register) {
    register.write_usage();
    let (day, version, against) = (NaiveDate::default(), String::new(), String::new());
    let check = CheckCount {
        day,
        token_id: 1,
        version,
        against,
        checked: 1,
        valid: 0,
    };
    let CheckCount {
        version, against, ..
    } = check.clone();
    let problem = ProblemCount {
        day,
        token_id: 1,
        version,
        against,
        field: String::new(),
        code: String::new(),
        writes: 1,
    };
    let batch = UsageBatch {
        checks: vec![check],
        problems: vec![problem],
        ..UsageBatch::default()
    };
    register.operate(move |session| session.add_usage(&batch));
    assert_eq!(register.operate(|session| session.remove_old_usage(10)), 1);
}

/// What is written to the log of requests behind them, read from it, and removed again.
fn log_requests(register: &Register) {
    register.write_request_log();
    let own = |session: &mut Session<'_>| {
        let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        let newest = session.requests(&RequestFilter::default(), None)?;
        let older = session.requests(&RequestFilter::default(), newest.next)?;
        let refused = session.refused_most(DateTime::UNIX_EPOCH)?;
        session.own_usage_by_month(NaiveDate::default())?;
        Ok((
            newest.requests.len() + older.requests.len(),
            refused.counted,
        ))
    };
    let (listed, refused) = register.operate(own);
    assert!(listed > PAGE && refused > 0, "{listed} {refused}");
    let newest = register
        .operate(|session| session.newest_surplus_request(1, Outcome::Accepted, 1))
        .unwrap();
    let surplus = register
        .operate(move |session| session.remove_surplus_requests(1, Outcome::Accepted, newest, 10));
    assert_eq!(surplus, 10);
    register.clock.set("2027-01-01T00:00:00Z");
    assert_eq!(
        register.operate(|session| session.remove_old_requests(10)),
        10
    );
}

#[test]
fn every_query_of_every_endpoint_is_served_by_an_index() {
    let hearing = Hearing::begin();
    let register = Register::start();
    let other = register.issue_token(OTHER_UKPRN, Environment::Sandbox, None);
    // What an operator does to begin with is no request.
    hearing.forget();
    ask_everything(&register, &other);
    count_usage(&register);
    log_requests(&register);
    let heard = hearing.heard();
    let queries: Vec<&String> = heard
        .iter()
        .filter(|sent| {
            ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"]
                .iter()
                .any(|verb| sent.starts_with(verb))
        })
        .collect();
    for table in GROWING {
        let named = [format!("`{table}`"), format!("\"{table}\"")];
        assert!(
            queries
                .iter()
                .any(|query| named.iter().any(|name| query.contains(name))),
            "no query reads {table}"
        );
    }
    let mut explainer = Explainer::connect(register.database());
    for query in queries {
        let walks = explainer.walks(query);
        assert!(
            walks.is_empty(),
            "{query}\n{walks:#?}\n{:#?}",
            explainer.plan(query)
        );
    }
}

#[test]
fn a_query_without_an_index_is_found() {
    // What is asked here is not what the other tests listen for.
    let _hearing = Hearing::begin();
    let database = Database::fresh();
    storage::store::Store::open(database.url(), storage::store::StoreOptions::default())
        .unwrap()
        .migrate()
        .unwrap();
    let mut explainer = Explainer::connect(&database);
    for (query, walks) in [
        ("SELECT id FROM trainees WHERE email_folded = 'x'", true),
        ("SELECT count(*) FROM trainees", true),
        ("SELECT id FROM trainees ORDER BY trainee_id LIMIT 1", true),
        (
            "UPDATE changes SET version = NULL WHERE operation = 'x'",
            true,
        ),
        ("DELETE FROM changes", true),
        ("SELECT id FROM trainees WHERE trainee_id = 'x'", false),
        ("SELECT id FROM providers WHERE name = 'x'", false),
    ] {
        assert_eq!(
            !explainer.walks(query).is_empty(),
            walks,
            "{query}: {:#?}",
            explainer.plan(query)
        );
    }
}
