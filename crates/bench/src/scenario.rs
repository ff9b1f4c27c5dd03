//! The requests that are measured.

use std::ops::RangeInclusive;
use std::rc::Rc;

use chrono::{Datelike as _, Utc};
use serde_json::Value;

use crate::http::{Client, get, post, put};
use crate::limit::CommitMode;
use crate::load::{Load, Step, Write};
use crate::outcome::Outcome;
use crate::register::Register;

/// Connections of a load that reads.
const READERS: usize = 16;
/// Connections of a load that writes.
const WRITERS: usize = 64;
/// Connections of a load that copies the register.
const COPIERS: usize = 4;
/// Connections of a load that writes batches, and the trainees of each batch.
const BATCH_WRITERS: usize = 4;
const BATCH_ITEMS: usize = 200;
/// Pages around the middle or the end of a list that are asked for in turn.
const NEIGHBOURS: u64 = 20;
/// Changes that a client polls for that has seen all others.
const FEW_CHANGES: u64 = 40;
/// Trainees in a reply of a client that copies the register.
const COPIED_AT_ONCE: usize = 500;
/// The most replies of a provider that are asked for in turn, of those that a copy takes.
const COPY_REPLIES: usize = 10;
/// Pages of a list that supply trainees.
const SAMPLED_PAGES: u64 = 4;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    /// One trainee.
    Get,
    /// Like the scenario above, in the oldest version.
    GetOldest,
    /// Like the scenario above, compressed.
    GetGzip,
    /// The first page of a list.
    List,
    /// Like the scenario above, in the oldest version.
    ListOldest,
    /// Like the scenario above, compressed.
    ListGzip,
    /// A page in the middle of a list.
    Middle,
    /// A page near the end of a list.
    Deep,
    /// The first page of a list of one state.
    Status,
    /// The last changes of a list.
    Since,
    /// A copy of a list with nested records, by the links to the next pages.
    Copy,
    /// A copy by the changes.
    Changes,
    /// A new trainee of each provider in turn.
    Post,
    /// Like the scenario above, for one provider.
    PostToOne,
    /// Nine reads of a trainee to one new trainee.
    NineToOne,
    /// A registration with an idempotency key, whose reply is stored.
    PostWithKey,
    /// Registrations with keys in batches.
    Batch,
    /// A change of one field of a trainee.
    Put,
}

impl Scenario {
    pub(crate) const ALL: [Self; 18] = [
        Self::Get,
        Self::GetOldest,
        Self::GetGzip,
        Self::List,
        Self::ListOldest,
        Self::ListGzip,
        Self::Middle,
        Self::Deep,
        Self::Status,
        Self::Since,
        Self::Copy,
        Self::Changes,
        Self::Post,
        Self::PostToOne,
        Self::NineToOne,
        Self::PostWithKey,
        Self::Batch,
        Self::Put,
    ];

