//! What people are called, and what is known of them, stays in their records: it is planted in
//! every field of every endpoint, in success and in every kind of failure, and looked for wherever
//! it must not be.

use std::fs::{self, File};

use adapter_kit::{ApiVersion, Endpoint, Method, WireRecord};
use domain::{Deferral, Degree, Placement, Recommendation, Trainee, Withdrawal};
use serde_json::{Value, json};
use ureq::Agent;
use version_tools::openapi::examples;
use versions::SERVED;

use crate::program::support::running::FOR_OPERATORS;
use crate::program::support::{DEMO, Server, Workplace, texts, wait_until};
use crate::program::users;

/// Stands in every text that is planted.
pub(super) const CANARY: &str = "Zqxcanary";
/// A date of birth that no other trainee has.
pub(super) const BORN_ON: &str = "1987-06-05";
/// A code of the post that there is not.
const POSTCODE: &str = "ZQ9 8XY";

/// The tables with the content of uploaded files, until it was sent, at most for a day.
const UPLOADS: [&str; 3] = ["uploads", "upload_rows", "upload_problems"];
/// Tables that hold the e-mail addresses of those who sign in, on purpose.
const USERS: [&str; 2] = ["invitations", "users"];

/// Tables that hold the records, their history and the replies to repeated requests.
const RECORDS: [&str; 3] = ["changes", "replies", "trainees"];

/// The headers of requests whose bodies are refused.
const PLANTED_HEADERS: &str = "
Authorization: Zqxcanary
Authorization: Bearer sandbox_Zqxcanary
Authorization: Bearer production_Zqxcanary
Authorization: {bearer} | Idempotency-Key: Zqxcanary \"
Authorization: {bearer} | X-Request-Id: Zqxcanary of a person
Authorization: {bearer} | If-Match: Zqxcanary | Prefer: Zqxcanary
Authorization: {bearer} | User-Agent: Zqxcanary | Referer: http://zqxcanary.example/
Authorization: {bearer} | Content-Type: application/Zqxcanary
Authorization: {bearer} | Enhanced-Errors: true
Authorization: {bearer} | traceparent: Zqxcanary | tracestate: zqxcanary=Zqxcanary
Authorization: {bearer} | traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 | tracestate: zqxcanary=Zqxcanary
";

/// Values to plant in a field: some fields take one, some another, and some none.
fn canaries(number: usize) -> Vec<Value> {
    vec![
        json!(format!("{CANARY}{number}")),
        json!(format!("{CANARY}{number}@example.com")),
        json!(BORN_ON),
        json!(POSTCODE),
        json!({ CANARY: CANARY }),
        json!([CANARY]),
        json!(CANARY.repeat(200)),
        json!(format!("{CANARY}\u{7}")),
    ]
}

/// A client of one provider that counts what was accepted.
pub(super) struct Planter<'a> {
    server: &'a Server,
    version: &'static ApiVersion,
    trainee: Value,
    accepted: usize,
    refused: usize,
    /// How many idempotency keys were used; `None` where none are sent.
    keys: Option<usize>,
}

impl<'a> Planter<'a> {
    /// Registers a trainee to plant in.
    pub(super) fn new(server: &'a Server, version: &'static ApiVersion, name: &str) -> Self {
        Self::registering(server, version, name, None)
    }

    /// Sends them with an idempotency key on each request that can have one. Some keys name the
    /// person.
    pub(super) fn with_keys(server: &'a Server, version: &'static ApiVersion, name: &str) -> Self {
        Self::registering(server, version, name, Some(0))
    }

    fn registering(
        server: &'a Server,
        version: &'static ApiVersion,
        name: &str,
        keys: Option<usize>,
    ) -> Self {
        let mut planter = Self {
            server,
            version,
            trainee: Value::Null,
            accepted: 0,
            refused: 0,
            keys,
        };
        let body = planter.new_person(name);
        let (status, reply) = planter.send("POST", "/trainees", Some(&body));
        assert_eq!(status, 201, "{reply:#}");
        planter.trainee = reply["data"].clone();
        planter
    }

