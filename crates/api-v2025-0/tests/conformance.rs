//! What must hold for every version holds for this one.

conformance::conformance_tests!(api_v2025_0::V2025_0);
