//! The optional CPU features that programs can use under this operating system.

// `xgetbv` is an instruction without a safe function in `core`.
#![allow(unsafe_code)]

use core::arch::asm;
use core::fmt;

use raw_cpuid::{CpuId, CpuIdReader, CpuIdReaderNative};

use super::token::{Avx2, Avx512, Cldemote, Clflushopt, Clwb, Fma, Rdtscp, Sse4a, Sse41};

variants! {
    /// A capability that not every x86-64 CPU has, by the name that masks and reports have for it. A
    /// capability comes after the capabilities that it builds on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Feature {
        /// SSE4.1: `movntdqa`.
        Sse41 = "sse4.1",
        /// AVX and AVX2, with operating-system support.
        Avx2 = "avx2",
        /// FMA3 together with AVX2, with operating-system support.
        Fma = "fma",
        /// AVX-512 F, BW, VL and DQ, with operating-system support.
        Avx512 = "avx512",
        /// `clflushopt`.
        Clflushopt = "clflushopt",
        /// `clwb`.
        Clwb = "clwb",
        /// `cldemote` has an effect.
        Cldemote = "cldemote",
        /// `prefetchw` has an effect.
        Prefetchw = "prefetchw",
        /// SSE4a, which only AMD's CPUs have: `movntsd` and `movntss`.
        Sse4a = "sse4a",
        /// `rdtscp`.
        Rdtscp = "rdtscp",
        /// The time-stamp counter runs at a constant rate in every power state.
        InvariantTsc = "invariant-tsc",
    }
}

impl Feature {
    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Returns the bits of this feature and of the features that build on it.
    const fn with_dependents(self) -> u16 {
        match self {
            Feature::Sse41 => self.bit() | Feature::Avx2.with_dependents(),
            Feature::Avx2 => self.bit() | Feature::Fma.bit() | Feature::Avx512.bit(),
            _ => self.bit(),
        }
    }
}

/// The features of this CPU: the only source of capability tokens.
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
    /// Detects the features with CPUID, and with XCR0 for the register state that the operating system
    /// saves.
    pub fn detect() -> Features {
        Features::read(CpuIdReaderNative, xgetbv0)
    }

    /// Returns the features that a CPUID reader reports. Private, because a made-up reader would yield
    /// false tokens.
    fn read<R: CpuIdReader>(reader: R, xcr0: impl FnOnce() -> u64) -> Features {
        // Bits of XCR0: Intel SDM volume 1, section 13.3.
        const YMM: u64 = 0b110;
        const ZMM: u64 = 0b1110_0110;

        // Intel SDM volume 2A, "CPUID": leaf 7, ECX bit 25, which raw-cpuid does not name.
        let cldemote = reader.cpuid1(0).eax >= 7 && reader.cpuid2(7, 0).ecx >> 25 & 1 == 1;
        let cpu = CpuId::with_cpuid_reader(reader);
        let mut features = Features { bits: 0 };
        let mut saved = 0;
        let mut avx = false;
        let mut fma = false;
        if let Some(basic) = cpu.get_feature_info() {
            features.set(Feature::Sse41, basic.has_sse41());
            avx = basic.has_avx();
            fma = basic.has_fma();
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
            features.set(Feature::Fma, avx2 && fma);
            features.set(Feature::Avx512, avx2 && avx512);
            features.set(Feature::Clflushopt, more.has_clflushopt());
            features.set(Feature::Clwb, more.has_clwb());
            features.set(Feature::Cldemote, cldemote);
        }
        if let Some(extended) = cpu.get_extended_processor_and_feature_identifiers() {
            // AMD's early 64-bit CPUs lack the flag and have `prefetchw` with 3DNow!: AMD64 APM volume
            // 3, "PREFETCHW".
            let prefetchw = extended.has_prefetchw() || extended.has_3dnow();
            features.set(Feature::Prefetchw, prefetchw);
            features.set(Feature::Sse4a, extended.has_sse4a());
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

    /// Returns whether this CPU has `feature`.
    pub const fn has(self, feature: Feature) -> bool {
        self.bits & feature.bit() != 0
    }

    /// Returns the features present, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |feature| self.has(*feature))
    }

    /// Returns these features without those in `names`, a comma-separated list such as `"avx512,clwb"`.
    ///
    /// A mask only removes features. It also removes the features that build on a masked feature: `avx2`
    /// removes `avx512` and `fma`. An empty list removes nothing.
    ///
    /// # Errors
    /// [`UnknownFeature`] with the first name that is not in [`Feature::ALL`].
    pub fn without(self, names: &str) -> Result<Features, UnknownFeature<'_>> {
        let mut bits = self.bits;
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let feature = Feature::ALL
                .into_iter()
                .find(|feature| feature.name().eq_ignore_ascii_case(name))
                .ok_or(UnknownFeature { name })?;
            bits &= !feature.with_dependents();
        }
        Ok(Features { bits })
    }

    /// Returns whether `prefetchw` has an effect; otherwise it is a no-op.
    pub const fn prefetchw(self) -> bool {
        self.has(Feature::Prefetchw)
    }

    /// Returns whether the time-stamp counter runs at a constant rate in every power state.
    pub const fn invariant_tsc(self) -> bool {
        self.has(Feature::InvariantTsc)
    }
}

