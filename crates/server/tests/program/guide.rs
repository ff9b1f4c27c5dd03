//! The guide to integration and the README, followed to the letter with the address of a register
//! and a token.

use std::fs;
use std::path::Path;

use serde_json::Value;
use test_support::{Tool, has_tools};
use versions::SERVED;

use super::support::running::ask;
use super::support::{Server, Workplace};

/// A page, without what browsers make of it.
fn page(server: &Server, path: &str) -> String {
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    let host = server.address();
    let reply = ask(
        &mut stream,
        &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
    );
    assert!(reply.starts_with("HTTP/1.1 200 "), "{path}: {reply}");
    reply
}

/// The commands of a page, in order.
fn commands(page: &str) -> Vec<String> {
    let blocks = page
        .split("<pre><code>")
        .skip(1)
        .map(|rest| rest.split_once("</code></pre>").unwrap().0);
    let plain = blocks.map(|block| {
        [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#39;", "'"),
            ("&amp;", "&"),
        ]
        .into_iter()
        .fold(block.to_owned(), |text, (escaped, plain)| {
            text.replace(escaped, plain)
        })
    });
    plain
        .filter(|block| !block.starts_with('{') && !block.starts_with("HTTP/"))
        .collect()
}

/// What the script prints, one part for each command block.
fn run(folder: &Path, blocks: &[String]) -> Vec<String> {
    let script: String = blocks
        .iter()
        .map(|block| format!("{block}\necho; echo '=== end'\n"))
        .collect();
    let ended = Tool::Bash
        .command()
        .arg("-c")
        .arg(script)
        .current_dir(folder)
        .output()
        .unwrap();
    let (printed, errors) = (
        String::from_utf8(ended.stdout).unwrap(),
        String::from_utf8_lossy(&ended.stderr),
    );
    let parts: Vec<String> = printed.split("=== end\n").map(str::to_owned).collect();
    assert_eq!(parts.len(), blocks.len() + 1, "{printed} {errors}");
    parts
}

