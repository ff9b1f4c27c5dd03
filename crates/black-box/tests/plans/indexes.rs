//! No request goes through a table that grows.

use chrono::DateTime;
use storage::base::cause::Cause;
use storage::base::token::Environment;
use storage::observations::requests::listing::{PAGE, RequestFilter};
use storage::session::Session;
use test_support::Database;

use super::asking::ask_everything;
use super::explaining::{Explainer, GROWING};
use super::hearing::Hearing;
use crate::api::support::Register;
use crate::api::support::register::{OTHER_UKPRN, UKPRN};

/// What is recorded of requests behind them, read from the record, and removed again.
fn record_requests(register: &Register) {
    register.write_record();
    let own = |session: &mut Session<'_>| {
        let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        let newest = session.requests(&RequestFilter::default(), None)?;
        let older = session.requests(&RequestFilter::default(), newest.next)?;
        let refused = session.refused_most(DateTime::UNIX_EPOCH)?;
        let run = session.runs(None, 1)?.runs.remove(0);
        session.refused_in_run(&run, None, 1)?;
        session.run(run.id)?;
        let today = session.today();
        session.own_totals_since(today, |_| {})?;
        session.own_first_counted_day(today)?;
        Ok((
            newest.requests.len() + older.requests.len(),
            refused.counted,
        ))
    };
    let (listed, refused) = register.operate(own);
    assert!(listed > PAGE && refused > 0, "{listed} {refused}");
    register.clock.set("2028-01-01T00:00:00Z");
    assert_eq!(
        register.operate(|session| session.remove_old_requests(10)),
        10
    );
    assert_eq!(register.operate(|session| session.remove_old_totals(1)), 1);
}

#[test]
fn every_query_of_every_endpoint_is_served_by_an_index() {
    let hearing = Hearing::begin();
    let register = Register::start();
    let other = register.issue_token(OTHER_UKPRN, Environment::Sandbox, None);
    // What an operator does to begin with is no request.
    hearing.forget();
    ask_everything(&register, &other);
    record_requests(&register);
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
