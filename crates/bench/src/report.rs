//! The report, in Markdown.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::benchmark::{Results, Target};
use crate::load::Turn;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::scenario::Scenario;

/// The report of the last run is between these two lines of a document.
const MARKS: [&str; 2] = [
    "<!-- Start of the `make bench` report -->",
    "<!-- End of the `make bench` report -->",
];
const ABSENT: &str = "-";

pub(crate) fn introduction(options: &Options) -> String {
    let Options {
        register_name,
        before_name,
        seconds,
        rounds,
        ..
    } = options;
    let before = options
        .before
        .as_ref()
        .map(|_| format!(", \"before\" is {before_name}"))
        .unwrap_or_default();
    format!(
        "\"Now\" is {register_name}{before}. Rounds: {rounds}; each measurement takes \
         {seconds} s.\n"
    )
}

/// What was measured on one kind of database.
pub(crate) fn section(kind: &str, results: &Results) -> String {
    let name = if kind == "sqlite" {
        "SQLite"
    } else {
        "PostgreSQL"
    };
    let mut out = format!("\n### {name}\n");
    let Some(first) = results.sizes.first().map(|size| Target::Register(*size)) else {
        return out;
    };
    table(
        &mut out,
        &[
            "Request",
            "Limit",
            "Plain",
            "Before",
            "Now",
            "Now : limit",
            "Now : plain",
            "Now : before",
            "Processor time: limit, plain, before, now",
            "p50, p99: now",
        ],
        Scenario::ALL.into_iter().filter_map(|scenario| {
            let turns = |target| {
                results
                    .turns
                    .get(&(scenario, target))
                    .map(Vec::as_slice)
                    .unwrap_or_default()
            };
            let (limit, plain) = (turns(Target::Limit), turns(Target::Plain));
            let (before, now) = (turns(Target::Before), turns(first));
            let rate = |turns: &[Turn]| {
                median(turns, |turn| turn.rate)
                    .map_or(ABSENT.to_owned(), |rate| format!("{rate:.0}/s"))
            };
            let processor = [limit, plain, before, now]
                .map(|turns| shown(median(turns, |turn| turn.processor), 1))
                .join(", ");
            let times = [median(now, |turn| turn.p50), median(now, |turn| turn.p99)]
                .map(|time| shown(time, 2))
                .join(", ");
            let ratios = [
                ratio(now, limit, |turn| turn.rate),
                ratio(now, plain, |turn| turn.rate),
                ratio(now, before, |turn| turn.rate),
            ];
            let [of_limit, of_plain, of_before] = ratios;
            let cells = [
                rate(limit),
                rate(plain),
                rate(before),
                rate(now),
                of_limit,
                of_plain,
                of_before,
                format!("{processor} µs"),
                format!("{times} ms"),
            ];
            (!now.is_empty()).then(|| [vec![scenario.title().to_owned()], cells.to_vec()].concat())
        }),
    );
    for ((scenario, target), turns) in &results.turns {
        let refused: usize = turns.iter().map(|turn| turn.refused).sum();
        if refused > 0 {
            let _ = writeln!(
                out,
                "\n{}, {target}: {refused} requests got status 503 and are not counted.",
                scenario.title()
            );
        }
    }
    let (shared, per_insert) = (
        results.turns.get(&(Scenario::Post, Target::Limit)),
        results.turns.get(&(Scenario::Post, Target::LimitPerInsert)),
    );
    if let Some((shared, per_insert)) = shared.zip(per_insert) {
        let rate = shown(median(per_insert, |turn| turn.rate), 0);
        let ratio = ratio(shared, per_insert, |turn| turn.rate);
        let _ = writeln!(
            out,
            "\nWith one commit per insert, the limit program makes {rate} inserts/s. Shared \
             commits increase this rate by a factor of {ratio}."
        );
    }
    for size in results.sizes.iter().skip(1) {
        compare(&mut out, results, first, Target::Register(*size));
    }
    for target in results
        .turns
        .keys()
        .map(|(_, target)| *target)
        .collect::<BTreeSet<_>>()
    {
        if matches!(target, Target::Pages(_)) {
            compare(&mut out, results, first, target);
        }
    }
    versions(&mut out, results, first);
    resources(&mut out, results);
    out
}