/// The trainees of a mirror by their identifiers.
fn mirrored(folder: &Path) -> Vec<Value> {
    let files = fs::read_dir(folder.join("mirror"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let trainees = files.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    let mut trainees: Vec<Value> = trainees
        .map(|path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
        .collect();
    trainees.sort_by_key(|trainee| trainee["trainee_id"].as_str().unwrap().to_owned());
    trainees
}

/// All trainees that the register shows, read one by one.
fn shown(base: &str, token: &str, ids: &[String]) -> Vec<Value> {
    let read = |id: &String| {
        let reply = ureq::get(format!("{base}/trainees/{id}"))
            .header("Authorization", format!("Bearer {token}"))
            .call();
        let text = reply.unwrap().body_mut().read_to_string().unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["data"].take()
    };
    ids.iter().map(read).collect()
}

#[test]
fn guide_leads_to_mirror_in_every_version() {
    if !has_tools(&[Tool::Bash, Tool::Curl, Tool::Jq]) {
        return;
    }
    for version in SERVED {
        let workplace = Workplace::on_sqlite();
        let server = workplace.serve("");
        let label = version.label;
        let mut blocks = commands(&page(&server, &format!("/docs/{label}/guide")));
        let base = format!("http://{}/api/{label}", server.address());
        assert!(
            blocks[0].starts_with(&format!("BASE={base}\n")),
            "{}",
            blocks[0]
        );
        blocks[0] = blocks[0].replace("sandbox_...", server.token());
        let printed = run(&workplace.path(""), &blocks);
        let all = printed.concat();
        let printed_by = |words: &str| {
            let at = blocks
                .iter()
                .position(|block| block.contains(words))
                .unwrap_or_else(|| panic!("no command has {words}"));
            printed[at].as_str()
        };
        assert!(
            all.contains("{\"status\":\"ok\"}") && !all.contains("HTTP/1.1 404"),
            "{label}: {all}"
        );
        assert!(printed_by("-X POST \"$BASE/trainees\" -H").contains("HTTP/1.1 201 "));
        assert!(
            printed_by("echo \"$TRAINEE_ID\"").trim().len() == 24,
            "{label}"
        );
        assert!(
            printed_by("middle_names").contains("\"middle_names\":\"Ola\""),
            "{label}: {all}"
        );
        assert!(
            printed_by("| jq .\n").contains("unknown_code"),
            "{label}: {all}"
        );
        assert!(
            printed_by("midle_names").contains("HTTP/1.1 422 "),
            "{label}"
        );
        assert!(
            printed_by("Idempotency-Key")
                .to_lowercase()
                .contains("idempotent-replayed: true"),
            "{label}"
        );
        let matched = printed_by("If-Match");
        assert!(
            matched.contains("HTTP/1.1 200 ") && matched.contains("HTTP/1.1 412 "),
            "{label}: {matched}"
        );
        assert!(
            printed_by("/batch").contains("[\"2026-intake-1\",201]\n[\"2026-intake-2\",422]"),
            "{label}: {all}"
        );
        assert_eq!(
            printed_by("/defer").matches("HTTP/1.1 200 ").count(),
            3,
            "{label}: {all}"
        );
        assert!(
            printed_by("/docs/translate").contains("\"renames\""),
            "{label}: {all}"
        );

        // The mirror was made before the trainee was deferred: it goes on, and is right then.
        let again = [
            blocks[0].clone(),
            "export BASE TOKEN; bash mirror.sh --once".to_owned(),
        ];
        run(&workplace.path(""), &again);
        let trainees = mirrored(&workplace.path(""));
        assert!(trainees.len() > 50, "{}", trainees.len());
        let ids: Vec<String> = trainees
            .iter()
            .map(|one| one["trainee_id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(trainees, shown(&base, server.token(), &ids), "{label}");

        // A cursor that is refused begins a new copy, and what was discarded leaves it.
        fs::write(workplace.path("mirror/.after"), "nothing").unwrap();
        fs::write(
            workplace.path("mirror/gone.json"),
            "{\"trainee_id\":\"gone\"}",
        )
        .unwrap();
        run(&workplace.path(""), &again);
        assert_eq!(mirrored(&workplace.path("")), trainees, "{label}");
        let reset = "curl -s -X POST \"$BASE/sandbox/reset\" -H \"Authorization: Bearer $TOKEN\""
            .to_owned();
        run(
            &workplace.path(""),
            &[again[0].clone(), reset, again[1].clone()],
        );
        assert_eq!(mirrored(&workplace.path("")), [] as [Value; 0], "{label}");
    }
}

/// The commands of a document that run as pasted: those in blocks that begin with `sh`.
fn pasted_commands(document: &str) -> Vec<&str> {
    let blocks = document.split("```sh\n").skip(1);
    blocks
        .filter_map(|rest| Some(rest.split_once("\n```")?.0))
        .collect()
}

#[test]
fn commands_of_the_readme_run_as_pasted() {
    if !has_tools(&[Tool::Bash, Tool::Curl]) {
        return;
    }
    let workplace = Workplace::on_sqlite();
    let server = workplace.serve("");
    let commands = pasted_commands(include_str!("../../../../README.md"));
    assert_eq!(commands.len(), 1);
    let token = format!("TOKEN={}\n", server.token());
    let address = server.address();
    let blocks: Vec<String> = commands
        .iter()
        .map(|block| token.clone() + &block.replace("127.0.0.1:8080", address))
        .collect();
    let printed = run(&workplace.path(""), &blocks).concat();
    let statuses: Vec<&str> = printed
        .split("HTTP/1.1 ")
        .skip(1)
        .filter_map(|reply| reply.get(..3))
        .collect();
    assert_eq!(statuses, ["201", "200", "200"], "{printed}");
    for expected in [
        "\"course_subject_one\":\"100403\"",
        "\"course_subject_1\":\"100403\"",
        "\"renames\":[{",
    ] {
        assert!(printed.contains(expected), "{expected} in {printed}");
    }
    let again = run(&workplace.path(""), &blocks).concat();
    assert!(again.starts_with("HTTP/1.1 409 "), "{again}");
}
