//! A register can be filled under the rules of every version.

use adapter_kit::names::path_in_message;
use adapter_kit::problems::message;
use adapter_kit::versions::Versions;
use fixtures::TraineeGenerator;

use crate::case::Case;
use crate::sample::PROVIDER;
use crate::{CheckFailure, Sample};

const CHECK: &str = "can_be_seeded";

/// A version's own rules and terms accept every sample record that is made under them.
///
/// # Errors
///
/// The first sample record that they refuse.
pub fn can_be_seeded(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let case = Case::of(CHECK, served, sample);
        let (version, context) = (case.version(), case.context());
        let mut generator = TraineeGenerator::new(sample.seed, &version.rules, context);
        for (case, _) in case.each(&sample.stored) {
            if let Err(problems) = generator.trainee(PROVIDER) {
                let at = problems.first().map(|problem| path_in_message(version, &problem.at)).unwrap_or_default();
                let why: Vec<_> = problems.iter().map(|problem| message(version, context.lists, problem)).collect();
                return case.fail(at, format!("refuses a sample record: {}", why.join("; ")));
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
    fn rules_that_refuse_a_sample_record_are_found() {
        const NOBODY: Rule<Trainee> = Rule {
            name: "nobody",
            description: "refuses everybody",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| found(TraineeField::last_name, ProblemKind::Blank)),
        };
        let failure = check_version(can_be_seeded, with_rules(&[NOBODY])).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "v2001.0 fails can_be_seeded: last_name refuses a sample record: cannot be blank (seed 5, record 0)"
        );
    }
}
