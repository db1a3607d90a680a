//! The timed work: a folder per subject, in each folder a file per kernel or per group of similar kernels.
//!
//! A kernel does not allocate, reads no clock and knows nothing about experiments. It owns the pattern
//! it works on, continues where it stopped, returns a value that proves its work, and declares what one
//! operation does. Its file holds the declaration of its assembly, the type with its errors, a plain
//! model of its work ([`Kernel::trace`]), and the patterns on which [`verify`] compares the kernel with
//! the model.
//!
//! The kernels that experiments alone use are hidden here, and no version of the crate promises them.

use crate::cpu::Features;
use crate::mem::Region;

/// Declares assembled kernels with the same signature: the function type, which carries the safety
/// contract of all of them, and the symbols. With a table of symbols, also the function that selects one.
macro_rules! family {
    (
        $(#[$about:meta])*
        pub type $family:ident =
            unsafe extern "sysv64" fn $arguments:tt -> $result:ty;

        $(#[$doc:meta])*
        fn $select:ident($($by:ident: $of:ty),+) {
            $($pattern:pat => $name:ident,)+
        }
    ) => {
        family! {
            $(#[$about])*
            pub type $family = unsafe extern "sysv64" fn $arguments -> $result;

            $($name)+
        }

        $(#[$doc])*
        pub(crate) fn $select($($by: $of),+) -> crate::kernel::Assembled<$family> {
            match ($($by),+) {
                $($pattern => crate::kernel::Assembled { name: stringify!($name), call: $name },)+
            }
        }
    };
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

/// An assembled kernel with the name of its symbol, under which [`verify`] reports it.
pub(crate) struct Assembled<F> {
    name: &'static str,
    call: F,
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
#[doc(hidden)]
pub use code::{AlignCopies, CodeAlign, Function, Handover, NoSuchOffset, Patch, Placed, Routine};
pub use coherence::*;
pub use compute::*;
pub use form::{Form, NoIntrinsics, Vector, Width};
pub use stores::*;
pub use stream::*;
pub use work::{Access, Kind, Work};

/// Checks every kernel that this CPU can run, inside `region`, whose contents are lost.
///
/// `report` receives the symbol of each kernel of `kernel::symbols` with the result of
/// its check, once per kernel. Kernels that need a feature missing from `features` are neither run nor
/// reported. In a region smaller than [`verify::ROOM`] every kernel fails.
pub fn verify_all(
    region: &mut Region<'_>,
    features: &Features,
    report: &mut dyn FnMut(&'static str, Result<(), verify::Mismatch>),
) {
    let mut oracle = verify::Oracle::new(region.reborrow(), report);
    chase::check(&mut oracle, *features);
    stream::check(&mut oracle, *features);
    stores::check(&mut oracle, *features);
    compute::check(&mut oracle, *features);
    oracle.codealigns();
    coherence::check(&mut oracle);
}

/// The reference matrix multiplication, for tests and experiments beyond [`verify`].
#[doc(hidden)]
pub mod reference {
    pub use super::compute::matmul::reference::matmul;
}

/// A piece of work that can be repeated and continues where it stopped.
///
/// To time your own kernel, implement only [`run`](Self::run):
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
    /// address. Continues where the last call stopped; does nothing for 0 operations.
    fn run(&mut self, operations: u64) -> u64;

    /// Returns the work of one operation, from which bandwidths are computed. By default nothing is
    /// declared.
    fn work(&self) -> Work {
        Work::default()
    }

    /// The model of the kernel: does the next `operations` operations in plain Rust, reports each
    /// access to `sink` in program order, and returns the value that [`run`](Self::run) would return.
    /// Offsets are bytes from the start of the kernel's memory.
    ///
    /// A sink that does nothing turns the model into the reference implementation; a sink that counts
    /// measures the work. By default it calls `run` and reports no access.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let _ = sink;
        self.run(operations)
    }
}
