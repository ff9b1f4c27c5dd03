//! Rebuilds the crate when a migration is added: the migrations are embedded, and cargo watches
//! only files that it knows.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
