//! The work that kernels declare must be the work that the headers of `asm/<subject>/*.S` state per operation.
//! `tests/library/codegen.rs` compares the headers with the machine code.

use linefill::cpu::{Features, Hint};
use linefill::kernel::{
    AcquireLines, AcquireWay, Ahead, Alias4K, Bandwidth, Blocked, Burst, Chains, Chase, ChaseError,
    CodeAlign, Dependence, Direction, Fetched, Fields, FillLines, FillWay, Forward, Gather,
    Increment, IncrementWay, IndexChase, Issue, Kernel, LoadLines, LoadWay, LockAdd, Mode, Motion,
    Outstanding, ParallelChase, Passing, Placed, Places, PrefetchWalk, QueueLock, QueueWay, Reach,
    Revisit, Rewrite, RewriteWay, RoundTrip, RoundTripWay, Shuffle, Speculate, SpeculateMiss, Step,
    Store, StoreAddress, StoreBufferFill, Sweep, Temporal, Transfer, Translate, Trip, TwoFields,
    Vector, Walk, WideChase, Width, Work,
};
use linefill::mem::Region;
use linefill::pattern::{
    Arrangement, Chain, Deck, Fill, Indices, Lanes, Layout, Matrix, Order, Orders, Picks, Ring,
    Visits,
};

use crate::common::untested;

fn work(loads: u32, stores: u32, bytes_read: u32, bytes_written: u32) -> Work {
    Work { loads, stores, bytes_read, bytes_written, ..Work::default() }
}

/// The work that a kernel declares, if `build` makes it from a region.
fn declared(build: impl FnOnce(Region<'_>) -> Work) -> Work {
    let mut bytes = vec![0; 64 * 1024];
    build(Region::new(&mut bytes).unwrap())
}

fn ring(region: Region<'_>) -> Ring<'_> {
    Ring::new(region, Layout::npad(7), 100, Order::Sequential).unwrap()
}

#[test]
fn walks_and_jumps() {
    for (step, expected) in [
        (Step::Follow, work(1, 0, 8, 0)),
        (Step::Inc, work(2, 1, 16, 8)),
        (Step::Addnext0, work(3, 1, 24, 8)),
        (Step::Addnextlast, work(3, 1, 24, 8)),
    ] {
        let found = declared(|region| Walk::new(ring(region), step).unwrap().work());
        assert_eq!(found, expected, "{step:?}");
    }
    let jump = declared(|region| {
        let chain = Chain::new(region, 100, Fill::Sequential).unwrap();
        let jump = IndexChase::new(chain);
        let plain = jump.work();
        assert_eq!(jump.checked().work(), plain);
        plain
    });
    assert_eq!(jump, work(1, 0, 4, 0));
}

#[test]
fn lines_again_and_stores_that_wait() {
    let revisit = declared(|region| {
        let visits = Visits::new(region, &[0, 64, 8]).unwrap();
        Revisit::new(visits).work()
    });
    assert_eq!(revisit, work(1, 0, 8, 0));
    for stores in [0, 1, 128] {
        let pending = declared(|region| StoreBufferFill::new(region, stores).unwrap().work());
        assert_eq!(pending, work(0, stores, 0, 8 * stores));
    }
}

#[test]
fn code_at_an_offset() {
    for (placed, instructions) in [(Placed::Loop24, 7), (Placed::Loop48, 13), (Placed::Target, 10)]
    {
        let found = CodeAlign::new(placed, 63).unwrap().work();
        let expected = Work { instructions, ..Work::default() };
        assert_eq!(found, expected, "{placed:?}");
    }
    let error = CodeAlign::new(Placed::Loop24, 64).unwrap_err();
    assert!(error.to_string().contains("byte 0 to 63 of a line, not 64"));
}

#[test]
fn fields() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let found = declared(|region| Fields::new(ring(region), direction).unwrap().work());
        assert_eq!(found, work(8, 0, 64, 0));
    }
}

#[test]
fn picks() {
    let found = declared(|region| {
        let picks = Picks::new(region, 72, 100, Order::Sequential).unwrap();
        Gather::new(picks).work()
    });
    assert_eq!(found, work(3, 0, 20, 0));
}