    /// The example, with another name, so that it is nobody's duplicate.
    pub(super) fn new_person(&self, name: &str) -> Value {
        let mut body = self.example(Endpoint::CreateTrainee).unwrap();
        let inputs = Trainee::inputs(self.version);
        let name_of = |field| {
            inputs
                .entries
                .iter()
                .find(|input| input.field == field)
                .unwrap()
                .name
        };
        body["data"][name_of(domain::TraineeField::first_names)] =
            json!(format!("{CANARY} {name}"));
        body["data"][name_of(domain::TraineeField::last_name)] = json!(format!("{CANARY}{name}"));
        body["data"][name_of(domain::TraineeField::date_of_birth)] = json!(BORN_ON);
        body["data"][name_of(domain::TraineeField::email)] =
            json!(format!("{CANARY}{name}@example.com"));
        body
    }

    fn example(&self, endpoint: Endpoint) -> Option<Value> {
        examples::request(self.version, endpoint)
    }

    fn path(&self, endpoint: Endpoint) -> String {
        let id = |pointer: &str| {
            self.trainee
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap()
        };
        endpoint
            .path()
            .replace("{trainee_id}", id("/trainee_id"))
            .replace("{placement_id}", id("/placements/0/placement_id"))
            .replace("{degree_id}", id("/degrees/0/degree_id"))
    }

    fn send(&mut self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let full_path = format!("/api/{}{path}", self.version.label);
        let (status, reply) = match self
            .keys
            .as_mut()
            .filter(|_| method == "POST" && !path.ends_with("/batch"))
        {
            None => self.server.send(method, &full_path, body),
            Some(used) => {
                *used += 1;
                // Other trainees may have other names than the planted one.
                let is_of_person = *used == 1 || (*used % 3 == 0 && path != "/trainees");
                let name = if is_of_person { CANARY } else { "request" };
                let key = format!("{}-{name}-{used}", self.version.label);
                let headers = [("Idempotency-Key", key.as_str())];
                let body = body.map(Value::to_string);
                self.server
                    .send_with(method, &full_path, &headers, body.as_deref())
            }
        };
        if status < 300 {
            self.accepted += 1;
        } else {
            self.refused += 1;
        }
        (status, reply)
    }

    /// Plants in every input of a record that an endpoint reads.
    fn plant<R: WireRecord>(&mut self, endpoint: Endpoint, method: &str) {
        let Some(base) = self.example(endpoint) else {
            return;
        };
        // Each item of a batch needs a key that was not used for another.
        let is_batch = endpoint.row().is_batch();
        let record = if is_batch { "/0/data" } else { "/data" };
        let mut keys = 0..;
        for (number, input) in R::inputs(self.version).entries.iter().enumerate() {
            for canary in canaries(number) {
                let mut body = base.clone();
                body.pointer_mut(record).unwrap()[input.name] = canary;
                if is_batch {
                    body[0]["idempotency_key"] =
                        json!(format!("{}-{}", self.version.label, keys.next().unwrap()));
                }
                let path = self.path(endpoint);
                self.send(method, &path, Some(&body));
            }
        }
        let mut unknown = base;
        unknown.pointer_mut(record).unwrap()[format!("{CANARY}_name")] = json!(CANARY);
        if is_batch {
            let wrong_key = json!({ "idempotency_key": format!("{CANARY} {CANARY}"), CANARY: CANARY, "data": CANARY });
            unknown.as_array_mut().unwrap().push(wrong_key);
        }
        let path = self.path(endpoint);
        self.send(method, &path, Some(&unknown));
    }

    /// Plants in every endpoint that reads a body; what ends the training comes last.
    pub(super) fn plant_everywhere(&mut self) {
        self.plant::<Trainee>(Endpoint::CreateTrainee, "POST");
        self.plant::<Trainee>(Endpoint::CreateTrainees, "POST");
        self.plant::<Trainee>(Endpoint::UpdateTrainee, "PATCH");
        self.plant::<Placement>(Endpoint::CreatePlacement, "POST");
        self.plant::<Placement>(Endpoint::UpdatePlacement, "PUT");
        self.plant::<Degree>(Endpoint::CreateDegree, "POST");
        self.plant::<Degree>(Endpoint::UpdateDegree, "PUT");
        self.plant::<Deferral>(Endpoint::Defer, "POST");
        let recommendations = [Endpoint::RecommendForQts, Endpoint::UpdateQtsOrEytsStatus];
        let served: Vec<_> = self
            .version
            .endpoints
            .all()
            .filter(|one| recommendations.contains(one))
            .collect();
        for endpoint in served {
            self.plant::<Recommendation>(endpoint, "POST");
        }
        self.plant::<Withdrawal>(Endpoint::Withdraw, "POST");
    }

