//! How often a client may ask, and what it is told when it asks too often or when the register is
//! busy (contract, sections 7 and 8).

use std::num::NonZeroU32;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use adapter_kit::ApiVersion;
use domain::TraineeField;
use gateway::admission::Admission;
use http_kit::limits::rate_limit::RateLimit;
use storage::error::StorageError;
use storage::store::{StoreOptions, WriteScope};
use versions::SERVED;

use crate::api::support::{Api, Register, Response, Setup};

/// So long that nothing comes back while a test runs.
const WINDOW: Duration = Duration::from_hours(24);
/// Requests without a valid token that are answered as such before their address is told that there
/// were too many.
const STRANGERS: usize = 60;

fn register_with(requests: u32) -> Register {
    let allowance = RateLimit {
        requests: NonZeroU32::new(requests).unwrap(),
        window: WINDOW,
    };
    Register::with_setup(Setup {
        admission: Admission::with_limit(Some(allowance)),
        ..Setup::default()
    })
}

fn every_version_with(requests: u32, scenario: impl Fn(&Api<'_>)) {
    for version in SERVED {
        scenario(&register_with(requests).api(version));
    }
}

fn info(api: &Api<'_>) -> Response {
    api.get("/info")
}

#[test]
fn token_has_rate_limit_and_sees_quota() {
    every_version_with(3, |api| {
        for left in [2, 1, 0] {
            let reply = info(api).is(200);
            assert_eq!(
                reply.header("ratelimit-policy"),
                Some("\"token\";q=3;w=86400")
            );
            let limit = reply.header("ratelimit").unwrap();
            assert!(
                limit.starts_with(&format!("\"token\";r={left};t=")),
                "{limit}"
            );
        }
        let refused = info(api);
        assert!(
            refused
                .error(429, "TooManyRequests")
                .contains("with this token")
        );
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((28_000..=28_800).contains(&wait), "{wait}");
        assert_eq!(
            refused.header("ratelimit-policy"),
            Some("\"token\";q=3;w=86400")
        );
        let all_back = refused
            .header("ratelimit")
            .and_then(|limit| limit.strip_prefix("\"token\";r=0;t="));
        let all_back: u64 = all_back
            .unwrap_or_else(|| panic!("{refused:?}"))
            .parse()
            .unwrap();
        assert!((85_000..=86_400).contains(&all_back), "{all_back}");
        // Whatever is asked, and whether or not it is right.
        api.send("POST", "/trainees", api.example())
            .error(429, "TooManyRequests");
        api.request("POST", "/trainees")
            .bytes("{")
            .send()
            .error(429, "TooManyRequests");
        // Another token, of this or of another provider, has its own limit.
        info(&api.register.other_provider(api.version)).is(200);
    });
}

#[test]
fn errors_count_and_report_the_remaining_quota() {
    every_version_with(3, |api| {
        let missing = api.get("/trainees/none").is(404);
        assert!(
            missing
                .header("ratelimit")
                .unwrap()
                .starts_with("\"token\";r=2;")
        );
        let wrong = api
            .send("POST", "/trainees", api.example().with_key("email", 1))
            .is(422);
        assert!(
            wrong
                .header("ratelimit")
                .unwrap()
                .starts_with("\"token\";r=1;")
        );
    });
}

#[test]
fn without_a_limit_no_quota_is_reported() {
    let register = Register::start();
    for version in SERVED {
        let reply = info(&register.api(version)).is(200);
        assert_eq!(
            (reply.header("ratelimit"), reply.header("ratelimit-policy")),
            (None, None)
        );
    }
}

fn stranger<'a>(register: &'a Register, version: &'static ApiVersion, number: usize) -> Api<'a> {
    register.api_with_token(version, format!("sandbox_{number:064x}"))
}

#[test]
fn wrong_tokens_block_address_but_no_provider() {
    for version in SERVED {
        let register = Register::start();
        for number in 0..STRANGERS {
            info(&stranger(&register, version, number)).is(401);
        }
        let last = info(&stranger(&register, version, STRANGERS));
        assert!(
            last.error(429, "TooManyRequests")
                .contains("from this address")
        );
        assert!(last.header("retry-after").is_some());
        assert_eq!(
            last.header("ratelimit-policy"),
            Some("\"address\";q=60;w=60")
        );
        assert_eq!(last.header("ratelimit"), Some("\"address\";r=0;t=60"));
        // No header, another scheme and another environment count in the same way.
        register
            .request("GET", &format!("/api/{}/info", version.label))
            .send()
            .is(429);
        // A token that was never seen here before is as good as one that was.
        info(&register.other_provider(version)).is(200);
        let api = register.api(version);
        api.create(api.example());
    }
}

#[test]
fn pages_report_remaining_quota_of_address() {
    let register = Register::start();
    let (oldest, newest) = (SERVED[0].label, SERVED.last().unwrap().label);
    let path = format!("/docs/move/{oldest}/{newest}");
    let form = || register.request("POST", &path).bytes("kind=x").page();
    for _ in 0..STRANGERS {
        form();
    }
    let refused = form().is(429);
    assert_eq!(
        refused.header("ratelimit-policy"),
        Some("\"address\";q=60;w=60")
    );
    assert!(
        refused
            .header("ratelimit")
            .unwrap()
            .starts_with("\"address\";r=0;t=")
    );
    assert!(
        refused
            .header("retry-after")
            .is_some_and(|seconds| seconds.parse::<u64>().is_ok())
    );
    register.request("GET", &path).page().is(200);
}

/// What a header says of the client, in the request of this number.
type ForwardedAddress = fn(usize) -> String;

#[test]
fn clients_behind_trusted_proxy_count_separately() {
    let proxies = "127.0.0.0/8".parse().unwrap();
    let register = Register::with_setup(Setup {
        proxies,
        ..Setup::default()
    });
    let label = SERVED[0].label;
    let info = |header: &str, address: &str| {
        register
            .request("GET", &format!("/api/{label}/info"))
            .header(header, address)
            .send()
            .status
    };
    // Neither what a client claims to come after, nor another host of the same network of IPv6, is
    // another client.
    let clients: [(&str, ForwardedAddress); 4] = [
        ("X-Forwarded-For", |_| "198.51.100.1".to_owned()),
        ("X-Forwarded-For", |number| {
            format!("203.0.113.{number}, 198.51.100.2")
        }),
        ("Forwarded", |number| {
            format!("for=198.51.100.3;host=example-{number}")
        }),
        ("Forwarded", |number| {
            format!("for=\"[2001:db8:1::{number:x}]:4711\"")
        }),
    ];
    for (header, address) in clients {
        assert_eq!(info(header, &address(0)), 401, "{}", address(0));
        for number in 1..STRANGERS {
            assert_eq!(info(header, &address(number)), 401, "{}", address(number));
        }
        assert_eq!(info(header, &address(STRANGERS)), 429);
    }
    assert_eq!(info("X-Forwarded-For", "198.51.100.4"), 401);
}

#[test]
fn forwarded_address_without_trusted_proxy_is_ignored() {
    let register = Register::start();
    let label = SERVED[0].label;
    let info = |number: usize| {
        let address = format!("198.51.100.{number}");
        let request = register
            .request("GET", &format!("/api/{label}/info"))
            .header("X-Forwarded-For", &address);
        request
            .header("Forwarded", &format!("for={address}"))
            .send()
            .status
    };
    for number in 0..STRANGERS {
        assert_eq!(info(number), 401);
    }
    assert_eq!(info(STRANGERS), 429);
    register.clock.set("2026-10-05T09:00:01Z");
    assert_eq!(info(STRANGERS), 401, "one request is back after a second");
}

#[test]
fn no_page_shows_a_forwarded_host() {
    let forged = [
        ("Forwarded", "for=1.2.3.4;host=forged.example;proto=https"),
        ("X-Forwarded-Host", "forged.example"),
    ];
    for (proxies, is_trusted) in [("", false), ("127.0.0.1", true)] {
        let register = Register::with_setup(Setup {
            proxies: proxies.parse().unwrap(),
            ..Setup::default()
        });
        for (header, value) in forged {
            for path in [
                "/docs",
                "/api/versions",
                &format!("/docs/versions/{}", SERVED[0].label),
            ] {
                let page = register
                    .request("GET", path)
                    .header(header, value)
                    .page()
                    .is(200);
                assert!(
                    !page.text.contains("forged.example"),
                    "{path}: {}",
                    page.text
                );
            }
        }
        // The example of a request has the scheme of the client, if the proxy is trusted.
        let page = register
            .request("GET", "/docs")
            .header("X-Forwarded-Proto", "https")
            .page()
            .is(200);
        assert_eq!(page.text.contains("curl -i https://127.0.0.1:"), is_trusted);
        assert_eq!(page.text.contains("curl -i http://127.0.0.1:"), !is_trusted);
    }
}

#[test]
fn invented_tokens_leave_read_queue_to_others() {
    /// Jobs that may wait for the store: less than there are strangers.
    const QUEUE: usize = 16;
    /// More clients with unknown tokens than are answered without a look-up.
    const CROWD: usize = 100;
    /// Look-ups that stand in the queue at once.
    const LOOK_UPS: usize = 3;
    let register = Register::with_setup(Setup {
        queue: QUEUE,
        ..Setup::default()
    });
    let api = register.api(SERVED[0]);
    // The token is known after this, and its use today written down.
    api.create(api.example());
    let readers = StoreOptions::default().readers;
    let (held, is_held) = mpsc::channel();
    let release = Arc::new(Barrier::new(readers as usize + 1));
    let length = || register.store().stats().pool_queue.length;
    thread::scope(|scope| {
        for _ in 0..readers {
            let (held, release, store) = (held.clone(), Arc::clone(&release), register.store());
            scope.spawn(move || {
                let hold = store.read::<_, StorageError>(move |_| {
                    held.send(()).unwrap();
                    release.wait();
                    Ok(())
                });
                actix_web::rt::System::new().block_on(hold).unwrap();
            });
        }
        (0..readers).for_each(|_| is_held.recv().unwrap());
        let (answered, replies) = mpsc::channel();
        for number in 0..CROWD {
            let (answered, register) = (answered.clone(), &register);
            scope.spawn(move || {
                answered
                    .send(info(&stranger(register, SERVED[0], number)).status)
                    .unwrap();
            });
        }
        // All are answered but those that stand in the queue.
        let told: Vec<u16> = (0..CROWD - LOOK_UPS)
            .map_while(|_| replies.recv_timeout(Duration::from_secs(20)).ok())
            .collect();
        let in_queue = length();
        let (answered, reply) = mpsc::channel();
        scope.spawn({
            let api = register.api(SERVED[0]);
            move || answered.send(info(&api).status).unwrap()
        });
        let mut refused = None;
        while length() == in_queue && refused.is_none() {
            refused = reply.try_recv().ok();
        }
        release.wait();
        assert_eq!(refused.unwrap_or_else(|| reply.recv().unwrap()), 200);
        assert_eq!((told.len(), in_queue), (CROWD - LOOK_UPS, LOOK_UPS));
        assert!(
            told.iter().all(|status| [429, 503].contains(status)),
            "{told:?}"
        );
        assert!((0..LOOK_UPS).all(|_| [401, 429].contains(&replies.recv().unwrap())));
    });
    // A valid token that was not seen before gets in from the address of the crowd.
    info(&register.other_provider(SERVED[0])).is(200);
}

#[test]
fn full_queue_is_answered_with_retry_time() {
    let register = Register::with_setup(Setup {
        queue: 1,
        ..Setup::default()
    });
    let api = register.api(SERVED[0]);
    // What writes has also written down that the token is used today, so nothing else is on its
    // way.
    api.create(api.example());
    // A job holds the writer of the first provider.
    let (held, is_held) = mpsc::channel();
    let release = Arc::new(Barrier::new(2));
    thread::scope(|scope| {
        let (at, store) = (Arc::clone(&release), register.store());
        scope.spawn(move || {
            let hold = store.write_in::<_, StorageError>(WriteScope::Provider(1), move |_| {
                held.send(()).unwrap();
                at.wait();
                Ok(())
            });
            actix_web::rt::System::new().block_on(hold).unwrap();
        });
        is_held.recv().unwrap();
        // One of two has a place in the queue.
        let (answered, replies) = mpsc::channel();
        for name in ["First", "Second"] {
            let answered = answered.clone();
            let api = register.api(SERVED[0]);
            let body = api.example().with(TraineeField::last_name, name);
            scope.spawn(move || answered.send(api.send("POST", "/trainees", body)).unwrap());
        }
        let refused = replies.recv().unwrap();
        assert_eq!(
            refused.error(503, "ServiceUnavailable"),
            "the service is busy; send the request again"
        );
        assert_eq!(refused.header("retry-after"), Some("1"));
        release.wait();
        replies.recv().unwrap().is(201);
    });
}