/// Another register of the program against the first.
fn compare(out: &mut String, results: &Results, first: Target, other: Target) {
    let heading = |target| match target {
        Target::Register(size) => format!("{size} trainees"),
        Target::Pages(rate) => format!("During {rate} page views/s"),
        Target::Limit | Target::LimitPerInsert | Target::Plain | Target::Before => String::new(),
    };
    let headings = [
        "Request",
        &heading(first),
        &heading(other),
        "Ratio",
        "Processor time",
    ];
    let rows = Scenario::ALL.into_iter().filter_map(|scenario| {
        let turns = |target| {
            results
                .turns
                .get(&(scenario, target))
                .filter(|turns| !turns.is_empty())
        };
        let (turns, others) = (turns(first)?, turns(other)?);
        let rate = |turns| format!("{}/s", shown(median(turns, |turn| turn.rate), 0));
        let processor = [turns, others]
            .map(|turns| shown(median(turns, |turn| turn.processor), 1))
            .join(", ");
        let ratio = ratio(others, turns, |turn| turn.rate);
        Some(vec![
            scenario.title().to_owned(),
            rate(turns),
            rate(others),
            ratio,
            format!("{processor} µs"),
        ])
    });
    table(out, &headings, rows);
}

/// The oldest version against the newest, for each byte of a reply.
fn versions(out: &mut String, results: &Results, first: Target) {
    let headings = ["Reply bytes", "Newest version", "Oldest version", "Ratio"];
    let rows = Scenario::OLDEST.into_iter().filter_map(|(oldest, newest)| {
        let (old, new) = (
            results.turns.get(&(oldest, first))?,
            results.turns.get(&(newest, first))?,
        );
        let bytes = |turn: &Turn| turn.rate * turn.bytes;
        let rate = |turns| {
            format!(
                "{} MB/s",
                shown(median(turns, bytes).map(|rate| rate / 1e6), 1)
            )
        };
        Some(vec![
            newest.title().to_owned(),
            rate(new),
            rate(old),
            ratio(old, new, bytes),
        ])
    });
    table(out, &headings, rows);
}

/// How long servers take to start, and what memory they hold.
fn resources(out: &mut String, results: &Results) {
    let targets = results
        .sizes
        .iter()
        .map(|size| Target::Register(*size))
        .chain([Target::Plain, Target::Before]);
    let rows = targets.filter_map(|target| {
        let starts = results
            .starts
            .get(&target)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut times: Vec<f64> = starts.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        let [low, middle, high] = spread(&mut times).map_or([None; 3], |times| times.map(Some));
        let memory = results.memory.get(&target).copied();
        let start = middle.map_or(ABSENT.to_owned(), |middle| {
            format!("{middle:.0} ms ({}..{})", shown(low, 0), shown(high, 0))
        });
        let memory = format!("{} MiB", shown(memory, 1));
        (middle.is_some() || results.memory.contains_key(&target))
            .then(|| vec![target.to_string(), start, memory])
    });
    table(
        out,
        &["Server", "Start time", "Memory after mixed load"],
        rows,
    );
}

/// A table, unless it has no rows.
fn table(out: &mut String, headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let rows: Vec<String> = rows
        .into_iter()
        .map(|cells| format!("| {} |\n", cells.join(" | ")))
        .collect();
    if !rows.is_empty() {
        let _ = writeln!(
            out,
            "\n| {} |\n|{}\n{}",
            headings.join(" | "),
            "---|".repeat(headings.len()),
            rows.concat().trim_end()
        );
    }
}

/// The median of the rounds' ratios, and the lowest and the highest of them.
fn ratio(turns: &[Turn], to: &[Turn], of: impl Fn(&Turn) -> f64) -> String {
    let mut ratios: Vec<f64> = turns
        .iter()
        .zip(to)
        .map(|(turn, to)| of(turn) / of(to))
        .collect();
    spread(&mut ratios).map_or(ABSENT.to_owned(), |[low, middle, high]| {
        format!("{middle:.2} ({low:.2}..{high:.2})")
    })
}

fn median(turns: &[Turn], of: impl Fn(&Turn) -> f64) -> Option<f64> {
    let mut values: Vec<f64> = turns.iter().map(of).collect();
    spread(&mut values).map(|[_, middle, _]| middle)
}

/// The lowest, the median and the highest.
fn spread(values: &mut [f64]) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    Some([
        *values.first()?,
        *values.get(values.len() / 2)?,
        *values.last()?,
    ])
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or(ABSENT.to_owned(), |value| format!("{value:.digits$}"))
}

/// Puts the report between the marks of a document.
pub(crate) fn put_into(file: &Path, report: &str) -> Outcome<()> {
    let text = fs::read_to_string(file)?;
    let [begin, end] = MARKS;
    let (before, rest) = text
        .split_once(begin)
        .ok_or("the document has no line that starts the report")?;
    let (_, after) = rest
        .split_once(end)
        .ok_or("the document has no line that ends the report")?;
    Ok(fs::write(
        file,
        format!("{before}{begin}\n\n{}\n\n{end}{after}", report.trim()),
    )?)
}
