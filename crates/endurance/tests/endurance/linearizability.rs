//! Whether overlapping operations have an order that gives the same replies in a sequential model,
//! no operation standing before one that had ended when it began.
//!
//! The search is that of Wing and Gong ("Testing and verifying concurrent objects", 1993), which
//! remembers failed states (Lowe, "Testing for linearizability", 2017).

use std::collections::HashSet;
use std::hash::Hash;
use std::time::Instant;

/// The most operations of a history.
const MOST_OPERATIONS: usize = 128;

/// An operation with the answer that it got, and what it does to a state.
pub(crate) trait Operation {
    type State: Clone + Eq + Hash;

    /// The state afterwards; nothing when the model would have answered otherwise.
    fn apply(&self, state: &Self::State) -> Option<Self::State>;
}

/// An operation, and when it was under way.
#[derive(Debug, Clone)]
pub(crate) struct Timed<O> {
    pub(crate) operation: O,
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
}

/// Whether there is such an order.
pub(crate) fn is_linearisable<O: Operation>(initial: &O::State, history: &[Timed<O>]) -> bool {
    assert!(
        history.len() <= MOST_OPERATIONS,
        "a history of {} operations is too long",
        history.len()
    );
    search(initial, history, 0, &mut HashSet::new())
}

/// Whether the operations that are not among `placed` can follow in some order.
fn search<O: Operation>(
    state: &O::State,
    history: &[Timed<O>],
    placed: u128,
    in_vain: &mut HashSet<(u128, O::State)>,
) -> bool {
    let open = || {
        history
            .iter()
            .enumerate()
            .filter(|(at, _)| placed & (1 << at) == 0)
    };
    let Some(first_end) = open().map(|(_, one)| one.ended).min() else {
        return true;
    };
    if in_vain.contains(&(placed, state.clone())) {
        return false;
    }
    for (at, next) in open().filter(|(_, next)| next.begun <= first_end) {
        if let Some(after) = next.operation.apply(state)
            && search(&after, history, placed | (1 << at), in_vain)
        {
            return true;
        }
    }
    in_vain.insert((placed, state.clone()));
    false
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A register that holds a number.
    enum Number {
        Write(u8),
        Read(u8),
    }

    impl Operation for Number {
        type State = u8;

        fn apply(&self, state: &u8) -> Option<u8> {
            match self {
                Self::Write(number) => Some(*number),
                Self::Read(number) => (number == state).then_some(*number),
            }
        }
    }

    fn judge(history: Vec<(Number, u64, u64)>) -> bool {
        let origin = Instant::now();
        let at = |moment| origin + Duration::from_secs(moment);
        let timed = history.into_iter();
        let timed: Vec<_> = timed
            .map(|(operation, begun, ended)| Timed {
                operation,
                begun: at(begun),
                ended: at(ended),
            })
            .collect();
        is_linearisable(&0, &timed)
    }

    #[test]
    fn overlapping_operations_are_seen_in_either_order() {
        use Number::{Read, Write};
        assert!(judge(vec![
            (Write(1), 0, 9),
            (Read(0), 1, 2),
            (Read(1), 3, 4)
        ]));
        assert!(judge(vec![
            (Write(1), 0, 9),
            (Write(2), 0, 9),
            (Read(1), 10, 11)
        ]));
        assert!(judge(vec![]));
    }

    #[test]
    fn stale_lost_and_undone_operations_are_found() {
        use Number::{Read, Write};
        assert!(!judge(vec![(Write(1), 0, 1), (Read(0), 2, 3)]));
        assert!(!judge(vec![
            (Write(1), 0, 9),
            (Read(1), 1, 2),
            (Read(0), 3, 4)
        ]));
        assert!(!judge(vec![
            (Write(1), 0, 1),
            (Write(2), 2, 3),
            (Read(1), 4, 5)
        ]));
        assert!(!judge(vec![(Read(3), 0, 1)]));
    }
}
