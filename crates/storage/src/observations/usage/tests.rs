//! Tests adding counts, by one server and by several, and removing them.

use super::*;
use crate::testing::{NEW_TOKEN, Register};

fn with_token() -> Register {
    let register = Register::with_provider();
    register.issue_token(NEW_TOKEN).unwrap();
    register
}

/// The UKPRN of another provider.
const OTHER: &str = "10000002";

/// A register with two providers with one token each.
fn with_tokens_of_two() -> Register {
    let register = with_token();
    register
        .write(|session| session.add_provider(OTHER, "Brackwater College"))
        .unwrap();
    register
        .issue_token(crate::accounts::tokens::NewToken {
            provider_ukprn: OTHER,
            ..NEW_TOKEN
        })
        .unwrap();
    register
}

fn at(moment: &str) -> DateTime<Utc> {
    moment.parse().unwrap()
}

fn seen(moment: &str, request_id: &str) -> Seen {
    Seen {
        at: at(moment),
        request_id: request_id.into(),
    }
}

fn count(requests: i64, first: (&str, &str), last: (&str, &str)) -> UsageCount {
    let first = seen(first.0, first.1);
    let last = seen(last.0, last.1);
    let version = "v1".to_owned();
    let endpoint = "GET /info".to_owned();
    UsageCount {
        day: first.at.date_naive(),
        total: UsageTotal {
            token_id: 1,
            version,
            endpoint,
            name: String::new(),
            requests,
            first,
            last,
        },
    }
}

fn count_with_token(token: i64, mut count: UsageCount) -> UsageCount {
    count.total.token_id = token;
    count
}

fn named(name: &str, mut count: UsageCount) -> UsageCount {
    name.clone_into(&mut count.total.name);
    count
}

fn requests(requests: Vec<UsageCount>) -> UsageBatch {
    UsageBatch {
        requests,
        ..UsageBatch::default()
    }
}

