//! Figures 3.12 and 3.17.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::with_memory;
use super::planted::{Planted, Row, Value, but, row, time};

const FEW: &str = ".1";
const SECOND: &str = ".2";
const CONFLICTS: &str = ".3";
const GIANT: &str = ".4";
const CURE: &str = ".5";
const LARGER: &str = ".1";
const WHOLE: &str = ".2";
const SHRINK: &str = ".3";

const ROTATING: &str = "one per page, rotating offset";
const CONSTANT: &str = "one per page, same offset";
const HUGE: &str = "one per page, rotating offset, 2 MiB pages";
const IN_GIANT: &str = "one per page, rotating offset, 1 GiB pages";

/// Figure 3.12: the ratio of more pages than the L1 dTLB holds to few pages, with both page sizes; of more
/// pages than the second level holds to the same list in 2 MiB pages; and of the constant offset to the
/// rotating one.
struct Tlb {
    first: f64,
    first_huge: f64,
    second: f64,
    conflicts: f64,
}

const TLB: Tlb = Tlb { first: 2.0, first_huge: 1.0, second: 2.0, conflicts: 4.0 };

impl Tlb {
    fn on(&self, machine: &Machine) -> Planted {
        Planted::new("D16", machine, |series, x| {
            let pages = x / 64.0;
            let step = |many: f64| if pages > 64.0 { many } else { 1.0 };
            let second = if pages > 4096.0 { self.second } else { 1.0 };
            let huge = 5.0 * step(self.first_huge);
            time(match series {
                HUGE => huge,
                IN_GIANT => 5.0,
                // In memory, a multiple of the time with 2 MiB pages.
                ROTATING if pages > 4096.0 => huge * second,
                ROTATING => 5.0 * step(self.first),
                CONSTANT => 5.0 * step(self.first) * step(self.conflicts),
                _ => 5.0,
            })
        })
    }
}

/// Figure 3.17: the ratio of the whole list to blocks of 60 pages, in 4 KiB and in 2 MiB pages. Blocks of
/// other sizes are interpolated on a logarithmic scale.
fn blocks(machine: &Machine, base: f64, huge: f64) -> Planted {
    Planted::new("D21", machine, |series, _| {
        let whole = machine.largest as f64 / 4096.0;
        let (gap, pages) = match series {
            "whole list" => (base, whole),
            "whole list, 2 MiB pages" => (huge, whole),
            "60 pages, 2 MiB pages" => (huge, 60.0),
            _ => {
                let number = series.split(' ').next().expect("a number");
                (base, number.parse().expect("a number"))
            }
        };
        let share = (pages / 60.0_f64).ln() / (whole / 60.0).ln();
        time(100.0 * gap.powf(share))
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D16", GIANT, Holds, |m| TLB.on(m)),
        row("D16", GIANT, DoesNotHold, |m| Tlb { first: 1.1, ..TLB }.on(m)),
        row("D16", GIANT, Inconclusive, |m| Tlb { first: 1.3, ..TLB }.on(m)),
        row("D16", GIANT, Untestable, |m| {
            Planted::new("D16", m, |series, _| match series {
                IN_GIANT => Value::Untestable("no 1 GiB pages"),
                _ => time(5.0),
            })
        })
        .says("no 1 GiB pages"),
        row("D16", FEW, Holds, |m| TLB.on(m)),
        row("D16", FEW, DoesNotHold, |m| Tlb { first: 1.1, ..TLB }.on(m)),
        row("D16", FEW, Inconclusive, |m| Tlb { first: 1.3, ..TLB }.on(m)),
        row("D16", FEW, Untestable, |m| {
            TLB.on(m).without(|series, x| series == ROTATING && x == 24.0 * 64.0)
        })
        .says("was not measured at 1536"),
        row("D16", CURE, Holds, |m| TLB.on(m)),
        row("D16", CURE, DoesNotHold, |m| {
            // A guest whose hypervisor maps its large pages with small ones.
            but(TLB, |of| of.first_huge = 2.0).on(m)
        })
        .says("in 2 MiB pages: 2.0"),
        row("D16", CURE, Inconclusive, |m| but(TLB, |of| of.first_huge = 1.3).on(m)),
        row("D16", CURE, Untestable, |m| {
            Planted::new("D16", m, |series, _| match series {
                HUGE => Value::Untestable("no 2 MiB pages"),
                _ => time(5.0),
            })
        })
        .says("no 2 MiB pages"),
        row("D16", SECOND, Holds, |m| TLB.on(m)),
        row("D16", SECOND, DoesNotHold, |m| Tlb { second: 1.0, ..TLB }.on(m)),
        row("D16", SECOND, Inconclusive, |m| Tlb { second: 1.3, ..TLB }.on(m)),
        row("D16", SECOND, Untestable, |m| TLB.on(&with_memory(m, 16 << 20)))
            .says("the claim needs 8192 pages to exceed every TLB, and the largest case has 2048"),
        row("D16", CONFLICTS, Holds, |m| TLB.on(m)),
        row("D16", CONFLICTS, DoesNotHold, |m| but(TLB, |of| of.conflicts = 1.0).on(m)),
        row("D16", CONFLICTS, Inconclusive, |m| but(TLB, |of| of.conflicts = 1.5).on(m)),
        row("D16", CONFLICTS, Untestable, |m| {
            TLB.on(m).without(|series, x| series == CONSTANT && x == 256.0 * 64.0)
        })
        .says("was not measured at 16384"),
        row("D21", LARGER, Holds, |m| blocks(m, 4.0, 1.5)),
        row("D21", LARGER, DoesNotHold, |m| blocks(m, 0.2, 1.0)),
        row("D21", LARGER, Inconclusive, |m| {
            Planted::new("D21", m, |series, _| match series {
                "whole list" => time(95.0),
                _ => time(100.0),
            })
        }),
        row("D21", LARGER, Untestable, |m| blocks(&with_memory(m, 16 << 20), 4.0, 1.5))
            .says("the largest working set, 16384 KiB, is not in the range"),
        row("D21", WHOLE, Holds, |m| blocks(m, 2.0, 1.5)),
        row("D21", WHOLE, DoesNotHold, |m| blocks(m, 1.2, 1.0)),
        row("D21", WHOLE, Inconclusive, |m| blocks(m, 1.5, 1.0)),
        row("D21", WHOLE, Untestable, |m| {
            // The run stopped before the last working set of the whole list.
            let last = *m.working_sets().last().expect("a working set") as f64;
            blocks(m, 2.0, 1.5).without(|series, x| series == "whole list" && x == last)
        })
        .says("`whole list` was not measured at"),
        row("D21", SHRINK, Holds, |m| blocks(m, 3.0, 1.5)),
        row("D21", SHRINK, DoesNotHold, |m| blocks(m, 1.5, 3.0)),
        row("D21", SHRINK, Inconclusive, |m| blocks(m, 2.2, 2.0)),
        row("D21", SHRINK, Untestable, |m| {
            Planted::new("D21", m, |series, _| match series {
                "whole list, 2 MiB pages" => Value::Untestable("no 2 MiB pages"),
                _ => time(100.0),
            })
        })
        .says("no 2 MiB pages"),
    ]
}
