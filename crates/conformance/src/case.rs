//! The subject of a check (one version and one record), and the failure of a check.

use std::fmt;

use adapter_kit::compose::{Keyed, Request};
use adapter_kit::read::{NestedLists, ReadableRecord, Reader, UnknownNames};
use adapter_kit::wire::WireNested;
use adapter_kit::{ApiVersion, Label, Served, WireRecord};
use domain::commands::Editable;
use domain::{Context, Lists, ParsedRecord, Trainee};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::sample::Sample;

/// A kind of nested record that the checks cover.
pub(crate) trait NestedCase: WireNested + ReadableRecord + Editable {}

impl<R: WireNested + ReadableRecord + Editable> NestedCase for R {}

/// A failed check, with the version and record that fail it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFailure {
    /// The name of the check.
    pub check: &'static str,
    /// The version.
    pub version: Label,
    /// The seed of the sample.
    pub seed: u64,
    /// The position of the record in the sample; `None` if the failure concerns no record.
    pub record: Option<usize>,
    /// The field.
    pub field: String,
    /// The fault, as the predicate of a sentence about the field.
    pub fault: String,
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            check,
            version,
            seed,
            record,
            field,
            fault,
        } = self;
        write!(
            formatter,
            "{version} fails {check}: {field} {fault} (seed {seed}"
        )?;
        match record {
            Some(record) => write!(formatter, ", record {record})"),
            None => write!(formatter, ")"),
        }
    }
}

impl std::error::Error for CheckFailure {}

/// One version and one record for a check.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) check: &'static str,
    pub(crate) served: &'a Served,
    pub(crate) sample: &'a Sample,
    pub(crate) record: Option<usize>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(check: &'static str, served: &'a Served, sample: &'a Sample) -> Self {
        Self {
            check,
            served,
            sample,
            record: None,
        }
    }

    pub(crate) fn version(self) -> &'a ApiVersion {
        self.served.version
    }

    /// Returns the case for each of the records.
    pub(crate) fn each(self, records: &'a [Trainee]) -> impl Iterator<Item = (Self, &'a Trainee)> {
        records.iter().enumerate().map(move |(at, record)| {
            (
                Self {
                    record: Some(at),
                    ..self
                },
                record,
            )
        })
    }

    /// Returns the context for the rules of the version.
    pub(crate) fn context(self) -> Context<'a> {
        Context {
            today: self.sample.today,
            lists: Lists::embedded(),
            accepted_codes: &self.version().accepted_codes,
            organisations: &self.sample.organisations,
        }
    }

    /// Returns the data of a request for the record, in the version's names.
    pub(crate) fn request<R: WireRecord>(
        self,
        record: &R,
    ) -> Result<Map<String, Value>, CheckFailure> {
        let request = Request {
            version: self.version(),
            record,
            lists: Lists::embedded(),
        };
        match serde_json::to_value(request) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(other) => self.fail(R::NAME, format!("is written as {other}")),
            Err(error) => self.fail(R::NAME, format!("cannot be written: {error}")),
        }
    }

    /// Reads `data` as a request that creates a record.
    pub(crate) fn read<R: ReadableRecord>(
        self,
        data: &impl Serialize,
        unknown: UnknownNames,
    ) -> Result<ParsedRecord<R>, CheckFailure> {
        self.read_with(data, unknown, NestedLists::Read)
    }

    /// Reads `data` as a request that changes a record.
    pub(crate) fn read_changes<R: ReadableRecord>(
        self,
        data: &impl Serialize,
        unknown: UnknownNames,
    ) -> Result<ParsedRecord<R>, CheckFailure> {
        self.read_with(data, unknown, NestedLists::Ignore)
    }

    /// Reads `data` as a request. Fails if the body cannot be written or is malformed.
    fn read_with<R: ReadableRecord>(
        self,
        data: &impl Serialize,
        unknown: UnknownNames,
        nested: NestedLists,
    ) -> Result<ParsedRecord<R>, CheckFailure> {
        let written = serde_json::to_vec(&Keyed(self.version().wire.envelope.request, data));
        let body =
            written.or_else(|error| self.fail(R::NAME, format!("cannot be written: {error}")))?;
        let reader = Reader {
            served: self.served,
            unknown,
            nested,
        };
        reader
            .read(&body)
            .or_else(|error| self.fail(R::NAME, format!("cannot be read: {error}")))
    }

    /// Returns the failure of this case. `fault` is the predicate of a sentence about `field`.
    pub(crate) fn fail<T>(
        self,
        field: impl Into<String>,
        fault: impl Into<String>,
    ) -> Result<T, CheckFailure> {
        Err(CheckFailure {
            check: self.check,
            version: self.version().label,
            seed: self.sample.seed,
            record: self.record,
            field: field.into(),
            fault: fault.into(),
        })
    }
}
