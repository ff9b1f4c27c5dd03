//! Makes the allocator keep the memory of large replies.
//!
//! glibc maps each block of 128 KiB or more separately, and unmaps it when it is freed. A list of
//! 50 trainees then costs a page fault for every 4 KiB. When a large block is freed, glibc raises
//! this limit to the size of the block, and keeps smaller blocks for reuse from then on. Replies
//! shrink before they are freed, so the limit would never rise without a block freed on purpose.

use std::hint::black_box;

/// The size of the largest block that is kept, in bytes. glibc may keep twice as much free memory
/// for each arena.
const LARGEST: usize = 1 << 20;

/// Allocates and frees one block of the largest size, so that glibc keeps blocks up to this size.
/// The memory of the block is not touched. Call once, before the server starts. Other allocators
/// are not affected.
pub fn keep_large_blocks() {
    drop(black_box(Vec::<u8>::with_capacity(LARGEST)));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The page faults of this thread that needed no disk.
    fn page_faults() -> u64 {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').nth(7).unwrap().parse().unwrap()
    }

    /// Makes a body like that of a page of trainees: written into more memory than it needs.
    fn page() -> Vec<u8> {
        let mut body = Vec::with_capacity(200_000);
        body.resize(110_000, b'x');
        body.shrink_to_fit();
        black_box(body)
    }

    #[test]
    #[cfg_attr(not(target_env = "gnu"), ignore = "another allocator")]
    fn pages_after_the_first_reuse_its_memory() {
        keep_large_blocks();
        drop(page());
        let before = page_faults();
        for _ in 0..10 {
            drop(page());
        }
        let faults = page_faults() - before;
        assert!(faults < 100, "{faults} page faults");
    }
}
