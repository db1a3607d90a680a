//! Machines and points as lines of a record, whether the lab on Linux or the boot image measured them.
//!
//! A record alone is enough to judge and to draw: the [`Machine`] is rebuilt from the header and the
//! points of the ladder.

mod names;
mod point;

pub use point::PointLine;
#[cfg(test)]
pub(crate) use point::planted;
#[cfg(feature = "lab")]
pub(crate) use point::{Raw, Timed};

use crate::cpu::{Cache, CacheKind, Caches, Core, Feature, Features, Identity, Tlb, Tlbs, Vendor};
use crate::experiment::{
    Calibration, Counting, CpuOrder, LADDER, Machine, Placement, Point, Ranges, Reach, Rung, State,
    rung_of,
};
use crate::order;
use crate::pmu::Quantity;
use crate::prelude::*;
use crate::record as format;
use crate::time::Rate;

/// The machine, the program and the settings of a run.
pub type Header = format::Header<String, Vec<String>, CpuLine, Vec<CountingLine>>;

/// The CPU as CPUID describes it.
pub type CpuLine = format::CpuLine<String, Vec<String>, Vec<CacheLine>, Vec<TlbLine>>;

/// Whether the machine counts a quantity; a line of [`Counting`](crate::experiment::Counting).
pub type CountingLine = format::CountingLine<String>;

/// How a CPU was isolated for a run.
pub type IsolationLine = format::IsolationLine<String>;

/// A setting of the machine that the system reports.
pub type SettingLine = format::SettingLine<String>;

/// The settings of the hardware prefetchers, in words.
pub type PrefetchersLine = format::PrefetchersLine<String>;

/// A cache as CPUID or the kernel reports it.
pub type CacheLine = format::CacheLine<String>;

/// A TLB that CPUID reports.
pub type TlbLine = format::TlbLine<String, Vec<u64>>;

/// Returns the machine that a header and the points of the ladder describe.
pub fn machine_of(header: &Header, ladder: &[Point]) -> Machine {
    let rate = Rate::from_hz(header.tick_hz);
    let caches: Vec<Cache> = header.cpu.caches.iter().filter_map(cache_of).collect();
    let walk = || ladder.iter().filter(|point| point.series == LADDER);
    let mut rungs: Vec<Rung> = walk().filter_map(|point| rung_of(point, rate)).collect();
    order::by(&mut rungs, |a, b| a.working_set.total_cmp(&b.working_set));
    let refused = walk().find_map(|point| match &point.state {
        State::Untestable(reason) if rungs.is_empty() => Some(reason.clone()),
        _ => None,
    });
    let machine = Machine {
        vendor: Vendor::named(&header.cpu.vendor),
        load_to_use: header.load_to_use,
        cpu_order: cpu_order_of(header),
        nodes: header.nodes.clone(),
        ports: header.ports,
        counting: counting_of(&header.counting),
        rate,
        seed: header.seed,
        ranges: Ranges::from_ladder(&rungs, reported_sizes(&caches)),
        ladder: rungs,
        ladder_refused: refused,
        caches,
        largest: usize::try_from(header.largest).unwrap_or(usize::MAX),
        full: header.profile == "full",
        prefetchers_off: header.prefetchers_off.is_some(),
        calibration: calibration_of(header),
    };
    let calibration = machine.calibration.clone().with(ladder, &machine);
    Machine { calibration, ..machine }
}

/// Returns the calibration for predictions, as far as the header determines it.
fn calibration_of(header: &Header) -> Calibration {
    let tlbs = header.cpu.tlbs.iter();
    let of_loads = tlbs.filter(|tlb| ["data", "unified", "load"].contains(&tlb.holds.as_str()));
    let tlbs = of_loads.map(|tlb| Reach {
        level: tlb.level,
        pages: tlb.pages.clone(),
        entries: tlb.entries,
        ways: (tlb.ways > 0).then_some(tlb.ways),
    });
    Calibration::known(tlbs.collect(), header.hypervisor.is_some(), core_of(&header.cpu))
}

/// Returns the order of CPUs by which the run placed its threads.
fn cpu_order_of(header: &Header) -> CpuOrder {
    let placement = header.placement.as_deref().and_then(Placement::named);
    let locations = header.locations.clone();
    let order = CpuOrder::placed(header.pinned, locations, placement.unwrap_or_default());
    order.with_performance(header.performance.clone())
}

/// Returns the sizes in bytes that `caches` report for L1d, for L2 and for the last level beyond L2.
pub fn reported_sizes(caches: &[Cache]) -> [Option<f64>; 3] {
    let data = || caches.iter().filter(|c| c.kind != CacheKind::Instruction);
    let size_of = |level| data().find(|c| c.level == level).map(|c| c.size as f64);
    let last = data().filter(|c| c.level > 2).max_by_key(|c| c.level);
    [size_of(1), size_of(2), last.map(|c| c.size as f64)]
}

/// Returns the lines in which a header stores the quantities that a machine counts.
pub fn counting_lines(counting: &Counting) -> Vec<CountingLine> {
    let line = |(quantity, answer): (Quantity, Result<&str, &str>)| CountingLine {
        counts: quantity.name().to_owned(),
        by: answer.ok().map(str::to_owned),
        refused: answer.err().map(str::to_owned),
    };
    counting.answers().map(line).collect()
}

