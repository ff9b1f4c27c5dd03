//! What the server tells about the API itself, below `/docs`. It needs no token: nothing here is about a record.

use actix_web::web::{self, ServiceConfig};

use crate::register::Register;

mod differences;

/// Mounts the routes.
pub fn mount(config: &mut ServiceConfig, register: &Register) {
    config.service(web::scope("/docs").configure(|config| differences::mount(config, register)));
}
