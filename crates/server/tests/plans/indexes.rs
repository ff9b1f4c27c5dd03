//! No request goes through a table that grows.

use test_support::Database;

use super::asking::ask_everything;
use super::explaining::{Explainer, GROWING};
use super::hearing;
use crate::api::support::Register;

#[test]
fn every_query_of_every_endpoint_is_served_by_an_index() {
    hearing::begin();
    let register = Register::start();
    // What an operator does to begin with is no request.
    hearing::forget();
    ask_everything(&register);
    let heard = hearing::heard();
    let queries: Vec<&String> = heard
        .iter()
        .filter(|sent| ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].iter().any(|verb| sent.starts_with(verb)))
        .collect();
    for table in GROWING {
        let named = [format!("`{table}`"), format!("\"{table}\"")];
        assert!(queries.iter().any(|query| named.iter().any(|name| query.contains(name))), "nobody asked for {table}");
    }
    let mut explainer = Explainer::of(register.database());
    for query in queries {
        let walks = explainer.walks(query);
        assert!(walks.is_empty(), "{query}\n{walks:#?}\n{:#?}", explainer.plan(query));
    }
}

#[test]
fn a_query_without_an_index_is_found() {
    let database = Database::fresh();
    storage::store::Store::open(database.url(), storage::store::StoreOptions::default()).unwrap().migrate().unwrap();
    let mut explainer = Explainer::of(&database);
    for (query, walks) in [
        ("SELECT id FROM trainees WHERE email_folded = 'x'", true),
        ("SELECT count(*) FROM trainees", true),
        ("SELECT id FROM trainees ORDER BY trainee_id LIMIT 1", true),
        ("UPDATE placements SET urn = NULL WHERE name = 'x'", true),
        ("DELETE FROM degrees", true),
        ("SELECT id FROM trainees WHERE trainee_id = 'x'", false),
        ("SELECT id FROM providers WHERE name = 'x'", false),
    ] {
        assert_eq!(!explainer.walks(query).is_empty(), walks, "{query}: {:#?}", explainer.plan(query));
    }
}
