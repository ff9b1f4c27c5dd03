//! Calculates the readiness of a version from the totals of requests.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use adapter_kit::body_kind::Direction;
use adapter_kit::{Label, Served};
use chrono::NaiveDate;
use domain::{Code, Lists};
use storage::observations::totals::Seen;
use version_tools::Difference;
use version_tools::difference::{ChangeDetail, FieldChangeKind, RuleChangeKind, RuleSummary};
use version_tools::shadow::RENAMED;

use super::{
    EndpointUse, FEW, LastUse, NameUse, NewerUse, Obstacle, ProviderUse, ReadinessWeek,
    RenamedField, TokenUse, VersionReadiness, Writes,
};
use crate::counts::{CheckKey, Checked, Counts, Usage, UsageKey};

/// Data read from the store.
pub(super) struct Known {
    pub(super) counts: Counts,
    /// The first day with a kept count.
    pub(super) counted_since: Option<NaiveDate>,
    /// The days of the report.
    pub(super) days: RangeInclusive<NaiveDate>,
}

/// UsageEntry requests.
type UsageEntry<'a> = (&'a UsageKey, &'a Usage);
/// The number of checked writes with a problem, with the code and the field.
type Problem<'a> = (&'a str, &'a str, i64);

impl Known {
    /// The last request to a version, by the number of its token.
    pub(super) fn last_use(&self, token: i64, seen: Seen) -> Option<LastUse> {
        let provider = self.provider_of(token)?.to_owned();
        Some(LastUse { provider, seen })
    }

    /// Calculates the use of a version, without the last use before the days of the report.
    pub(super) fn readiness(&self, served: &Served, newest: &Served) -> VersionReadiness {
        let label = served.version.label.to_string();
        let rules = NewRules::between(served, newest);
        let mut by_provider: BTreeMap<&str, Vec<UsageEntry<'_>>> = BTreeMap::new();
        for counted in self
            .counts
            .usage
            .iter()
            .filter(|(key, _)| key.version == label)
        {
            if let Some(ukprn) = self.provider_of(counted.0.token) {
                by_provider.entry(ukprn).or_default().push(counted);
            }
        }
        let providers = by_provider.into_iter().filter_map(|(ukprn, counted)| {
            self.provider_use(ukprn, &counted, served, newest, &rules)
        });
        let is_asked = |key: &CheckKey| is_check(key, served, newest);
        let mut weeks: BTreeMap<NaiveDate, Checked> = BTreeMap::new();
        for ((key, monday), checked) in &self.counts.weeks {
            if is_asked(key) {
                *weeks.entry(*monday).or_default() += *checked;
            }
        }
        let week = |(monday, checked)| ReadinessWeek {
            monday,
            writes: Writes::from_checks([checked]),
        };
        let checks = self.counts.checks.iter().filter(|(key, _)| is_asked(key));
        VersionReadiness {
            version: served.version.label,
            newest: newest.version.label,
            since: *self.days.start(),
            until: *self.days.end(),
            counted_since: self.counted_since,
            last_use: None,
            writes: Writes::from_checks(checks.map(|(_, checked)| *checked)),
            weeks: weeks.into_iter().map(week).collect(),
            provider: None,
            providers: providers.collect(),
        }
    }

    /// The UKPRN of the provider of a token.
    fn provider_of(&self, token: i64) -> Option<&str> {
        let token = self.counts.tokens.get(&token)?;
        Some(&token.provider_ukprn)
    }

