//! Drepper 6.2.1, where objects begin: alignment of variables, of allocations, of arrays.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use core::hint::black_box;
use core::mem::size_of;

pub(crate) static ALL: &[Experiment] = &[ALIGNMENT];

/// An object whose type requests the alignment of a line.
#[derive(Clone)]
#[repr(align(64))]
struct Asked<const N: usize>([u8; N]);

/// 64 bytes without the request, aligned like words.
type Unasked = [u64; 8];

/// Number of objects that are allocated one by one.
const BOXES: usize = 4096;
/// Number of elements of an array; `PART` is the size of an element, which does not fill a line.
const ELEMENTS: usize = 64;
const PART: usize = 40;

const ASKED: &str = "percent of objects that asked on a line";
const PLACES: [(u64, &str); 4] =
    [(0, "static"), (1, "on the stack"), (2, "boxed"), (3, "in vectors")];
const ON_WORDS: &str = "unasked boxes of 4096 on a multiple of 16";
const ON_LINES: &str = "unasked boxes of 4096 on a line";
const SPACING: &str = "bytes from a box to the next, unasked";
const SPACING_ASKED: &str = "bytes from a box to the next, asked";
const FIRST: &str = "elements of 40 bytes on a line, of 64 in an array that asked";
const EACH: &str = "elements that asked on a line, of 64";
const STRIDE: &str = "bytes from an element of 40 bytes that asked to the next";

type Count = fn(u64) -> Testable<f64>;

const COUNTS: [(&str, Count); 7] = [
    (ON_WORDS, |_| Ok(on(&unasked(), 16))),
    (ON_LINES, |_| Ok(on(&unasked(), LINE))),
    (SPACING, |_| spacing(unasked())),
    (SPACING_ASKED, |_| spacing(asked())),
    (FIRST, |_| Ok(on(&parts(), LINE))),
    (EACH, |_| Ok(on(&addresses(&asked_parts()), LINE))),
    (STRIDE, |_| Ok(stride())),
];

const ALIGNMENT: Experiment = Experiment {
    id: "E14",
    name: "drepper-alignment",
    title: "Where objects begin, with and without a requested alignment",
    question: "Are objects that request the alignment of a cache line really aligned to it, and \
               where do other objects begin?",
    source: "Drepper 6.2.1 on posix_memalign and the attribute aligned, of variables and of types. \
             Rust has only the attribute of a type, repr(align(64)), and passes the alignment to \
             the allocator, which calls posix_memalign",
    about: "The test allocates many objects of 64 bytes and counts how many begin on a cache line, \
            for types that request this alignment (asked) and for types that do not (unasked). In \
            C, the compiler aligns variables of such a type, but malloc does not know about the \
            request; in Rust, every allocation passes the request on. Other objects get the \
            default alignment of the allocator. With glibc's 16 bytes, most objects of the size of \
            a line lie across two lines. Other allocators sort objects by size, and may align \
            objects of the size of a line without a request.",
    cases: |_| {
        let asked = PLACES.into_iter().map(|(place, _)| {
            let setup = CountSetup::computed(ASKED, place, |place| Ok(on_a_line(place)));
            setup.at(place as f64)
        });
        let counts =
            COUNTS.into_iter().map(|(name, count)| CountSetup::computed(name, 0, count).at(0.0));
        asked.chain(counts).collect()
    },
    claims: &[
        // A type or variable with the attribute aligned, and posix_memalign, give the alignment
        // that is asked for.
        computed(
            "E14.1",
            drepper("6.2.1, on alignment"),
            "objects whose type requests the alignment of a line begin on a line wherever they \
             live: static, on the stack, boxed, in vectors",
            |e| {
                all_of(PLACES.map(|(place, name)| {
                    between(&format!("{name}, percent"), e.at(ASKED, place as f64), 100.0, 100.0)
                }))
            },
        )
        .then(100.0, ""),
        // malloc aligns to the most demanding standard type alone, usually long double, which is
        // 16 bytes.
        counted(
            "E14.2",
            drepper("6.2.1, on alignment"),
            "objects allocated without a requested alignment all begin on a multiple of 16 bytes, \
             and fewer than half begin on a line",
            |e| {
                let all = BOXES as f64;
                all_of([
                    between("on a multiple of 16", e.at(ON_WORDS, 0.0), all, all),
                    at_most("on a line", e.at(ON_LINES, 0.0), all / 2.0),
                ])
            },
        ),
        // Of an array with the attribute only the first element is aligned, unless the size of an
        // element is a multiple of the alignment; with the type's attribute all are.
        computed(
            "E14.3",
            drepper("6.2.1, on alignment"),
            "an array that requests the alignment of a line aligns its first element: 8 of 64 \
             elements of 40 bytes begin on a line; if the element type requests it, all do, and \
             each element grows to 64 bytes",
            |e| {
                let all = ELEMENTS as f64;
                all_of([
                    between("the array asks", e.at(FIRST, 0.0), 8.0, 8.0),
                    between("the elements ask", e.at(EACH, 0.0), all, all),
                    between("bytes to the next", e.at(STRIDE, 0.0), 64.0, 64.0),
                ])
            },
        ),
        // posix_memalign is not free: alignment causes fragmentation and higher memory
        // consumption.
        counted(
            "E14.4",
            drepper("6.2.1, on alignment"),
            "boxes of 64 bytes whose type requests the alignment of a line take more than 1.2 \
             times the memory of boxes without the request",
            |e| {
                let more = ratio(e.at(SPACING_ASKED, 0.0), e.at(SPACING, 0.0))?;
                at_least("asked over unasked", more, 1.2)
            },
        )
        .failing("This allocator aligns objects to lines at little cost."),
    ],
    ..Experiment::PLAIN
};

