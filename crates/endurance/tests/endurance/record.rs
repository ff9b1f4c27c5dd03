//! One record as its client knows it, and what each write that the client can send makes of it.

use adapter_kit::Endpoint;
use fixtures::random::Random;
use serde_json::{Value, json};

use super::expected_record::{drawn_anew, is_as_predicted, leave_open};
use super::http::{Reply, Request};
use super::version_requests::{Manner, id};

/// The years of degrees; a trainee has at most one for each year.
const YEARS: std::ops::Range<i64> = 1980..2020;
/// The most placements that a client gives a trainee.
const MOST_PLACEMENTS: usize = 6;

/// A record as it was last acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// The version of the client's requests, by its position in the list.
    pub(crate) version: usize,
    /// The record as that version shows it.
    pub(crate) shown: Value,
    /// Whether it was written to since it was last compared.
    pub(crate) is_touched: bool,
}

/// A write, and what it makes of the record.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Request,
    /// The record afterwards.
    pub(crate) predicted: Value,
    /// The list and the position of the part that the reply shows instead of the trainee.
    part: Option<(&'static str, usize)>,
}

impl Record {
    pub(crate) fn id(&self) -> &str {
        id(&self.shown)
    }

    /// The request that reads the record.
    pub(crate) fn read(&self, manner: &Manner) -> Request {
        Request::get(manner.path(Endpoint::ShowTrainee, self.id(), ""))
    }

    /// The body of the reply to that request.
    pub(crate) fn body(&self) -> String {
        json!({ "data": self.shown }).to_string()
    }

    /// A write that the record's state allows; nothing when it is at its end. `word` was in no
    /// write before.
    pub(crate) fn any_write(&self, manner: &Manner, random: &Random, word: &str) -> Option<Write> {
        let state = self.shown["state"].as_str().unwrap();
        let is_paused = state == "deferred";
        if !is_paused && state != "submitted_for_trn" {
            return None;
        }
        let placements = self.parts("placements").len();
        let placement = random.below(placements);
        let degrees = self.parts("degrees").len();
        let degree = random.below(degrees);
        Some(match random.below(18) {
            0..6 => self.update(manner, random, word),
            6..9 if placements < MOST_PLACEMENTS => self.add_placement(manner, word),
            6..11 if placements > 0 => self.change_placement(manner, placement, word),
            11 if placements > 0 => self.delete(manner, "placements", placement),
            12 | 13 => self.add_degree(manner, random),
            14 | 15 if degrees > 0 => self.change_degree(manner, random, degree),
            16 if degrees > 0 => self.delete(manner, "degrees", degree),
            _ => self
                .transition(manner, random)
                .unwrap_or_else(|| self.update(manner, random, word)),
        })
    }

    /// The record after a write that was answered: what the reply shows is the truth.
    pub(crate) fn acknowledged(&self, write: &Write, reply: &Reply) -> Value {
        let mut told = reply.json()["data"].take();
        let Some((list, at)) = write.part else {
            assert!(
                is_as_predicted(&told, &write.predicted),
                "{told}\nis not\n{}",
                write.predicted
            );
            return told;
        };
        if let Value::Array(one) = &mut told {
            assert_eq!(one.len(), 1, "{reply:?}");
            told = one[0].take();
        }
        // The one key that a part has only where it is shown by itself.
        told.as_object_mut().unwrap().shift_remove("school_id");
        let mut after = write.predicted.clone();
        assert!(
            is_as_predicted(&told, &after[list][at]),
            "{told}\nis not\n{}",
            after[list][at]
        );
        after["updated_at"] = told["updated_at"].clone();
        after[list][at] = told;
        after
    }

    fn parts(&self, list: &str) -> &[Value] {
        self.shown[list].as_array().unwrap()
    }

    fn registered_with(&self, manner: &Manner) -> usize {
        manner.new_record["placements"].as_array().unwrap().len()
    }

    fn changed(&self) -> Value {
        let mut predicted = self.shown.clone();
        leave_open(&mut predicted, "updated_at");
        predicted
    }

    fn update(&self, manner: &Manner, random: &Random, word: &str) -> Write {
        let field = random.one_of([
            "middle_names",
            "first_names",
            "previous_last_name",
            "provider_trainee_id",
        ]);
        let mut predicted = self.changed();
        predicted[field] = word.into();
        let path = manner.path(Endpoint::UpdateTrainee, self.id(), "");
        let method = random.one_of(["PUT", "PATCH"]);
        let request = Request::with_body(method, path, &json!({ "data": { field: word } }));
        Write {
            endpoint: Endpoint::UpdateTrainee,
            request,
            predicted,
            part: None,
        }
    }

    fn add_placement(&self, manner: &Manner, word: &str) -> Write {
        let mut body = manner.placement();
        body["data"]["name"] = word.into();
        let mut predicted = self.changed();
        let mut placement = manner.new_record["placements"][0].clone();
        placement["name"] = word.into();
        let at = self.parts("placements").len();
        predicted["placements"]
            .as_array_mut()
            .unwrap()
            .push(placement);
        let request = manner.request(Endpoint::CreatePlacement, self.id(), None, &body);
        Write {
            endpoint: Endpoint::CreatePlacement,
            request,
            predicted,
            part: Some(("placements", at)),
        }
    }