    /// Plants where no record is: in paths, filters, headers, and bodies that are no JSON.
    fn plant_in_failures(&mut self, token: &str) {
        let base = format!("/api/{}", self.version.label);
        let bearer = format!("Bearer {token}");
        let ask = |method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>| {
            self.server.send_with(method, path, headers, body).0
        };
        let mut seen = Vec::new();
        for path in [
            format!("{base}/trainees/{CANARY}"),
            format!("{base}/trainees/{CANARY}/placements/{CANARY}"),
            format!("{base}/{CANARY}"),
            format!("/api/{CANARY}/trainees"),
            format!("/{CANARY}"),
            format!(
                "{base}/trainees?academic_cycle={CANARY}&since={CANARY}&status={CANARY}&{CANARY}={CANARY}"
            ),
        ] {
            for method in ["GET", "DELETE", "POST"] {
                seen.push(ask(method, &path, &[("Authorization", &bearer)], None));
            }
        }
        let create = format!("{base}/trainees");
        let body = json!({ "data": { CANARY: CANARY } }).to_string();
        for line in PLANTED_HEADERS.trim().lines() {
            let line = line.replace("{bearer}", &bearer);
            let headers: Vec<_> = line
                .split(" | ")
                .map(|header| header.split_once(": ").unwrap())
                .collect();
            seen.push(ask("POST", &create, &headers, Some(&body)));
        }
        for broken in [
            CANARY.to_owned(),
            format!("{{\"data\":{{\"{CANARY}\":\"{CANARY}\""),
            json!(CANARY).to_string(),
        ] {
            for path in [&create, &format!("{create}/batch")] {
                seen.push(ask(
                    "POST",
                    path,
                    &[("Authorization", &bearer)],
                    Some(&broken),
                ));
            }
        }
        let translate = format!("/docs/translate?from={0}&to={0}", self.version.label);
        seen.push(ask("POST", &translate, &[], Some(&body)));
        for status in [400, 401, 404, 405, 415, 422] {
            assert!(seen.contains(&status), "{status} is not among {seen:?}");
        }
        self.refused += seen.len();
    }
}

/// All replies to a provider that requests records of another provider, with valid bodies.
fn replies_to_another_provider(planter: &Planter<'_>, token: &str) -> String {
    let mut replies = String::new();
    let authorization = format!("Bearer {token}");
    for endpoint in planter.version.endpoints.all() {
        let methods: &[&str] = match endpoint.method() {
            Method::Get => &["GET"],
            Method::Post => &["POST"],
            Method::PutOrPatch => &["PUT", "PATCH"],
            Method::Delete => &["DELETE"],
        };
        for method in methods {
            let path = format!("/api/{}{}", planter.version.label, planter.path(endpoint));
            let body = planter.example(endpoint).map(|body| body.to_string());
            let headers = [("Authorization", authorization.as_str())];
            let (_, reply) = planter
                .server
                .send_with(method, &path, &headers, body.as_deref());
            replies.push_str(&reply.to_string());
        }
    }
    replies
}

#[track_caller]
pub(super) fn assert_nothing_of_a_person(place: &str, text: &str) {
    let lower = text.to_lowercase();
    for canary in [CANARY, BORN_ON, POSTCODE] {
        if let Some(at) = lower.find(&canary.to_lowercase()) {
            let line: String = lower[..at]
                .chars()
                .rev()
                .take_while(|c| *c != '\n')
                .take(200)
                .collect();
            let canary: String = lower[at..].chars().take(canary.len() + 1).collect();
            panic!(
                "{canary} is in {place}, after {:?}",
                line.chars().rev().collect::<String>()
            );
        }
    }
}

