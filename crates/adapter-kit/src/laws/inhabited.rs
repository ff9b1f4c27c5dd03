//! A register can be filled under the rules of every version.

use fixtures::TraineeGenerator;

use super::sample::PROVIDER;
use super::{Broken, Case, Sample};
use crate::names::place;
use crate::problems::words;
use crate::versions::Versions;

const LAW: &str = "inhabited";

/// A version's own rules and terms accept every generated trainee that is made under them.
///
/// # Errors
///
/// The first generated trainee that they refuse.
pub fn inhabited(versions: &Versions, sample: &Sample) -> Result<(), Broken> {
    for served in versions.iter() {
        let case = Case::of(LAW, served, sample);
        let (version, context) = (case.version(), case.context());
        let mut generator = TraineeGenerator::new(sample.seed, &version.rules, context);
        for (case, _) in case.each(&sample.stored) {
            if let Err(problems) = generator.trainee(PROVIDER) {
                let at = problems.first().map(|problem| place(version, &problem.at)).unwrap_or_default();
                let why: Vec<_> = problems.iter().map(|problem| words(version, context.lists, problem)).collect();
                return case.broken(at, format!("refuses a generated trainee: {}", why.join("; ")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::rules::{Rule, Run, found};
    use domain::{ProblemKind, Trainee, TraineeField};

    use super::super::planted::{try_on, with_rules};
    use super::*;

    #[test]
    fn rules_that_refuse_a_specimen_are_found() {
        const NOBODY: Rule<Trainee> = Rule {
            name: "nobody",
            description: "refuses everybody",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| found(TraineeField::last_name, ProblemKind::Blank)),
        };
        let broken = try_on(inhabited, with_rules(&[NOBODY])).unwrap_err();
        assert_eq!(
            broken.to_string(),
            "v2001.0 is not inhabited: last_name refuses a generated trainee: cannot be blank (seed 5, record 0)"
        );
    }
}
