//! Calls every public constructor of a pattern or a kernel with arbitrary arguments, and runs what it builds
//! between guard pages. A test and a fuzz target share this module.
//!
//! Constructors must refuse invalid arguments without a panic; kernels must stay inside their region. An
//! access outside hits a guard page, which ends the process, or changes bytes next to the region, which the
//! test detects. Only types that can be built without `unsafe` are here, and [`Routine`]. For `Patch`,
//! `Handover` and `PageAlias`, the caller guarantees the addresses.
//!
//! [`Routine`]: linefill::kernel::Routine

mod arrays;
mod lines;
mod rings;
mod shared;
mod source;
mod squares;

use std::fmt::Arguments;
use std::sync::LazyLock;

use linefill::cpu::Features;
use linefill::kernel::{Kernel, Kind};
use linefill::mem::{LINE, Region};
use linefill::os::{Memory, Pages};
use source::Source;

/// Size of the memory for the regions: room for the tensor whose dimensions are constants of the code.
const MEMORY: usize = 8 << 20;

/// The maximum number of lines of a region that need not be large.
const FEW: usize = 1024;

/// The value of every byte next to the region, and the initial value of every byte in it.
const BESIDE: u8 = 0xC3;
const INSIDE: u8 = 0x5A;

/// The number of bytes next to the region that are compared.
const MARGIN: usize = 4096;

/// The maximum number of bytes that one call may move, and of accesses that it may trace, so that a case
/// takes milliseconds for any kernel.
const BYTES: u64 = 1 << 20;
const ACCESSES: u64 = 1 << 14;

/// Detected once: CPUID leaves a virtual machine each time.
static FEATURES: LazyLock<Features> = LazyLock::new(Features::detect);

/// The memory, between two guard pages.
pub fn memory() -> Memory {
    Memory::new(MEMORY, Pages::Base).expect("8 MiB")
}

/// Builds a pattern or kernel in the region. Returns whether the constructor accepted the arguments.
type Build = fn(&mut Case<'_, '_>, Region<'_>) -> bool;

/// The types that can be built.
const FAMILIES: &[(&str, Build)] = &[
    ("ParallelChase", rings::abreast),
    ("Alias4K", lines::alias),
    ("Bandwidth", lines::bandwidth),
    ("Blocked", lines::blocked),
    ("Burst", lines::burst),
    ("Chains", arrays::chains),
    ("Chase", rings::chase),
    ("CodeAlign", lines::code_align),
    ("Fields", rings::fields),
    ("FillLines", lines::fill_lines),
    ("FlushLines", lines::flush_lines),
    ("Forward", lines::forward),
    ("Increment", shared::increment),
    ("IndexChase", arrays::jump),
    ("Links", rings::links),
    ("LoadLines", lines::load_lines),
    ("LockAdd", lines::lock_add),
    ("Matmul", squares::matmul),
    ("Outstanding", arrays::outstanding),
    ("TwoFields", rings::two_fields),
    ("Passes", arrays::passes),
    ("StoreBufferFill", lines::pending),
    ("Gather", arrays::pick),
    ("PrefetchWalk", rings::prefetch_walk),
    ("QueueLock", shared::queue_lock),
    ("ReadTensor", squares::read_tensor),
    ("Revisit", arrays::revisit),
    ("Rewrite", lines::rewrite),
    ("RoundTrip", shared::round_trip),
    ("Routine", lines::routine),
    ("SharedBandwidth", shared::bandwidth),
    ("SharedWalk", shared::walk),
    ("Shuffle", arrays::shuffle),
    ("Speculate", lines::speculate),
    ("SpeculateMiss", rings::speculate_miss),
    ("Store", arrays::store),
    ("WideChase", rings::straddle),
    ("AcquireLines", shared::take_lines),
    ("TileMatmul", squares::tile_matmul),
    ("Translate", lines::translate),
    ("Walk", rings::walk),
    ("add_to_nearest", squares::nearest),
];

/// The names of the types that can be built.
#[allow(dead_code, reason = "a fuzz target does not ask")]
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|(name, _)| *name)
}

/// A running case.
struct Case<'a, 's> {
    source: &'a mut Source<'s>,
    features: Features,
    /// Gets a description of each step before it happens.
    note: &'a mut dyn FnMut(Arguments<'_>),
}

/// Reads a case from `data`, any bytes, builds it in a part of `memory` and runs it. `note` gets a
/// description of each step before it happens. Returns the family's name and whether something was built.
///
/// # Panics
/// If bytes next to the region have changed, or a traced access is outside the region.
pub fn drive(
    data: &[u8],
    memory: &mut Memory,
    note: &mut dyn FnMut(Arguments<'_>),
) -> (&'static str, bool) {
    let source = &mut Source::new(data);
    let (name, build) = *source.among(FAMILIES);
    let len = LINE * (1 + source.below(FEW));
    // Tensors with constant dimensions, whose kernels accept no others.
    let large = name == "ReadTensor" && source.flag();
    let len = if large { MEMORY - MARGIN } else { len };
    let at_end = source.flag();
    let all = memory.as_mut_slice();
    let (beside, inside) = if at_end {
        (MEMORY - len - MARGIN..MEMORY - len, MEMORY - len..MEMORY)
    } else {
        (len..len + MARGIN, 0..len)
    };
    all[beside.clone()].fill(BESIDE);
    all[inside.clone()].fill(INSIDE);
    let side = if at_end { "behind" } else { "before" };
    note(format_args!("{name} in {len} bytes, the guard page right {side}"));
    let mut case = Case { source, features: *FEATURES, note };
    let region = Region::new(&mut all[inside]).expect("whole lines");
    assert_eq!(region.len(), len);
    let built = build(&mut case, region);
    // Compared as a whole, which is quick without optimisation, too.
    if all[beside.clone()] != [BESIDE; MARGIN] {
        let changed = all[beside].iter().position(|byte| *byte != BESIDE);
        panic!("bytes beside the region have changed: {changed:?}");
    }
    (name, built)
}

impl Case<'_, '_> {
    /// Runs and traces a kernel on `room` bytes alternately.
    fn run(&mut self, kernel: &mut dyn Kernel, room: usize) {
        let work = kernel.work();
        let bytes = u64::from(work.bytes_read.max(work.bytes_written));
        let accesses = u64::from(work.loads.max(work.stores));
        for _ in 0..3 {
            let operations = self.source.below(300) as u64;
            let run = operations.min(BYTES / bytes.max(1));
            (self.note)(format_args!("run({run})"));
            kernel.run(run);
            let traced = operations.min(ACCESSES / accesses.max(1));
            (self.note)(format_args!("trace({traced})"));
            kernel.trace(traced, &mut |access| {
                let end = access.offset.checked_add(access.bytes as usize);
                let inside = end.is_some_and(|end| end <= room);
                assert!(inside || access.kind == Kind::Prefetch, "{access:?}");
            });
        }
    }

    /// Runs the kernel if the constructor accepted the arguments.
    fn built<K: Kernel, E>(&mut self, kernel: Result<K, E>, room: usize) -> bool {
        kernel.map(|mut kernel| self.run(&mut kernel, room)).is_ok()
    }
}
