//! A server that must change the schema while another transaction is open: it waits.

use std::time::Duration;

use super::machine::{Form, Host, on_own_machine};
use super::postgres::{Postgres, REGISTER, psql};
use super::scenario::wait;
use super::site::Server;

/// How long the transaction is open, in seconds.
const OPEN: u64 = 20;

#[test]
fn server_waits_for_a_transaction_blocking_its_migration() {
    let test = "failover::migrating::server_waits_for_a_transaction_blocking_its_migration";
    on_own_machine(Form::FullOnly, test, |machine| {
        let postgres = Postgres::start(machine, &[], &[]);
        let url = postgres.url();
        let mut transaction = psql(
            machine,
            Host::Node(0),
            REGISTER,
            Duration::from_secs(2 * OPEN),
        );
        let statements = format!(
            "CREATE TABLE providers (id BIGINT); SELECT pg_sleep({OPEN}); DROP TABLE providers"
        );
        let mut transaction = transaction
            .args(["--single-transaction", "-c", &statements])
            .spawn()
            .unwrap();
        wait(1);
        let server = Server::launch(machine, &url, 0);
        wait(OPEN - 5);
        assert!(
            server.is_running(),
            "the server has ended: {}",
            server.log()
        );
        assert!(transaction.wait().unwrap().success());
        let listens = server.wait_until_listening(Duration::from_secs(10));
        assert!(
            listens.is_ok(),
            "the server does not listen once the way is free: {listens:?}"
        );
        eprintln!("the server waited for {OPEN} s, and listens");
    });
}
