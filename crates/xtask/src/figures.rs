//! Counts what makes the code of the product readable, and compares each figure with its limit.

mod signature;

use crate::failure::Failure;
use crate::lines;
use crate::sources::{Sources, is_word};

/// The most lines of a function, from its name to its last brace.
const FUNCTION_LINES: usize = 80;
/// The most columns of a line in a function: rustfmt does not format a statement with a longer
/// literal. Tables of constants may have longer lines.
const COLUMNS: usize = 100;
const ARTICLES: &[&str] = &["A", "An", "The"];
/// Participles without a regular ending.
const IRREGULAR: &[&str] = &[
    "begun",
    "born",
    "bound",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "done",
    "drawn",
    "driven",
    "found",
    "frozen",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "left",
    "lost",
    "made",
    "meant",
    "met",
    "said",
    "seen",
    "sent",
    "shown",
    "sold",
    "spelt",
    "spent",
    "spoken",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "understood",
    "worn",
    "worth",
    "written",
];
/// Words that end like participles.
const NO_PARTICIPLES: &[&str] = &[
    "bring", "embed", "exceed", "feed", "need", "ping", "proceed", "seed", "speed", "string",
];

/// What is counted, with the places behind each count.
#[derive(Default)]
struct Counts {
    /// Lines without blank lines and comments.
    lines: usize,
    functions: usize,
    documented_functions: usize,
    doc_words: usize,
    comments: usize,
    macro_lines: usize,
    participles: Vec<String>,
    articles: Vec<String>,
    closures: Vec<String>,
    tuples: Vec<String>,
    long_functions: Vec<String>,
    wide_lines: Vec<String>,
}

/// A figure and its limit.
struct Figure<'a> {
    name: &'static str,
    value: f64,
    limit: Limit,
    places: &'a [String],
}

enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure<'_> {
    fn is_reached(&self) -> bool {
        match self.limit {
            Limit::AtMost(limit) => self.value <= limit,
            Limit::AtLeast(limit) => self.value >= limit,
        }
    }

    fn describe(&self) -> String {
        let (word, limit) = match self.limit {
            Limit::AtMost(limit) => ("at most", limit),
            Limit::AtLeast(limit) => ("at least", limit),
        };
        let mark = if self.is_reached() { "" } else { "  <--" };
        format!("{:8.1}  {} ({word} {limit}){mark}", self.value, self.name)
    }
}

/// Returns all figures. Fails with them if a figure does not reach its limit.
pub(crate) fn check(sources: &Sources) -> Result<String, Failure> {
    let counts = Counts::count(&lines::list_product_files(sources));
    let figures = counts.figures();
    let described: Vec<String> = figures.iter().map(Figure::describe).collect();
    if figures.iter().all(Figure::is_reached) {
        Ok(described.join("\n"))
    } else {
        Err(Failure(described))
    }
}

/// Returns all figures, with the places behind each.
pub(crate) fn list_places(sources: &Sources) -> String {
    let counts = Counts::count(&lines::list_product_files(sources));
    let mut report = String::new();
    for figure in counts.figures() {
        report += &format!("{}\n", figure.describe());
        for place in figure.places {
            report += &format!("            {place}\n");
        }
    }
    report
}

impl Counts {
    fn count(files: &[(&str, &str)]) -> Self {
        let mut counts = Self::default();
        for (path, text) in files {
            counts.add_file(path, text);
        }
        counts
    }

    fn add_file(&mut self, path: &str, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        let mut doc_comment = None;
        let mut function_end = 0;
        let mut macro_end = 0;
        for (index, line) in lines.iter().copied().enumerate() {
            let place = format!("{path}:{}", index + 1);
            let trimmed = line.trim_start();
            if let Some(comment) = read_doc_comment(trimmed) {
                self.doc_words += comment.split_whitespace().count();
                doc_comment = doc_comment.or(Some(comment));
                continue;
            }
            if trimmed.starts_with("//") {
                self.comments += usize::from(index < function_end);
                continue;
            }
            if trimmed.is_empty() {
                doc_comment = None;
                continue;
            }
            self.lines += 1;
            if index < function_end && line.chars().count() > COLUMNS {
                self.wide_lines.push(place.clone());
            }
            if trimmed.starts_with("macro_rules!") {
                macro_end = find_end(&lines, index);
            }
            self.macro_lines += usize::from(index < macro_end);
            if binds_closure(trimmed) {
                self.closures.push(format!("{place} {trimmed}"));
            }
            if let Some(name) = signature::read_name(trimmed) {
                let end = find_end(&lines, index);
                function_end = function_end.max(end);
                let place = format!("{place} {name}");
                self.add_function(
                    name,
                    doc_comment,
                    place,
                    lines.get(index..end).unwrap_or(&[]),
                );
            }
            if !trimmed.starts_with("#[") {
                doc_comment = None;
            }
        }
    }

    fn add_function(
        &mut self,
        name: &str,
        doc_comment: Option<&str>,
        place: String,
        lines: &[&str],
    ) {
        self.functions += 1;
        for _ in 0..signature::count_tuples(lines) {
            self.tuples.push(place.clone());
        }
        if lines.len() > FUNCTION_LINES {
            self.long_functions
                .push(format!("{place}: {} lines", lines.len()));
        }
        if is_participle(name) {
            self.participles.push(place.clone());
        }
        let Some(comment) = doc_comment else {
            return;
        };
        self.documented_functions += 1;
        if ARTICLES.contains(&comment.split(' ').next().unwrap_or_default()) {
            self.articles.push(place);
        }
    }

