//! The plain service (`bench/plain`): filled with the trainees of a register, and compared with it
//! before it is measured.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::http::{Client, get};
use crate::outcome::Outcome;
use crate::register::{Register, shares, ukprn, without_settings};
use crate::scenario::{Facts, Scenario, academic_cycles, next_page};

const FILLING: &str = "filling_plain";
const FILLED: &str = "filled_plain";
/// Replies of each scenario that are compared.
const COMPARED: usize = 100;
/// The number of a registration that no load sends.
const TRIED: usize = 99_999_999;
/// The keys whose values differ between two registrations of the same person.
const GENERATED: [&str; 6] = [
    "trainee_id",
    "placement_id",
    "degree_id",
    "created_at",
    "updated_at",
    "submitted_for_trn_at",
];

/// Fills a database of the plain service with the tokens and trainees of a register that is served.
///
/// # Errors
///
/// When the plain service fails, or the register lists another number of trainees than it has.
pub(crate) fn fill(
    program: &Path,
    register: &Register,
    facts: &Facts,
    folder: &Path,
) -> Outcome<Register> {
    let program = program.canonicalize()?;
    let databases = register.databases();
    databases.create(FILLING)?;
    let mut command = Command::new(&program);
    let mut process = without_settings(&mut command)
        .args(["fill", &databases.url(FILLING)])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut lines = BufWriter::new(process.stdin.take().ok_or("no standard input")?);
    let mut client = Client::connect(register.server()?.address)?;
    let mut trainees = 0;
    for (number, token) in register.tokens.iter().enumerate() {
        let line = json!({ "token": { "text": token, "ukprn": ukprn(number) } });
        writeln!(lines, "{line}")?;
        for cycle in academic_cycles() {
            let list = format!("{}/trainees?academic_cycle={cycle}", facts.newest);
            let list = format!("{list}&per_page=500&sort_order=asc&include=placements,degrees");
            trainees += write_list(&mut client, token, list, &mut lines)?;
        }
    }
    drop(lines);
    if !process.wait()?.success() {
        return Err("the plain service cannot be filled".into());
    }
    let expected = shares(register.trainees).into_iter().sum::<usize>();
    if trainees != expected {
        return Err(format!("the register lists {trainees} of {expected} trainees").into());
    }
    databases.remove(FILLED)?;
    databases.finish(FILLING, FILLED)?;
    Ok(Register::new_plain(&program, FILLED, register, folder))
}

/// Writes a line for each trainee of a list, and returns their number.
fn write_list(
    client: &mut Client,
    token: &str,
    list: String,
    lines: &mut impl std::io::Write,
) -> Outcome<usize> {
    let (mut count, mut next) = (0, Some(list));
    while let Some(path) = next {
        // An empty list is a 404.
        let Ok((head, body)) = client.read_with_head(&get(&path, token, "")) else {
            break;
        };
        let page: Value = serde_json::from_slice(&body)?;
        for trainee in page
            .get("data")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            writeln!(lines, "{}", json!({ "trainee": trainee }))?;
            count += 1;
        }
        next = next_page(&head);
    }
    Ok(count)
}

/// Compares replies of the plain service with those of the register, byte for byte. A registration
/// is compared without identifiers and times, and leaves a trainee behind.
///
/// # Errors
///
/// When two replies differ.
pub(crate) fn compare(
    register: &Register,
    plain: &Register,
    facts: &Facts,
    scenarios: &[Scenario],
) -> Outcome<()> {
    let mut client = Client::connect(register.server()?.address)?;
    let mut plain = Client::connect(plain.server()?.address)?;
    for scenario in scenarios.iter().filter(|scenario| scenario.has_plain()) {
        let requests = scenario.requests(facts);
        let step = requests.len().div_ceil(COMPARED).max(1);
        for request in requests.iter().step_by(step) {
            if client.send(request)? != plain.send(request)? {
                return Err(different(request));
            }
        }
    }
    if scenarios.iter().any(|scenario| scenario.writes()) {
        compare_registrations(&mut client, &mut plain, facts)?;
    }
    Ok(())
}

/// Compares the replies to a registration, to the same one again, and to one with a wrong code.
fn compare_registrations(client: &mut Client, plain: &mut Client, facts: &Facts) -> Outcome<()> {
    let write = facts.registrations(&facts.body).pop();
    let request = write.ok_or("no provider")?.request(TRIED);
    for expected in [201, 409] {
        let (status, body) = client.send(&request)?;
        let (plain_status, plain_body) = plain.send(&request)?;
        let is_equal = without_generated(&body)? == without_generated(&plain_body)?;
        if (status, plain_status) != (expected, expected) || !is_equal {
            return Err(different(&request));
        }
    }
    let wrong = facts
        .body
        .replace("\"nationality\":\"GB\"", "\"nationality\":\"??\"");
    let write = facts.registrations(&wrong).pop();
    let request = write.ok_or("no provider")?.request(TRIED);
    let statuses = (client.send(&request)?.0, plain.send(&request)?.0);
    if statuses != (422, 422) {
        return Err(different(&request));
    }
    Ok(())
}

/// Returns a reply with null for the values that the service generated.
fn without_generated(body: &[u8]) -> Outcome<String> {
    let mut reply = serde_json::from_slice(body)?;
    remove_generated(&mut reply);
    Ok(reply.to_string())
}

fn remove_generated(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if GENERATED.contains(&key.as_str()) {
                    *value = Value::Null;
                } else {
                    remove_generated(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove_generated),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn different(request: &[u8]) -> Box<dyn std::error::Error> {
    let request = String::from_utf8_lossy(request);
    let line = request.lines().next().unwrap_or_default();
    format!("the plain service replies differently to {line}").into()
}