    /// What the option `--only` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::GetOldest => "get-oldest",
            Self::GetGzip => "get-gzip",
            Self::List => "list",
            Self::ListOldest => "list-oldest",
            Self::ListGzip => "list-gzip",
            Self::Middle => "list-50",
            Self::Deep => "list-90",
            Self::Status => "list-status",
            Self::Since => "since",
            Self::Copy => "copy",
            Self::Changes => "changes",
            Self::Post => "post",
            Self::PostToOne => "post-one",
            Self::NineToOne => "nine-to-one",
            Self::PostWithKey => "post-key",
            Self::Batch => "batch",
            Self::Put => "put",
        }
    }

    /// What a table calls it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Get => "One trainee",
            Self::GetOldest => "One trainee, oldest version",
            Self::GetGzip => "One trainee, gzip",
            Self::List => "List of 50, first page",
            Self::ListOldest => "List of 50, oldest version",
            Self::ListGzip => "List of 50, gzip",
            Self::Middle => "List of 50, page at 50 %",
            Self::Deep => "List of 50, page at 90 %",
            Self::Status => "List of 50, withdrawn trainees",
            Self::Since => "List of the latest 40 changes (`since`)",
            Self::Copy => "Trainees copied by `next`, pages of 500, with nested records",
            Self::Changes => "Trainees copied by `/changes`, pages of 500",
            Self::Post => "New trainee with two placements and a degree",
            Self::PostToOne => "New trainee, all of one provider",
            Self::NineToOne => "Nine reads to one new trainee",
            Self::PostWithKey => "New trainee with an `Idempotency-Key`",
            Self::Batch => "New trainees in batches of 200, with keys",
            Self::Put => "Update of one trainee field",
        }
    }

    /// The scenarios in the oldest version, with the same in the newest one.
    pub(crate) const OLDEST: [(Self, Self); 2] =
        [(Self::GetOldest, Self::Get), (Self::ListOldest, Self::List)];

    /// Whether trainees are registered or changed.
    pub(crate) fn writes(self) -> bool {
        [
            Self::Post,
            Self::PostToOne,
            Self::NineToOne,
            Self::PostWithKey,
            Self::Batch,
            Self::Put,
        ]
        .contains(&self)
    }

    /// The load on a register, if that has what is asked for.
    pub(crate) fn load(self, facts: &Facts) -> Option<Load> {
        match self {
            Self::Post => Some(Load::new(vec![facts.create()], WRITERS)),
            Self::PostToOne => Some(Load::new(vec![facts.create_for_one()], WRITERS)),
            Self::NineToOne => {
                let read = Step::Read(self.requests(facts).into());
                Some(Load::new(
                    nine_to_one(&read, facts.create_others()),
                    READERS,
                ))
            }
            Self::PostWithKey => Some(Load::new(vec![facts.create_with_key()], WRITERS)),
            Self::Batch | Self::Copy | Self::Changes if !facts.has_additions => None,
            Self::Copy | Self::Changes => {
                // None of them is full where the register is small.
                let requests =
                    Some(self.requests(facts)).filter(|requests| !requests.is_empty())?;
                Some(Load::new(vec![Step::Read(requests.into())], COPIERS).weighing(COPIED_AT_ONCE))
            }
            Self::Batch => Some(
                Load::new(vec![facts.create_by_batches()], BATCH_WRITERS).weighing(BATCH_ITEMS),
            ),
            Self::Put => facts
                .update()
                .map(|update| Load::new(vec![update], WRITERS)),
            Self::Get
            | Self::GetOldest
            | Self::GetGzip
            | Self::List
            | Self::ListOldest
            | Self::ListGzip
            | Self::Middle
            | Self::Deep
            | Self::Status
            | Self::Since => Some(Load::new(
                vec![Step::Read(self.requests(facts).into())],
                READERS,
            )),
        }
    }

    /// Whether there is a limit: what counts for many trainees, or keeps its reply, is compared
    /// with that of a single one.
    pub(crate) fn has_limit(self) -> bool {
        ![
            Self::Copy,
            Self::Changes,
            Self::PostToOne,
            Self::PostWithKey,
            Self::Batch,
            Self::Put,
        ]
        .contains(&self)
    }

    /// Whether the plain service has what is asked for: no compression, keys, batches and changes,
    /// and no updates.
    pub(crate) fn has_plain(self) -> bool {
        [
            Self::Get,
            Self::GetOldest,
            Self::List,
            Self::ListOldest,
            Self::Middle,
            Self::Deep,
            Self::Status,
            Self::Since,
            Self::Post,
            Self::PostToOne,
            Self::NineToOne,
        ]
        .contains(&self)
    }

    /// The load on a limit program that is filled with [`Scenario::replies`].
    pub(crate) fn load_on_limit(self, facts: &Facts, commits: CommitMode) -> Load {
        let path = format!("{}?{}", commits.path(), facts.created_bytes);
        let create = Write::create(post(&path, "", "", &facts.body));
        let create = Step::Write(Rc::new([create]));
        if self == Self::Post {
            return Load::new(vec![create], WRITERS);
        }
        let requests: Vec<_> = self
            .keys(self.requests(facts).len())
            .map(|key| get(&format!("/{key}"), "", ""))
            .collect();
        let read = Step::Read(requests.into());
        let steps = if self == Self::NineToOne {
            nine_to_one(&read, create)
        } else {
            vec![read]
        };
        Load::new(steps, READERS)
    }

    /// The bodies of the replies to all requests that read, under the keys that a limit program is
    /// asked for.
    pub(crate) fn replies(
        self,
        facts: &Facts,
        client: &mut Client,
    ) -> Outcome<Vec<(i64, Vec<u8>)>> {
        let requests = self.requests(facts);
        let replies = self
            .keys(requests.len())
            .zip(&requests)
            .map(|(key, request)| match client.send(request)? {
                (200, body) => Ok((key, body)),
                (status, body) => Err(format!(
                    "{}: {status} {}",
                    self.name(),
                    String::from_utf8_lossy(&body)
                )
                .into()),
            });
        replies.collect()
    }

    /// Keys that no other scenario has.
    fn keys(self, count: usize) -> impl Iterator<Item = i64> {
        let first = self as i64 * 1_000_000;
        (first..).take(count)
    }

    /// The requests that read.
    pub(crate) fn requests(self, facts: &Facts) -> Vec<Vec<u8>> {
        const GZIP: &str = "Accept-Encoding: gzip\r\n";
        match self {
            Self::Get | Self::NineToOne => facts.trainees(&facts.newest, ""),
            Self::GetOldest => facts.trainees(&facts.oldest, ""),
            Self::GetGzip => facts.trainees(&facts.newest, GZIP),
            Self::List => facts.pages(&facts.newest, 0, ""),
            Self::ListOldest => facts.pages(&facts.oldest, 0, ""),
            Self::ListGzip => facts.pages(&facts.newest, 0, GZIP),
            Self::Middle => facts.pages(&facts.newest, 50, ""),
            Self::Deep => facts.pages(&facts.newest, 90, ""),
            Self::Status => facts.first_pages(|_| "status=withdrawn".to_owned()),
            Self::Since => facts.first_pages(|provider| format!("since={}", provider.since)),
            Self::Copy => facts.collect_requests(|provider| &provider.pages_of_copy),
            Self::Changes => facts.collect_requests(|provider| &provider.changes_of_copy),
            Self::Post | Self::PostToOne | Self::PostWithKey | Self::Batch | Self::Put => {
                Vec::new()
            }
        }
    }
}

