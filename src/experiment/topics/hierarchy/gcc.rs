//! Drepper 3.3.1, what size and ways of L2 do for a compiler: Table 3.1 and Figure 3.8.

use crate::experiment::claim::verdict::Extreme;
use crate::experiment::prelude::*;
use crate::experiment::topics::hierarchy::compiled::{Compiler, CompilerSetup, SLICES};

pub(crate) static ALL: &[Experiment] = &[TABLE_3_1];

/// Numbers of ways, and bytes of a line: the columns of the table.
const WAYS: [u64; 4] = [1, 2, 4, 8];
const LINES: [u64; 2] = [32, 64];

/// Binary logarithms of the smallest and the largest size of L2 in the table.
const SIZES: [u32; 2] = [19, 24];

fn sizes() -> impl Iterator<Item = u64> + Clone {
    (SIZES[0]..=SIZES[1]).map(|log| 1 << log)
}

/// 8 MiB, the size at which a second way gained most, and 16 MiB, which the document's working set left largely
/// empty.
const SECOND_WAY: [u64; 2] = [8 << 20, 16 << 20];

/// Sizes with 16 ways. Where L2 is smaller, the stored trace keeps no whole sets of 16 ways.
const WITH_16_WAYS: [u32; 2] = [20, SIZES[1]];

/// Twice the largest L2 of the table.
const LARGER: u64 = 2 << SIZES[1];

/// The largest L2 of which twice the size is still smaller than the working set.
const CROWDED: u64 = 4 << 20;

const STORED: &str = "stored";
const ALL_SETS: &str = "another compilation, all sets";
const INSTALLED: &str = "installed";
const ONE_SET_IN_128: &str = "installed, one set in 128";

/// An L2: bytes of a line, ways, and bytes in all.
type L2 = (u64, u64, u64);

fn series(compiler: &str, (line, ways, _): L2) -> String {
    let ways = match ways {
        1 => "direct-mapped".to_owned(),
        ways => format!("{ways} ways"),
    };
    format!("{compiler}, {ways}, lines of {line} bytes")
}

