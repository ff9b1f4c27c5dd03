//! What Prometheus reads: the text of a scrape, taken apart.

use std::collections::{BTreeMap, BTreeSet};

/// The labels of a series, by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// The metrics of one moment.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    /// The type of each metric.
    pub(crate) types: BTreeMap<String, String>,
    /// The metrics that say what they mean.
    pub(crate) described: BTreeSet<String>,
    /// The values of series, those of a histogram under the names of its parts.
    values: BTreeMap<(String, Labels), f64>,
}

impl Exposition {
    pub(crate) fn read(text: &str) -> Self {
        let mut exposition = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(described) = line.strip_prefix("# HELP ") {
                exposition
                    .described
                    .insert(described.split_once(' ').unwrap().0.to_owned());
            } else if let Some(typed) = line.strip_prefix("# TYPE ") {
                let (name, kind) = typed.split_once(' ').unwrap();
                exposition.types.insert(name.to_owned(), kind.to_owned());
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                let labels = labels.strip_suffix('}').unwrap();
                let labels = labels.split_terminator("\",").map(|label| {
                    let (name, value) = label.split_once("=\"").unwrap();
                    (name.to_owned(), value.trim_end_matches('"').to_owned())
                });
                exposition
                    .values
                    .insert((name.to_owned(), labels.collect()), value.parse().unwrap());
            }
        }
        exposition
    }

    /// The metric of a series.
    fn metric<'a>(&self, series: &'a str) -> &'a str {
        let parts = ["_bucket", "_sum", "_count"]
            .into_iter()
            .filter_map(|part| series.strip_suffix(part));
        parts
            .into_iter()
            .find(|name| {
                self.types
                    .get(*name)
                    .is_some_and(|kind| kind == "histogram")
            })
            .unwrap_or(series)
    }

    /// The series: each metric with its labels. A histogram counts once, whatever its buckets.
    pub(crate) fn series(&self) -> BTreeSet<(String, Labels)> {
        self.values
            .keys()
            .map(|(name, labels)| {
                let mut labels = labels.clone();
                labels.remove("le");
                (self.metric(name).to_owned(), labels)
            })
            .collect()
    }

    /// The value of a series; nothing where there is no such series.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        self.values.get(&(name.to_owned(), labels)).copied()
    }

    /// The sum of all series of a metric with this label.
    pub(crate) fn sum(&self, name: &str, label: (&str, &str)) -> f64 {
        let has_it = |labels: &Labels| labels.get(label.0).is_some_and(|value| value == label.1);
        self.values
            .iter()
            .filter(|((one, labels), _)| one == name && has_it(labels))
            .map(|(_, value)| value)
            .sum()
    }
}
