//! How often each address asks what needs no token.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;

use actix_web::HttpRequest;
use governor::clock::{Clock as _, MonotonicClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::failure::Failure;

/// Requests that an address can send at once.
const BURST: NonZeroU32 = NonZeroU32::new(60).unwrap();
/// Requests a minute that it can send for good.
const PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();
/// The most addresses that are remembered. An address is forgotten once it may send as many as a new one.
const MAX_ADDRESSES: usize = 10_000;

/// Counts the requests of each address. Cheap to clone; all clones count together.
#[derive(Clone)]
pub struct Visitors(Arc<RateLimiter<IpAddr, HashMapStateStore<IpAddr>, MonotonicClock>>);

impl Default for Visitors {
    fn default() -> Self {
        let quota = Quota::per_minute(PER_MINUTE).allow_burst(BURST);
        Self(Arc::new(RateLimiter::hashmap_with_clock(quota, MonotonicClock)))
    }
}

impl fmt::Debug for Visitors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Visitors").field("addresses", &self.0.len()).finish()
    }
}

impl Visitors {
    /// Counts a request by the address that it comes from; behind a proxy, that is the proxy's.
    ///
    /// # Errors
    ///
    /// [`Failure::TooManyRequests`] when the address has sent too many, or too many addresses have.
    pub fn count(&self, request: &HttpRequest) -> Result<(), Failure> {
        let address = request.peer_addr().map_or(Ipv6Addr::UNSPECIFIED.into(), |peer| peer.ip());
        self.count_address(address)
    }

    fn count_address(&self, address: IpAddr) -> Result<(), Failure> {
        let Self(limiter) = self;
        if limiter.len() >= MAX_ADDRESSES {
            limiter.retain_recent();
            if limiter.len() >= MAX_ADDRESSES {
                return Err(Failure::TooManyRequests { retry_after: 1 });
            }
        }
        limiter.check_key(&network(address)).map_err(|refused| {
            let wait = refused.wait_time_from(MonotonicClock.now());
            let retry_after = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            Failure::TooManyRequests { retry_after: retry_after.max(1) }
        })
    }
}

/// The address; of IPv6 the network of 64 bits, which one client has to itself.
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

    fn refused(visitors: &Visitors, address: &str) -> Option<u64> {
        match visitors.count_address(address.parse().unwrap()) {
            Err(Failure::TooManyRequests { retry_after }) => Some(retry_after),
            Err(other) => panic!("{other}"),
            Ok(()) => None,
        }
    }

    #[test]
    fn an_address_is_refused_after_its_burst_and_others_are_not() {
        let visitors = Visitors::default();
        let refusals: Vec<_> = (0..BURST.get() + 5).filter_map(|_| refused(&visitors, "192.0.2.1")).collect();
        assert!(!refusals.is_empty() && refusals.iter().all(|seconds| *seconds == 1), "{refusals:?}");
        assert_eq!(refused(&visitors, "::ffff:192.0.2.2"), None);
        let same_network = (0..BURST.get() + 5).filter_map(|host| refused(&visitors, &format!("2001:db8::{host:x}")));
        assert!(same_network.count() > 0);
    }

    #[test]
    fn no_more_addresses_are_remembered_than_fit() {
        let visitors = Visitors::default();
        let address = |number: u32| IpAddr::from(std::net::Ipv4Addr::from_bits(number));
        let refused = (0..MAX_ADDRESSES as u32 + 50).filter(|number| visitors.count_address(address(*number)).is_err());
        assert!(refused.count() <= 50);
        assert!(visitors.0.len() <= MAX_ADDRESSES);
    }
}