/// Defines the methods that return the tokens.
macro_rules! proofs {
    ($($method:ident: $of:ident = $what:literal;)+) => {
        impl Features {$(
            #[doc = concat!("Returns proof of ", $what, ".")]
            pub fn $method(self) -> Option<$of> {
                self.has(Feature::$of).then($of::proven)
            }
        )+}
    };
}

proofs! {
    sse41: Sse41 = "SSE4.1";
    avx2: Avx2 = "AVX2, including operating-system support";
    fma: Fma = "FMA3 and AVX2, including operating-system support";
    avx512: Avx512 = "AVX-512 F, BW, VL and DQ, including operating-system support";
    clflushopt: Clflushopt = "`clflushopt`";
    clwb: Clwb = "`clwb`";
    cldemote: Cldemote = "`cldemote`";
    sse4a: Sse4a = "SSE4a";
    rdtscp: Rdtscp = "`rdtscp`";
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The error for a name in a feature mask that is not a [`Feature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

/// Reads XCR0 with `xgetbv`. Called only if CPUID has reported OSXSAVE.
fn xgetbv0() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: OSXSAVE says that the instruction is enabled; it writes only edx:eax.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high,
             options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
#[path = "../../tests/common/dump.rs"]
mod dump;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;
    use std::vec::Vec;

    use super::dump::Dump;
    use super::{Feature, Features, UnknownFeature};

    /// XCR0 with the x87 and SSE, AVX, and AVX-512 states.
    const SSE: u64 = 0b11;
    const AVX: u64 = 0b111;
    const AVX_512: u64 = 0b1110_0111;

    fn of(name: &str, xcr0: u64) -> Features {
        Features::read(Dump::of(name), || xcr0)
    }

    #[test]
    fn avx_needs_the_operating_system() {
        assert!(of("sapphire-rapids", AVX_512).avx512().is_some());
        let narrow = of("sapphire-rapids", AVX);
        assert!(narrow.avx512().is_none() && narrow.avx2().is_some());
        let none = of("sapphire-rapids", SSE);
        assert!(none.avx2().is_none() && none.sse41().is_some());
    }

    #[test]
    fn features_are_those_of_the_products() {
        use Feature::*;
        let list = |name| of(name, AVX_512).iter().collect::<Vec<_>>();
        let mut server = Feature::ALL.to_vec();
        server.retain(|feature| *feature != Sse4a);
        assert_eq!(list("sapphire-rapids"), server);
        let mut zen4 = Feature::ALL.to_vec();
        zen4.retain(|feature| *feature != Cldemote);
        assert_eq!(list("zen4-guest"), zen4);
        let client = [Sse41, Avx2, Fma, Clflushopt, Prefetchw, Rdtscp, InvariantTsc];
        assert_eq!(list("coffee-lake"), client);
        let hybrid = [Sse41, Avx2, Fma, Clflushopt, Clwb, Prefetchw, Rdtscp, InvariantTsc];
        assert_eq!(list("alder-lake-p"), hybrid);
        let mut zen2 = hybrid.to_vec();
        zen2.insert(6, Sse4a);
        assert_eq!(list("zen2"), zen2);
        // Reported through 3DNow!, before the flag existed.
        assert_eq!(list("k8"), [Prefetchw]);
        assert_eq!(list("dothan"), []);
    }

    #[test]
    fn xcr0_is_not_read_where_the_instruction_would_fault() {
        let asked = core::cell::Cell::new(false);
        let features = Features::read(Dump::of("k8"), || {
            asked.set(true);
            AVX_512
        });
        assert!(!asked.get() && features.avx2().is_none());
    }

    #[test]
    fn a_mask_removes_a_feature_and_what_builds_on_it() {
        let all = of("sapphire-rapids", AVX_512);
        let masked = all.without("avx512, CLWB").unwrap();
        assert!(masked.avx512().is_none() && masked.clwb().is_none());
        assert!(masked.avx2().is_some() && masked.clflushopt().is_some());
        let masked = all.without("avx2").unwrap();
        assert!(masked.avx512().is_none() && masked.avx2().is_none() && masked.sse41().is_some());
        assert!(masked.fma().is_none());
        let masked = all.without("fma").unwrap();
        assert!(masked.fma().is_none() && masked.avx2().is_some() && masked.avx512().is_some());
        assert!(all.without("sse4.1").unwrap().avx512().is_none());
        assert_eq!(all.without("").unwrap(), all);
        // Masking an absent feature changes nothing.
        let old = of("k8", SSE);
        assert_eq!(old.without("avx512").unwrap(), old);
    }

    #[test]
    fn an_unknown_name_is_named_with_what_would_do() {
        let error = Features::detect().without("avx512,avx3").unwrap_err();
        assert_eq!(error, UnknownFeature { name: "avx3" });
        assert_eq!(
            error.to_string(),
            "unknown CPU feature `avx3`; known are sse4.1, avx2, fma, avx512, clflushopt, clwb, \
             cldemote, prefetchw, sse4a, rdtscp, invariant-tsc"
        );
    }

    #[test]
    fn detection_agrees_with_the_standard_library() {
        let features = Features::detect();
        assert_eq!(features.sse41().is_some(), std::is_x86_feature_detected!("sse4.1"));
        assert_eq!(features.avx2().is_some(), std::is_x86_feature_detected!("avx2"));
        assert_eq!(
            features.fma().is_some(),
            std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
        );
        let avx512 = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512vl")
            && std::is_x86_feature_detected!("avx512dq");
        assert_eq!(features.avx512().is_some(), avx512);
    }
}
