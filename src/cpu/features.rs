//! What this CPU can execute, under this operating system.

// `xgetbv` is an instruction without a safe function in `core`.
#![allow(unsafe_code)]

use core::arch::asm;
use core::fmt;

use raw_cpuid::{CpuId, CpuIdReader, CpuIdReaderNative};

use super::token::{Avx2, Avx512, Clflushopt, Clwb, Sse41};

/// One capability that not every x86-64 CPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// SSE4.1: `movntdqa`.
    Sse41,
    /// AVX and AVX2, with operating-system support.
    Avx2,
    /// AVX-512 F, BW, VL and DQ, with operating-system support.
    Avx512,
    /// `clflushopt`.
    Clflushopt,
    /// `clwb`.
    Clwb,
    /// `prefetchw` does something.
    Prefetchw,
    /// `rdtscp`.
    Rdtscp,
    /// The time-stamp counter runs at one rate in every power state.
    InvariantTsc,
}

impl Feature {
    /// Every feature, each after those it builds on.
    pub const ALL: [Feature; 8] = [
        Feature::Sse41,
        Feature::Avx2,
        Feature::Avx512,
        Feature::Clflushopt,
        Feature::Clwb,
        Feature::Prefetchw,
        Feature::Rdtscp,
        Feature::InvariantTsc,
    ];

    /// The name a mask uses, and a report prints.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::Sse41 => "sse4.1",
            Feature::Avx2 => "avx2",
            Feature::Avx512 => "avx512",
            Feature::Clflushopt => "clflushopt",
            Feature::Clwb => "clwb",
            Feature::Prefetchw => "prefetchw",
            Feature::Rdtscp => "rdtscp",
            Feature::InvariantTsc => "invariant-tsc",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// This feature and those that build on it.
    const fn with_dependents(self) -> u16 {
        match self {
            Feature::Sse41 => self.bit() | Feature::Avx2.with_dependents(),
            Feature::Avx2 => self.bit() | Feature::Avx512.bit(),
            _ => self.bit(),
        }
    }
}

/// The features of this CPU: the one source of capability tokens.
///
/// ```
/// let features = linefill::cpu::Features::detect();
/// match features.avx512() {
///     Some(_token) => println!("the 512-bit kernels can run"),
///     None => println!("no AVX-512"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Features {
    bits: u16,
}

impl Features {
    /// Asks CPUID, and XCR0 for the register state that the operating system saves.
    pub fn detect() -> Features {
        Features::read(CpuIdReaderNative, xgetbv0)
    }

    /// The features a CPUID reader reports. Private: a made-up reader would yield false tokens.
    fn read<R: CpuIdReader>(reader: R, xcr0: impl FnOnce() -> u64) -> Features {
        // Bits of XCR0: Intel SDM volume 1, section 13.3.
        const YMM: u64 = 0b110;
        const ZMM: u64 = 0b1110_0110;

        let cpu = CpuId::with_cpuid_reader(reader);
        let mut features = Features { bits: 0 };
        let mut saved = 0;
        let mut avx = false;
        if let Some(basic) = cpu.get_feature_info() {
            features.set(Feature::Sse41, basic.has_sse41());
            avx = basic.has_avx();
            if basic.has_oxsave() {
                saved = xcr0();
            }
        }
        if let Some(more) = cpu.get_extended_feature_info() {
            let avx2 = avx && more.has_avx2() && saved & YMM == YMM;
            let avx512 = more.has_avx512f()
                && more.has_avx512bw()
                && more.has_avx512vl()
                && more.has_avx512dq()
                && saved & ZMM == ZMM;
            features.set(Feature::Avx2, avx2);
            features.set(Feature::Avx512, avx2 && avx512);
            features.set(Feature::Clflushopt, more.has_clflushopt());
            features.set(Feature::Clwb, more.has_clwb());
        }
        if let Some(extended) = cpu.get_extended_processor_and_feature_identifiers() {
            features.set(Feature::Prefetchw, extended.has_prefetchw());
            features.set(Feature::Rdtscp, extended.has_rdtscp());
        }
        if let Some(power) = cpu.get_advanced_power_mgmt_info() {
            features.set(Feature::InvariantTsc, power.has_invariant_tsc());
        }
        features
    }

    fn set(&mut self, feature: Feature, present: bool) {
        if present {
            self.bits |= feature.bit();
        }
    }

    /// Whether this CPU has `feature`.
    pub const fn has(self, feature: Feature) -> bool {
        self.bits & feature.bit() != 0
    }

    /// The features present, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL
            .into_iter()
            .filter(move |feature| self.has(*feature))
    }

    /// These features less those in `names`, a comma-separated list such as `"avx512,clwb"`.
    ///
    /// A mask can only remove. What builds on a masked feature goes with it: `avx2` takes
    /// `avx512` along. An empty list removes nothing.
    ///
    /// # Errors
    /// [`UnknownFeature`] with the first name that is none of [`Feature::ALL`].
    pub fn without(self, names: &str) -> Result<Features, UnknownFeature<'_>> {
        let mut bits = self.bits;
        for name in names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let feature = Feature::ALL
                .into_iter()
                .find(|feature| feature.name().eq_ignore_ascii_case(name))
                .ok_or(UnknownFeature { name })?;
            bits &= !feature.with_dependents();
        }
        Ok(Features { bits })
    }

    /// Proof of SSE4.1.
    pub fn sse41(self) -> Option<Sse41> {
        self.has(Feature::Sse41).then(Sse41::proven)
    }

    /// Proof of AVX2, operating-system support included.
    pub fn avx2(self) -> Option<Avx2> {
        self.has(Feature::Avx2).then(Avx2::proven)
    }

    /// Proof of AVX-512 F, BW, VL and DQ, operating-system support included.
    pub fn avx512(self) -> Option<Avx512> {
        self.has(Feature::Avx512).then(Avx512::proven)
    }

    /// Proof of `clflushopt`.
    pub fn clflushopt(self) -> Option<Clflushopt> {
        self.has(Feature::Clflushopt).then(Clflushopt::proven)
    }

    /// Proof of `clwb`.
    pub fn clwb(self) -> Option<Clwb> {
        self.has(Feature::Clwb).then(Clwb::proven)
    }

    /// Whether `prefetchw` does something; elsewhere it is a no-op.
    pub const fn prefetchw(self) -> bool {
        self.has(Feature::Prefetchw)
    }

    /// Whether there is `rdtscp`.
    pub const fn rdtscp(self) -> bool {
        self.has(Feature::Rdtscp)
    }

    /// Whether the time-stamp counter runs at one rate in every power state.
    pub const fn invariant_tsc(self) -> bool {
        self.has(Feature::InvariantTsc)
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A feature mask named something that is not a [`Feature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFeature<'a> {
    /// The name as given.
    pub name: &'a str,
}

impl fmt::Display for UnknownFeature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown CPU feature `{}`; known are ", self.name)?;
        for (i, feature) in Feature::ALL.into_iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, feature.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownFeature<'_> {}

/// `xgetbv` of XCR0. Only called once CPUID has reported OSXSAVE.
fn xgetbv0() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: OSXSAVE says that the instruction is enabled; it writes edx:eax alone.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high,
             options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}