/// Nine times one step, and then the other.
fn nine_to_one(read: &Step, write: Step) -> Vec<Step> {
    let mut steps = vec![read.clone(); 9];
    steps.push(write);
    steps
}

/// The mixed load for the measurement of memory: of 20 requests, 14 read a trainee, 2 a page, 1 the
/// last changes, and 3 register a trainee.
pub(crate) fn mixed(facts: &Facts) -> Load {
    let read = |scenario: Scenario| Step::Read(scenario.requests(facts).into());
    let (one, deep, since) = (
        read(Scenario::Get),
        read(Scenario::Middle),
        read(Scenario::Since),
    );
    let others = [
        read(Scenario::List),
        deep,
        since,
        facts.create(),
        facts.create(),
        facts.create(),
    ];
    let steps = others
        .into_iter()
        .flat_map(|step| [one.clone(), one.clone(), step])
        .chain([one.clone(), one.clone()]);
    Load::new(steps.collect(), WRITERS)
}

/// What a client has to know of a register to ask it.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The path of the newest version.
    pub(crate) newest: String,
    oldest: String,
    providers: Vec<Provider>,
    /// The body of a registration, with letters to be replaced.
    pub(crate) body: String,
    /// Bytes of the reply to such a body.
    created_bytes: usize,
    /// Whether there are batches, links and changes.
    has_additions: bool,
}

#[derive(Debug)]
struct Provider {
    token: String,
    trainees: Vec<String>,
    /// The trainees of one list that may be changed.
    in_training: Vec<String>,
    /// The academic cycle with the most trainees.
    cycle: i32,
    /// The pages of 50 of its list.
    pages: u64,
    since: String,
    /// Requests for pages of a copy of the list that are full.
    pages_of_copy: Vec<Vec<u8>>,
    /// Requests for changes of a copy, whose replies are full.
    changes_of_copy: Vec<Vec<u8>>,
}

impl Facts {
    /// Asks a register that is served.
    pub(crate) fn fetch(register: &Register) -> Outcome<Self> {
        let mut client = Client::connect(register.server()?.address)?;
        let versions: Value = serde_json::from_slice(&client.read("/api/versions", "")?)?;
        let versions = versions
            .get("data")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let bases: Vec<&str> = versions
            .filter_map(|version| version.pointer("/links/self")?.as_str())
            .collect();
        let (newest, oldest) = bases
            .first()
            .zip(bases.last())
            .ok_or("the server lists no version")?;
        let document: Value =
            serde_json::from_slice(&client.read(&format!("{newest}/openapi.json"), "")?)?;
        let example = document
            .pointer("/paths/~1trainees/post/requestBody/content/application~1json/example");
        let mut body = example
            .ok_or("the OpenAPI document has no example")?
            .clone();
        let data = body
            .get_mut("data")
            .and_then(Value::as_object_mut)
            .ok_or("the example has no data")?;
        data.insert("last_name".to_owned(), Write::LETTERS.into());
        data.insert(
            "email".to_owned(),
            format!("{}@example.com", Write::LETTERS).into(),
        );
        let body = body.to_string();
        let has_additions = document.pointer("/paths/~1changes").is_some();
        let mut providers = Vec::new();
        for token in &register.tokens {
            providers.push(Provider::find(
                &mut client,
                newest,
                oldest,
                token,
                has_additions,
            )?);
        }
        let token = register.tokens.first().ok_or("the register has no token")?;
        // The register is left as it was.
        let tried = post(
            &format!("{newest}/trainees"),
            token,
            "Prefer: validate-only\r\n",
            &body,
        );
        let created_bytes = match client.send(&tried)? {
            (200 | 201, reply) => reply.len(),
            (status, reply) => {
                return Err(format!("{status} {}", String::from_utf8_lossy(&reply)).into());
            }
        };
        Ok(Self {
            newest: (*newest).to_owned(),
            oldest: (*oldest).to_owned(),
            providers,
            body,
            created_bytes,
            has_additions,
        })
    }

