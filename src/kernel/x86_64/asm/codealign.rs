//! `asm/codealign.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Goes `rounds` times round a loop of 24 bytes that starts at byte `offset` of a line;
    /// returns the rounds.
    ///
    /// # Safety
    /// `rounds` is not 0, `offset` is less than 64.
    pub fn linefill_codealign_loop24(rounds: u64, offset: u32) -> u64;

    /// The same with 48 bytes.
    ///
    /// # Safety
    /// As for [`linefill_codealign_loop24`].
    pub fn linefill_codealign_loop48(rounds: u64, offset: u32) -> u64;

    /// Goes `rounds` times round a loop at the start of a line that jumps to 25 bytes at byte
    /// `offset` of another line and back; returns the rounds.
    ///
    /// # Safety
    /// As for [`linefill_codealign_loop24`].
    pub fn linefill_codealign_target(rounds: u64, offset: u32) -> u64;
}
