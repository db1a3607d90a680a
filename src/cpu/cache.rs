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
    /// The kind in a word, as records and tables have it.
    pub const fn name(self) -> &'static str {
        match self {
            CacheKind::Data => "data",
            CacheKind::Instruction => "instruction",
            CacheKind::Unified => "unified",
        }
    }
}

/// One cache, as the executing CPU sees it.
///
/// The optional fields are `None` where only leaves too old to state them exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Capacity in bytes, never zero. A virtual machine may report a cache of which it gets only
    /// a share.
    pub size: u64,
    /// Line size in bytes, never zero.
    pub line: u32,
    /// Ways of associativity; all lines of a set count as ways if it is fully associative.
    pub ways: Option<u32>,
    /// One set holds every line.
    pub fully_associative: bool,
    /// Upper bound of the hardware threads that share it: identifiers reserved, a power of two
    /// on Intel, so operating-system topology may say less.
    pub shared_by: Option<u32>,
    /// Whether it holds every line of the levels nearer to the core.
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

    /// A cache of an old leaf, which states no more than this.
    pub(super) const fn plain(
        level: u8,
        kind: CacheKind,
        kib: u64,
        ways: Option<u32>,
        line: u32,
    ) -> Cache {
        Cache {
            level,
            kind,
            size: kib * 1024,
            line,
            ways,
            ..Cache::FILLER
        }
    }

    /// Number of sets; `None` if the ways are not known.
    pub fn sets(&self) -> Option<u64> {
        Some(self.size / (u64::from(self.line) * u64::from(self.ways?)))
    }

    /// Bytes for each of the hardware threads that may share it; `None` if their number is not
    /// known.
    pub fn share(&self) -> Option<u64> {
        Some(self.size / u64::from(self.shared_by?.max(1)))
    }

    /// Bytes of one way, the stride at which lines meet in one set of a cache that is indexed by
    /// plain address bits; `None` if the ways are not known.
    pub fn way_size(&self) -> Option<u64> {
        Some(self.size / u64::from(self.ways?))
    }
}

/// The caches of a CPU, nearest first. Empty where CPUID says nothing, as in some virtual
/// machines.
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
    /// Asks the CPU that executes this.
    pub fn detect() -> Caches {
        Caches::read(CpuIdReaderNative)
    }

    /// The caches that a CPUID reader reports: leaf 4 (Intel) or 8000_001Dh (AMD); failing those,
    /// the descriptors of leaf 2 (Intel) or leaves 8000_0005h and 6h (AMD).
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
        // Intel has leaf 8000_0006h too, with ways that are wrong since Skylake.
        let vendor = Identity::read(reader).vendor;
        if caches.is_empty() && matches!(vendor, Vendor::Amd | Vendor::Hygon) {
            caches.add_amd_legacy(&cpu);
        }
        caches
    }

    /// The level-`level` cache that holds data.
    pub fn data(&self, level: u8) -> Option<&Cache> {
        self.iter()
            .find(|cache| cache.level == level && cache.kind != CacheKind::Instruction)
    }

    /// The level-1 instruction cache.
    pub fn instruction(&self) -> Option<&Cache> {
        self.iter()
            .find(|cache| cache.kind == CacheKind::Instruction)
    }

    /// The cache before memory.
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

    /// Leaves 8000_0005h and 8000_0006h: AMD64 APM volume 3, appendix E.4.
    fn add_amd_legacy<R: CpuIdReader>(&mut self, cpu: &CpuId<R>) {
        let mut add = |level, kind, kib, associativity, line: u8| {
            let line = u32::from(line);
            if line == 0 || associativity == Associativity::Disabled {
                return;
            }
            let ways = match associativity {
                Associativity::DirectMapped => Some(1),
                Associativity::NWay(ways) => Some(u32::from(ways)),
                // Fits: the field before it is 14 bits of 512 KiB.
                Associativity::FullyAssociative => Some((kib * 1024 / u64::from(line)) as u32),
                _ => None,
            };
            let full = associativity == Associativity::FullyAssociative;
            let plain = Cache::plain(level, kind, kib, ways, line);
            self.add(Some(Cache {
                fully_associative: full,
                ..plain
            }));
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
            // In units of 512 KiB, the whole package together.
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

/// One subleaf of leaf 4 or 8000_001Dh: Intel SDM volume 2A, "CPUID", and AMD64 APM volume 3,
/// appendix E.4, agree on its form.
/// A reader whose sets of a cache have room for the one that raw-cpuid adds to their number. A
/// hypervisor can state any.
#[derive(Clone)]
struct Roomy<R>(R);

impl<R: CpuIdReader> CpuIdReader for Roomy<R> {
    fn cpuid2(&self, leaf: u32, subleaf: u32) -> CpuIdResult {
        let answer = self.0.cpuid2(leaf, subleaf);
        match leaf {
            4 | 0x8000_001D => CpuIdResult {
                ecx: answer.ecx.min(u32::MAX - 1),
                ..answer
            },
            _ => answer,
        }
    }
}

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