    fn trainees(&self, base: &str, headers: &str) -> Vec<Vec<u8>> {
        let of = |provider: &Provider| -> Vec<_> {
            let paths = provider
                .trainees
                .iter()
                .map(|trainee| format!("{base}/trainees/{trainee}"));
            paths
                .map(|path| get(&path, &provider.token, headers))
                .collect()
        };
        self.providers.iter().flat_map(of).collect()
    }

    fn collect_requests(&self, requests: impl Fn(&Provider) -> &[Vec<u8>]) -> Vec<Vec<u8>> {
        self.providers
            .iter()
            .flat_map(|provider| requests(provider).to_vec())
            .collect()
    }

    /// Pages at this percentage of the lists.
    fn pages(&self, base: &str, part: u64, headers: &str) -> Vec<Vec<u8>> {
        let of = |provider: &Provider| -> Vec<_> {
            let first = (provider.pages * part / 100).max(1);
            let last = if part == 0 {
                first
            } else {
                provider.pages.min(first + NEIGHBOURS - 1)
            };
            let path = format!("{base}/trainees?academic_cycle={}", provider.cycle);
            (first..=last)
                .map(|page| get(&format!("{path}&page={page}"), &provider.token, headers))
                .collect()
        };
        self.providers.iter().flat_map(of).collect()
    }

    /// The first page of each list, narrowed.
    fn first_pages(&self, filter: impl Fn(&Provider) -> String) -> Vec<Vec<u8>> {
        let of = |provider: &Provider| {
            let (base, cycle) = (&self.newest, provider.cycle);
            let path = format!(
                "{base}/trainees?academic_cycle={cycle}&{}",
                filter(provider)
            );
            get(&path, &provider.token, "")
        };
        self.providers.iter().map(of).collect()
    }

    /// Registrations of new trainees.
    fn create(&self) -> Step {
        Step::Write(self.registrations(&self.body).into())
    }

    /// Registrations of other persons, all of the first provider.
    fn create_for_one(&self) -> Step {
        let body = self.body_of_others("One");
        Step::Write(self.registrations(&body).into_iter().take(1).collect())
    }

    /// Registrations of persons whom [`Facts::create`] does not register.
    fn create_others(&self) -> Step {
        Step::Write(self.registrations(&self.body_of_others("Nine")).into())
    }

    /// A registration for each provider.
    pub(crate) fn registrations(&self, body: &str) -> Vec<Write> {
        let path = format!("{}/trainees", self.newest);
        self.providers
            .iter()
            .map(|provider| Write::create(post(&path, &provider.token, "", body)))
            .collect()
    }

    fn create_with_key(&self) -> Step {
        let path = format!("{}/trainees", self.newest);
        let (body, key) = (
            self.body_of_others("Key"),
            format!("Idempotency-Key: single-{}\r\n", Write::LETTERS),
        );
        let create = |of: &Provider| Write::create(post(&path, &of.token, &key, &body));
        Step::Write(self.providers.iter().map(create).collect())
    }

    /// `None` if no trainee may be changed.
    fn update(&self) -> Option<Step> {
        let body = format!(
            "{{\"data\":{{\"provider_trainee_id\":\"{}\"}}}}",
            Write::LETTERS
        );
        let of = |provider: &Provider| -> Vec<_> {
            let paths = provider
                .in_training
                .iter()
                .map(|trainee| format!("{}/trainees/{trainee}", self.newest));
            paths
                .map(|path| Write::update(put(&path, &provider.token, &body)))
                .collect()
        };
        let updates: Rc<[Write]> = self.providers.iter().flat_map(of).collect();
        (!updates.is_empty()).then_some(Step::Write(updates))
    }

    /// The body for persons whom no other load registers in the same register.
    fn body_of_others(&self, name: &str) -> String {
        let letters = Write::LETTERS;
        self.body
            .replace(&format!("\"{letters}\""), &format!("\"{name}{letters}\""))
    }

