//! Readiness in words, to read on a terminal.

use std::fmt;

use domain::values::iso_8601::timestamp;
use storage::observations::usage::KEPT_DAYS;

use super::{EndpointUse, FEW, ProviderUse, ReadinessWeek, Removal, VersionReadiness, Writes};

/// Where it says how a version is removed.
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
            writeln!(out, "Counts begin on {counted} only.")?;
        }
        writeln!(out)?;
        if providers.is_empty() {
            return self.unused(out);
        }
        let tokens: usize = providers.iter().map(|provider| provider.tokens.len()).sum();
        let requests: i64 = providers.iter().map(|provider| provider.requests).sum();
        writeln!(
            out,
            "providers that use it: {}, with tokens: {tokens}, requests: {requests}",
            providers.len()
        )?;
        if version == newest {
            writeln!(
                out,
                "It is the newest version: there is nothing to move to."
            )?;
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
    /// That nobody uses it, and since when.
    fn unused(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            version,
            since,
            until,
            ..
        } = self;
        let nobody = self
            .provider
            .as_ref()
            .map_or("Nobody has".to_owned(), |ukprn| {
                format!("Provider {ukprn} has not")
            });
        match (&self.last_use, self.counted_since) {
            (Some(last), _) => {
                let (day, provider, id) = (
                    timestamp(last.seen.at),
                    &last.provider,
                    &last.seen.request_id,
                );
                writeln!(
                    out,
                    "{nobody} used {version} since {day}, when provider {provider} did (request {id})."
                )?;
            }
            (None, Some(counted)) => {
                writeln!(
                    out,
                    "{nobody} used {version} since {counted}, when the counts of {KEPT_DAYS} days begin."
                )?;
            }
            (None, None) => {
                writeln!(
                    out,
                    "Nothing was counted of any version, so nothing can be said of this one."
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
                    "That is too short to say that it can be removed; look again when {days} days are counted."
                )
            }
            Removal::Possible => writeln!(out, "It can be removed: see {HOW_TO_REMOVE}."),
        }
    }

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
            let (at, id) = (timestamp(token.last.at), &token.last.request_id);
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
                "  name that changes: {}{after}, writes: {}",
                field.before, field.writes
            )?;
        }
        for newer in &provider.newer {
            writeln!(
                out,
                "  uses {} too, requests: {}",
                newer.version, newer.requests
            )?;
        }
        Ok(())
    }

    /// How writes fared, and on how many it rests.
    fn tried(&self, writes: Writes) -> String {
        let newest = self.newest;
        if writes.percent.is_none() {
            return format!("No write was tried in {newest}.");
        }
        format!("writes tried in {newest}: {}", share(writes))
    }
}

/// How many writes were accepted, of how many, with the share.
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
        format!("; fewer than {FEW} writes say little")
    } else {
        String::new()
    };
    format!("{checked}, accepted there too: {valid} ({percent} %{few})")
}

/// An endpoint that ends.
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
        |label| format!(", gone in {label}"),
    );
    format!("endpoint that ends: {endpoint}, requests: {requests}{instead}{gone}")
}
