//! Queries of lists. A list that was understood is within its bounds, and is understood again when
//! it is asked for in the plainest words. A query that was not understood is told why, by
//! parameter, and at no length.

use std::collections::BTreeMap;

use adapter_kit::Endpoint;
use chrono::{Datelike as _, NaiveDate, SecondsFormat, SubsecRound as _};
use domain::listing::{Listing, MAX_PER_PAGE, Order, known_cycles};
use gateway::request::query::{self, FilterErrors};
use serde::Deserialize;

/// The day of the requests.
const TODAY: NaiveDate = adapter_kit::date(2026, 10, 5);
/// The longest text about one parameter, in characters: what is repeated of the client's is cut.
const LONGEST_ERROR: usize = 300;

fn newest() -> &'static adapter_kit::ApiVersion {
    versions::all()
        .newest()
        .expect("there is a version")
        .version
}

#[derive(Deserialize)]
struct Reported {
    message: String,
    errors: BTreeMap<String, Vec<String>>,
}

pub(crate) fn holds(query: &str) {
    let known = Endpoint::ListTrainees.row().query_parameters;
    match query::listing(query, &[], newest(), TODAY) {
        Ok(asked) => understood(&asked.listing),
        Err(errors) => refused(query, &errors, |name| known.contains(&name)),
    }
    let unknown = query::unknown(query, known);
    if let Err(errors) = query::require_known(&unknown) {
        refused(query, &errors, |name| !known.contains(&name));
    }
    for text in unknown.iter().filter_map(query::UnknownParameter::warning) {
        assert!(
            text.len() <= LONGEST_ERROR && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
            "{text}"
        );
    }
}

fn understood(list: &Listing) {
    assert!(known_cycles(TODAY).contains(&list.cycle), "{list:?}");
    assert!(
        list.page >= 1 && (1..=MAX_PER_PAGE).contains(&list.per_page),
        "{list:?}"
    );
    assert!(list.offset() >= 0, "{list:?}");
    let mut plain = format!(
        "academic_cycle={}&sort_order={}&page={}&per_page={}",
        list.cycle,
        match list.order {
            Order::NewestFirst => "desc",
            Order::OldestFirst => "asc",
        },
        list.page,
        list.per_page
    );
    if let Some(status) = list.status {
        plain += &format!("&status={}", status.name());
    }
    if let Some(has_trn) = list.has_trn {
        plain += &format!("&has_trn={has_trn}");
    }
    if let Some(since) = list.since {
        assert!(
            (0..=9999).contains(&since.year()) && since.trunc_subsecs(3) == since,
            "{list:?}"
        );
        plain += &format!(
            "&since={}",
            since.to_rfc3339_opts(SecondsFormat::Millis, true)
        );
    }
    let again = query::listing(&plain, &[], newest(), TODAY)
        .map(|asked| (asked.listing, asked.per_page_cut));
    assert_eq!(again, Ok((list.clone(), false)), "{plain}");
}

fn refused(query: &str, errors: &FilterErrors, can_be_wrong: impl Fn(&str) -> bool) {
    let told = serde_json::to_string(&errors.clone().into_errors()).expect("errors can be written");
    let told: Reported = serde_json::from_str(&told).expect("errors are JSON");
    let count: usize = told.errors.values().map(Vec::len).sum();
    assert!(
        told.message.starts_with(&format!("{count} ")),
        "{}",
        told.message
    );
    assert!(count > 0, "refused for nothing: {query}");
    for (name, texts) in &told.errors {
        assert!(can_be_wrong(name), "{name}");
        for text in texts {
            assert!(
                text.starts_with(name) && text.chars().count() <= LONGEST_ERROR,
                "{text}"
            );
        }
    }
}
