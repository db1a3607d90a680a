//! Beyond the papers: load-to-use latency, by addressing mode, by register and by level.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Chase, Mode};
use crate::pattern::Layout;

/// Why the width of a load shows in its latency.
const OTHER_PATH: &str = "Loads of different widths take different paths to a vector register.";

pub(crate) static ALL: &[Experiment] = &[LOAD_TO_USE];

/// The modes that are measured in every level: the simplest mode, and the mode with all parts.
const EVERYWHERE: [Mode; 2] = [Mode::Base, Mode::Scaled];

/// Two modes cost the same if they differ by at most this many core cycles.
const SAME: f64 = 0.25;

/// The least difference that counts as one cycle, as far as the yardstick can tell.
const A_CYCLE: f64 = 0.9;

/// Returns the working set inside L1d: no more than a link of 2 bytes can span.
fn inside_l1(machine: &Machine) -> usize {
    machine.middle_of(machine.ranges.l1).min(32 << 10)
}

const LOAD_TO_USE: Experiment = Experiment {
    id: "X2",
    name: "load-to-use",
    title: "Load-to-use latency by addressing mode, register and level",
    question: "How many core cycles after a load can its value be the next address, and does the \
               addressing mode matter?",
    source: "Beyond the papers. Published: Intel's Optimization Reference Manual gives Sandy \
             Bridge 4 cycles for a base with a displacement below 2048 bytes, and 5 cycles for a \
             larger displacement or an index; AMD's Software Optimization Guides give Zen to Zen 5 \
             4 or 5 cycles, 4 with simple addresses, and 7 or 8 into a vector register",
    about: "The test walks a random ring of lines, where each load's address comes from the load \
            before, with one series per addressing mode. All modes run in L1d; the simplest and \
            the longest also run in the other levels. On Intel, a fast path for addresses with \
            only a base came with Sandy Bridge and went with Ice Lake, whose loads take 5 cycles \
            in every mode. Intel extends the sign on the way from the cache; some AMD cores need a \
            separate operation. The times through a vector register include the load and the move \
            back. Beyond L1d, the modes differ by the same number of cycles, which is small beside \
            the latency of the level.",
    seen: &[seen(
        "Zen 4",
        "An index costs nothing, a scaled index costs one cycle, and sign extension costs one \
         cycle.",
    )],
    plot: Some(Plot::bars(Axis::WORKING_SET, Axis::log("time"), Unit::CoreCycles)),
    cases: |machine| {
        let case = |mode: Mode, working_set: usize| {
            let list = WalkSetup::random(Layout::npad(7), working_set, machine.seed);
            Case::new(mode.text(), working_set as f64, ChaseSetup { list, mode }).in_turn()
        };
        let near = inside_l1(machine);
        let mut cases: Vec<Case> = Mode::ALL.into_iter().map(|mode| case(mode, near)).collect();
        let ranges = &machine.ranges;
        let beyond = machine.one_a_range().into_iter();
        for bytes in beyond.filter(|&bytes| !ranges.l1.holds(bytes as f64)) {
            cases.extend(EVERYWHERE.map(|mode| case(mode, bytes).in_large_pages()));
        }
        cases
    },
    claims: &[
        measured(
            "X2.1",
            ours("a measurement should confirm the latency published for a core"),
            "the simplest load from L1d takes the published load-to-use latency, within half a \
             cycle",
            |e| {
                let cycles = e.at(Mode::Base.text(), inside_l1(e.machine) as f64)?;
                let published = e.machine.published_latency(*cycles)?;
                between("core cycles from load to load", cycles, published - 0.5, published + 0.5)
            },
        ),
        measured(
            "X2.2",
            ours(
                "compilers use displacements freely; a cost of one cycle would matter for data \
                 layouts",
            ),
            "a displacement of one or four bytes adds nothing to the latency of a load",
            |e| costs_nothing(e, &[Mode::Disp8, Mode::Disp32], Mode::Base),
        ),
        measured(
            "X2.3",
            ours("the fast path of Sandy Bridge accepted only a base register"),
            "an index register adds at least one core cycle to the latency of a load",
            |e| {
                let more = more(e, Mode::Index, Mode::Base)?;
                at_least("core cycles more with an index", more, A_CYCLE)
            },
        )
        .failing("The core adds a base and an index without an extra cycle."),
        measured(
            "X2.4",
            ours("AMD's optimization guides state one cycle more for scaled addresses"),
            "a scaled index with a displacement adds at least one core cycle to the latency of \
             a load",
            |e| {
                let more = more(e, Mode::Scaled, Mode::Base)?;
                at_least("core cycles more with a scaled index", more, A_CYCLE)
            },
        )
        .failing("The core scales an index and adds a displacement without an extra cycle."),
        measured(
            "X2.5",
            ours(
                "programs choose narrow links to save space; this claim asks whether they cost \
                 time",
            ),
            "zero-extended loads of 2 and 4 bytes have the same latency as loads of 8 bytes",
            |e| costs_nothing(e, &[Mode::Load32, Mode::Movzx16], Mode::Index),
        ),
        measured(
            "X2.6",
            ours("only some cores extend the sign on the way from the cache"),
            "sign extension adds nothing to the latency of a load",
            |e| {
                all_of([
                    costs_nothing(e, &[Mode::Movsxd], Mode::Load32),
                    costs_nothing(e, &[Mode::Movsx16], Mode::Movzx16),
                ])
            },
        )
        .failing("The core extends the sign in a step of its own."),
        measured(
            "X2.7",
            ours("gathers and hash tables move pointers through vector registers"),
            "a load through a vector register takes at least 2 core cycles longer than a load into \
             a general register",
            |e| {
                let more = more(e, Mode::Xmm8, Mode::Base)?;
                at_least("core cycles more through xmm0", more, 2.0)
            },
        ),
        measured(
            "X2.8",
            ours("a core could assemble wide loads from halves"),
            "loads of 16 and 32 bytes reach a vector register as fast as loads of 8 bytes",
            |e| costs_nothing(e, &[Mode::Xmm16, Mode::Ymm32], Mode::Xmm8),
        )
        .failing(OTHER_PATH),
        measured(
            "X2.9",
            ours("some cores assemble loads of 64 bytes from halves"),
            "loads of 64 bytes reach a vector register as fast as loads of 32 bytes",
            |e| costs_nothing(e, &[Mode::Zmm64], Mode::Ymm32),
        )
        .failing(OTHER_PATH),
        measured(
            "X2.10",
            ours(
                "the control of the other claims: one cycle more for the address is negligible \
                 beside a miss",
            ),
            "in memory, the addressing mode changes the time of a load by less than 10 %",
            |e| {
                let memory = e.machine.ranges.memory;
                let [simple, scaled] = EVERYWHERE.map(Mode::text);
                between("scaled over simple address", paired(e, scaled, simple, memory), 0.9, 1.1)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Judges whether each of `modes` takes as long as `than` in L1d.
fn costs_nothing(e: &Evidence<'_>, modes: &[Mode], than: Mode) -> Judged {
    all_of(modes.iter().map(|&mode| {
        let more = more(e, mode, than)?;
        between(&format!("core cycles more by {}", mode.text()), more, -SAME, SAME)
    }))
}

/// Returns the core cycles by which `mode` takes longer than `than` in L1d, from the ratio of both
/// times and the time of `than`.
fn more(e: &Evidence<'_>, mode: Mode, than: Mode) -> Testable<Interval> {
    let x = inside_l1(e.machine) as f64;
    let longer = paired(e, mode.text(), than.text(), Range::at(x))?;
    let cycles = e.at(than.text(), x)?.middle();
    Ok(Interval::new((longer.lo - 1.0) * cycles, (longer.hi - 1.0) * cycles))
}

/// A walk along a list of lines, where each load's address is formed from the load before.
#[derive(Clone, Copy, Debug)]
struct ChaseSetup {
    list: WalkSetup,
    mode: Mode,
}

impl Setup for ChaseSetup {
    fn bytes(&self) -> usize {
        self.list.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let chase = Chase::new(self.list.ring(region)?, self.mode, &context.features)?;
        Ok(Workload::steady(chase, self.list.count as u64))
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        self.list.predict(parameters)
    }
}
