//! The program as its operators meet it: run as a process, with files and exit statuses.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod program {
    mod audit;
    mod backups;
    mod checking;
    mod connections;
    mod copying;
    mod differences;
    mod environment;
    mod erased_keys;
    mod erasing;
    mod generations;
    mod guide;
    mod history_removal;
    mod importing;
    mod invitations;
    mod lost_database;
    mod mailing;
    mod migrating;
    mod observing;
    mod openid;
    mod opening;
    mod operators;
    mod pages;
    mod postgres_tls;
    mod privacy;
    mod reference_data;
    mod registry;
    mod requests;
    mod restoring;
    mod starting;
    mod stopping;
    mod support;
    mod tls;
    mod tokens;
    mod translating;
    mod uploads;
    mod usage;
    mod users;
}
