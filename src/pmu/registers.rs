//! The model-specific registers of the counters.
//!
//! Source: Intel SDM volume 4, table 2-2 ("IA-32 Architectural MSRs"); AMD64 APM volume 2,
//! appendix A ("MSR Cross-Reference").

use super::{Capabilities, Maker};

/// Which register selects and which holds counter `n`, and what starts them all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    select: u32,
    count: u32,
    stride: u32,
    /// The register that starts and stops all counters at once, if there is one.
    pub(super) control: Option<u32>,
    /// The register that says which counters have overflowed, and the one that clears that.
    pub(super) overflow: Option<(u32, u32)>,
}

/// IA32_FIXED_CTR_CTRL.
pub(super) const FIXED_CONTROL: u32 = 0x38D;

/// MSR_OFFCORE_RSP_0, which says what the off-core events count (events B7h and 2Ah; the second
/// such register is not used).
pub(super) const OFFCORE: u32 = 0x1A6;

/// IA32_FIXED_CTR0.
const FIXED_COUNT: u32 = 0x309;

impl Registers {
    pub(super) fn of(capabilities: &Capabilities) -> Self {
        match capabilities.maker {
            // IA32_PERFEVTSELx, IA32_PMCx, IA32_PERF_GLOBAL_CTRL, _STATUS, _OVF_CTRL: the global
            // ones since version 2.
            Maker::Intel => {
                let global = capabilities.version >= 2;
                Registers {
                    select: 0x186,
                    count: 0xC1,
                    stride: 1,
                    control: global.then_some(0x38F),
                    overflow: global.then_some((0x38E, 0x390)),
                }
            }
            // PERF_CTLx and PERF_CTRx take turns; PerfCntrGlobalCtl, -Status, -StatusClr.
            Maker::Amd { global } => Registers {
                select: 0xC001_0200,
                count: 0xC001_0201,
                stride: 2,
                control: global.then_some(0xC000_0301),
                overflow: global.then_some((0xC000_0300, 0xC000_0302)),
            },
        }
    }

    /// The register that selects what general counter `n` counts.
    pub(super) fn select(&self, n: u8) -> u32 {
        self.select + self.stride * u32::from(n)
    }

    /// The register that holds general counter `n`.
    pub(super) fn count(&self, n: u8) -> u32 {
        self.count + self.stride * u32::from(n)
    }

    /// The register that holds fixed counter `n`.
    pub(super) fn fixed(n: u8) -> u32 {
        FIXED_COUNT + u32::from(n)
    }
}
