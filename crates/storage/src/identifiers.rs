//! Identifiers of trainees, placements and degrees.
//!
//! Identifiers are random: clients cannot guess one, and no identifier is used twice.

use std::cell::RefCell;

use crate::error::StorageError;

/// Digits and letters without the ambiguous ones (0, O, I, l).
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// The length of an identifier in characters.
pub const IDENTIFIER_LENGTH: usize = 24;

/// Identifiers that were drawn and are not yet used.
#[derive(Debug)]
pub struct Identifiers(RefCell<Vec<String>>);

impl Identifiers {
    /// Draws `count` identifiers.
    ///
    /// # Errors
    ///
    /// [`StorageError::NoRandomness`].
    pub fn draw(count: usize) -> Result<Self, StorageError> {
        let characters = random_characters(count * IDENTIFIER_LENGTH)?;
        let drawn = characters
            .as_bytes()
            .chunks_exact(IDENTIFIER_LENGTH)
            .map(|identifier| identifier.iter().copied().map(char::from).collect());
        Ok(Self(RefCell::new(drawn.collect())))
    }

    /// Removes and returns an identifier; `None` when none is left.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        self.0.borrow_mut().pop()
    }
}

/// Whether a query may contain this text as an identifier. PostgreSQL rejects texts with the
/// character NUL, and no identifier contains it.
pub(crate) fn can_be_identifier(text: &str) -> bool {
    !text.contains('\0')
}

/// Returns `count` random characters of the alphabet. Usually requests random bytes from the
/// operating system once.
fn random_characters(count: usize) -> Result<String, StorageError> {
    let mut text = String::with_capacity(count);
    while text.len() < count {
        let missing = count - text.len();
        // 58 of the 64 numbers of six bits have a character. The other numbers are skipped, so that
        // all characters are equally likely. A quarter more bytes usually make up for them.
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
    fn identifiers_differ_and_have_24_characters() {
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
