//! Runs the conformance tests of all versions for this version.

conformance::conformance_tests!(api_v2025_0::V2025_0);