/// Signs in to the settings with a canary as the address, and plants canaries in every form.
fn plant_in_settings(server: &Server, link: &str, email: &str) {
    let browser = users::browser();
    let cookie = users::sign_in(&browser, link);
    let page = |path: &str, form: Option<&str>| {
        users::ask(
            &browser,
            &format!("http://{}/settings{path}", server.address()),
            &cookie,
            form,
        )
    };
    let home = page("", None);
    assert!(
        home.status == 200 && home.text.to_lowercase().contains(email),
        "{}",
        home.text
    );
    let form_token = users::form_token(&home.text).to_owned();
    let invited = format!("form_token={form_token}&role=viewer&email=other-{email}");
    assert_eq!(page("/people", Some(&invited)).status, 200);
    let planted = format!(
        "form_token={form_token}&name=&expires={CANARY}&email={CANARY}&role={CANARY}&overlap={CANARY}"
    );
    for path in ["/tokens", "/people", "/tokens/1/rotate", "/people/1/role"] {
        assert_eq!(page(path, Some(&planted)).status, 422, "{path}");
    }
    plant_in_files(server, &browser, &cookie, &form_token);
    for (path, form) in [
        (format!("/sign-in/{CANARY}"), None),
        (format!("/{CANARY}"), None),
        (format!("/activity?before={CANARY}"), None),
        ("/sign-in".to_owned(), Some(format!("secret={CANARY}"))),
        (
            "/sign-out-everywhere".to_owned(),
            Some(format!("form_token={form_token}&{CANARY}={CANARY}")),
        ),
    ] {
        page(&path, form.as_deref());
    }
}

