//! Commands over TLS to PostgreSQL.

use test_support::{Cluster, Kind, Settings, Tool, Variant, has_tools};

use super::support::{Ended, Workplace, kinds};

/// A command over a database without a schema.
fn list_providers(url: &str) -> Ended {
    let workplace = Workplace::on_sqlite();
    workplace.run(format!("provider list --database-url {url}"))
}

fn cluster(name: &str, days: i64) -> Cluster {
    Cluster::start_as(
        Settings::Fast,
        &Variant::Tls {
            name: name.to_owned(),
            days,
        },
    )
}

/// The command ends with one line that says what is wrong.
#[track_caller]
fn refused_with(url: &str, reason: &str) {
    list_providers(url).refuses(&[reason]);
}

#[test]
fn server_with_trusted_certificate_is_used() {
    if !kinds().contains(&Kind::Postgres) || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let cluster = cluster("localhost", 1);
    let url = cluster.url("postgres");
    let workplace = Workplace::on_sqlite();
    workplace.done(format!("migrate --database-url {url}"));
    list_providers(&url).done();
}

#[test]
fn untrusted_certificate_is_rejected_with_one_line() {
    if !kinds().contains(&Kind::Postgres) || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let (sound, of_another_name, expired) = (
        cluster("localhost", 1),
        cluster("other.example", 1),
        cluster("localhost", -1),
    );
    refused_with(&of_another_name.url("postgres"), "not valid for name");
    refused_with(&expired.url("postgres"), "expired");
    let (url, other) = (sound.url("postgres"), expired.url("postgres"));
    let root_of = |url: &str| url.split_once("sslrootcert=").unwrap().1.to_owned();
    refused_with(
        &url.replace(&root_of(&url), &root_of(&other)),
        "UnknownIssuer",
    );
    refused_with(&url.replace(&root_of(&url), "/absent"), "sslrootcert");
    // `verify-ca` asks for no name.
    let any_name = of_another_name
        .url("postgres")
        .replace("verify-full", "verify-ca");
    assert!(
        list_providers(&any_name)
            .stderr()
            .contains("holds no register")
    );
}
