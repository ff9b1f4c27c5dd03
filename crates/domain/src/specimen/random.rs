//! Numbers that look random and are the same again for the same seed.
//!
//! The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014). It is for invented records alone; nothing secret may come from it.

use std::cell::Cell;

use chrono::{Days, NaiveDate};

/// Letters and digits of identifiers: base 58, without those that look alike.
const IDENTIFIER_ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Characters of an identifier.
const IDENTIFIER_LENGTH: usize = 24;

/// A generator of numbers, from a seed.
#[derive(Debug, Clone)]
pub struct Random {
    state: Cell<u64>,
}

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: Cell::new(seed) }
    }

    /// The next number.
    pub fn number(&self) -> u64 {
        let state = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound; 0 when the bound is 0.
    pub fn below(&self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % bound).unwrap_or_default()
    }

    /// Whether something happens that does so in so many of 100 cases.
    pub fn chance(&self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the choices; `None` when there is none.
    pub fn pick<'a, T>(&self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }

    /// One of at least one choice.
    #[expect(clippy::indexing_slicing, reason = "the index is below the length, which is not 0")]
    pub fn one_of<T: Copy, const N: usize>(&self, choices: [T; N]) -> T {
        const { assert!(N > 0, "there is nothing to choose from") };
        choices[self.below(N)]
    }

    /// So many digits.
    pub fn digits(&self, count: usize) -> String {
        (0..count).map(|_| self.one_of(*b"0123456789") as char).collect()
    }

    /// A capital letter.
    pub fn letter(&self) -> char {
        self.one_of(*b"ABCDEFGHJKLMNPRSTUWXYZ") as char
    }

    /// An identifier of a record, as the service makes them.
    pub fn identifier(&self) -> String {
        (0..IDENTIFIER_LENGTH).map(|_| self.one_of(*IDENTIFIER_ALPHABET) as char).collect()
    }

    /// A day from the first to the last, both included; the first when the last is earlier.
    pub fn day(&self, first: NaiveDate, last: NaiveDate) -> NaiveDate {
        let days = usize::try_from((last - first).num_days()).unwrap_or_default() + 1;
        first.checked_add_days(Days::new(self.below(days) as u64)).unwrap_or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_published_numbers() {
        let random = Random::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.number()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn nothing_is_picked_from_nothing() {
        let random = Random::new(1);
        assert_eq!(random.pick::<u8>(&[]), None);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_day_lies_between_the_first_and_the_last() {
        let random = Random::new(1);
        let (first, last) = ("2026-02-27".parse().unwrap(), "2026-03-02".parse().unwrap());
        let days: std::collections::BTreeSet<_> = (0..100).map(|_| random.day(first, last)).collect();
        assert_eq!(days.len(), 4);
        assert!(days.first() == Some(&first) && days.last() == Some(&last));
        assert_eq!(random.day(last, first), last);
    }
}