/// Uploads files of trainees, one of them without fault, and names their columns.
fn plant_in_files(server: &Server, browser: &Agent, cookie: &str, form_token: &str) {
    let address = format!("http://{}/settings/upload", server.address());
    let send = |address: &str, cookie: &str, media_type: &str, body: &str| {
        let request = browser.post(address).header("Cookie", cookie);
        let sent = request.header("Content-Type", media_type).send(body);
        let (head, mut body) = sent.unwrap().into_parts();
        let header = |name: &str| {
            head.headers
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        let status = head.status.as_u16();
        (status, header("location"), body.read_to_string().unwrap())
    };
    let upload = |file: &str| {
        let body = format!(
            "--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{form_token}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{CANARY}.csv\"\r\n\r\n\
             {file}\r\n--x--\r\n"
        );
        send(&address, cookie, "multipart/form-data; boundary=x", &body)
    };
    for faulty in [
        format!("last_name\n\"{CANARY}\n"),
        format!("{CANARY},{CANARY}\n1,2\n"),
        format!("last_name\n{CANARY},{CANARY}\n"),
    ] {
        assert_eq!(upload(&faulty).0, 422, "{faulty}");
    }
    let file = format!("last_name,date_of_birth,{CANARY}\n{CANARY},{BORN_ON},{POSTCODE}\n");
    let (status, location, text) = upload(&file);
    assert_eq!(status, 303, "{text}");
    let page = format!("http://{}{}", server.address(), location.unwrap());
    let shown = users::ask(browser, &page, cookie, None);
    assert!(shown.text.contains(CANARY), "{}", shown.text);
    let form = format!("form_token={form_token}&column-1={CANARY}&column-2=x&column-3={CANARY}");
    let form_type = "application/x-www-form-urlencoded";
    let columns = format!("{page}/columns");
    assert_eq!(send(&columns, cookie, form_type, &form).0, 422);
    let form = format!(
        "form_token={form_token}&column-1=last_name&column-2=date_of_birth&column-3=ignored"
    );
    assert_eq!(send(&columns, cookie, form_type, &form).0, 303);
    wait_until("the row is checked", || {
        users::ask(browser, &page, cookie, None)
            .text
            .contains("No row of this file can be sent")
    });
}

/// Plants what an operator can send, and shows a history that is full of it.
fn plant_as_operator(operators: &str, link: &str, trainee_id: &str) {
    let browser = users::browser();
    let cookie = users::sign_in(&browser, link);
    let page = |path: &str, form: Option<&str>| {
        users::ask(
            &browser,
            &format!("{operators}/settings{path}"),
            &cookie,
            form,
        )
    };
    let form_token = users::form_token(&page("", None).text).to_owned();
    let shown = page(
        "/history",
        Some(&format!("form_token={form_token}&trainee_id={trainee_id}")),
    );
    assert!(
        shown.status == 200 && shown.text.contains(CANARY),
        "{}",
        shown.text
    );
    for (path, fields) in [
        ("/history", format!("trainee_id={CANARY}")),
        (
            "/organisations/add",
            format!("ukprn={CANARY}&name={CANARY}"),
        ),
        (
            "/registry/trainee",
            format!("trainee_id={CANARY}&action=issue-trn&trn={CANARY}"),
        ),
        (
            "/registry/trainee",
            format!("trainee_id={trainee_id}&action=reinstate&date={CANARY}"),
        ),
        ("/registry/file", format!("action={CANARY}&rows={CANARY}")),
    ] {
        assert_eq!(
            page(path, Some(&format!("form_token={form_token}&{fields}"))).status,
            422,
            "{path}"
        );
    }
    let rows = format!(
        "trainee_id%2Ctrn%0A{CANARY}%2C%0A{trainee_id}%2C{CANARY}%0A{CANARY}%2C{CANARY}%2C{CANARY}"
    );
    let report = page(
        "/registry/file",
        Some(&format!(
            "form_token={form_token}&action=issue-trn&rows={rows}"
        )),
    );
    assert!(
        report.status == 200 && report.text.contains("<dt>Refused</dt><dd>3</dd>"),
        "{}",
        report.text
    );
    for path in [
        "/registry?organisation=",
        "/registry?after=",
        "/imports?before=",
        "/imports/",
        "/organisations/",
    ] {
        page(&format!("{path}{CANARY}"), None);
    }
    let imports = page("/imports/1", None);
    assert_eq!(imports.status, 200);
    assert_nothing_of_a_person("the report of an import", &imports.text);
}

/// What stands in every table that holds no records, a line for each row.
fn other_tables(url: &str) -> Vec<(String, String)> {
    let is_other = |table: &str| ![&RECORDS[..], &USERS, &UPLOADS].concat().contains(&table);
    tables(url)
        .into_iter()
        .filter(|(table, _)| is_other(table))
        .collect()
}

/// What stands in every table, a line for each row, except the keys of recorded requests and the
/// problems beside them, which are kept on purpose.
pub(super) fn tables(url: &str) -> Vec<(String, String)> {
    let is_sqlite = url.starts_with("sqlite:");
    let names = if is_sqlite {
        "SELECT name AS text FROM sqlite_master WHERE type = 'table'"
    } else {
        "SELECT relname::text AS text FROM pg_class \
         WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    };
    texts(url, names)
        .into_iter()
        .map(|table| {
            let row = if is_sqlite {
                let columns = texts(
                    url,
                    &format!("SELECT name AS text FROM pragma_table_info('{table}')"),
                );
                let columns = columns
                    .iter()
                    .filter(|name| *name != "record_key")
                    .map(|name| match name.as_str() {
                        "problems" => "CASE WHEN record_key IS NULL THEN coalesce(problems, '') ELSE '' END".to_owned(),
                        _ => format!("coalesce(CAST({name} AS TEXT), '')"),
                    });
                columns.collect::<Vec<_>>().join(" || ' ' || ")
            } else {
                format!(
                    "(to_jsonb({table}) - 'record_key' - CASE WHEN to_jsonb({table}) ->> 'record_key' IS NULL THEN '' \
                     ELSE 'problems' END)::TEXT"
                )
            };
            let rows = texts(url, &format!("SELECT {row} AS text FROM {table}"));
            (table, rows.join("\n"))
        })
        .collect()
}

#[test]
#[should_panic(expected = "zqxcanary7 is in the log, after \"a line about \"")]
fn what_got_out_is_found() {
    assert_nothing_of_a_person("the log", "one line\na line about ZQXCANARY7\n");
}

/// Everything that a crate of this workspace says.
fn traced() -> String {
    let crates = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
    let names = crates.map(|entry| {
        entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .replace('-', "_")
    });
    names.fold("info".to_owned(), |filter, name| {
        filter + &format!(",{name}=trace")
    })
}

#[test]
fn nothing_of_a_person_leaves_the_records() {
    let place = Workplace::new();
    let log = place.path("log");
    let mut command = place.serve_command(&format!("{FOR_OPERATORS} --shadow-share 100"));
    command.env("RUST_LOG", traced());
    command.stderr(File::create(&log).unwrap());
    let server = Server::start(command);
    place.done("provider add --ukprn 10067890 --name Another");
    let other = place.done("token issue --provider 10067890 --name Records");

    let email = format!("{CANARY}@example.com").to_lowercase();
    let url = format!("http://{}", server.address());
    let link = place.done(format!(
        "user invite --provider {DEMO} --email {email} --settings-url {url}"
    ));
    plant_in_settings(&server, &link, &email);

    let mut last = None;
    for (number, version) in SERVED.iter().copied().enumerate() {
        let mut planter = Planter::new(&server, version, &format!("V{number}"));
        planter.plant_everywhere();
        planter.plant_in_failures(server.token());
        eprintln!(
            "{} accepted, {} refused in {}",
            planter.accepted, planter.refused, version.label
        );
        assert!(planter.accepted > 20 && planter.refused > 100);
        let shown = format!(
            "/api/{}{}",
            version.label,
            planter.path(Endpoint::ShowTrainee)
        );
        let shown = server.send("GET", &shown, None).1;
        assert!(shown.to_string().contains(CANARY));
        let replies = replies_to_another_provider(&planter, &other);
        assert_nothing_of_a_person("the replies to another provider", &replies);
        for endpoint in [
            Endpoint::ShowAccount,
            Endpoint::ShowUsage,
            Endpoint::ShowReadiness,
            Endpoint::ResetSandbox,
        ] {
            let path = format!("/api/{}{}", version.label, endpoint.path());
            let method = if endpoint.method() == Method::Get {
                "GET"
            } else {
                "POST"
            };
            let (status, reply) = server.send(method, &path, None);
            assert_eq!(status, 200, "{endpoint}: {reply:#}");
            assert_nothing_of_a_person(&format!("the reply of {endpoint}"), &reply.to_string());
        }
        last = Some(planter);
    }

    let logged = fs::read_to_string(&log).unwrap();
    let operators = logged
        .lines()
        .find_map(|line| line.split_once("listening for operators on "))
        .unwrap()
        .1;
    let link = place.done(format!(
        "user invite --operator --email o@example.com --operator-pages-url {operators}"
    ));
    let trainee = last.as_ref().unwrap().path(Endpoint::ShowTrainee);
    plant_as_operator(operators, &link, trainee.rsplit_once('/').unwrap().1);

    // A failure of the store is told in the log, and there without what it was about.
    place.execute("ALTER TABLE changes RENAME COLUMN fields TO fields_away");
    let mut planter = last.unwrap();
    let body = planter.new_person("Lost");
    assert_eq!(planter.send("POST", "/trainees", Some(&body)).0, 503);
    let logged = fs::read_to_string(&log).unwrap();
    assert!(logged.contains("changes"), "the failure is not in the log");
    assert_nothing_of_a_person("the log", &logged);
    let metrics = users::ask(&users::browser(), &format!("{operators}/metrics"), "", None).text;
    assert!(
        metrics.contains("register_requests_total{"),
        "nothing was counted"
    );
    assert_nothing_of_a_person("the metrics", &metrics);

    // What is counted is written at the end.
    drop(planter);
    server.stop();
    place.execute("ALTER TABLE changes RENAME COLUMN fields_away TO fields");
    for (table, rows) in other_tables(&place.url()) {
        let counts = [
            "requests",
            "request_totals",
            "sign_in_sessions",
            "activity_log",
            "imports",
        ];
        assert!(
            !counts.contains(&table.as_str()) || !rows.is_empty(),
            "nothing is in {table}"
        );
        assert_nothing_of_a_person(&format!("the table {table}"), &rows);
    }
    let checked = place.run("check");
    assert_nothing_of_a_person(
        "what `check` prints",
        &format!("{}{}", checked.stdout(), checked.stderr()),
    );
    let oldest = SERVED.first().unwrap().label;
    for line in [
        "usage".to_owned(),
        format!("version readiness {oldest}"),
        format!("request list --provider {DEMO}"),
        format!("request refused --provider {DEMO}"),
    ] {
        assert_nothing_of_a_person(&format!("what {line} prints"), &place.done(&line));
    }
}
