//! A client of a register, and what it finds out before anything is measured.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use adapter_kit::{ApiVersion, Wire as _};
use chrono::{DateTime, Utc};
use domain::{Trainee, TraineeField};
use serde_json::Value;
use server::versions;
use ureq::Agent;

use super::growing::{CYCLES, last_cycle};

/// A client of the newest version.
pub(crate) struct Client {
    agent: Agent,
    /// Where the endpoints of the version are.
    base: String,
    authorization: String,
    version: &'static ApiVersion,
}

/// A reply, and how long it took until all of it was there.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) took: Duration,
}

impl Client {
    pub(crate) fn of(address: SocketAddr, token: &str) -> Result<Self, Box<dyn Error>> {
        let version = versions::all().newest().ok_or("there is no version")?.version;
        Ok(Self {
            agent: Agent::config_builder().http_status_as_error(false).build().into(),
            base: format!("http://{address}/api/{}", version.label),
            authorization: format!("Bearer {token}"),
            version,
        })
    }

    /// Reads a path below that of the version.
    pub(crate) fn get(&self, path: &str) -> Result<Reply, Box<dyn Error>> {
        let request = self.agent.get(format!("{}{path}", self.base)).header("Authorization", &self.authorization);
        let began = Instant::now();
        let mut reply = request.call()?;
        let body = reply.body_mut().with_config().limit(u64::MAX).read_to_string()?;
        Ok(Reply { status: reply.status().as_u16(), body, took: began.elapsed() })
    }

    /// Sends a trainee.
    pub(crate) fn post_trainee(&self, trainee: &Value) -> Result<Reply, Box<dyn Error>> {
        let request = self
            .agent
            .post(format!("{}/trainees", self.base))
            .header("Authorization", &self.authorization)
            .header("Content-Type", "application/json");
        let body = trainee.to_string();
        let began = Instant::now();
        let mut reply = request.send(body.as_bytes())?;
        let body = reply.body_mut().read_to_string()?;
        Ok(Reply { status: reply.status().as_u16(), body, took: began.elapsed() })
    }

    /// The example of the documents under another last name.
    pub(crate) fn example(&self, last_name: &str) -> Result<Value, Box<dyn Error>> {
        let mut body: Value = serde_json::from_str(&server::demo::example(self.version))?;
        let name = Trainee::inputs(self.version).name_of(TraineeField::last_name).ok_or("there is no last name")?;
        let data = body.get_mut("data").and_then(Value::as_object_mut).ok_or("the example has no data")?;
        data.insert(name.to_owned(), last_name.into());
        Ok(body)
    }

    /// The identifiers of some trainees from all over the lists.
    pub(crate) fn some_trainees(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let mut found = Vec::new();
        for cycle in last_cycle() + 1 - CYCLES..=last_cycle() {
            for tenth in 0..10 {
                let page = self.pages(&format!("academic_cycle={cycle}&per_page=20"))? * tenth / 10 + 1;
                let reply = self.get(&format!("/trainees?academic_cycle={cycle}&per_page=20&page={page}"))?;
                found.extend(texts(&reply.body, "trainee_id")?);
            }
        }
        Ok(found)
    }

    /// The pages of a list.
    pub(crate) fn pages(&self, query: &str) -> Result<i64, Box<dyn Error>> {
        let reply: Value = serde_json::from_str(&self.get(&format!("/trainees?{query}"))?.body)?;
        Ok(reply.pointer("/meta/total_pages").and_then(Value::as_i64).ok_or("the list is empty")?)
    }

    /// The moment since which so many trainees of a list have changed, in milliseconds since 1970.
    pub(crate) fn moment(&self, query: &str, changed: i64) -> Result<i64, Box<dyn Error>> {
        let reply = self.get(&format!("/trainees?{query}&per_page=1&page={changed}"))?;
        let moment = texts(&reply.body, "updated_at")?.pop().ok_or("the list is shorter")?;
        Ok(moment.parse::<DateTime<Utc>>()?.timestamp_millis())
    }
}

/// A text of each record in a list.
fn texts(body: &str, key: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let reply: Value = serde_json::from_str(body)?;
    let records = reply.get("data").and_then(Value::as_array).ok_or("the list is empty")?;
    Ok(records.iter().filter_map(|record| record.get(key)?.as_str().map(str::to_owned)).collect())
}