const TABLE_3_1: Experiment = Experiment {
    id: "D10",
    name: "drepper-table-3.1",
    title: "L2 misses of a compiler by size, ways and line size",
    question: "How many misses do a larger L2, more ways and longer lines save a program with a \
               large and irregular working set?",
    source: "Drepper 3.3.1, Table 3.1 and Figure 3.8: gcc under cachegrind, LRU",
    about: "The simulator counts the L2 misses of a C compiler, behind L1i and L1d of 32 KiB and 8 \
            ways each. The stored trace is of gcc 12 under valgrind's lackey and keeps one set in \
            128. A larger L2 keeps more of the working set, more ways avoid conflicts between \
            lines of one set, and longer lines bring neighbouring data along. gcc 12 touches 10 MB \
            of lines, the paper's gcc touched 5.6 MB, and each line must miss once. With lines of \
            32 bytes, 324,000 misses therefore remain in any L2, and a second way can save a \
            smaller share than in the paper. In a direct-mapped cache a few conflicts decide, and \
            one set in 128 may miss them: of another compilation, the misses in all sets are \
            stored for comparison. The full profile also traces the installed compiler for 40 \
            million references. Its whole trace shows whether one set in 128 represents all sets.",
    plot: Some(Plot::lines(Axis::bytes("size of L2"), Axis::log("misses"), Unit::Count).beside(&[
        Reference {
            file: "drepper-table-3.1-by-size.csv",
            machine: "gcc under cachegrind (2007)",
            x: "l2_bytes",
            columns: &[
                ("direct_CL32", "direct-mapped, lines of 32 bytes"),
                ("direct_CL64", "direct-mapped, lines of 64 bytes"),
                ("8way_CL32", "8 ways, lines of 32 bytes"),
                ("8way_CL64", "8 ways, lines of 64 bytes"),
            ],
        },
    ])),
    cases,
    curves: |e| {
        e.curves_of(|label| {
            let beside = [ONE_SET_IN_128, ALL_SETS];
            !beside.iter().any(|of| label.starts_with(of)) && !label.contains("slice")
        })
    },
    claims: &[
        // Going down any column of the table, twice the size misses less often.
        simulated(
            "D10.1",
            drepper("3.3.1, Table 3.1"),
            "a compiler's misses fall as L2 grows, for every associativity and line size of Table \
             3.1",
            |e| falling_with_size(e, STORED),
        )
        .then(0.79, "gcc under cachegrind (2007)"),
        // For a given size, associativity reduces the misses.
        simulated(
            "D10.2",
            drepper("3.3.1, Table 3.1"),
            "a compiler's misses fall or stay equal with more ways of L2, for every size and line \
             size of Table 3.1",
            |e| falling_with_ways(e, STORED),
        )
        .then(0.98, "gcc under cachegrind (2007)"),
        // In the table, lines of 64 bytes miss less often than lines of 32 bytes everywhere.
        simulated(
            "D10.3",
            drepper("3.3.1, Table 3.1"),
            "a compiler misses less often with lines of 64 bytes than with lines of 32 bytes, for \
             every size and associativity of Table 3.1",
            |e| falling_with_line(e, STORED),
        )
        .then(0.74, "gcc under cachegrind (2007)"),
        // The successive gains of doubling the associativity are much smaller.
        simulated(
            "D10.4",
            drepper("3.3.1, Table 3.1"),
            "for every size and line size of Table 3.1, the second way saves more misses than ways \
             3 and 4 together, and ways 3 and 4 save more than ways 5 to 8",
            |e| diminishing(e, STORED),
        ),
        // For 8 MB, two ways save almost 44 % of the misses of a direct-mapped cache (43.1 % in the
        // table).
        simulated(
            "D10.5",
            drepper("3.3.1, Figure 3.8"),
            "at 8 MiB with lines of 32 bytes, the second way saves almost 44 % of a compiler's \
             misses (5 points allowed), in a sample of one compilation and in all sets of another",
            |e| {
                let saved = saved_by_the_second_way(e, SECOND_WAY[0])?;
                between("saved by the second way", saved, 0.39, 0.49)
            },
        )
        .then(0.431, "gcc under cachegrind (2007)")
        .failing("How much a second way saves depends on where a compilation has its conflicts."),
        simulated(
            "D10.6",
            ours(
                "the document's compiler is from 2007; the installed compiler shows whether the \
                 rules apply to a current one",
            ),
            "the misses of the compiler installed on this machine, in the part that is traced, \
             fall with a larger L2 and with longer lines, do not rise with more ways of L2, and \
             fall less with each doubling of the ways",
            |e| {
                let parts: [fn(&Evidence<'_>, &str) -> Judged; 4] =
                    [falling_with_size, falling_with_ways, falling_with_line, diminishing];
                // If nothing can be simulated, the reason for that is reported.
                falling_with_size(e, STORED)?;
                traced(e)?;
                all_of(parts.map(|part| part(e, INSTALLED)))
            },
        ),
        simulated(
            "D10.7",
            ours("the stored trace keeps one set in 128, which must represent all sets"),
            "the installed compiler's misses in the sets that the stored trace keeps, times 128, \
             equal its misses in all sets within 10 %, for every size, associativity and line size \
             of Table 3.1",
            |e| {
                falling_with_size(e, STORED)?;
                traced(e)?;
                let shares = || {
                    table().map(|l2| {
                        let of = |name| misses(e, name, l2);
                        Ok(((), ratio(of(ONE_SET_IN_128), of(INSTALLED))?))
                    })
                };
                let (least, most) =
                    (Extreme::least(shares())?.value, Extreme::most(shares())?.value);
                all_of([
                    at_least("kept sets times 128 over all sets, at least", least, 0.9),
                    at_most("at most", most, 1.1),
                ])
            },
        ),
        // The document expects little of more than eight ways for one thread. It has no column of 16 ways; ways 5
        // to 8 save up to 12 %.
        simulated(
            "D10.8",
            drepper("3.3.1"),
            "from 1 MiB on, ways 9 to 16 of L2 save less than a tenth of a compiler's misses, for \
             both line sizes of Table 3.1",
            |e| {
                let shares = with_16_ways().map(|l2 @ (line, _, size)| {
                    Ok(((), saved(misses(e, STORED, (line, 8, size))?, misses(e, STORED, l2)?)?))
                });
                at_most("saved by ways 9 to 16", Extreme::most(shares)?.value, 1.0 - LESS)
            },
        ),
        // Memory in use is not contiguous, so that even 16 MB have conflicts with a working set of 5.6 MB:
        // the second way still helps there. The threshold is ours.
        simulated(
            "D10.9",
            drepper("3.3.1, Table 3.1"),
            "at 16 MiB with lines of 32 bytes, larger than the working set, the second way still \
             saves more than 5 % of a compiler's misses",
            |e| {
                let saved = saved_by_the_second_way(e, SECOND_WAY[1])?;
                at_least("saved by the second way at 16 MiB", saved, 0.05)
            },
        )
        .then(0.253, "gcc under cachegrind (2007)"),
        // It is a safe bet that 32 MB would bring next to nothing for this workload. The document shows that
        // a direct-mapped cache of 16 MB still has conflicts, so that two ways are the fewest here.
        simulated(
            "D10.10",
            drepper("3.3.1"),
            "with 2, 4 and 8 ways, an L2 of 32 MiB saves less than 5 % of the misses of a compiler \
             that an L2 of 16 MiB has",
            |e| {
                let shares = larger().map(|l2 @ (line, ways, size)| {
                    let smaller = misses(e, STORED, (line, ways, size / 2))?;
                    Ok(((), saved(smaller, misses(e, STORED, l2)?)?))
                });
                at_most("saved by 32 MiB", Extreme::most(shares)?.value, 0.05)
            },
        ),
        // Some say that associativity does as much as twice the size. It is not so for a further doubling of
        // the ways. In larger caches than these, gcc 12 misses each line once and hardly again.
        simulated(
            "D10.11",
            drepper("3.3.1, Table 3.1"),
            "up to 4 MiB, twice the ways leave more of a compiler's misses than twice the size, \
             from 2 ways and from 4 ways, for both line sizes of Table 3.1",
            |e| {
                let shares =
                    table().filter(|(_, ways, size)| [2, 4].contains(ways) && *size <= CROWDED);
                let shares = shares.map(|(line, ways, size)| {
                    let of_ways = misses(e, STORED, (line, 2 * ways, size));
                    Ok(((), ratio(of_ways, misses(e, STORED, (line, ways, 2 * size)))?))
                });
                let least = Extreme::least(shares)?.value;
                at_least("twice the ways over twice the size, at least", least, 1.0)
            },
        )
        .then(1.41, "gcc under cachegrind (2007)"),
    ],
    ..Experiment::PLAIN
};

fn with_16_ways() -> impl Iterator<Item = L2> {
    let sizes = (WITH_16_WAYS[0]..=WITH_16_WAYS[1]).map(|log| 1 << log);
    LINES.into_iter().flat_map(move |line| sizes.clone().map(move |size| (line, 16, size)))
}

/// Returns the caches of twice the largest size.
fn larger() -> impl Iterator<Item = L2> {
    let of_line = |line| WAYS[1..].iter().map(move |&ways| (line, ways, LARGER));
    LINES.into_iter().flat_map(of_line)
}

fn cases(machine: &Machine) -> Vec<Case> {
    let case = |series: String, of, (line, ways, size): L2| {
        Case::new(series, size as f64, CompilerSetup { of, size, ways, line })
    };
    let mut cases = Vec::new();
    for size in SECOND_WAY {
        let both = [1, 2].map(|ways| (32, ways, size));
        cases.extend(both.map(|l2| case(series(ALL_SETS, l2), Compiler::Whole, l2)));
        for index in 0..SLICES {
            let of = Compiler::StoredSlice(index);
            cases.extend(both.map(|l2| case(slice(index, l2.1), of, l2)));
        }
    }
    let by = |name, of| move |l2| case(series(name, l2), of, l2);
    let stored = with_16_ways().chain(larger()).chain(table());
    cases.extend(stored.map(by(STORED, Compiler::Stored)));
    if machine.full {
        cases.extend(table().map(by(INSTALLED, Compiler::Installed)));
        cases.extend(table().map(by(ONE_SET_IN_128, Compiler::InstalledSampled)));
    }
    cases
}

/// Returns the caches of Table 3.1.
fn table() -> impl Iterator<Item = L2> {
    let of_line = |line| WAYS.into_iter().map(move |ways| (line, ways));
    let all = LINES.into_iter().flat_map(of_line);
    all.flat_map(|(line, ways)| sizes().map(move |size| (line, ways, size)))
}

fn misses(e: &Evidence<'_>, compiler: &str, l2: L2) -> Testable<Interval> {
    Ok(*e.at(&series(compiler, l2), l2.2 as f64)?)
}

fn slice(index: u8, ways: u64) -> String {
    format!("{STORED}, slice {index}, {ways} ways")
}

/// Returns the range of the share that the second way saves at this size with lines of 32 bytes: in the
/// stored sets, with the doubt of the sample, and in all sets of another compilation. A few conflicts decide in a
/// direct-mapped cache, and compilations differ by more than the doubt of one sample.
fn saved_by_the_second_way(e: &Evidence<'_>, size: u64) -> Testable<Interval> {
    let share = |compiler| -> Testable<f64> {
        let of = |ways| misses(e, compiler, (32, ways, size));
        Ok(saved(of(1)?, of(2)?)?.middle())
    };
    let (sampled, whole) = (share(STORED)?, share(ALL_SETS)?);
    let doubt = sampling_error(e, size)?;
    let sampled = Interval::new(sampled - doubt, sampled + doubt);
    Ok(sampled.hull(Interval::exact(whole)))
}

/// Returns the uncertainty of the share that the second way saves at this size: the stored sets are eight
/// slices drawn at random, and one slice is left out at a time (jackknife; Student's t of 7 degrees of
/// freedom for 95 %).
fn sampling_error(e: &Evidence<'_>, size: u64) -> Testable<f64> {
    const STUDENT: f64 = 2.365;
    let of = |ways| {
        let slices = (0..SLICES).map(|index| e.at(&slice(index, ways), size as f64));
        slices.map(|misses| Ok(misses?.middle())).collect::<Testable<Vec<f64>>>()
    };
    let (one, two) = (of(1)?, of(2)?);
    let [all_one, all_two] = [&one, &two].map(|misses| misses.iter().sum::<f64>());
    let each = one.iter().zip(&two);
    let without: Vec<f64> =
        each.map(|(one, two)| 1.0 - (all_two - two) / (all_one - one)).collect();
    let count = without.len() as f64;
    let mean = without.iter().sum::<f64>() / count;
    let squares: f64 = without.iter().map(|saved| (saved - mean).powi(2)).sum();
    Ok(STUDENT * ((count - 1.0) / count * squares).sqrt())
}

/// Checks that this run traces the installed compiler.
fn traced(e: &Evidence<'_>) -> Testable<()> {
    let quick = "tracing the installed compiler takes minutes, so only the full profile does it";
    if e.machine.full { Ok(()) } else { Err(Untestable::because(quick)) }
}

/// Returns the share of `more` misses that are saved if only `fewer` remain.
fn saved(more: Interval, fewer: Interval) -> Testable<Interval> {
    let left = ratio(fewer, more)?;
    Ok(Interval::new(1.0 - left.hi, 1.0 - left.lo))
}

/// Returns the largest share of misses that a cache of the table leaves of those of the cache `before` it,
/// which differs by these divisors of line size, ways and size.
fn most_left(e: &Evidence<'_>, compiler: &str, before: [u64; 3]) -> Testable<Interval> {
    let shares = table().filter_map(|(line, ways, size)| {
        let (first, fewer, smaller) = (line / before[0], ways / before[1], size / before[2]);
        table().find(|of| *of == (first, fewer, smaller))?;
        let of = misses(e, compiler, (line, ways, size));
        let share = ratio(of, misses(e, compiler, (first, fewer, smaller)));
        Some(share.map(|share| ((), share)))
    });
    Ok(Extreme::most(shares)?.value)
}

fn falling_with_size(e: &Evidence<'_>, compiler: &str) -> Judged {
    let most = most_left(e, compiler, [1, 1, 2])?;
    at_most("share of misses left by twice the size, at most", most, 1.0)
}

fn falling_with_ways(e: &Evidence<'_>, compiler: &str) -> Judged {
    let most = most_left(e, compiler, [1, 2, 1])?;
    between("share of misses left by twice the ways, at most", most, 0.0, 1.0)
}

fn falling_with_line(e: &Evidence<'_>, compiler: &str) -> Judged {
    let most = most_left(e, compiler, [2, 1, 1])?;
    at_most("share of misses left by lines of 64 bytes, at most", most, 1.0)
}

fn diminishing(e: &Evidence<'_>, compiler: &str) -> Judged {
    let mut least = Interval::exact(f64::INFINITY);
    for line in LINES {
        for size in sizes() {
            let of = |ways| misses(e, compiler, (line, ways, size));
            let counts = [of(1)?, of(2)?, of(4)?, of(8)?];
            let saved = |way: usize| minus(counts[way], counts[way + 1]);
            for way in 0..2 {
                least = least.least(*minus(saved(way), saved(way + 1)));
            }
        }
    }
    at_least("misses that earlier ways save beyond later ways, at least", least, 1.0)
}