fn add(register: &Register, batch: UsageBatch) {
    register
        .write(move |session| session.add_usage(&batch))
        .unwrap();
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn totals(register: &Register, since: &str) -> Vec<UsageTotal> {
    register
        .read(|session| session.usage_since(day(since)))
        .unwrap()
}

#[test]
fn counts_keep_first_and_last_request_in_any_order() {
    let register = with_token();
    let noon = "2026-03-02T12:00:00Z";
    let later = "2026-03-02T12:00:00.001Z";
    let latest = "2026-03-02T12:00:05.5Z";
    add(
        &register,
        requests(vec![count(2, (later, "b"), (later, "b2"))]),
    );
    add(
        &register,
        requests(vec![count(3, (latest, "c"), (latest, "c2"))]),
    );
    add(
        &register,
        requests(vec![count(1, (noon, "a"), (noon, "a"))]),
    );
    let [total] = &totals(&register, "2026-03-02")[..] else {
        panic!("expected one row for the day")
    };
    assert_eq!(
        (total.requests, &total.first, &total.last),
        (6, &seen(noon, "a"), &seen(latest, "c2"))
    );
}

#[test]
fn usage_since_day_adds_up_later_days() {
    let register = with_token();
    let first = "2026-03-01T23:59:59.999Z";
    let second = "2026-03-02T00:00:00Z";
    let named = named("a_name", count(1, (second, "n"), (second, "n")));
    add(
        &register,
        requests(vec![
            named,
            count(1, (first, "a"), (first, "a")),
            count(4, (second, "b"), (second, "c")),
        ]),
    );
    let both = totals(&register, "2026-03-01");
    assert_eq!(
        both.iter()
            .map(|total| (total.name.as_str(), total.requests))
            .collect::<Vec<_>>(),
        [("", 5), ("a_name", 1)]
    );
    assert_eq!(
        (&both[0].first, &both[0].last),
        (&seen(first, "a"), &seen(second, "c"))
    );
    assert_eq!(totals(&register, "2026-03-02")[0].requests, 4);
    assert_eq!(totals(&register, "2026-03-03"), []);
}

#[test]
fn counts_of_unknown_token_are_rejected_as_whole() {
    let register = with_token();
    let noon = ("2026-03-02T12:00:00Z", "a");
    let mut stray = count(1, noon, noon);
    stray.total.token_id = 99;
    let batch = requests(vec![count(1, noon, noon), stray]);
    register
        .write(move |session| session.add_usage(&batch))
        .unwrap_err();
    assert_eq!(totals(&register, "2026-03-01"), []);
}

#[test]
fn checks_and_problems_are_added_by_version_label() {
    let register = with_token();
    let texts = |version: &str, against: &str| (version.to_owned(), against.to_owned());
    let check = |(version, against), checked, valid| CheckCount {
        day: day("2026-03-02"),
        token_id: 1,
        version,
        against,
        checked,
        valid,
    };
    let problem = |field: &str, writes| ProblemCount {
        day: day("2026-03-02"),
        token_id: 1,
        version: "v1".to_owned(),
        against: "v3".to_owned(),
        field: field.to_owned(),
        code: "blank".to_owned(),
        writes,
    };
    let batch = UsageBatch {
        requests: Vec::new(),
        checks: vec![
            check(texts("v1", "v3"), 3, 1),
            check(texts("v1", "v2"), 5, 5),
            check(texts("v2", "v3"), 7, 7),
        ],
        problems: vec![problem("sex", 1), problem("email", 2)],
    };
    add(&register, batch.clone());
    add(&register, batch);
    let since = day("2026-03-02");
    let (checks, problems) = register
        .read(|session| {
            Ok((
                session.checks_since(since, "v1", "v3")?,
                session.problems_since(since, "v1", "v3")?,
            ))
        })
        .unwrap();
    assert_eq!(
        checks,
        [CheckTotal {
            token_id: 1,
            checked: 6,
            valid: 2
        }]
    );
    let problems: Vec<_> = problems
        .iter()
        .map(|total| (total.field.as_str(), total.code.as_str(), total.writes))
        .collect();
    assert_eq!(problems, [("email", "blank", 4), ("sex", "blank", 2)]);
    let later = register
        .read(|session| session.checks_since(day("2026-03-03"), "v1", "v3"))
        .unwrap();
    assert_eq!(later, []);
}

#[test]
fn concurrent_servers_lose_no_counts() {
    const SERVERS: usize = 4;
    const ROUNDS: i64 = 10;
    let register = with_token();
    let noon = ("2026-03-02T12:00:00Z", "a");
    let names: Vec<String> = (0..5).map(|number| format!("name_{number}")).collect();
    std::thread::scope(|scope| {
        for server in 0..SERVERS {
            // Each server adds the same counts in another order.
            let mut counts: Vec<_> = names
                .iter()
                .map(|name| named(name, count(1, noon, noon)))
                .collect();
            counts.rotate_left(server);
            let store = &register.store;
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let batch = requests(counts.clone());
                    store
                        .write_blocking(move |session| session.add_usage(&batch))
                        .unwrap();
                }
            });
        }
    });
    let found = totals(&register, "2026-03-02");
    assert_eq!(found.len(), names.len());
    assert!(
        found
            .iter()
            .all(|total| total.requests == SERVERS as i64 * ROUNDS),
        "{found:?}"
    );
}

#[test]
fn expired_days_are_removed_in_steps() {
    let register = with_token();
    let first = at("2026-03-02T12:00:00Z");
    for days in 0..3 {
        let moment = (first + TimeDelta::days(days)).to_rfc3339();
        let check = CheckCount {
            day: (first + TimeDelta::days(days)).date_naive(),
            token_id: 1,
            version: "v1".to_owned(),
            against: "v2".to_owned(),
            checked: 1,
            valid: 1,
        };
        let counts = vec![count(1, (&moment, "a"), (&moment, "a"))];
        add(
            &register,
            UsageBatch {
                requests: counts,
                checks: vec![check],
                problems: Vec::new(),
            },
        );
    }
    let remove = |most| {
        register
            .write(move |session| session.remove_old_usage(most))
            .unwrap()
    };
    register.clock.advance(TimeDelta::days(KEPT_DAYS));
    assert_eq!(remove(10), 0);
    register.clock.advance(TimeDelta::days(2));
    assert_eq!((remove(1), remove(1), remove(1)), (1, 1, 0));
    let left = totals(&register, "2026-03-01");
    assert_eq!(
        left.iter().map(|total| total.first.at).collect::<Vec<_>>(),
        [first + TimeDelta::days(2)]
    );
    let checks = register
        .read(|session| session.checks_since(day("2026-03-01"), "v1", "v2"))
        .unwrap();
    assert_eq!(
        checks,
        [CheckTotal {
            token_id: 1,
            checked: 1,
            valid: 1
        }]
    );
}

