//! The timed work: a folder per subject, and in it a file per kernel or for a few that are alike.
//!
//! A kernel allocates nothing, reads no clock and knows no experiment. It works on a pattern
//! that it owns, continues where it stopped, returns a value that proves its work, and declares
//! what one operation does. Its file holds the declaration of its assembly, the type with its
//! errors, one plain model of what it does ([`Kernel::trace`]), and the patterns on which [`verify`]
//! checks one against the other.

/// Declares assembled kernels of one shape: the type of the shape, whose safety is that of each, and the
/// symbols.
macro_rules! family {
    (
        $(#[$about:meta])*
        pub type $family:ident =
            unsafe extern "sysv64" fn $arguments:tt -> $result:ty;

        $($(#[$doc:meta])* $name:ident)*
    ) => {
        $(#[$about])*
        pub type $family = unsafe extern "sysv64" fn $arguments -> $result;

        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// # Safety
            #[doc = concat!("See [`", stringify!($family), "`].")]
            pub fn $name $arguments -> $result;
        )*}
    };
}

/// An assembled kernel, and the name of its symbol, by which [`verify`] reports it.
pub(crate) struct Assembled<F> {
    name: &'static str,
    call: F,
}

/// Chooses an assembled kernel by the arms of a `match`, each of which names a symbol.
macro_rules! assembled {
    (match $by:tt { $($pattern:pat => $symbol:ident,)+ }) => {
        match $by {
            $($pattern => crate::kernel::Assembled {
                name: stringify!($symbol),
                call: $symbol,
            },)+
        }
    };
}

mod chase;
mod code;
mod coherence;
mod compute;
mod form;
pub(crate) mod intrinsics;
mod stores;
mod stream;
#[doc(hidden)]
pub mod symbols;
pub mod verify;
mod work;

pub use chase::*;
pub use code::{CodeAlign, Function, Handover, NoSuchOffset, Patch, Placed, Routine};
pub use coherence::*;
pub use compute::*;
pub use form::{Form, NoIntrinsics, Vector, Width};
pub use stores::*;
pub use stream::*;
pub use work::{Access, Kind, Work};

/// The plain multiplication, for tests and experiments beyond [`verify`].
#[doc(hidden)]
pub mod reference {
    pub use super::compute::matmul::reference::matmul;
}

/// A piece of work that can be repeated and goes on where it stopped.
///
/// A kernel of your own needs [`run`](Self::run) alone to be timed:
///
/// ```
/// use linefill::kernel::Kernel;
///
/// /// Divisions, each of which waits for the one before.
/// struct Divide(u64);
///
/// impl Kernel for Divide {
///     fn run(&mut self, operations: u64) -> u64 {
///         for _ in 0..operations {
///             self.0 = u64::MAX / (self.0 | 1);
///         }
///         self.0
///     }
/// }
/// assert_eq!(Divide(3).run(2), 3);
/// ```
pub trait Kernel {
    /// Does `operations` operations and returns a value that proves them: a sum, an index, an
    /// address. Goes on where the last call stopped, and does nothing for 0 operations.
    fn run(&mut self, operations: u64) -> u64;

    /// What one operation does, from which bandwidths are computed. Provided: nothing is declared.
    fn work(&self) -> Work {
        Work::default()
    }

    /// The model of the kernel: does the next `operations` operations in plain Rust, reports each of
    /// their accesses to `sink` in program order, and returns what [`run`](Self::run) would. Offsets
    /// are bytes from the start of the memory the kernel works on.
    ///
    /// With a sink that does nothing it is the reference implementation, with one that counts the
    /// work. Provided: runs, and reports no access.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let _ = sink;
        self.run(operations)
    }
}
