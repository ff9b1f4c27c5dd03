//! Tests of uploads, on both databases.

use test_support::kinds;

use super::*;
use crate::accounts::users::{Actor, NewInvitation, Origin, Secret, SecretDigest};
use crate::store::Store;
use crate::testing::filled::filled;
