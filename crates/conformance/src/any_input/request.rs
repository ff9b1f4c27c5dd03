//! Checks the answer to one request body.

use std::collections::BTreeSet;

use adapter_kit::problems::{Errors, ErrorsByField, warning};
use adapter_kit::read::{NestedLists, ReadableRecord, Reader, UnknownNames, parse_json};
use domain::commands::Decision;
use domain::problem::Problem;
use domain::{Lists, ParsedRecord};

use crate::any_input::Bodies;
use crate::case::CheckFailure;
use crate::own_names::{MessageCheck, SentStrings};

/// The longest message about a body that is not JSON, in bytes. Such a message gives the position
/// of the error only.
const LONGEST_MALFORMED: usize = 120;
/// The longest response with problems, in bytes, for an empty request.
const REFUSAL_BYTES: usize = 131_072;
/// The number of bytes that a response with problems may have in addition, for each byte of the
/// request.
const REFUSAL_PER_BYTE: usize = 64;

/// A request body and the handling of unknown names in it.
pub(super) struct BodyCheck<'a> {
    pub(super) bodies: &'a Bodies<'a>,
    pub(super) body: &'a [u8],
    pub(super) unknown: UnknownNames,
}

impl BodyCheck<'_> {
    /// Reads the body, calls `decide` with the result, and checks the problems and notices. Calls
    /// `accepted` with the record if the request is accepted.
    pub(super) fn run<R: ReadableRecord, D>(
        &self,
        nested: NestedLists,
        decide: impl FnOnce(ParsedRecord<R>) -> Result<Decision<D>, Vec<Problem>>,
        accepted: impl FnOnce(D) -> Result<(), CheckFailure>,
    ) -> Result<(), CheckFailure> {
        let case = self.bodies.case;
        let reader = Reader {
            served: case.served,
            unknown: self.unknown,
            nested,
        };
        let sent = match reader.read::<R>(self.body) {
            Ok(sent) => sent,
            Err(malformed) => return self.check_malformed(&malformed.to_string()),
        };
        let is_empty = self.body.is_empty() || self.body == "\u{feff}".as_bytes();
        if !is_empty && parse_json(self.body).is_err() {
            return case.fail("a body", "is read but is not JSON");
        }
        let sent_strings = SentStrings::from_json(&String::from_utf8_lossy(self.body));
        let messages = MessageCheck {
            case,
            names: &self.bodies.names,
            sent_strings: &sent_strings,
        };
        match decide(sent) {
            Err(problems) => self.check_refused(&problems, &messages),
            Ok(decision) => {
                let mut reported = BTreeSet::new();
                for notice in &decision.notices {
                    messages.check_notice(notice)?;
                    if !reported.insert(format!("{notice:?}")) {
                        return case.fail("a notice", format!("is reported twice: {notice:?}"));
                    }
                    let text = warning(case.version(), notice).unwrap_or_default();
                    if !text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
                        return case
                            .fail("a notice", format!("is not valid in a header: {text:?}"));
                    }
                }
                accepted(decision.record)
            }
        }
    }

    /// Checks that a body refused as malformed is not JSON or is nested too deeply, and that the
    /// message is short. `outcome` is the message.
    fn check_malformed(&self, outcome: &str) -> Result<(), CheckFailure> {
        if parse_json(self.body).is_ok() && !outcome.contains("nested deeper") {
            return self
                .bodies
                .case
                .fail("a body", format!("is JSON but refused: {outcome}"));
        }
        match outcome.len() {
            0..=LONGEST_MALFORMED => Ok(()),
            _ => self.bodies.case.fail(
                "a body",
                format!("is refused with too long a message: {outcome}"),
            ),
        }
    }

    /// Checks the problems of a refused request: there is at least one, each is reported once, and
    /// the size of the response is limited.
    fn check_refused(
        &self,
        problems: &[Problem],
        messages: &MessageCheck<'_>,
    ) -> Result<(), CheckFailure> {
        let case = self.bodies.case;
        let lists = Lists::embedded();
        let mut reported = BTreeSet::new();
        for problem in problems {
            messages.check_problem(problem)?;
            if !reported.insert(format!("{problem:?}")) {
                return case.fail("a problem", format!("is reported twice: {problem:?}"));
            }
        }
        let longest = REFUSAL_BYTES + REFUSAL_PER_BYTE * self.body.len();
        let errors = serde_json::to_vec(&Errors::from_problems(case.served, lists, problems));
        let by_field =
            serde_json::to_vec(&ErrorsByField::from_problems(case.served, lists, problems));
        for written in [errors, by_field] {
            match written {
                Ok(written) if !problems.is_empty() && written.len() <= longest => {}
                Ok(written) => {
                    let problems = problems.len();
                    let bytes = written.len();
                    return case.fail(
                        "a refusal",
                        format!("reports {problems} problems in {bytes} bytes"),
                    );
                }
                Err(error) => return case.fail("a refusal", format!("cannot be written: {error}")),
            }
        }
        Ok(())
    }
}
