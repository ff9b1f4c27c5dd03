//! Draws the requests of several months as SVG: one bar for each month, stacked by version. Each
//! version has its own colour and pattern, and the description contains every number as text.
//! Identifiers begin with `usage-`, so that a page can embed the picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use askama::Template;
use chrono::NaiveDate;

use super::{UsageByMonth, format_month};

// All measures are in the units of the picture.
const LEFT: i64 = 64;
const MONTH_WIDTH: i64 = 50;
const BAR_WIDTH: i64 = 34;
const TOP: i64 = 10;
/// Of the highest possible bar.
const BAR_HEIGHT: i64 = 200;
const LEGEND_LINE: i64 = 20;
/// The bottom of the bars.
const BASE: i64 = TOP + BAR_HEIGHT;
/// Between the bars and the first line of the legend.
const LEGEND_GAP: i64 = 32;

/// Colours and patterns of the versions. Each colour has a contrast of at least 3 to 1 to black and
/// to white.
const STYLES: [(&str, &str); 6] = [
    ("#1d70b8", ""),
    ("#b0581c", "M0 8L8 0"),
    ("#4c7a34", "M0 4H8"),
    ("#8a5ab0", "M4 0V8"),
    ("#a8456b", "M0 0L8 8M0 8L8 0"),
    ("#58757f", "M2 4H6M4 2V6"),
];

#[derive(Template)]
#[template(path = "settings/usage_chart.svg")]
struct Chart {
    width: i64,
    height: i64,
    left: i64,
    base: i64,
    bar_width: i64,
    description: String,
    versions: Vec<Version>,
    grid: Vec<GridLine>,
    months: Vec<Month>,
}

struct Version {
    label: String,
    requests: i64,
    colour: &'static str,
    pattern: &'static str,
    y: i64,
}

struct GridLine {
    y: i64,
    requests: i64,
}

struct Month {
    name: String,
    x: i64,
    middle: i64,
    bars: Vec<Bar>,
}

struct Bar {
    /// The index of the version's pattern.
    version: usize,
    y: i64,
    height: i64,
    title: String,
}

/// Draws the requests. The width depends on the number of months.
pub(crate) fn draw(usage: &UsageByMonth) -> Result<String, askama::Error> {
    let labels = usage.list_versions();
    let requests = usage.sum_by_version();
    let of_months = usage.months.iter().map(|month| -> i64 {
        let of_versions = labels.iter().map(|label| (*month, *label));
        of_versions.filter_map(|key| requests.get(&key)).sum()
    });
    let highest = round_up(of_months.max().unwrap_or_default());
    let positions = (0..).map(|number| LEFT + number * MONTH_WIDTH + 8);
    let months: Vec<_> = positions
        .zip(&usage.months)
        .map(|(x, month)| Month {
            name: format_month(*month),
            x,
            middle: x + BAR_WIDTH / 2,
            bars: stack_bars(*month, &labels, &requests, highest),
        })
        .collect();
    let legend = (0..).map(|line| BASE + LEGEND_GAP + line * LEGEND_LINE);
    let versions = labels.iter().zip(STYLES.iter().cycle()).zip(legend);
    let versions: Vec<_> = versions
        .map(|((label, (colour, pattern)), y)| {
            let own = requests.iter().filter(|((_, version), _)| version == label);
            Version {
                label: (*label).to_owned(),
                requests: own.map(|(_, count)| count).sum(),
                colour,
                pattern,
                y,
            }
        })
        .collect();
    let height =
        BASE + LEGEND_GAP + i64::try_from(versions.len()).unwrap_or_default() * LEGEND_LINE;
    let width = LEFT + i64::try_from(months.len()).unwrap_or_default() * MONTH_WIDTH;
    let grid = [0, highest / 2, highest].map(|requests| GridLine {
        y: scale(requests, highest),
        requests,
    });
    let chart = Chart {
        width,
        height,
        left: LEFT,
        base: BASE,
        bar_width: BAR_WIDTH,
        description: describe(usage),
        versions,
        grid: grid.into(),
        months,
    };
    chart.render()
}

