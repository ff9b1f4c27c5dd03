//! Checks that a register can be filled with generated trainees under the rules of every version.

use adapter_kit::names::path_in_message;
use adapter_kit::problems::message;
use adapter_kit::versions::Versions;
use fixtures::TraineeGenerator;

use crate::case::{Case, CheckFailure};
use crate::sample::{PROVIDER, Sample};

const CHECK: &str = "can_be_seeded";

/// The rules of a version may refuse one in this number of generated trainees, because a version
/// can be stricter than the generator.
const ONE_REFUSED_IN: usize = 4;

/// Checks that the rules and accepted codes of each version accept most generated trainees.
///
/// # Errors
///
/// Returns the problems of a refused trainee if too many trainees are refused.
pub fn can_be_seeded(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let case = Case::new(CHECK, served, sample);
        let version = case.version();
        let context = case.context();
        let mut generator = TraineeGenerator::new(sample.seed, &version.rules, context);
        let mut refused = 0;
        for (case, _) in case.each(&sample.stored) {
            let Err(problems) = generator.trainee(PROVIDER) else {
                continue;
            };
            refused += 1;
            if refused > sample.stored.len() / ONE_REFUSED_IN {
                let at = problems
                    .first()
                    .map(|problem| path_in_message(version, &problem.at))
                    .unwrap_or_default();
                let why: Vec<_> = problems
                    .iter()
                    .map(|problem| message(version, context.lists, problem))
                    .collect();
                return case.fail(at, format!("refuses sample records: {}", why.join("; ")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::rules::{Rule, Run, found};
    use domain::{ProblemKind, Trainee, TraineeField};

    use super::*;
    use crate::sample_version::{check_version, with_rules};

    #[test]
    fn rules_that_refuse_sample_records_fail_the_check() {
        const REFUSE_ALL: Rule<Trainee> = Rule {
            name: "refuse_all",
            description: "refuses every trainee",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| found(TraineeField::last_name, ProblemKind::Blank)),
        };
        let failure = check_version(can_be_seeded, with_rules(&[REFUSE_ALL])).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "v2001.0 fails can_be_seeded: last_name refuses sample records: cannot be blank (seed 5, record 20)"
        );
    }
}