/// Returns an object's address. `black_box` hides where the number comes from: the compiler knows
/// how a reference is aligned, and would otherwise answer from the type instead of the memory.
fn address<T>(object: &T) -> usize {
    black_box(core::ptr::from_ref(object).addr())
}

fn addresses<T>(objects: &[T]) -> Vec<usize> {
    objects.iter().map(address).collect()
}

fn on(addresses: &[usize], bytes: usize) -> f64 {
    let on = addresses.iter().filter(|address| *address % bytes == 0);
    on.count() as f64
}

/// Returns the addresses of 64-byte objects without the request, allocated one after the other and
/// all kept until the last.
fn unasked() -> Vec<usize> {
    let boxes: Vec<Box<Unasked>> = (0..BOXES).map(|_| black_box(Box::new([1; 8]))).collect();
    boxes.iter().map(|object| address(&**object)).collect()
}

/// Returns the addresses of 64-byte objects with the request, allocated in the same way.
fn asked() -> Vec<usize> {
    let one = || black_box(Box::new(Asked([1; LINE])));
    let boxes: Vec<Box<Asked<LINE>>> = (0..BOXES).map(|_| one()).collect();
    boxes.iter().map(|object| address(&**object)).collect()
}

/// Returns the median distance between neighbours in memory.
fn spacing(mut addresses: Vec<usize>) -> Testable<f64> {
    addresses.sort_unstable();
    let mut distances: Vec<usize> = addresses.windows(2).map(|pair| pair[1] - pair[0]).collect();
    distances.sort_unstable();
    let median = distances.get(distances.len() / 2);
    median
        .map(|bytes| *bytes as f64)
        .ok_or_else(|| Untestable("fewer than two objects were allocated".to_owned()))
}

/// Returns the addresses of an array's elements. The array's type requests the alignment; the
/// element type does not.
fn parts() -> Vec<usize> {
    #[repr(align(64))]
    struct Array([[u8; PART]; ELEMENTS]);
    addresses(&black_box(Box::new(Array([[1; PART]; ELEMENTS]))).0)
}

fn asked_parts() -> Vec<Asked<PART>> {
    black_box(vec![Asked([1; PART]); ELEMENTS])
}

fn stride() -> f64 {
    let elements = addresses(&asked_parts());
    let strides = elements.windows(2).map(|pair| pair[1] - pair[0]);
    strides.max().unwrap_or(size_of::<Asked<PART>>()) as f64
}

/// Returns the percentage of the objects with the request, in one of [`PLACES`], that begin on a
/// line.
fn on_a_line(place: u64) -> f64 {
    static ONE: Asked<1> = Asked([1]);
    static MANY: [Asked<PART>; 3] = [const { Asked([1; PART]) }; 3];
    let addresses = match place {
        0 => [vec![address(&ONE)], addresses(&MANY)].concat(),
        1 => on_the_stack(),
        2 => asked(),
        _ => (1..200).flat_map(|n| addresses(&black_box(vec![Asked([1; PART]); n]))).collect(),
    };
    on(&addresses, LINE) / addresses.len() as f64 * 100.0
}

/// Returns the addresses of variables in nested stack frames of many sizes.
fn on_the_stack() -> Vec<usize> {
    #[inline(never)]
    fn frame<const N: usize>(deeper: &dyn Fn() -> Vec<usize>) -> Vec<usize> {
        let before = black_box([1_u8; N]);
        let variable = black_box(Asked([before[0]; 8]));
        let mut found = deeper();
        found.push(address(&variable));
        found
    }
    let frames = || {
        frame::<8>(&|| frame::<24>(&|| frame::<40>(&|| frame::<72>(&|| frame::<136>(&Vec::new)))))
    };
    [frame::<16>(&frames), frame::<1>(&frames), frame::<56>(&frames)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_off_a_line_are_seen() {
        let all = addresses(&[0_u8; 128]);
        assert_eq!(on(&all, LINE), 2.0);
        assert_eq!(on(&all, 16), 8.0);
    }

    #[test]
    fn the_spacing_is_the_median_in_the_order_of_addresses() {
        assert_eq!(spacing(vec![160, 0, 80, 4096]), Ok(80.0));
        assert!(spacing(vec![64]).is_err());
    }

    #[test]
    fn every_place_has_objects() {
        assert_eq!(on_the_stack().len(), 18);
        assert_eq!((unasked().len(), asked().len()), (BOXES, BOXES));
        assert_eq!(parts().len(), ELEMENTS);
    }
}