    /// Calculates the use of a version by one provider. `counted` are its requests to the version.
    /// Returns `None` if there are none.
    fn provider_use(
        &self,
        ukprn: &str,
        counted: &[UsageEntry<'_>],
        served: &Served,
        newest: &Served,
        rules: &NewRules,
    ) -> Option<ProviderUse> {
        let whole: Vec<UsageEntry<'_>> = counted
            .iter()
            .filter(|(key, _)| key.name.is_none())
            .copied()
            .collect();
        let tokens = self.token_uses(&whole);
        let last = tokens.iter().map(|token| &token.last).max()?.clone();
        let mut all_tokens = self.counts.tokens.values();
        let name = all_tokens.find(|token| token.provider_ukprn == ukprn)?;
        let names = counted
            .iter()
            .filter_map(|(key, usage)| Some((key.name.clone()?, usage.requests)));
        let is_asked = |key: &CheckKey| {
            is_check(key, served, newest) && self.provider_of(key.token) == Some(ukprn)
        };
        let checks = self.counts.checks.iter().filter(|(key, _)| is_asked(key));
        let problems: Vec<Problem<'_>> = self
            .counts
            .problems
            .iter()
            .filter(|((key, ..), _)| is_asked(key))
            .map(|((_, code, field), writes)| (code.as_str(), field.as_str(), *writes))
            .collect();
        Some(ProviderUse {
            provider: ukprn.to_owned(),
            name: name.provider_name.clone(),
            requests: whole.iter().map(|(_, usage)| usage.requests).sum(),
            last,
            tokens,
            endpoints: endpoint_uses(&whole, served, newest),
            names: sums(names)
                .map(|(name, requests)| NameUse { name, requests })
                .collect(),
            writes: Writes::from_checks(checks.map(|(_, checked)| *checked)),
            problems: obstacles(&problems, rules),
            renamed: renamed_fields(&problems, rules),
            newer: self.newer_uses(ukprn, served.version.label),
        })
    }

    /// The requests of each token.
    fn token_uses(&self, whole: &[UsageEntry<'_>]) -> Vec<TokenUse> {
        let mut uses: BTreeMap<i64, TokenUse> = BTreeMap::new();
        for (key, usage) in whole {
            let Some(token) = self.counts.tokens.get(&key.token) else {
                continue;
            };
            let known = uses.entry(token.id).or_insert_with(|| TokenUse {
                token: token.id,
                name: token.name.clone(),
                requests: 0,
                last: usage.last.clone(),
            });
            known.requests += usage.requests;
            known.last = known.last.clone().max(usage.last.clone());
        }
        uses.into_values().collect()
    }

    /// The requests of a provider to each version after `label`.
    fn newer_uses(&self, ukprn: &str, label: Label) -> Vec<NewerUse> {
        let own =
            self.counts.usage.iter().filter(|(key, _)| {
                key.name.is_none() && self.provider_of(key.token) == Some(ukprn)
            });
        let labelled = own
            .filter_map(|(key, usage)| Some((key.version.parse::<Label>().ok()?, usage.requests)));
        sums(labelled.filter(|(version, _)| *version > label))
            .map(|(version, requests)| NewerUse { version, requests })
            .collect()
    }
}

/// Whether writes of the version were checked against the newest one.
fn is_check(key: &CheckKey, served: &Served, newest: &Served) -> bool {
    key.version == *served.label && key.against == *newest.label
}

impl Writes {
    /// Sums the results of checks.
    fn from_checks(checks: impl IntoIterator<Item = Checked>) -> Self {
        let mut sum = Checked::default();
        checks.into_iter().for_each(|checks| sum += checks);
        let Checked { checked, valid } = sum;
        // One decimal place is precise enough, and numbers of writes fit a float exactly.
        let percent =
            (checked > 0).then(|| (valid as f64 * 1_000.0 / checked as f64).round() / 10.0);
        Self {
            checked,
            valid,
            percent,
            few: checked < FEW,
        }
    }
}

/// Endpoints that are deprecated in the version or the newest one, or missing in the newest one.
fn endpoint_uses(whole: &[UsageEntry<'_>], served: &Served, newest: &Served) -> Vec<EndpointUse> {
    let requests = sums(
        whole
            .iter()
            .map(|(key, usage)| (&key.endpoint, usage.requests)),
    );
    let ending = requests.filter_map(|(endpoint, requests)| {
        let known = served
            .version
            .endpoints
            .all()
            .find(|known| served.version.row(*known).name() == *endpoint)?;
        // Deprecation in the newest version counts also if the older version does not announce it.
        let deprecation_in = |served: &Served| served.version.endpoints.deprecation(known);
        let deprecation = deprecation_in(served).or_else(|| deprecation_in(newest));
        let stays = newest.version.endpoints.has(known);
        (deprecation.is_some() || !stays).then(|| EndpointUse {
            endpoint: endpoint.clone(),
            replaced_by: newest
                .version
                .endpoints
                .replacement(known)
                .map(|other| newest.version.row(other).name()),
            removed_in: deprecation.map(|gone| gone.removed_in),
            requests,
        })
    });
    ending.collect()
}

/// The reasons why the newest version would reject writes, most frequent first.
fn obstacles(problems: &[Problem<'_>], rules: &NewRules) -> Vec<Obstacle> {
    let problems = problems.iter().filter(|(code, ..)| *code != RENAMED);
    let sums = sums(problems.map(|(code, field, writes)| ((*field, *code), *writes)));
    let obstacle = |((field, code), writes): ((&str, &str), i64)| Obstacle {
        field: field.to_owned(),
        code: code.to_owned(),
        meaning: meaning(code),
        rules: rules.about(field),
        writes,
    };
    let mut obstacles: Vec<Obstacle> = sums.map(obstacle).collect();
    obstacles.sort_by_key(|obstacle| std::cmp::Reverse(obstacle.writes));
    obstacles
}

/// The sent fields that have another name in the newest version, most frequent first.
fn renamed_fields(problems: &[Problem<'_>], rules: &NewRules) -> Vec<RenamedField> {
    let renamed = problems.iter().filter(|(code, ..)| *code == RENAMED);
    let field = |(before, writes): (&str, i64)| {
        // The field may have the name of its list before it.
        let name = before.rsplit('.').next().unwrap_or(before);
        RenamedField {
            before: before.to_owned(),
            after: rules.new_name(name),
            writes,
        }
    };
    let sums = sums(renamed.map(|(_, field, writes)| (*field, *writes)));
    let mut fields: Vec<RenamedField> = sums.map(field).collect();
    fields.sort_by_key(|field| std::cmp::Reverse(field.writes));
    fields
}

/// The meaning of a problem's code. The only code that is not in the list is that for a value which
/// the newest version cannot represent.
fn meaning(code: &str) -> &'static str {
    let known = Code::ALL.iter().find(|known| known.name() == code);
    known.map_or("The newest version cannot hold the value.", |known| {
        known.meaning()
    })
}

/// The rules of the newest version that are new compared with a version, and the names of fields
/// that changed.
struct NewRules {
    rules: Vec<RuleSummary>,
    /// Names of fields in requests: old name to new name.
    names: BTreeMap<&'static str, &'static str>,
}

impl NewRules {
    /// The differences between a version and the newest one.
    fn between(served: &Served, newest: &Served) -> Self {
        let mut rules = Vec::new();
        let mut names = BTreeMap::new();
        for change in Difference::between(served, newest, Lists::embedded()).changes {
            match change.detail {
                ChangeDetail::Rule(rule) => match rule.kind {
                    RuleChangeKind::Added { after } | RuleChangeKind::Replaced { after, .. } => {
                        rules.push(after);
                    }
                    RuleChangeKind::Dropped { .. } => {}
                },
                ChangeDetail::Field(field) => {
                    if let FieldChangeKind::Renamed { before, after } = field.kind
                        && field.is_in(Direction::Request)
                    {
                        names.insert(before, after);
                    }
                }
                ChangeDetail::ReadOnlyNames(_)
                | ChangeDetail::Endpoint(_)
                | ChangeDetail::Codes(_)
                | ChangeDetail::ExceptionYears(_)
                | ChangeDetail::Vocabulary(_)
                | ChangeDetail::NestedErrors(_)
                | ChangeDetail::NestedInLists(_)
                | ChangeDetail::Wire(_) => {}
            }
        }
        Self { rules, names }
    }

    /// The name of a field in the newest version, or `None` if it did not change.
    fn new_name(&self, before: &str) -> Option<&'static str> {
        self.names.get(before).copied()
    }

    /// The rules for a field. The field may have the name of its list before it.
    fn about(&self, field: &str) -> Vec<&'static str> {
        let name = field.rsplit('.').next().unwrap_or(field);
        self.rules
            .iter()
            .filter(|rule| rule.reads.first() == Some(&name))
            .map(|rule| rule.description)
            .collect()
    }
}

/// Sums the counts of equal keys, in the order of the keys.
fn sums<K: Ord>(counts: impl Iterator<Item = (K, i64)>) -> impl Iterator<Item = (K, i64)> {
    let mut sums: BTreeMap<K, i64> = BTreeMap::new();
    counts.for_each(|(key, count)| *sums.entry(key).or_default() += count);
    sums.into_iter()
}
