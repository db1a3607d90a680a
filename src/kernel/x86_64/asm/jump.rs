//! `asm/jump.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// `index = slots[index]`, `steps` times; returns the last index.
    ///
    /// # Safety
    /// `index` and all indices reached from it lie inside the slots; `steps` is not 0.
    pub fn linefill_jump(slots: *const u32, index: u64, steps: u64) -> u64;

    /// The same, each index compared with `len` before it is used.
    ///
    /// # Safety
    /// As for [`linefill_jump`]; an index of `len` or more ends in `ud2`.
    pub fn linefill_jump_checked(slots: *const u32, index: u64, steps: u64, len: u64) -> u64;
}
