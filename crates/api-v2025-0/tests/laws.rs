//! What must hold for every version holds for this one.

adapter_kit::laws_hold_for!(api_v2025_0::V2025_0);
