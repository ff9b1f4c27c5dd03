//! What a rule demands, as part of a sentence, and how two demands compare. Knows only descriptions
//! of rules.

/// Words by which a demand goes on after the name of its field.
const PREDICATES: [&str; 5] = ["is", "was", "has", "must", "differs"];
/// How a demand continues that is weaker than the one before it.
const EXCEPTIONS: [&str; 2] = [", except ", " unless "];

/// The demand with the name of the field that it is about.
pub(crate) fn with_subject(field: &str, description: &str) -> String {
    let continues = description
        .split(' ')
        .next()
        .is_some_and(|first| PREDICATES.contains(&first));
    if continues {
        format!("{field} {description}")
    } else {
        format!("{field}: {description}")
    }
}

/// Whether a demand is the one before it with an exception, so that nobody is refused who was not.
pub(crate) fn only_adds_exception(before: &str, after: &str) -> bool {
    let exception = after.strip_prefix(before);
    exception.is_some_and(|rest| EXCEPTIONS.iter().any(|word| rest.starts_with(word)))
}
