//! The rows of a file that an operator sends by a form.

use storage::users::UserRole;

use super::browser::Browser;
use crate::api::support::Register;

const PATH: &str = "/settings/registry/file";

#[test]
fn blank_lines_above_the_header_row_count() {
    let register = Register::start();
    let operator = Browser::signed_in(&register, None, "o@example.com", UserRole::Operator);
    let rows = "\r\n\r\ntrainee_id\r\nnobody\r\n";
    let report = operator.send(PATH, &[("action", "award"), ("rows", rows)]).is(200).text;
    assert!(report.contains("data-name=\"Line\">4<"), "{report}");
    // What was typed stays as it was.
    let form = operator.send(PATH, &[("action", ""), ("rows", rows)]).is(422).text;
    assert!(form.contains(&format!("\n{rows}</textarea>")), "{form}");
}