#[test]
fn shuffles_and_chains() {
    for (indices, staged, expected) in [
        (Indices::Precomputed, false, work(5, 3, 20, 12)),
        (Indices::Generated, false, work(6, 4, 28, 20)),
        (Indices::Precomputed, true, work(6, 4, 24, 16)),
        (Indices::Generated, true, work(7, 5, 32, 24)),
    ] {
        let found = declared(|region| {
            let shuffle = Shuffle::new(Deck::new(region, 100, indices, 1).unwrap());
            if staged { shuffle.staged(8).unwrap().work() } else { shuffle.work() }
        });
        assert_eq!(found, expected, "{indices:?}, staged: {staged}");
    }
    let found = declared(|region| {
        let deck = Deck::new(region, 100, Indices::Precomputed, 1).unwrap();
        Chains::new(deck, 4).unwrap().work()
    });
    assert_eq!(found, work(5, 3, 20, 12));
}

#[test]
fn walks_side_by_side() {
    let found =
        declared(|region| ParallelChase::new(Lanes::new(region, 3, 100, 1).unwrap()).work());
    assert_eq!(found, work(2, 1, 16, 8));
}

#[test]
fn pairs() {
    let found = declared(|region| TwoFields::new(ring(region), [1, 7]).unwrap().work());
    assert_eq!(found, work(3, 0, 24, 0));
}

#[test]
fn orders() {
    let features = Features::detect();
    for (arrangement, loads) in
        [(Arrangement::Whole, 32), (Arrangement::Split, 32), (Arrangement::Apart, 8)]
    {
        if arrangement == Arrangement::Apart && features.avx2().is_none() {
            untested::machine("the CPU has no AVX2, which orders apart need");
            continue;
        }
        let found = declared(|region| {
            let orders = Orders::new(region, arrangement, 64, 1).unwrap();
            Outstanding::new(orders, &features).unwrap().work()
        });
        assert_eq!(found, work(loads, 0, 144, 0), "{arrangement:?}");
    }
}

#[test]
fn chases_of_every_mode_this_cpu_has() {
    let features = Features::detect();
    for mode in Mode::ALL {
        let mut bytes = vec![0; 64 * 1024];
        let region = Region::new(&mut bytes).unwrap();
        let found = match Chase::new(ring(region), mode, &features) {
            Ok(chase) => chase.work(),
            Err(error @ ChaseError::Missing(_)) => {
                untested::machine(&error.to_string());
                continue;
            }
            Err(error) => panic!("{mode:?}: {error}"),
        };
        let bytes = match mode {
            Mode::Movzx16 | Mode::Movsx16 => 2,
            Mode::Load32 | Mode::Movsxd => 4,
            Mode::Xmm16 => 16,
            Mode::Ymm32 => 32,
            Mode::Zmm64 => 64,
            _ => 8,
        };
        assert_eq!(found, work(1, 0, bytes, 0), "{mode:?}");
    }
}

#[test]
fn blocks() {
    let found = declared(|region| Blocked::new(region, 5, 3).unwrap().work());
    assert_eq!(found, work(5 * 3 * 4, 0, 5 * 3 * 64, 0));
}

#[test]
fn prefetches_load_their_address() {
    for pace in [Dependence::Serial, Dependence::Independent] {
        let walk = |ahead| {
            declared(|region| {
                let walk = PrefetchWalk::new(ring(region), ahead, 53, pace).unwrap();
                walk.work()
            })
        };
        assert_eq!(walk(None), work(1, 0, 8, 0));
        for hint in Hint::ALL {
            assert_eq!(walk(Some(Ahead { hint, elements: 5 })), work(2, 0, 16, 0));
        }
    }
}

#[test]
fn stores_of_every_width_this_cpu_has() {
    let features = Features::detect();
    for bytes in Width::BYTES {
        let Some(width) = Width::of(bytes, features) else {
            untested::machine(&format!("the CPU has no stores of {bytes} bytes"));
            continue;
        };
        for sweep in [Sweep::Row, Sweep::Column] {
            for temporal in [Temporal::Cached, Temporal::NonTemporal] {
                let found = declared(|region| {
                    let matrix = Matrix::new(region, 10, 640).unwrap();
                    Store::new(matrix, sweep, width, temporal).unwrap().work()
                });
                assert_eq!(found, work(0, 1, 0, bytes as u32));
            }
        }
    }
}

