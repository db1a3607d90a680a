//! Leave to lock a word across two lines.

// Makes a token that CPUID alone cannot prove.
#![allow(unsafe_code)]

/// Proof that a locked instruction may work across two cache lines here: that neither this
/// operating system nor its host answers it with a trap, a signal or a pause.
///
/// CPUs can raise an exception instead (Intel SDM volume 3, "Features to Disable Bus Locks"), and
/// Linux may then end the program with SIGBUS. CPUID does not tell how that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitLocks(());

impl SplitLocks {
    /// Takes the caller's word.
    ///
    /// # Safety
    /// Nobody traps split locks of this program, as long as it runs.
    pub const unsafe fn allowed() -> Self {
        SplitLocks(())
    }
}
