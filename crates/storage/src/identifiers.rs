//! Identifiers of trainees, placements and degrees.
//!
//! They are random, so that nobody can guess one and none is ever used again.

use std::cell::RefCell;

use crate::error::StorageError;

/// Digits and letters without those that look alike (0, O, I, l).
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Characters of an identifier.
pub const IDENTIFIER_LENGTH: usize = 24;

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
        let characters = random_characters(count * IDENTIFIER_LENGTH)?;
        let drawn = characters
            .as_bytes()
            .chunks_exact(IDENTIFIER_LENGTH)
            .map(|one| one.iter().copied().map(char::from).collect());
        Ok(Self(RefCell::new(drawn.collect())))
    }

    /// Gives one of them away; `None` when all are.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        self.0.borrow_mut().pop()
    }
}

/// Whether somebody may look for a trainee by this text. No identifier has the character NUL, and
/// PostgreSQL refuses a query that has it.
pub(crate) fn can_be_identifier(text: &str) -> bool {
    !text.contains('\0')
}

/// So many characters of the alphabet. The operating system is asked once, as a rule.
fn random_characters(count: usize) -> Result<String, StorageError> {
    let mut text = String::with_capacity(count);
    while text.len() < count {
        let missing = count - text.len();
        // Six bits give 64 numbers, of which 58 have a character: the others are drawn again, so
        // that all characters are equally likely.
        let mut bytes = vec![0; missing + missing / 4 + IDENTIFIER_LENGTH];
        getrandom::fill(&mut bytes).map_err(StorageError::NoRandomness)?;
        let drawn = bytes
            .iter()
            .filter_map(|byte| ALPHABET.get(usize::from(byte & 63)));
        text.extend(drawn.take(missing).map(|byte| char::from(*byte)));
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
            assert_eq!(one.len(), IDENTIFIER_LENGTH);
            assert!(one.bytes().all(|byte| ALPHABET.contains(&byte)), "{one}");
            assert!(seen.insert(one));
        }
        assert_eq!(seen.len(), 1_000);
    }
}
