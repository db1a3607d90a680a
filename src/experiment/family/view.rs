//! Drepper 3.3.5 and 3.4.1: one page at two addresses, and code that modifies itself.

use super::replacement;
use super::word::paired;
use crate::counters::Quantity;
use crate::experiment::evidence::ratio;
use crate::experiment::setup::{HandoverSetup, PatchSetup, Patched, SynonymSetup};
use crate::experiment::{
    Axis, Case, Claim, Experiment, Plot, Range, Shape, Unit, all_of, at_least, at_most,
    plain_curves,
};

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[SYNONYMS, SELF_MODIFYING];

/// What a case of this family lies at: there is nothing that varies but the series.
const HERE: f64 = 1.0;

const ONE: &str = "a line at one address";
const TWO: &str = "a line at two addresses in turn";

const SYNONYMS: Experiment = Experiment {
    id: "D32",
    name: "drepper-3.3.5-details",
    title: "One physical page at two addresses, and full sets",
    question: "Does it cost anything to read memory that is mapped twice, and which line does a full \
               set of L1d give up?",
    source: "Drepper 3.3.5: L1 is indexed by virtual addresses, so do not map a page at two of \
             them; the caches behind it are physical; replacement is LRU",
    today: "An L1d whose ways are no larger than a page finds a line under all its addresses, \
            which is why its size grows by ways. AMD's Zen predicts the way by a hash of the \
            linear address, and a line has one such mark: reached by another address it counts as \
            a miss, is found by its physical address, and gets the new mark, every time anew. Full \
            sets are said to replace by LRU; its cost grows fast with the ways, and what is built \
            are stand-ins. On Zen 4 loads of one set cost what they do under tree-PLRU, sequence by \
            sequence, and not what they do under LRU.",
    plot: Some(Plot {
        shape: Shape::Bars,
        x: Axis::linear("views"),
        y: Axis::linear("time of a dependent load"),
        unit: Unit::CoreCycles,
        reference: &[],
    }),
    cases: |machine| {
        let views = [(ONE, false), (TWO, true)]
            .map(|(series, two)| Case::new(series, HERE, SynonymSetup { two }).in_turn());
        let sets = replacement::cases(machine);
        views.into_iter().chain(sets).collect()
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        Claim {
            text: "a line read at two addresses in turn costs more than at one, by 10 % at least",
            judge: |e| {
                let slower = ratio(e.at(TWO, HERE)?, e.at(ONE, HERE)?)?;
                Ok(at_least("two addresses over one", slower, 1.1))
            },
        },
        replacement::LRU,
    ],
};

const PATCHES: [(&str, Patched); 4] = [
    ("its own code", Patched::Code),
    ("data in its line", Patched::SameLine),
    ("data in its page", Patched::SamePage),
    ("data in another page", Patched::OtherPage),
];

/// What another core writes, and this one waits for.
const HANDOVERS: [(&str, bool); 2] = [
    ("another core, into code", true),
    ("another core, into data", false),
];

const SELF_MODIFYING: Experiment = Experiment {
    id: "D34",
    name: "drepper-3.4.1-smc",
    title: "Code that modifies itself",
    question: "What does it cost to write a byte of a function before each call of it?",
    source: "Drepper 3.4.1: self-modifying code empties the pipeline and the decoded cache; avoid \
             it",
    today: "The CPU still watches every store for lines that it executes, by physical address: \
            here code is written through another address than it runs at, since no page is ever \
            writable and executable. It compares whole lines and sometimes whole pages, so data \
            kept beside code pays the same price without changing an instruction. Between cores \
            the way of the line there and back is what counts, some hundred cycles and more, and \
            emptying a pipeline that waits in any case adds little to it.",
    plot: Some(Plot {
        shape: Shape::Bars,
        x: Axis::linear("what is written"),
        y: Axis::log("time of a store and a call"),
        unit: Unit::CoreCycles,
        reference: &[],
    }),
    cases: |machine| {
        let seating = &machine.seating;
        let two = seating.nearest().and_then(|near| seating.pair(near).ok());
        let other = two.map(|[_, other]| other);
        PATCHES
            .map(|(series, patched)| Case::new(series, HERE, PatchSetup { patched }))
            .into_iter()
            .chain(HANDOVERS.map(|(series, into_code)| {
                Case::new(series, HERE, HandoverSetup { into_code, other }).in_turn()
            }))
            .collect()
    },
    curves: plain_curves,
    events: &[Quantity::SelfModifying],
    claims: &[
        Claim {
            text: "patching code before each call costs more than 20 times patching data",
            judge: |e| {
                let slower = ratio(e.at(PATCHES[0].0, HERE)?, e.at(PATCHES[3].0, HERE)?)?;
                Ok(at_least("its own code over data", slower, 20.0))
            },
        },
        Claim {
            text: "a store to data in the line of the code that runs costs as much as one to the \
                   code itself, within a quarter",
            judge: |e| {
                let code = e.at(PATCHES[0].0, HERE)?;
                let line = ratio(e.at(PATCHES[1].0, HERE)?, code)?;
                let what = "data in its line over its own code";
                Ok(all_of([
                    at_least(what, line, 0.75),
                    at_most(what, line, 1.25),
                ]))
            },
        },
        Claim {
            text: "a number that another core patches into code that runs takes half as long \
                   again to arrive as one in data, or longer",
            judge: |e| {
                let here = Range { lo: HERE, hi: HERE };
                let slower = paired(e, HANDOVERS[0].0, HANDOVERS[1].0, here)?;
                Ok(at_least("into code over into data", slower, 1.5))
            },
        },
    ],
};