/// Stacks the bars of a month by version, the oldest at the bottom.
fn stack_bars(
    month: NaiveDate,
    labels: &[&str],
    requests: &BTreeMap<(NaiveDate, &str), i64>,
    highest: i64,
) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut below = 0;
    for (version, label) in (1..).zip(labels) {
        let count = requests.get(&(month, *label)).copied().unwrap_or_default();
        if count <= 0 {
            continue;
        }
        let top = scale(below + count, highest);
        bars.push(Bar {
            version,
            y: top,
            height: scale(below, highest) - top,
            title: format!("{}, {label}: {count}", format_month(month)),
        });
        below += count;
    }
    bars
}

/// Describes all numbers of the picture: the requests of each month by version.
#[must_use]
pub(crate) fn describe(usage: &UsageByMonth) -> String {
    let requests = usage.sum_by_version();
    let versions = usage.list_versions();
    let mut text = String::new();
    for month in &usage.months {
        let count =
            |version: &&str| Some(format!("{version} {}", requests.get(&(*month, *version))?));
        let counts: Vec<_> = versions.iter().filter_map(count).collect();
        let counts = if counts.is_empty() {
            "none".to_owned()
        } else {
            counts.join(", ")
        };
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}{}: {counts}.", format_month(*month));
    }
    text
}

fn scale(requests: i64, highest: i64) -> i64 {
    BASE - requests.saturating_mul(BAR_HEIGHT) / highest.max(1)
}

/// Rounds up to 2, 4, 6, 8 or 10 times a power of ten.
fn round_up(requests: i64) -> i64 {
    // The grid lines are the whole number and its half: both are round.
    let mut unit = 1;
    while requests > unit * 10 {
        unit *= 10;
    }
    let steps = [2, 4, 6, 8, 10].into_iter().map(|step| step * unit);
    steps
        .into_iter()
        .find(|step| *step >= requests)
        .unwrap_or(requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage_by_month::MonthTotal;

    fn month(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn total(at: &str, version: &str, endpoint: &str, requests: i64) -> MonthTotal {
        MonthTotal {
            month: month(at),
            version: version.to_owned(),
            endpoint: endpoint.to_owned(),
            requests,
        }
    }

    fn usage() -> UsageByMonth {
        let months = ["2026-08-01", "2026-09-01", "2026-10-01"].map(month).into();
        let totals = vec![
            total("2026-08-01", "v2.0", "GET /info", 40),
            total("2026-10-01", "v10.0", "GET /info", 30),
            total("2026-10-01", "v2.0", "GET /info", 90),
            total("2026-10-01", "v2.0", "POST /trainees", 10),
        ];
        UsageByMonth::new(months, totals)
    }

    #[test]
    fn the_picture_is_as_it_was() {
        insta::with_settings!({
            snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/usage"),
            prepend_module_to_snapshot => false,
        }, {
            insta::assert_snapshot!("chart", draw(&usage()).unwrap());
        });
    }

    #[test]
    fn chart_describes_every_number() {
        assert_eq!(
            describe(&usage()),
            "2026-08: v2.0 40. 2026-09: none. 2026-10: v2.0 100, v10.0 30."
        );
    }

    #[test]
    fn versions_have_own_patterns() {
        let patterns: std::collections::BTreeSet<_> =
            STYLES.iter().map(|(_, pattern)| pattern).collect();
        assert_eq!(patterns.len(), STYLES.len());
    }

    #[test]
    fn unknown_version_label_is_escaped() {
        let usage = UsageByMonth::new(
            vec![month("2026-08-01")],
            vec![total("2026-08-01", "<script>", "x", 1)],
        );
        let picture = draw(&usage).unwrap();
        assert!(
            !picture.contains("<script>") && picture.contains("script"),
            "{picture}"
        );
    }

    #[test]
    fn months_without_requests_are_drawn() {
        let usage = UsageByMonth::new(vec![month("2026-08-01")], Vec::new());
        assert!(draw(&usage).unwrap().contains("2026-08"));
    }

    #[test]
    fn highest_grid_line_is_round_number() {
        let rounded = [0, 1, 2, 3, 10, 11, 99, 100, 101, 12_345].map(round_up);
        assert_eq!(rounded, [2, 2, 2, 4, 10, 20, 100, 100, 200, 20_000]);
    }
}