    fn figures(&self) -> [Figure<'_>; 9] {
        use Limit::{AtLeast, AtMost};
        [
            Figure {
                name: "participles as names, per 1,000 functions",
                value: per(1_000.0, self.participles.len(), self.functions),
                limit: AtMost(8.0),
                places: &self.participles,
            },
            Figure {
                name: "comments of functions that open with an article, in percent",
                value: per(100.0, self.articles.len(), self.documented_functions),
                limit: AtMost(5.0),
                places: &self.articles,
            },
            Figure {
                name: "words of doc comments, per 1,000 lines",
                value: per(1_000.0, self.doc_words, self.lines),
                limit: AtMost(900.0),
                places: &[],
            },
            Figure {
                name: "comments in functions, per 100 lines",
                value: per(100.0, self.comments, self.lines),
                limit: AtLeast(2.5),
                places: &[],
            },
            Figure {
                name: "functions above 80 lines",
                value: self.long_functions.len() as f64,
                limit: AtMost(0.0),
                places: &self.long_functions,
            },
            Figure {
                name: "closures bound to names, per 10,000 lines",
                value: per(10_000.0, self.closures.len(), self.lines),
                limit: AtMost(15.0),
                places: &self.closures,
            },
            Figure {
                name: "tuples in parameters and returns, per 10,000 lines",
                value: per(10_000.0, self.tuples.len(), self.lines),
                limit: AtMost(25.0),
                places: &self.tuples,
            },
            Figure {
                name: "lines of macro_rules",
                value: self.macro_lines as f64,
                limit: AtMost(700.0),
                places: &[],
            },
            Figure {
                name: "lines above 100 columns in functions",
                value: self.wide_lines.len() as f64,
                limit: AtMost(0.0),
                places: &self.wide_lines,
            },
        ]
    }
}

fn per(unit: f64, count: usize, all: usize) -> f64 {
    unit * count as f64 / all.max(1) as f64
}

fn read_doc_comment(trimmed: &str) -> Option<&str> {
    let comment = trimmed
        .strip_prefix("///")
        .or_else(|| trimmed.strip_prefix("//!"))?;
    Some(comment.trim())
}

/// Returns the index after the last line of an item. rustfmt puts its last brace below its first
/// character.
fn find_end(lines: &[&str], index: usize) -> usize {
    let line = lines.get(index).copied().unwrap_or_default();
    if line.ends_with([';', '}']) {
        return index + 1;
    }
    let indentation = line.len() - line.trim_start().len();
    let is_end = |line: &&str| {
        let rest = line.get(indentation..).unwrap_or_default();
        line.len() - line.trim_start().len() == indentation && rest.starts_with('}')
            || rest.ends_with(");") && !rest.starts_with(' ')
    };
    let mut after = lines.iter().skip(index + 1);
    after
        .position(is_end)
        .map_or(lines.len(), |offset| index + offset + 2)
}

/// Whether a line gives a name to a closure.
fn binds_closure(trimmed: &str) -> bool {
    let Some(declared) = trimmed.strip_prefix("let ") else {
        return false;
    };
    let declared = declared.trim_start_matches("mut ");
    let name: &str = declared.split(|c| !is_word(c)).next().unwrap_or_default();
    let rest = declared.get(name.len()..).unwrap_or_default();
    let value = rest
        .strip_prefix(" = ")
        .map(|value| value.trim_start_matches("move "));
    !name.is_empty() && value.is_some_and(|value| value.starts_with('|'))
}

/// Whether a name is one word that is a participle.
fn is_participle(name: &str) -> bool {
    let has_ending = name.ends_with("ed") || name.ends_with("ing");
    let is_word = !name.contains('_');
    is_word && (has_ending && !NO_PARTICIPLES.contains(&name) || IRREGULAR.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
//! A file of six words here.

/// The page.
fn page(of: &(u8, u8)) -> (u8, u8) {
    // Why.
    let half = |a: u8| a / 2;
    let pairs: Vec<(u8, u8)> = vec![half(1)];
}

/// Shows it.
#[must_use]
pub(crate) const fn shown<T>(
    write: impl Fn(u8, u8) -> u8,
    pairs: &[(u8, u8)],
) -> Option<(u8, T)> {
    None
}

// Outside.
macro_rules! each {
    ($a:ident) => {
        $a
    };
}

trait Walk {
    fn walked(&self);
    fn embed(&self) {}
}
";

    #[test]
    fn functions_comments_and_tuples_are_counted() {
        let counts = Counts::count(&[("a.rs", TEXT)]);
        assert_eq!(counts.lines, 20);
        assert_eq!(counts.functions, 4);
        assert_eq!(counts.documented_functions, 2);
        assert_eq!(counts.doc_words, 10);
        assert_eq!(counts.comments, 1);
        assert_eq!(counts.macro_lines, 5);
        assert_eq!(counts.articles, ["a.rs:4 page"]);
        assert_eq!(counts.participles, ["a.rs:12 shown", "a.rs:27 walked"]);
        assert_eq!(counts.closures, ["a.rs:6 let half = |a: u8| a / 2;"]);
        let tuples = [
            "a.rs:4 page",
            "a.rs:4 page",
            "a.rs:12 shown",
            "a.rs:12 shown",
        ];
        assert_eq!(counts.tuples, tuples);
    }

    #[test]
    fn long_functions_and_lines_are_counted() {
        let statements = "    a();\n".repeat(79);
        let text = format!(
            "fn a() {{\n{statements}}}\nfn b() {{\n{statements}{statements}}}\n// {}\n",
            "a".repeat(98)
        );
        let counts = Counts::count(&[("a.rs", &text)]);
        assert_eq!(
            counts.long_functions,
            ["a.rs:1 a: 81 lines", "a.rs:82 b: 160 lines"]
        );
        assert_eq!(counts.wide_lines, [] as [&str; 0]);
    }
}