#[test]
fn fills_and_loads_of_lines() {
    for way in [FillWay::Cached, FillWay::NonTemporal, FillWay::Interleaved { lines: 12 }] {
        let found = declared(|region| FillLines::new(region, way).unwrap().work());
        assert_eq!(found, work(0, 4, 0, 64), "{way:?}");
    }
    for quarters in 1..=3 {
        let way = FillWay::Part { quarters };
        let found = declared(|region| FillLines::new(region, way).unwrap().work());
        assert_eq!(found, work(0, quarters, 0, 16 * quarters));
    }
    let string = declared(|region| FillLines::new(region, FillWay::RepStosb).unwrap().work());
    assert_eq!(string, work(0, 1, 0, 64));
    let features = Features::detect();
    for (bytes, loads) in [(16, 4), (32, 2), (64, 1)] {
        let Some(vector) = Vector::of(bytes, features) else {
            continue;
        };
        let past = features.sse41().map(|sse41| LoadWay::NonTemporal(sse41, vector));
        for way in [Some(LoadWay::Cached(vector)), past].into_iter().flatten() {
            let found = declared(|region| LoadLines::new(region, way).work());
            assert_eq!(found, work(loads, 0, 64, 0));
        }
    }
}

#[test]
fn rewriting_stores_one_word() {
    let mut ways = vec![RewriteWay::Back, RewriteWay::NonTemporal];
    ways.extend(Features::detect().clwb().map(RewriteWay::Through));
    for way in ways {
        let found = declared(|region| Rewrite::new(region, way).work());
        assert_eq!(found, work(0, 1, 0, 8));
    }
}

#[test]
fn blocks_by_vectors_of_every_width_and_by_strings() {
    for motion in Motion::ALL {
        for vector in Vector::BYTES {
            let Some(vector) = Vector::of(vector, Features::detect()) else {
                continue;
            };
            let found = declared(|region| {
                let (part, _) = region.split(2 * motion.granularity()).unwrap();
                Bandwidth::new(part, motion, vector).unwrap().work()
            });
            let by = |width: usize| 512 / width as u32;
            let accesses = by(if motion.string() { 64 } else { vector.bytes() });
            let expected = match motion {
                Motion::Read => work(accesses, 0, 512, 0),
                Motion::ReadHalves => work(2 * accesses, 0, 1024, 0),
                Motion::ReadQuarters => work(4 * accesses, 0, 2048, 0),
                Motion::Write | Motion::WriteNonTemporal | Motion::RepStosb => {
                    work(0, accesses, 0, 512)
                }
                Motion::Add | Motion::Triad | Motion::TriadNonTemporal => {
                    work(2 * accesses, accesses, 1024, 512)
                }
                Motion::AddThree => work(3 * accesses, accesses, 1536, 512),
                _ => work(accesses, accesses, 512, 512),
            };
            assert_eq!(found, expected, "{motion:?} {vector:?}");
        }
    }
}

#[test]
fn bursts_are_eight_accesses() {
    let features = Features::detect();
    for bytes in Width::BYTES {
        let Some(width) = Width::of(bytes, features) else {
            continue;
        };
        let places = Places::sequential(1, 64, 64);
        let burst = |transfer| {
            declared(|region| Burst::new(region, places, transfer, width).unwrap().work())
        };
        assert_eq!(burst(Transfer::Load), work(8, 0, 8 * bytes as u32, 0));
        assert_eq!(burst(Transfer::Store), work(0, 8, 0, 8 * bytes as u32));
        let straddle = declared(|region| WideChase::new(ring(region), width).unwrap().work());
        assert_eq!(straddle, work(1, 0, bytes as u32, 0));
    }
    let aligned = |transfer| {
        let places = Places::fixed(0, 16);
        declared(|region| Burst::new(region, places, transfer, Width::W16).unwrap().work())
    };
    assert_eq!(aligned(Transfer::LoadAligned), work(8, 0, 128, 0));
    assert_eq!(aligned(Transfer::StoreAligned), work(0, 8, 0, 128));
}

