//! What a client does all day: it writes, reads, lists, sends again, and makes mistakes.

use adapter_kit::Endpoint;
use domain::values::academic_year;
use serde_json::json;

use super::super::http::{Reply, Request};
use super::super::version_requests::{Manner, begun_on};
use super::Client;

/// The longest page that the client asks for.
const PAGE: usize = 20;

impl Client<'_> {
    /// Sends one request of any kind, or what it takes to know what became of a write, and requires
    /// a right answer.
    pub(crate) fn act(&mut self, address: &str) {
        let version = self.random.below(self.manners.len());
        let manner = &self.manners[version];
        match self.random.below(100) {
            0..40 => {
                if !self.write(address) {
                    self.resolve(address);
                }
            }
            40..70 => self.read_one(address),
            70..80 => self.list(address, manner),
            80..85 => self.look_up(address, manner),
            85..90 => self.send_again(address),
            _ => self.err(address, manner),
        }
    }

    fn read_one(&self, address: &str) {
        let Some(record) = self.random.pick(&self.records) else {
            return;
        };
        let reply = self
            .caller
            .insist(address, &record.read(&self.manners[record.version]));
        assert_eq!((reply.status, reply.body), (200, record.body()));
    }

    fn list(&self, address: &str, manner: &Manner) {
        let path = manner.path(Endpoint::ListTrainees, "", "");
        let (page, cycle) = (
            1 + self.random.below(5),
            academic_year::starting_year(begun_on()),
        );
        let path = format!("{path}?per_page={PAGE}&page={page}&academic_cycle={cycle}");
        let reply = self.caller.insist(address, &Request::get(path));
        if reply.status == 404 {
            assert!(page > 1, "the list is empty: {reply:?}");
            return;
        }
        assert_eq!(reply.status, 200, "{reply:?}");
        let count = reply.json()["data"].as_array().map(Vec::len);
        assert!(
            count.is_some_and(|count| (1..=PAGE).contains(&count)),
            "{count:?}"
        );
    }

    fn look_up(&self, address: &str, manner: &Manner) {
        let path = manner.path(Endpoint::Info, "", "");
        assert_eq!(self.caller.insist(address, &Request::get(path)).status, 200);
    }

    /// Sends the last write with a key once more: it is answered as it was, and not carried out
    /// again.
    fn send_again(&self, address: &str) {
        let Some((request, body)) = &self.last_with_key else {
            return;
        };
        let reply = self.caller.insist(address, request);
        assert!(
            reply.replayed && reply.body == *body,
            "{reply:?}\nis not the answer to\n{request:?}:\n{body}"
        );
    }

    /// Sends something that is wrong, and is told so.
    fn err(&self, address: &str, manner: &Manner) {
        let trainees = manner.path(Endpoint::CreateTrainee, "", "");
        let unknown = manner.path(Endpoint::ShowTrainee, "AAAAAAAAAAAAAAAAAAAAAAAA", "");
        let wrong = json!({ "data": { "sex": "no code", "colour": "no field", "date_of_birth": "no date" } });
        let mut cut_off = Request::with_body("POST", trainees.clone(), &wrong);
        cut_off.body = Some("{\"data\": {".to_owned());
        let (request, status) = match self.random.below(6) {
            0 => (Request::with_body("POST", trainees, &wrong), 422),
            1 => (cut_off, 400),
            2 => (Request::get(unknown), 404),
            3 => (Request::delete(trainees), 405),
            4 => (
                Request::get(format!("{trainees}?status=none&since=never")),
                422,
            ),
            _ => (Request::get("/api/v0.0/trainees"), 404),
        };
        let reply: Reply = self.caller.insist(address, &request);
        assert_eq!(reply.status, status, "{request:?}: {reply:?}");
    }
}
