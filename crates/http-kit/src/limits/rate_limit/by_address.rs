//! Rate limits by address, for requests that need no token or have no valid one.
//!
//! A browser loads several pages at once, so pages have a limit of their own, separate from work
//! that is done for an address.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use actix_web::HttpRequest;

use crate::limits::rate_limit::{KeyedRateLimiter, LimitClock, QuotaExceeded, RateLimit};
use crate::requests::client_address::TrustedProxies;

/// The default limit of an address.
const LIMIT: RateLimit = RateLimit {
    requests: NonZeroU32::new(60).unwrap(),
    window: Duration::from_mins(1),
};
/// The most addresses that are remembered.
const MAX_ADDRESSES: usize = 10_000;

/// Counts the requests of each address, if there is a limit. Cheap to clone; all clones count
/// together.
#[derive(Debug, Clone)]
pub struct AddressRateLimit {
    limiter: Option<KeyedRateLimiter<IpAddr>>,
    proxies: TrustedProxies,
}

impl Default for AddressRateLimit {
    fn default() -> Self {
        Self::with_limit(Some(LIMIT))
    }
}

impl AddressRateLimit {
    /// Limits the requests of each address; `None` means no limit.
    #[must_use]
    pub fn with_limit(limit: Option<RateLimit>) -> Self {
        let limiter = limit.map(|limit| KeyedRateLimiter::new(limit, MAX_ADDRESSES));
        Self {
            limiter,
            proxies: TrustedProxies::default(),
        }
    }

    /// Trusts these proxies to name the client.
    #[must_use]
    pub fn with_trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self { proxies, ..self }
    }

    /// Counts by another clock.
    #[must_use]
    pub fn with_clock(self, clock: LimitClock) -> Self {
        Self {
            limiter: self.limiter.map(|limiter| limiter.with_clock(clock)),
            ..self
        }
    }

    /// Counts a request by the address of its client.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] when the address has sent too many requests, or no further address can be
    /// remembered.
    pub fn count(&self, request: &HttpRequest) -> Result<(), QuotaExceeded> {
        self.count_address(self.proxies.client_address(request))
    }

    /// Counts a request of this address. Always `Ok` without a limit.
    fn count_address(&self, address: IpAddr) -> Result<(), QuotaExceeded> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        let counted = limiter.take(&network(address));
        counted.map(drop)
    }
}

/// The address itself for IPv4. For IPv6 the network of its first 64 bits, because one client
/// usually has a whole network.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.into(),
            None => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address_rate_limit: &AddressRateLimit, address: &str) -> Option<u64> {
        match address_rate_limit.count_address(address.parse().unwrap()) {
            Err(used_up) => Some(used_up.retry_after),
            Ok(()) => None,
        }
    }

    #[test]
    fn address_is_rejected_after_its_burst_unlike_others() {
        let address_rate_limit = AddressRateLimit::default();
        let refusals: Vec<_> = (0..LIMIT.requests.get() + 5)
            .filter_map(|_| refused(&address_rate_limit, "192.0.2.1"))
            .collect();
        assert!(
            !refusals.is_empty() && refusals.iter().all(|seconds| *seconds == 1),
            "{refusals:?}"
        );
        assert_eq!(refused(&address_rate_limit, "::ffff:192.0.2.2"), None);
        let same_network = (0..LIMIT.requests.get() + 5)
            .filter_map(|host| refused(&address_rate_limit, &format!("2001:db8::{host:x}")));
        assert!(same_network.count() > 0);
    }
}
