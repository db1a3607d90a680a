//! The caches that CPUID describes.

use core::ops::Deref;

use raw_cpuid::{
    Associativity, CacheParameter, CacheType, CpuId, CpuIdReader, CpuIdReaderNative, CpuIdResult,
};

use super::descriptor;
use super::identity::{Identity, Vendor};
use super::list::List;

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

impl CacheKind {
    /// Returns the kind as a word, as records and tables print it.
    pub const fn name(self) -> &'static str {
        match self {
            CacheKind::Data => "data",
            CacheKind::Instruction => "instruction",
            CacheKind::Unified => "unified",
        }
    }
}

/// One cache, as the CPU that executed CPUID sees it.
///
/// Optional fields are `None` if the CPU has only old leaves, which do not report them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Level; 1 is nearest to the core.
    pub level: u8,
    /// What the cache holds.
    pub kind: CacheKind,
    /// Capacity in bytes, never zero. A virtual machine may report the whole cache although it gets only
    /// a share of it.
    pub size: u64,
    /// Line size in bytes, never zero.
    pub line: u32,
    /// Ways of associativity; for a fully associative cache, the number of its lines.
    pub ways: Option<u32>,
    /// Whether one set holds every line.
    pub fully_associative: bool,
    /// Upper bound of the hardware threads that share the cache: the number of reserved identifiers, a
    /// power of two on Intel. The operating system's topology may report fewer.
    pub shared_by: Option<u32>,
    /// Whether the cache holds every line of the levels nearer to the core.
    pub inclusive: Option<bool>,
}

impl Cache {
    const FILLER: Cache = Cache {
        level: 0,
        kind: CacheKind::Unified,
        size: 0,
        line: 0,
        ways: None,
        fully_associative: false,
        shared_by: None,
        inclusive: None,
    };

    /// Returns a cache of an old leaf, which reports only these parameters.
    pub(super) const fn plain(
        level: u8,
        kind: CacheKind,
        kib: u64,
        ways: Option<u32>,
        line: u32,
    ) -> Cache {
        Cache { level, kind, size: kib * 1024, line, ways, ..Cache::FILLER }
    }

    /// Returns the number of sets; `None` if the ways are not known.
    pub fn sets(&self) -> Option<u64> {
        let of_a_set = u64::from(self.line) * u64::from(self.ways?);
        self.size.checked_div(of_a_set)
    }

    /// Returns the bytes per hardware thread that may share the cache; `None` if their number is not
    /// known.
    pub fn share(&self) -> Option<u64> {
        Some(self.size / u64::from(self.shared_by?.max(1)))
    }
}

/// The caches of a CPU, nearest first. Empty if CPUID reports none, as in some virtual machines.
///
/// In a hybrid CPU these are the caches of the core that executed CPUID: pin the thread first.
///
/// ```
/// use linefill::cpu::Caches;
///
/// match Caches::detect().last_level() {
///     Some(cache) => println!("L{}: {} KiB", cache.level, cache.size / 1024),
///     None => println!("CPUID says nothing of caches"),
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Caches(List<Cache, 8>);

impl Caches {
    /// Returns the caches of the CPU that executes the call.
    pub fn detect() -> Caches {
        Caches::read(CpuIdReaderNative)
    }

    /// Returns the caches that a CPUID reader reports, from leaf 4 (Intel) or 8000_001Dh (AMD), or else
    /// from the descriptors of leaf 2 (Intel) or leaves 8000_0005h and 8000_0006h (AMD).
    pub fn read<R: CpuIdReader>(reader: R) -> Caches {
        let cpu = CpuId::with_cpuid_reader(Roomy(reader.clone()));
        let mut caches = Caches(List::new(Cache::FILLER));
        for parameters in cpu.get_cache_parameters().into_iter().flatten().take(8) {
            caches.add(from_parameters(&parameters));
        }
        if caches.is_empty() {
            for byte in descriptor::bytes(&reader) {
                caches.add(descriptor::cache(byte));
            }
        }
        // Intel CPUs have leaf 8000_0006h too, but its ways are wrong since Skylake.
        let vendor = Identity::read(reader).vendor;
        if caches.is_empty() && matches!(vendor, Vendor::Amd | Vendor::Hygon) {
            caches.add_amd_legacy(&cpu);
        }
        caches
    }

