//! Runs the HTTP server.

use std::io;
use std::net::TcpListener;

use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer};

use crate::access_log;
use crate::measures::requests::connected;
use crate::mount::mount;
use crate::register::Register;

/// The server over a listener; it runs when it is awaited.
///
/// # Errors
///
/// When the listener cannot be used.
pub fn server(register: Register, listener: TcpListener) -> io::Result<Server> {
    let app = move || App::new().wrap(from_fn(access_log::log)).configure(|config| mount(config, &register));
    Ok(HttpServer::new(app).on_connect(connected).listen(listener)?.run())
}
