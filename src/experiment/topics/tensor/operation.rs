//! Time and events per operation, the post's comparison: C2.

use crate::experiment::prelude::*;
use crate::experiment::topics::tensor::reads::TensorSetup;
use crate::experiment::topics::tensor::tally::Tally;
use crate::experiment::topics::tensor::{
    BOXES, FLAT, MACHINE, NESTED, OF_VECTORS, SHUFFLED, STRIDES, VECTORS, in_turn, l1d, shuffled,
    tally,
};
use crate::host::Event;
use crate::kernel::ReadTensor;

// Places on the axis of events.
const CYCLES: f64 = 0.0;
const INSTRUCTIONS: f64 = 1.0;
const BRANCHES: f64 = 2.0;
const LOADS: f64 = 3.0;
const SIMULATED: f64 = 4.0;
const COUNTED: f64 = 5.0;
const PAGES: f64 = 6.0;

pub(crate) const OPERATION: Experiment = Experiment {
    id: "C2",
    name: "tensor-nested-vs-flat",
    title: "A million reads of nested arrays and of a flat array",
    question: "What does it cost to reach an element through references, in instructions and in \
               misses?",
    source: "mmpataki, part 7: 133 operations per second nested, 288 flat; cycles and events per \
             operation by perfnorm",
    seen: &[],
    about: "An operation is a million reads of a tensor, flat or as nested arrays. The bars show \
            its core cycles and events. Instructions, branches and loads come from the assembly \
            kernels, which have the instructions that compilers make for the index. Misses of L1d \
            are simulated, and also counted if the CPU has counters. The lines of the nested \
            tensor hold references, lengths and elements, and are more than twice the 448 lines \
            of the flat tensor, which alone nearly fill a cache of 32 KiB. The reads are \
            independent of each other: a CPU that computes addresses far ahead overlaps their \
            misses.",
    plot: Some(
        Plot::bars(
            Axis::linear(
                "core cycles (0), instructions (1), branches (2), loads (3), L1d misses simulated \
                 (4), L1d misses counted (5), dTLB misses counted (6)",
            ),
            Axis::log(""),
            Unit::Events,
        )
        .beside(&[Reference {
            file: "tensor_operation.csv",
            machine: MACHINE,
            x: "number",
            columns: &[("nested", NESTED), ("flat", FLAT)],
        }]),
    ),
    cases: |machine| {
        let layouts = [
            (FLAT, STRIDES),
            (NESTED, BOXES),
            (SHUFFLED, shuffled(machine)),
            (VECTORS, OF_VECTORS),
        ];
        let timed = |(name, of): (&str, TensorSetup)| Case::new(name, CYCLES, of).in_turn();
        let mut cases: Vec<Case> = layouts.into_iter().map(timed).collect();
        for (name, of) in layouts {
            cases.extend([
                tally(name, INSTRUCTIONS, of, Tally::Instructions),
                tally(name, BRANCHES, of, Tally::Branches),
                tally(name, LOADS, of, Tally::LoadsOfAPass),
            ]);
            // Nested layouts miss alike, and simulating them takes a while.
            if machine.full || [FLAT, NESTED].contains(&name) {
                let l1d = l1d(machine);
                cases.extend(l1d.map(|l1d| tally(name, SIMULATED, of, Tally::Misses(l1d))));
            }
        }
        for (name, of) in [(FLAT, STRIDES), (NESTED, BOXES)] {
            for (place, event) in [
                (COUNTED, Event::L1D_LOAD_MISSES),
                (PAGES, Event::DTLB_LOAD_MISSES),
            ] {
                cases.push(tally(name, place, of, Tally::Counted(event)));
            }
        }
        cases
    },
    curves: an_operation,
    events: events::PRODUCT,
    claims: &[
        // 133.263 operations per second of the nested array, 287.630 of the flat one.
        measured(
            "C2.1",
            tensor("The 60% performance gain"),
            "a read of the nested tensor takes more than 1.3 times as long as a read of the flat \
             tensor",
            |e| at_least("nested over flat", in_turn(e, NESTED, FLAT), 1.3),
        )
        .then(2.16, "i7-9750H")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Many,
                "Nested over flat arrays, a read",
                "A read of nested arrays takes {now} as long as one of a flat array",
            )
            .advice(
                "Use one flat array and compute the index.",
                "Independent reads overlap: flatten for size and simplicity, not for speed.",
            ),
        )
        .failing(
            "The reads are independent: a CPU that computes addresses far ahead overlaps the \
             misses of the nested tensor.",
        ),
        // An access dereferences 4 pointers, which are 4 extra memory accesses. 7.02 loads per read
        // were counted for the nested array, 1.01 for the flat one.
        computed(
            "C2.2",
            tensor("The problem: Java's multidimensional array layout"),
            "in our assembly, a read of the nested tensor takes at least 4 loads and a read of \
             the flat tensor 1, and the nested read takes more instructions",
            |e| {
                let pass = f64::from(ReadTensor::PASS);
                let loads = |name| Ok(e.at(name, LOADS)?.scaled(1.0 / pass));
                let instructions = |name| e.at(name, INSTRUCTIONS);
                let more = ratio(instructions(NESTED), instructions(FLAT))?;
                all_of([
                    at_least("loads per read, nested", loads(NESTED), 4.0),
                    between("loads per read, flat", loads(FLAT), 1.0, 1.0),
                    at_least("instructions, nested over flat", more, 1.0),
                ])
            },
        )
        .then(7.02, "i7-9750H"),
        // 2,398,892 misses of L1d per operation were counted for the nested array, 7,309 for the flat.
        simulated(
            "C2.3",
            tensor("The 60% performance gain"),
            "in L1d as CPUID describes it, a pass over the nested tensor misses more than 10 \
             times as often as a pass over the flat tensor",
            |e| {
                let misses = |name| e.at(name, SIMULATED);
                let more = ratio(misses(NESTED), misses(FLAT))?;
                at_least("misses simulated, nested over flat", more, 10.0)
            },
        )
        .then(328.0, "i7-9750H"),
    ],
};

/// The curves per operation of the post, which is a pass. Times were measured per read.
fn an_operation(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = e.curves();
    for (place, value) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        if *place == CYCLES {
            *value = value.scaled(f64::from(ReadTensor::PASS));
        }
    }
    curves
}