#[test]
fn stores_that_are_loaded() {
    let features = Features::detect();
    let forward =
        |trip: Trip| declared(|region| Forward::new(region, trip, 0, 0, features).unwrap().work());
    assert_eq!(forward(Trip::new(8, 2)), work(1, 1, 2, 8));
    assert_eq!(forward(Trip::new(4, 8).by(Passing::Two)), work(1, 2, 8, 8));
    assert_eq!(forward(Trip::new(16, 8).by(Passing::General)), work(1, 1, 8, 16));
    let alias = declared(|region| {
        let alias = Alias4K::new(region, 0, 4096, StoreAddress::Early);
        alias.unwrap().work()
    });
    assert_eq!(alias, work(1, 1, 8, 8));
    let lock = declared(|region| LockAdd::new(region, 0, None).unwrap().work());
    assert_eq!(lock, work(1, 1, 8, 8));
}

#[test]
fn loads_behind_stores_that_come_late() {
    for issue in [Issue::Free, Issue::Ordered] {
        let chain = declared(|region| Speculate::new(region, issue, 16, 1).unwrap().work());
        let miss = declared(|region| SpeculateMiss::new(ring(region), issue).unwrap().work());
        assert_eq!([chain, miss], [work(2, 1, 16, 8); 2]);
    }
}

#[test]
fn lines_that_are_taken() {
    for (way, expected) in
        [(AcquireWay::Store, work(0, 1, 0, 8)), (AcquireWay::Add, work(1, 1, 8, 8))]
    {
        for fetched in [Fetched::Not, Fetched::ToRead, Fetched::ToWrite] {
            let found = declared(|region| {
                let words = region.into_atomics();
                assert!(AcquireLines::new(words, 3, way, fetched).is_none());
                assert!(AcquireLines::new(words, 512, way, fetched).is_none());
                AcquireLines::new(words, 64, way, fetched).unwrap().work()
            });
            assert_eq!(found, expected, "{way:?}, {fetched:?}");
        }
    }
}

#[test]
fn increments_of_shared_words() {
    let increment =
        |way| declared(|region| Increment::new(region.into_atomics(), 3, way).unwrap().work());
    assert_eq!(increment(IncrementWay::Plain), work(1, 1, 8, 8));
    assert_eq!(increment(IncrementWay::FetchAdd), work(1, 1, 8, 8));
    assert_eq!(increment(IncrementWay::CompareExchange), work(2, 1, 16, 8));
    assert_eq!(increment(IncrementWay::SpinLock), work(1, 2, 8, 16));
}

#[test]
fn turns_of_locks_that_serve_in_order() {
    for (way, accesses) in [(QueueWay::Ticket, 2), (QueueWay::Mcs, 3)] {
        let found = declared(|region| {
            let mut threads = QueueLock::threads(region, 2, way).unwrap();
            threads.next().unwrap().work()
        });
        let bytes = 8 * accesses;
        assert_eq!(found, work(accesses, accesses, bytes, bytes), "{way:?}");
    }
}

#[test]
fn accesses_to_pages() {
    for (reach, expected) in [
        (Reach::Load, work(1, 0, 8, 0)),
        (Reach::Prefetch, work(0, 0, 0, 0)),
        (Reach::PrefetchNull, work(0, 0, 0, 0)),
    ] {
        let found = declared(|region| Translate::new(region, reach, 8).unwrap().work());
        assert_eq!(found, expected, "{reach:?}");
    }
}

#[test]
fn tokens_that_are_handed_on() {
    for way in [RoundTripWay::Store, RoundTripWay::CompareExchange] {
        let roundtrip = |region: Region<'_>| {
            let words = region.into_atomics();
            RoundTrip::new(words, 0, 0, 2, way).unwrap().work()
        };
        assert_eq!(declared(roundtrip), work(1, 1, 8, 8));
    }
}
