//! The demands of rules as sentences, and comparison of demands. Works on descriptions of rules
//! only.

/// First words of a demand that continue a sentence after the name of the field.
const PREDICATES: [&str; 7] = ["is", "was", "has", "must", "differs", "existed", "consists"];
/// Words that begin an exception to a demand.
const EXCEPTIONS: [&str; 2] = [", except ", " unless "];

/// Returns the description of a rule's demand, beginning with the name of the field. A description
/// that already names its subject is returned unchanged.
pub(crate) fn with_subject(field: &str, description: &str) -> String {
    let continues = description
        .split(' ')
        .next()
        .is_some_and(|first| PREDICATES.contains(&first));
    if continues {
        format!("{field} {description}")
    } else {
        description.to_owned()
    }
}

/// Whether the demand `after` is the demand `before` with an added exception. A rule with the added
/// exception accepts every request that it accepted before.
pub(crate) fn only_adds_exception(before: &str, after: &str) -> bool {
    let exception = after.strip_prefix(before);
    exception.is_some_and(|rest| EXCEPTIONS.iter().any(|word| rest.starts_with(word)))
}
