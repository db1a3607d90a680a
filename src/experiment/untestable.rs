//! Why something cannot be tested here.

use crate::prelude::*;

/// The reason why something cannot be tested here. Such a case never panics, and never yields a zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untestable(pub String);

impl core::fmt::Display for Untestable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Takes the error's message as the reason, so that `?` works in every set-up. `Untestable` itself does
/// not implement `Error`, because this implementation would then overlap with `From<T> for T`.
impl<E: core::error::Error> From<E> for Untestable {
    fn from(error: E) -> Self {
        Untestable::because(error)
    }
}

/// A value, or the reason why it is not available here.
pub type Testable<T> = Result<T, Untestable>;

impl Untestable {
    /// Returns an `Untestable` whose reason is `error` in words.
    pub fn because(error: impl core::fmt::Display) -> Self {
        Untestable(error.to_string())
    }

    /// Returns the reason for code that needs vector registers, which a program for this target does not
    /// use.
    #[cfg(not(target_feature = "sse2"))]
    pub(crate) fn without_vectors() -> Self {
        Untestable("built for a target without vector registers".to_owned())
    }

    /// Returns the reason for code that needs the standard library: programs, files, its locks.
    #[cfg(not(feature = "std"))]
    pub(crate) fn without_std() -> Self {
        Untestable("built without the standard library".to_owned())
    }

    /// Returns the reason for code that needs another crate's lock, map or pool, none of which is in
    /// this program.
    pub fn without_peers() -> Self {
        Untestable("built without the feature peers".to_owned())
    }
}
