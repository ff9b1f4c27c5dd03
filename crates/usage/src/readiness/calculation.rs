//! Calculates the readiness of a version from stored counts.

use std::collections::BTreeMap;

use adapter_kit::body_kind::Direction;
use adapter_kit::{Label, Served};
use chrono::NaiveDate;
use domain::{Code, Lists};
use storage::accounts::tokens::TokenRecord;
use storage::error::StorageError;
use storage::observations::usage::{CheckTotal, ProblemTotal, UsageTotal};
use storage::session::Session;
use version_tools::Difference;
use version_tools::difference::{ChangeDetail, FieldChangeKind, RuleChangeKind, RuleSummary};
use version_tools::shadow::RENAMED;

use super::super::report::tokens;
use super::{
    EndpointUse, FEW, LastUse, NameUse, NewerUse, Obstacle, ProviderUse, ReadinessWeek,
    RenamedField, TokenUse, VersionReadiness, Writes, first_kept,
};
use crate::counts::NO_NAME;

/// Data read from the store.
pub(super) struct Known {
    /// The UKPRN of the only provider in the report, or `None` for all providers.
    pub(super) provider: Option<String>,
    /// The tokens of the report, by number.
    pub(super) tokens: BTreeMap<i64, TokenRecord>,
    /// The requests on the days of the report.
    pub(super) recent: Vec<UsageTotal>,
    /// The first day with a kept count.
    pub(super) counted_since: Option<NaiveDate>,
    /// The results of checks of the version against the newest version.
    pub(super) checks: Vec<CheckTotal>,
    pub(super) problems: Vec<ProblemTotal>,
}

impl Known {
    /// Loads the counts of all tokens, or of a provider's tokens, without the results of checks.
    pub(super) fn load(
        session: &mut Session<'_>,
        since: NaiveDate,
        provider: Option<&str>,
    ) -> Result<Self, StorageError> {
        let mut known = Self {
            provider: provider.map(str::to_owned),
            tokens: tokens(session, provider)?,
            recent: session.usage_since(since)?,
            counted_since: None,
            checks: Vec::new(),
            problems: Vec::new(),
        };
        let first = first_kept(session.today());
        known.counted_since = session.first_counted_day(first, known.chosen_tokens().as_deref())?;
        Ok(known)
    }

    /// Loads the results of checks of a version, and calculates its report.
    pub(super) fn look_into(
        &mut self,
        session: &mut Session<'_>,
        served: &Served,
        newest: &Served,
        since: NaiveDate,
        until: NaiveDate,
    ) -> Result<VersionReadiness, StorageError> {
        let label = served.version.label.to_string();
        let against = newest.version.label.to_string();
        self.checks = session.checks_since(since, &label, &against)?;
        self.problems = session.problems_since(since, &label, &against)?;
        let weeks = ReadinessWeek::load_for_tokens(session, &label, &against, |token| {
            self.tokens.contains_key(&token)
        })?;
        let last = session.last_use(first_kept(until), &label, self.chosen_tokens().as_deref())?;
        let last_use = last.and_then(|(token, seen)| {
            Some(LastUse {
                provider: self.tokens.get(&token)?.provider_ukprn.clone(),
                seen,
            })
        });
        let provider = self.provider.clone();
        Ok(VersionReadiness {
            weeks,
            provider,
            last_use,
            ..self.readiness(served, newest, since, until)
        })
    }

    /// The numbers of the tokens in the report, or `None` for all tokens.
    fn chosen_tokens(&self) -> Option<Vec<i64>> {
        self.provider
            .as_ref()
            .map(|_| self.tokens.keys().copied().collect())
    }

    /// Calculates the use of a version from `since` to `until`, without the weeks and the last use.
    pub(super) fn readiness(
        &self,
        served: &Served,
        newest: &Served,
        since: NaiveDate,
        until: NaiveDate,
    ) -> VersionReadiness {
        let label = served.version.label.to_string();
        let rules = NewRules::between(served, newest);
        let mut by_provider: BTreeMap<&str, Vec<&UsageTotal>> = BTreeMap::new();
        for (total, token) in self.version_totals(&label) {
            by_provider
                .entry(&token.provider_ukprn)
                .or_default()
                .push(total);
        }
        let providers: Vec<ProviderUse> = by_provider
            .into_iter()
            .filter_map(|(ukprn, totals)| self.provider_use(ukprn, &totals, served, newest, &rules))
            .collect();
        VersionReadiness {
            version: served.version.label,
            newest: newest.version.label,
            since,
            until,
            counted_since: self.counted_since,
            last_use: None,
            writes: Writes::from_checks(
                self.checks
                    .iter()
                    .filter(|check| self.tokens.contains_key(&check.token_id)),
            ),
            weeks: Vec::new(),
            provider: None,
            providers,
        }
    }

