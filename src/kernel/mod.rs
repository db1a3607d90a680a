//! What is timed.
//!
//! A kernel allocates nothing, reads no clock and knows no experiment. It works on a pattern
//! that it owns, goes on where it stopped, returns a value that proves its work, and declares
//! what one operation does. Each exists twice: as assembly or intrinsics whose instructions are
//! known ([`x86_64`]), and as a plain twin ([`all`]) that is the oracle of the tests. Some exist as
//! both assembly and intrinsics, and take their [`Form`] by a method `by`.

mod alias;
pub mod all;
mod bandwidth;
mod blocked;
mod blocks;
mod burst;
mod chains;
mod chase;
mod codealign;
mod fields;
mod fill;
mod flush;
mod form;
mod forward;
mod handover;
mod increment;
mod jump;
mod lanes;
mod load;
mod lock;
mod matmul;
mod nearest;
pub mod oracle;
mod orders;
mod pair;
mod passes;
mod patch;
mod pending;
mod pick;
mod prefetch;
mod register;
mod revisit;
mod rewrite;
mod roundtrip;
mod routine;
mod shared;
mod shuffle;
mod speculate;
mod store;
mod straddle;
mod synonym;
mod take;
mod tensor;
mod tile;
mod translate;
mod vector;
mod walk;
mod width;
mod work;
pub mod x86_64;

pub use alias::{Alias, AliasError};
pub use bandwidth::{BLOCK, Bandwidth, BandwidthError, Motion, SharedBandwidth};
pub use blocked::{Blocked, BlockedError};
pub use burst::{BURST, Burst, BurstError, Places, Transfer};
pub use chains::{Chains, ChainsError};
pub use chase::{Chase, ChaseError, Mode};
pub use codealign::{CodeAlign, NoSuchOffset, Placed};
pub use fields::{Direction, Fields, FieldsError};
pub use fill::{FillError, FillLines, FillWay};
pub use flush::{FlushLines, FlushWay};
pub use form::{Form, NoIntrinsics};
pub use forward::{Forward, ForwardError, Passing, Trip};
pub use handover::Handover;
pub use increment::{Increment, Way as IncrementWay};
pub use jump::Jump;
pub use lanes::Abreast;
pub use load::{LoadLines, LoadWay};
pub use lock::{LockAdd, LockError};
pub use matmul::{Matmul, MatmulError, MatmulWay};
pub use nearest::{Means, NearestWay, Sum, add_to_nearest};
pub use orders::{NoAvx2, Outstanding};
pub use pair::{Pair, PairError};
pub use passes::{Passes, TooLong};
pub use patch::Patch;
pub use pending::{MOST_PENDING, Pending, TooManyStores};
pub use pick::Pick;
pub use prefetch::{Ahead, MOST_WORK, Pace, PrefetchError, PrefetchWalk};
pub use register::Register;
pub use revisit::Revisit;
pub use rewrite::{Rewrite, RewriteWay};
pub use roundtrip::{RoundTrip, Way as RoundTripWay};
pub use routine::{Function, Routine};
pub use shared::{SharedWalk, Visit, VisitError};
pub use shuffle::{Op, Shuffle, ShuffleError};
pub use speculate::{Issue, SPECULATE_CHAIN, Speculate, SpeculateError, SpeculateMiss};
pub use store::{Store, StoreError, Sweep, Temporal};
pub use straddle::{Straddle, StraddleError};
pub use synonym::Synonym;
pub use take::{APART, Fetched, TakeLines, TakeWay};
pub use tensor::{Get, ReadTensor, ReadTensorError};
pub use tile::{TileMatmul, TileWay};
pub use translate::{Reach, Translate, TranslateError};
pub use vector::Vector;
pub use walk::{Step, Walk, WalkError};
pub use width::Width;
pub use work::{Access, Kind, Work};

/// A piece of work that can be repeated and goes on where it stopped.
pub trait Kernel {
    /// Does `operations` operations and returns a value that proves them: a sum, an index, an
    /// address.
    fn run(&mut self, operations: u64) -> u64;

    /// What one operation does.
    fn work(&self) -> Work;

    /// Reports the accesses of the next `operations` operations in program order, and advances
    /// past them as [`run`](Self::run) would. Offsets are bytes from the start of the memory the
    /// kernel works on.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access));
}
