//! Identifiers of trainees, placements and degrees.
//!
//! They are random, so that nobody can guess one and none is ever used again.

use std::cell::RefCell;

use crate::error::StorageError;

/// Digits and letters without those that look alike (0, O, I, l).
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Characters of an identifier.
const LENGTH: usize = 24;

/// Identifiers that were drawn and not yet given away.
#[derive(Debug)]
pub struct Identifiers(RefCell<Vec<String>>);

impl Identifiers {
    /// Draws so many identifiers.
    ///
    /// # Errors
    ///
    /// [`StorageError::NoRandomness`].
    pub fn draw(count: usize) -> Result<Self, StorageError> {
        Ok(Self(RefCell::new((0..count).map(|_| identifier()).collect::<Result<_, _>>()?)))
    }

    /// Gives one of them away; `None` when all are.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        self.0.borrow_mut().pop()
    }
}

fn identifier() -> Result<String, StorageError> {
    let mut text = String::with_capacity(LENGTH);
    while text.len() < LENGTH {
        let mut bytes = [0; 2 * LENGTH];
        getrandom::fill(&mut bytes).map_err(StorageError::NoRandomness)?;
        // Six bits give 64 numbers, of which 58 have a character: the others are drawn again, so that all characters
        // are equally likely.
        let drawn = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 63)));
        text.extend(drawn.take(LENGTH - text.len()).map(|byte| char::from(*byte)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn identifiers_differ_and_have_24_characters_of_the_alphabet() {
        let drawn = Identifiers::draw(1_000).unwrap();
        let mut seen = HashSet::new();
        while let Some(one) = drawn.next() {
            assert_eq!(one.len(), LENGTH);
            assert!(one.bytes().all(|byte| ALPHABET.contains(&byte)), "{one}");
            assert!(seen.insert(one));
        }
        assert_eq!(seen.len(), 1_000);
    }
}
