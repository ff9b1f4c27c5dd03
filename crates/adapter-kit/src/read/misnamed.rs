//! How many names of a body the version does not have. The names themselves are not told: they may be anything.

use std::ops::Add;

use domain::problem::NoticeKind;
use domain::{ProblemKind, Sent};

use super::Nest;

/// How many names of a body the version does not have, in nested records too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Misnamed {
    /// Names that another version has for a field of this one.
    pub foreign: usize,
    /// Names that nobody knows. No more of one record are counted than are remembered.
    pub unknown: usize,
}

impl Misnamed {
    /// Counts the names of what was sent, whether the client is told of them or refused.
    #[must_use]
    pub fn of<R: Nest>(sent: &Sent<R>) -> Self {
        let foreign =
            sent.problems.iter().filter(|problem| matches!(problem.kind, ProblemKind::OtherVersionsName { .. }));
        let refused = sent.problems.iter().filter(|problem| matches!(problem.kind, ProblemKind::UnknownName { .. }));
        let told = sent.notices.iter().filter(|notice| matches!(notice.kind, NoticeKind::UnknownName { .. }));
        R::misnamed_below(sent) + Self { foreign: foreign.count(), unknown: refused.count() + told.count() }
    }

    /// Counts the names of several records.
    pub(super) fn of_all<R: Nest>(records: &[Sent<R>]) -> Self {
        records.iter().map(Self::of).fold(Self::default(), Self::add)
    }
}

impl Add for Misnamed {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { foreign: self.foreign + other.foreign, unknown: self.unknown + other.unknown }
    }
}