    fn create_by_batches(&self) -> Step {
        let (path, letters) = (format!("{}/trainees/batch", self.newest), Write::LETTERS);
        let item = self.body_of_others("Batch");
        let item = item.replacen('{', &format!("{{\"idempotency_key\":\"{letters}\","), 1);
        let body = format!("[{}]", vec![item; BATCH_ITEMS].join(","));
        let batch = |of: &Provider| Write::batch(post(&path, &of.token, "", &body), BATCH_ITEMS);
        Step::Write(self.providers.iter().map(batch).collect())
    }
}

impl Provider {
    /// Asks for the records of a provider in the oldest version, since a later one may describe its
    /// pages in another form.
    fn find(
        client: &mut Client,
        newest: &str,
        oldest: &str,
        token: &str,
        has_additions: bool,
    ) -> Outcome<Self> {
        let mut page = |query: String| -> Outcome<Value> {
            Ok(serde_json::from_slice(
                &client.read(&format!("{oldest}/trainees?{query}"), token)?,
            )?)
        };
        let total = |page: &Value, name: &str| {
            page.pointer(&format!("/meta/{name}"))
                .and_then(Value::as_u64)
                .unwrap_or(0)
        };
        let (mut trainees, mut largest) = (Vec::new(), (0, 0));
        for cycle in academic_cycles() {
            // An empty list is a 404.
            let Ok(first) = page(format!("academic_cycle={cycle}&per_page=500")) else {
                continue;
            };
            largest = largest.max((total(&first, "total_count"), cycle));
            let pages = total(&first, "total_pages");
            let sampled = pages.min(SAMPLED_PAGES);
            for number in 0..sampled {
                let listed = page(format!(
                    "academic_cycle={cycle}&per_page=500&page={}",
                    1 + number * pages / sampled
                ))?;
                trainees.extend(texts(&listed, "trainee_id"));
            }
        }
        let cycle = largest.1;
        let pages = total(&page(format!("academic_cycle={cycle}"))?, "total_pages");
        let changed = page(format!(
            "academic_cycle={cycle}&per_page=1&page={FEW_CHANGES}"
        ))?;
        let since = texts(&changed, "updated_at")
            .pop()
            .ok_or("a list has no changes")?;
        // None is a 404.
        let in_training = page(format!(
            "academic_cycle={cycle}&status=in_training&per_page=500"
        ));
        let in_training = in_training.map_or(Vec::new(), |listed| texts(&listed, "trainee_id"));
        let (mut pages_of_copy, mut changes_of_copy) = (Vec::new(), Vec::new());
        if has_additions {
            let list =
                format!("{newest}/trainees?academic_cycle={cycle}&per_page={COPIED_AT_ONCE}");
            pages_of_copy = copy(client, token, format!("{list}&include=placements,degrees"))?;
            changes_of_copy = copy(
                client,
                token,
                format!("{newest}/changes?limit={COPIED_AT_ONCE}"),
            )?;
        }
        Ok(Self {
            token: token.to_owned(),
            trainees,
            in_training,
            cycle,
            pages,
            since,
            pages_of_copy,
            changes_of_copy,
        })
    }
}

/// The requests of a copy that begins at a path, as far as their replies are full.
fn copy(client: &mut Client, token: &str, path: String) -> Outcome<Vec<Vec<u8>>> {
    let (mut requests, mut next) = (Vec::new(), Some(path));
    while let Some(path) = next.filter(|_| requests.len() < COPY_REPLIES) {
        let request = get(&path, token, "");
        let (head, body) = client.read_with_head(&request)?;
        let reply: Value = serde_json::from_slice(&body)?;
        if reply
            .get("data")
            .and_then(Value::as_array)
            .is_none_or(|data| data.len() < COPIED_AT_ONCE)
        {
            break;
        }
        requests.push(request);
        next = next_page(&head);
    }
    Ok(requests)
}

/// Returns the path of the next page that the head of a reply names, if there is one.
pub(crate) fn next_page(head: &str) -> Option<String> {
    let links = head.lines().find_map(|line| line.strip_prefix("link: "))?;
    let link = links
        .split(", ")
        .find(|link| link.ends_with("rel=\"next\""))?;
    Some(link.strip_prefix('<')?.split('>').next()?.to_owned())
}

/// The academic years of invented trainees, and some around them.
pub(crate) fn academic_cycles() -> RangeInclusive<i32> {
    let this_year = Utc::now().year();
    this_year - 8..=this_year + 2
}

/// A text of each record in a list.
fn texts(page: &Value, key: &str) -> Vec<String> {
    let records = page
        .get("data")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    records
        .filter_map(|record| record.get(key)?.as_str().map(str::to_owned))
        .collect()
}
