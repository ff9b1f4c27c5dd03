//! Formats readiness reports as text for a terminal.

use std::fmt;

use domain::values::iso_8601::timestamp;
use storage::observations::usage::KEPT_DAYS;

use super::{EndpointUse, FEW, ProviderUse, ReadinessWeek, Removal, VersionReadiness, Writes};

/// The document about removing a version.
const HOW_TO_REMOVE: &str = "docs/adding-a-version.md";

impl fmt::Display for VersionReadiness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            version,
            newest,
            since,
            until,
            providers,
            ..
        } = self;
        writeln!(
            out,
            "{version} from {since} to {until}; the newest version is {newest}"
        )?;
        if let Some(counted) = self.counted_since.filter(|counted| counted > since) {
            writeln!(out, "The first counts are from {counted}.")?;
        }
        writeln!(out)?;
        if providers.is_empty() {
            return self.unused(out);
        }
        let tokens: usize = providers.iter().map(|provider| provider.tokens.len()).sum();
        let requests: i64 = providers.iter().map(|provider| provider.requests).sum();
        writeln!(
            out,
            "providers: {}, tokens: {tokens}, requests: {requests}",
            providers.len()
        )?;
        if version == newest {
            writeln!(out, "This is the newest version; no migration is needed.")?;
        } else {
            writeln!(out, "{}", self.tried(self.writes))?;
        }
        for ReadinessWeek { monday, writes } in &self.weeks {
            writeln!(out, "  week of {monday}: {}", share(*writes))?;
        }
        providers
            .iter()
            .try_for_each(|provider| self.provider(out, provider))
    }
}

impl VersionReadiness {
    /// Writes that no provider uses the version, and since when.
    fn unused(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            version,
            since,
            until,
            ..
        } = self;
        let subject = self
            .provider
            .as_ref()
            .map_or("No provider has".to_owned(), |ukprn| {
                format!("Provider {ukprn} has not")
            });
        match (&self.last_use, self.counted_since) {
            (Some(last), _) => {
                let day = timestamp(last.seen.at);
                let provider = &last.provider;
                let id = &last.seen.request_id;
                writeln!(
                    out,
                    "{subject} used {version} since {day}; the last request {id} came from provider {provider}."
                )?;
            }
            (None, Some(counted)) => {
                writeln!(
                    out,
                    "{subject} used {version} since {counted}, the first day with counts (kept for {KEPT_DAYS} days)."
                )?;
            }
            (None, None) => {
                writeln!(
                    out,
                    "No version has counts yet, so the use of this version is unknown."
                )?;
                return Ok(());
            }
        }
        match self.removal() {
            Removal::Newest | Removal::NotLookedAt | Removal::InUse => Ok(()),
            Removal::CountedTooShortly => {
                let days = (*until - *since).num_days() + 1;
                writeln!(
                    out,
                    "The counts are too recent for a verdict; check again when they cover {days} days."
                )
            }
            Removal::Possible => writeln!(out, "The version can be removed: see {HOW_TO_REMOVE}."),
        }
    }

    /// Writes the use of the version by one provider.
    fn provider(&self, out: &mut fmt::Formatter<'_>, provider: &ProviderUse) -> fmt::Result {
        let ProviderUse {
            provider: ukprn,
            name,
            requests,
            last,
            ..
        } = provider;
        writeln!(out, "\nprovider {ukprn} {name}")?;
        writeln!(
            out,
            "  requests: {requests}, last {} (request {})",
            timestamp(last.at),
            last.request_id
        )?;
        for token in &provider.tokens {
            let at = timestamp(token.last.at);
            let id = &token.last.request_id;
            writeln!(
                out,
                "  token {} {}: {}, last {at} (request {id})",
                token.token, token.name, token.requests
            )?;
        }
        for endpoint in &provider.endpoints {
            writeln!(out, "  {}", ending(endpoint))?;
        }
        for name in &provider.names {
            writeln!(
                out,
                "  name of other versions: {}, requests: {}",
                name.name, name.requests
            )?;
        }
        if self.version != self.newest {
            writeln!(out, "  {}", self.tried(provider.writes))?;
        }
        for obstacle in &provider.problems {
            write!(
                out,
                "    {} {}, writes: {}. {}",
                obstacle.field, obstacle.code, obstacle.writes, obstacle.meaning
            )?;
            match obstacle.rules.as_slice() {
                [] => writeln!(out)?,
                rules => writeln!(out, " New in {}: {}", self.newest, rules.join("; "))?,
            }
        }
        for field in &provider.renamed {
            let after = field
                .after
                .map(|after| format!(" is {after}"))
                .unwrap_or_default();
            writeln!(
                out,
                "  renamed field: {}{after}, writes: {}",
                field.before, field.writes
            )?;
        }
        for newer in &provider.newer {
            writeln!(
                out,
                "  also uses {}, requests: {}",
                newer.version, newer.requests
            )?;
        }
        Ok(())
    }

    /// Describes the results of checked writes.
    fn tried(&self, writes: Writes) -> String {
        let newest = self.newest;
        if writes.percent.is_none() {
            return format!("No write was checked against {newest}.");
        }
        format!("writes checked against {newest}: {}", share(writes))
    }
}

/// Formats the number of checked writes and the accepted share.
fn share(
    Writes {
        checked,
        valid,
        percent,
        few,
    }: Writes,
) -> String {
    let percent = percent.unwrap_or_default();
    let few = if few {
        format!("; unreliable below {FEW} writes")
    } else {
        String::new()
    };
    format!("{checked}, accepted: {valid} ({percent} %{few})")
}

/// Describes the use of an endpoint that is deprecated or removed.
fn ending(used: &EndpointUse) -> String {
    let EndpointUse {
        endpoint,
        replaced_by,
        removed_in,
        requests,
    } = used;
    let instead = replaced_by
        .as_ref()
        .map_or_else(String::new, |other| format!("; use {other}"));
    let gone = removed_in.map_or_else(
        || "; the newest version does not have it".to_owned(),
        |label| format!(", removed in {label}"),
    );
    format!("deprecated endpoint: {endpoint}, requests: {requests}{instead}{gone}")
}
