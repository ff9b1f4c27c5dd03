//! A server that stops answers the requests that wait for a change (long polls).

use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;

use super::super::deployment::Site;
use super::super::http::{Caller, Request};
use super::super::version_requests::Manner;

/// Long polls, as many as one token may have.
const WAITING: usize = 5;
/// How long each would wait, in seconds.
const WAIT: usize = 25;
/// How long the server may take to answer them, and to end.
const AT_ONCE: Duration = Duration::from_secs(3);

#[test]
fn a_server_that_stops_answers_long_polls() {
    let site = Site::new();
    let mut server = site.serve();
    let caller = Caller::new(&site.token);
    let (manners, registered) = Manner::learn_all(&caller, &server.address);
    let path = manners[0].path(Endpoint::ListChanges, "", "");
    // Until everything is shown.
    let copy = loop {
        let reply = caller.ask(&server.address, &Request::get(&*path)).json();
        if reply["data"].as_array().unwrap().len() == registered {
            break reply;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let after = copy["meta"]["after"].as_str().unwrap();
    let token = &site.token;
    let request =
        Request::get(format!("{path}?after={after}")).with("Prefer", format!("wait={WAIT}"));
    let address = server.address.clone();
    let ask = || (Caller::new(token).ask(&address, &request), Instant::now());
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..WAITING).map(|_| scope.spawn(ask)).collect();
        thread::sleep(Duration::from_millis(1_500));
        assert!(
            waiting.iter().all(|one| !one.is_finished()),
            "a request does not wait"
        );
        let signalled = Instant::now();
        server.stop();
        let ended = signalled.elapsed();
        for one in waiting {
            let (reply, answered) = one.join().unwrap();
            let body = reply.json();
            assert_eq!(
                (reply.status, &body["data"]),
                (200, &serde_json::json!([])),
                "{reply:?}"
            );
            assert_eq!(body["meta"]["after"], after);
            assert_eq!(reply.preference_applied, Some(format!("wait={WAIT}")));
            assert!(
                answered.duration_since(signalled) < AT_ONCE,
                "{:?}",
                answered.duration_since(signalled)
            );
        }
        eprintln!(
            "{:?}: {WAITING} long polls, ended {:.2} s after SIGTERM",
            site.kind(),
            ended.as_secs_f64()
        );
        assert!(ended < AT_ONCE, "{ended:?}");
    });
}