/// Returns the quantities that a machine counts, from the lines of a header.
pub fn counting_of(lines: &[CountingLine]) -> Counting {
    let answer = |line: &CountingLine| {
        let quantity = Quantity::named(&line.counts)?;
        let refused = || line.refused.clone().unwrap_or_default();
        Some((quantity, line.by.clone().ok_or_else(refused)))
    };
    Counting::of(lines.iter().filter_map(answer))
}

/// Describes the CPU that executes the call, with `features` as its unmasked features.
///
/// In a hybrid CPU it describes the core that executes the call: pin the thread first.
pub fn cpu_line(identity: &Identity, features: Features) -> CpuLine {
    CpuLine {
        vendor: identity.vendor.name().to_owned(),
        brand: identity.brand.to_string(),
        family: identity.family.into(),
        model: identity.model.into(),
        stepping: identity.stepping.into(),
        microarchitecture: identity.core().map(|core| match identity.microarch() {
            generation if generation == core.name => generation.to_owned(),
            generation => format!("{generation} ({})", core.name),
        }),
        core: identity.core().map(|core| core.name.to_owned()),
        features: features.iter().map(Feature::name).map(str::to_owned).collect(),
        caches: Caches::detect().iter().map(CacheLine::from).collect(),
        tlbs: Tlbs::detect().iter().map(tlb_line).collect(),
    }
}

/// Returns the core that a line names, if the table of cores contains it.
pub fn core_of(line: &CpuLine) -> Option<&'static Core> {
    let own = line.core.as_deref().and_then(Core::named);
    own.or_else(|| Core::recorded_as(line.microarchitecture.as_deref()?))
}

/// Returns the cache that a line describes. `None` if no CPU reports such a cache: no bytes, no line
/// size, or an unknown kind.
pub fn cache_of(line: &CacheLine) -> Option<Cache> {
    let kind = [CacheKind::Data, CacheKind::Instruction, CacheKind::Unified]
        .into_iter()
        .find(|kind| kind.name() == line.holds)?;
    if line.bytes == 0 || line.line == 0 {
        return None;
    }
    let ways = match line.ways {
        0 if line.fully_associative => u32::try_from(line.bytes / u64::from(line.line)).ok(),
        0 => None,
        ways => Some(ways),
    };
    Some(Cache {
        level: line.level,
        kind,
        size: line.bytes,
        line: line.line,
        ways,
        fully_associative: line.fully_associative,
        shared_by: line.shared_by,
        inclusive: line.inclusive,
    })
}

fn tlb_line(tlb: &Tlb) -> TlbLine {
    TlbLine {
        level: tlb.level,
        holds: tlb.kind.name().to_owned(),
        pages: tlb.pages.iter().map(|page| page.bytes()).collect(),
        entries: tlb.entries,
        ways: tlb.ways.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{Vectors, Vendor};

    /// Includes cores whose own names contain brackets.
    #[test]
    fn a_recorded_core_is_found_again() {
        let here = Identity::detect();
        for (vendor, family, model, core) in [
            (Vendor::Amd, 0x1a, 0x24, "Zen 5 (256-bit)"),
            (Vendor::Amd, 0x11, 0x03, "K8"),
            (Vendor::Intel, 0x0f, 0x04, "NetBurst (Prescott)"),
            (Vendor::Intel, 0x06, 0x17, "Core"),
            (Vendor::Intel, 0x06, 0x8f, "Golden Cove"),
        ] {
            let identity = Identity { vendor, family, model, vectors: Vectors::Sse, ..here };
            let line = cpu_line(&identity, Features::detect());
            assert_eq!(core_of(&line).map(|core| core.name), Some(core));
            // A record of an earlier version lacks the field.
            let earlier = CpuLine { core: None, ..line };
            assert_eq!(core_of(&earlier).map(|core| core.name), Some(core));
        }
    }

    const L1D: Cache = Cache {
        level: 1,
        kind: CacheKind::Data,
        size: 48 << 10,
        line: 64,
        ways: Some(12),
        fully_associative: false,
        shared_by: Some(2),
        inclusive: Some(false),
    };

    #[test]
    fn caches_come_back_as_they_were() {
        let fully = Cache { ways: Some(768), fully_associative: true, ..L1D };
        let untold = Cache { ways: None, ..L1D };
        for cache in [L1D, fully, untold] {
            assert_eq!(cache_of(&CacheLine::from(&cache)), Some(cache));
        }
    }

    #[test]
    fn a_line_that_no_cpu_reports_is_no_cache() {
        let empty = CacheLine { bytes: 0, ..CacheLine::from(&L1D) };
        let strange = CacheLine { holds: "dreams".into(), ..CacheLine::from(&L1D) };
        assert_eq!((cache_of(&empty), cache_of(&strange)), (None, None));
    }

    #[test]
    fn what_is_counted_and_why_not_comes_back_as_it_was() {
        let counting = Counting::of([
            (Quantity::L1dMisses, Ok("MEM_LOAD_RETIRED.L1_MISS".into())),
            (Quantity::LoopOps, Err("this core has no such buffer".into())),
        ]);
        assert_eq!(counting_of(&counting_lines(&counting)), counting);
        assert_eq!(counting_of(&[]), Counting::default());
    }
}