#[test]
fn provider_reads_counts_of_its_own_tokens_only() {
    let register = with_tokens_of_two();
    register.issue_token(NEW_TOKEN).unwrap();
    let early = "2025-06-01T12:00:00Z";
    let late = "2026-03-02T12:00:00Z";
    let check = |token_id, checked| CheckCount {
        day: day("2026-03-02"),
        token_id,
        version: "v1".to_owned(),
        against: "v3".to_owned(),
        checked,
        valid: 1,
    };
    let problem = |token_id, writes| ProblemCount {
        day: day("2026-03-02"),
        token_id,
        version: "v1".to_owned(),
        against: "v3".to_owned(),
        field: "sex".to_owned(),
        code: "blank".to_owned(),
        writes,
    };
    let requests = [(1, 1), (2, 20), (3, 300)]
        .into_iter()
        .flat_map(|(token, requests)| {
            [early, late]
                .map(|at| count_with_token(token, count(requests, (at, "first"), (at, "last"))))
        });
    let batch = UsageBatch {
        requests: requests.collect(),
        checks: vec![check(1, 2), check(2, 30), check(3, 400)],
        problems: vec![problem(1, 1), problem(2, 1), problem(3, 1)],
    };
    add(&register, batch);
    for (ukprn, tokens) in [(crate::testing::UKPRN, vec![1, 3]), (OTHER, vec![2])] {
        for since in ["2025-01-27", "2025-06-02"].map(day) {
            let (own, all) = register
                .read(|session| {
                    let mut provider = session
                        .open_provider(ukprn, crate::base::cause::Cause::new("test"))?
                        .unwrap();
                    let own = (
                        provider.own_usage_since(since)?,
                        provider.own_checks_since(since, "v1", "v3")?,
                        provider.own_problems_since(since, "v1", "v3")?,
                    );
                    let listed: Vec<i64> = provider
                        .own_tokens()?
                        .iter()
                        .map(|token| token.id)
                        .collect();
                    assert_eq!(listed, tokens);
                    let all = (
                        session.usage_since(since)?,
                        session.checks_since(since, "v1", "v3")?,
                        session.problems_since(since, "v1", "v3")?,
                    );
                    Ok((own, all))
                })
                .unwrap();
            let (mut usage, mut checks, mut problems) = all;
            usage.retain(|total| tokens.contains(&total.token_id));
            checks.retain(|total| tokens.contains(&total.token_id));
            problems.retain(|total| tokens.contains(&total.token_id));
            assert!(
                usage.len() == tokens.len()
                    && checks.len() == tokens.len()
                    && problems.len() == tokens.len()
            );
            assert_eq!(own, (usage, checks, problems), "{ukprn} since {since}");
        }
    }
}

#[test]
fn first_day_and_last_use_cover_selected_tokens() {
    let register = with_tokens_of_two();
    let of = |token_id, version: &str, at: &str, id: &str| {
        let mut count = count_with_token(token_id, count(1, (at, id), (at, id)));
        version.clone_into(&mut count.total.version);
        count
    };
    let counts = vec![
        of(1, "v1", "2025-03-02T10:00:00Z", "a"),
        of(1, "v2", "2025-03-05T10:00:00Z", "b"),
        of(2, "v1", "2025-03-04T09:00:00Z", "c"),
        of(1, "v1", "2025-03-04T08:00:00Z", "d"),
    ];
    add(&register, requests(counts));
    let found = |since: &str, version: &str, tokens: Option<&'static [i64]>| {
        let since = day(since);
        let version = version.to_owned();
        register
            .read(move |session| {
                let first = session.first_counted_day(since, tokens)?;
                let last = session.last_use(since, &version, tokens)?;
                Ok((
                    first.map(|day| day.to_string()),
                    last.map(|(token, seen)| (token, seen.request_id)),
                ))
            })
            .unwrap()
    };
    let expected =
        |first: &str, token, id: &str| (Some(first.to_owned()), Some((token, id.into())));
    assert_eq!(
        found("2025-01-01", "v1", None),
        expected("2025-03-02", 2, "c")
    );
    assert_eq!(
        found("2025-03-03", "v1", Some(&[1])),
        expected("2025-03-04", 1, "d")
    );
    assert_eq!(
        found("2025-01-01", "v2", Some(&[2])),
        (Some("2025-03-04".to_owned()), None)
    );
    assert_eq!(found("2025-03-06", "v1", None), (None, None));
}
