//! Which answer comes first when a request is wrong in several ways.

use crate::api::support::run_cases;

#[test]
fn first_of_several_mistakes_is_answered() {
    run_cases(include_str!("precedence.txt"));
}