    fn change_placement(&self, manner: &Manner, at: usize, word: &str) -> Write {
        let mut predicted = self.changed();
        let placement = &mut predicted["placements"][at];
        placement["name"] = word.into();
        leave_open(placement, "updated_at");
        let path = manner.path(
            Endpoint::UpdatePlacement,
            self.id(),
            self.part_id("placements", at),
        );
        let request = Request::with_body("PATCH", path, &json!({ "data": { "name": word } }));
        Write {
            endpoint: Endpoint::UpdatePlacement,
            request,
            predicted,
            part: Some(("placements", at)),
        }
    }

    fn add_degree(&self, manner: &Manner, random: &Random) -> Write {
        let year = self.free_year(random);
        let mut body = manner.degree();
        body["data"]["graduation_year"] = year.to_string().into();
        let mut degree = manner.new_record["degrees"][0].clone();
        degree["graduation_year"] = year.into();
        let mut predicted = self.changed();
        let at = insert_by_year(&mut predicted, degree);
        let request = manner.request(Endpoint::CreateDegree, self.id(), None, &body);
        Write {
            endpoint: Endpoint::CreateDegree,
            request,
            predicted,
            part: Some(("degrees", at)),
        }
    }

    fn change_degree(&self, manner: &Manner, random: &Random, at: usize) -> Write {
        let year = self.free_year(random);
        let mut predicted = self.changed();
        let mut degree = predicted["degrees"].as_array_mut().unwrap().remove(at);
        degree["graduation_year"] = year.into();
        leave_open(&mut degree, "updated_at");
        let place = insert_by_year(&mut predicted, degree);
        let path = manner.path(
            Endpoint::UpdateDegree,
            self.id(),
            self.part_id("degrees", at),
        );
        let request = Request::with_body(
            "PUT",
            path,
            &json!({ "data": { "graduation_year": year.to_string() } }),
        );
        Write {
            endpoint: Endpoint::UpdateDegree,
            request,
            predicted,
            part: Some(("degrees", place)),
        }
    }

    fn delete(&self, manner: &Manner, list: &'static str, at: usize) -> Write {
        let endpoint = if list == "degrees" {
            Endpoint::DeleteDegree
        } else {
            Endpoint::DeletePlacement
        };
        let mut predicted = self.changed();
        predicted[list].as_array_mut().unwrap().remove(at);
        let request = Request::delete(manner.path(endpoint, self.id(), self.part_id(list, at)));
        Write {
            endpoint,
            request,
            predicted,
            part: None,
        }
    }

    /// A step in the life of the trainee, where one is possible.
    fn transition(&self, manner: &Manner, random: &Random) -> Option<Write> {
        let (endpoint, body, changed) = random.pick(manner.transitions())?;
        let is_paused = self.shown["state"] == "deferred";
        let is_recommended = ![Endpoint::Withdraw, Endpoint::Defer].contains(endpoint);
        // A recommendation needs as many placements as the trainee was registered with.
        let lacks_placements = self.parts("placements").len() < self.registered_with(manner);
        if is_paused && *endpoint != Endpoint::Withdraw || is_recommended && lacks_placements {
            return None;
        }
        let mut predicted = self.changed();
        changed
            .iter()
            .for_each(|(key, value)| predicted[key] = value.clone());
        let request = manner.request(*endpoint, self.id(), None, body);
        Some(Write {
            endpoint: *endpoint,
            request,
            predicted,
            part: None,
        })
    }

    fn part_id(&self, list: &str, at: usize) -> &str {
        let key = if list == "degrees" {
            "degree_id"
        } else {
            "placement_id"
        };
        self.shown[list][at][key].as_str().unwrap()
    }

    /// A year without a degree of the trainee.
    fn free_year(&self, random: &Random) -> i64 {
        let taken: Vec<_> = self
            .parts("degrees")
            .iter()
            .map(|degree| degree["graduation_year"].as_i64())
            .collect();
        let free: Vec<i64> = YEARS.filter(|year| !taken.contains(&Some(*year))).collect();
        *random.pick(&free).unwrap()
    }
}

impl Write {
    /// The registration of a trainee.
    pub(crate) fn create(request: Request, predicted: Value) -> Self {
        Self {
            endpoint: Endpoint::CreateTrainee,
            request,
            predicted: drawn_anew(&predicted),
            part: None,
        }
    }
}

/// Puts a degree where the record shows it, and says where that is.
fn insert_by_year(record: &mut Value, degree: Value) -> usize {
    let degrees = record["degrees"].as_array_mut().unwrap();
    let year = degree["graduation_year"].as_i64();
    let at = degrees.partition_point(|other| other["graduation_year"].as_i64() < year);
    degrees.insert(at, degree);
    at
}