    /// The requests to a version with the tokens of the report, each with its token.
    fn version_totals<'a>(
        &'a self,
        label: &'a str,
    ) -> impl Iterator<Item = (&'a UsageTotal, &'a TokenRecord)> {
        let matching = self
            .recent
            .iter()
            .filter(move |total| total.version == label);
        matching.filter_map(|total| Some((total, self.tokens.get(&total.token_id)?)))
    }

    /// Calculates the use of a version by one provider. `totals` are its counts for the version.
    /// Returns `None` if they contain no request.
    fn provider_use(
        &self,
        ukprn: &str,
        totals: &[&UsageTotal],
        served: &Served,
        newest: &Served,
        rules: &NewRules,
    ) -> Option<ProviderUse> {
        // Counts of whole requests; the other counts are for names of other versions.
        let whole: Vec<&UsageTotal> = totals
            .iter()
            .copied()
            .filter(|total| total.name == NO_NAME)
            .collect();
        let belongs = |token: i64| {
            self.tokens
                .get(&token)
                .is_some_and(|token| token.provider_ukprn == ukprn)
        };
        let tokens = self.token_uses(&whole);
        let last = tokens.iter().map(|token| &token.last).max()?.clone();
        let name = self
            .tokens
            .values()
            .find(|token| token.provider_ukprn == ukprn)?
            .provider_name
            .clone();
        Some(ProviderUse {
            provider: ukprn.to_owned(),
            name,
            requests: whole.iter().map(|total| total.requests).sum(),
            last,
            tokens,
            endpoints: endpoint_uses(&whole, served, newest),
            names: sums(
                totals
                    .iter()
                    .filter(|total| total.name != NO_NAME)
                    .map(|total| (&total.name, total.requests)),
            )
            .map(|(name, requests)| NameUse {
                name: name.clone(),
                requests,
            })
            .collect(),
            writes: Writes::from_checks(self.checks.iter().filter(|check| belongs(check.token_id))),
            problems: obstacles(
                self.problems
                    .iter()
                    .filter(|problem| belongs(problem.token_id)),
                rules,
            ),
            renamed: renamed_fields(
                self.problems
                    .iter()
                    .filter(|problem| belongs(problem.token_id)),
                rules,
            ),
            newer: self.newer_uses(ukprn, served.version.label),
        })
    }

    /// The requests of each token, from counts of whole requests.
    fn token_uses(&self, whole: &[&UsageTotal]) -> Vec<TokenUse> {
        let mut uses: BTreeMap<i64, TokenUse> = BTreeMap::new();
        for total in whole {
            let Some(token) = self.tokens.get(&total.token_id) else {
                continue;
            };
            uses.entry(token.id)
                .and_modify(|known| {
                    known.requests += total.requests;
                    known.last = known.last.clone().max(total.last.clone());
                })
                .or_insert_with(|| TokenUse {
                    token: token.id,
                    name: token.name.clone(),
                    requests: total.requests,
                    last: total.last.clone(),
                });
        }
        uses.into_values().collect()
    }

    /// The requests of a provider to each version after `label`.
    fn newer_uses(&self, ukprn: &str, label: Label) -> Vec<NewerUse> {
        let of_provider = self.recent.iter().filter(|total| {
            total.name == NO_NAME
                && self
                    .tokens
                    .get(&total.token_id)
                    .is_some_and(|token| token.provider_ukprn == ukprn)
        });
        let labelled = of_provider
            .filter_map(|total| Some((total.version.parse::<Label>().ok()?, total.requests)));
        let newer = labelled.filter(|(version, _)| *version > label);
        sums(newer)
            .map(|(version, requests)| NewerUse { version, requests })
            .collect()
    }
}

impl Writes {
    /// Sums the results of checks.
    fn from_checks<'a>(checks: impl Iterator<Item = &'a CheckTotal>) -> Self {
        let (mut checked, mut valid) = (0, 0);
        for check in checks {
            checked += check.checked;
            valid += check.valid;
        }
        Self::new(checked, valid)
    }

    /// Creates the counts and the share of accepted writes.
    pub(super) fn new(checked: i64, valid: i64) -> Self {
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
fn endpoint_uses(whole: &[&UsageTotal], served: &Served, newest: &Served) -> Vec<EndpointUse> {
    let requests = sums(whole.iter().map(|total| (&total.endpoint, total.requests)));
    let ending = requests.filter_map(|(endpoint, requests)| {
        let known = served
            .version
            .endpoints
            .all()
            .find(|known| known.to_string() == *endpoint)?;
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
                .map(|other| other.to_string()),
            removed_in: deprecation.map(|gone| gone.removed_in),
            requests,
        })
    });
    ending.collect()
}

/// The reasons why the newest version would reject writes, most frequent first.
fn obstacles<'a>(
    problems: impl Iterator<Item = &'a ProblemTotal>,
    rules: &NewRules,
) -> Vec<Obstacle> {
    let problems = problems.filter(|problem| problem.code != RENAMED);
    let sums = sums(problems.map(|problem| ((&problem.field, &problem.code), problem.writes)));
    let obstacle = |((field, code), writes): ((&String, &String), i64)| Obstacle {
        field: field.clone(),
        code: code.clone(),
        meaning: meaning(code),
        rules: rules.about(field),
        writes,
    };
    let mut obstacles: Vec<Obstacle> = sums.map(obstacle).collect();
    obstacles.sort_by_key(|obstacle| std::cmp::Reverse(obstacle.writes));
    obstacles
}

/// The sent fields that have another name in the newest version, most frequent first.
fn renamed_fields<'a>(
    problems: impl Iterator<Item = &'a ProblemTotal>,
    rules: &NewRules,
) -> Vec<RenamedField> {
    let renamed = problems
        .filter(|problem| problem.code == RENAMED)
        .map(|problem| (&problem.field, problem.writes));
    let field = |(before, writes): (&String, i64)| {
        // The field may have the name of its list before it.
        let name = before.rsplit('.').next().unwrap_or(before);
        RenamedField {
            before: before.clone(),
            after: rules.new_name(name),
            writes,
        }
    };
    let mut fields: Vec<RenamedField> = sums(renamed).map(field).collect();
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
                        rules.push(after)
                    }
                    RuleChangeKind::Dropped { .. } => {}
                },
                ChangeDetail::Field(field) => {
                    if let (Direction::Request, FieldChangeKind::Renamed { before, after }) =
                        (field.direction, field.kind)
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
                | ChangeDetail::Wire(_)
                | ChangeDetail::Contract { .. } => {}
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