    /// Returns the level-`level` cache that holds data.
    pub fn data(&self, level: u8) -> Option<&Cache> {
        self.iter().find(|cache| cache.level == level && cache.kind != CacheKind::Instruction)
    }

    /// Returns the level-1 instruction cache.
    pub fn instruction(&self) -> Option<&Cache> {
        self.iter().find(|cache| cache.kind == CacheKind::Instruction)
    }

    /// Returns the last-level cache.
    pub fn last_level(&self) -> Option<&Cache> {
        self.iter()
            .filter(|cache| cache.kind != CacheKind::Instruction)
            .max_by_key(|cache| cache.level)
    }

    fn add(&mut self, cache: Option<Cache>) {
        if let Some(cache) = cache.filter(|c| c.level != 0 && c.size != 0 && c.line != 0) {
            self.0.push(cache);
        }
    }

    /// Adds the caches of leaves 8000_0005h and 8000_0006h: AMD64 APM volume 3, appendix E.4.
    fn add_amd_legacy<R: CpuIdReader>(&mut self, cpu: &CpuId<R>) {
        let mut add = |level, kind, kib, associativity, line: u8| {
            let line = u32::from(line);
            if line == 0 || associativity == Associativity::Disabled {
                return;
            }
            let ways = match associativity {
                Associativity::DirectMapped => Some(1),
                Associativity::NWay(ways) => Some(u32::from(ways)),
                // Does not overflow: the largest size field has 14 bits in units of 512 KiB.
                Associativity::FullyAssociative => Some((kib * 1024 / u64::from(line)) as u32),
                _ => None,
            };
            let full = associativity == Associativity::FullyAssociative;
            let plain = Cache::plain(level, kind, kib, ways, line);
            self.add(Some(Cache { fully_associative: full, ..plain }));
        };
        if let Some(l1) = cpu.get_l1_cache_and_tlb_info() {
            let (size, ways) = (l1.dcache_size().into(), l1.dcache_associativity());
            add(1, CacheKind::Data, size, ways, l1.dcache_line_size());
            let (size, ways) = (l1.icache_size().into(), l1.icache_associativity());
            add(1, CacheKind::Instruction, size, ways, l1.icache_line_size());
        }
        if let Some(outer) = cpu.get_l2_l3_cache_and_tlb_info() {
            let (size, ways) = (outer.l2cache_size().into(), outer.l2cache_associativity());
            add(2, CacheKind::Unified, size, ways, outer.l2cache_line_size());
            // The size is in units of 512 KiB, for the whole package.
            let size = u64::from(outer.l3cache_size()) * 512;
            let ways = outer.l3cache_associativity();
            add(3, CacheKind::Unified, size, ways, outer.l3cache_line_size());
        }
    }
}

impl Deref for Caches {
    type Target = [Cache];

    fn deref(&self) -> &[Cache] {
        &self.0
    }
}

/// A reader that limits the number of sets, because raw-cpuid adds 1 to it without an overflow check,
/// and a hypervisor can report any number.
#[derive(Clone)]
struct Roomy<R>(R);

impl<R: CpuIdReader> CpuIdReader for Roomy<R> {
    fn cpuid2(&self, leaf: u32, subleaf: u32) -> CpuIdResult {
        let answer = self.0.cpuid2(leaf, subleaf);
        match leaf {
            4 | 0x8000_001D => CpuIdResult { ecx: answer.ecx.min(u32::MAX - 1), ..answer },
            _ => answer,
        }
    }
}

/// Decodes one subleaf of leaf 4 or 8000_001Dh: Intel SDM volume 2A, "CPUID", and AMD64 APM volume 3,
/// appendix E.4, agree on its format.
fn from_parameters(p: &CacheParameter) -> Option<Cache> {
    let kind = match p.cache_type() {
        CacheType::Data => CacheKind::Data,
        CacheType::Instruction => CacheKind::Instruction,
        CacheType::Unified => CacheKind::Unified,
        CacheType::Null | CacheType::Reserved => return None,
    };
    let line = p.coherency_line_size() as u64;
    let ways = p.associativity() as u64;
    let partitions = p.physical_line_partitions() as u64;
    Some(Cache {
        level: p.level(),
        kind,
        size: (ways * partitions * line).checked_mul(p.sets() as u64)?,
        line: line as u32,
        ways: Some(ways as u32),
        fully_associative: p.is_fully_associative(),
        shared_by: Some(p.max_cores_for_cache() as u32),
        inclusive: Some(p.is_inclusive()),
    })
}
