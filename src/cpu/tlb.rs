//! The translation lookaside buffers that CPUID describes.

use core::fmt;
use core::ops::Deref;

use raw_cpuid::{CpuId, CpuIdReader, CpuIdReaderNative, DatInfo, DatType};

use super::descriptor;
use super::identity::{Identity, Vendor};
use super::list::List;

/// The accesses that a TLB translates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TlbKind {
    /// Loads and stores.
    Data,
    /// Instruction fetch.
    Instruction,
    /// Loads, stores and instruction fetch.
    Unified,
    /// Loads alone.
    Load,
    /// Stores alone.
    Store,
}

impl TlbKind {
    /// Returns the kind as a word, as records and tables print it.
    pub const fn name(self) -> &'static str {
        match self {
            TlbKind::Data => "data",
            TlbKind::Instruction => "instruction",
            TlbKind::Unified => "unified",
            TlbKind::Load => "load",
            TlbKind::Store => "store",
        }
    }
}

/// A page size of the x86 architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageSize {
    /// 4 KiB.
    Kib4,
    /// 2 MiB.
    Mib2,
    /// 4 MiB: only in 32-bit paging without PAE, which 64-bit code never uses.
    Mib4,
    /// 1 GiB.
    Gib1,
}

impl PageSize {
    /// Every page size, smallest first.
    pub const ALL: [PageSize; 4] = [PageSize::Kib4, PageSize::Mib2, PageSize::Mib4, PageSize::Gib1];

    /// Returns the page size in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            PageSize::Kib4 => 4 << 10,
            PageSize::Mib2 => 2 << 20,
            PageSize::Mib4 => 4 << 20,
            PageSize::Gib1 => 1 << 30,
        }
    }
}

/// A set of page sizes that share a TLB's entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageSizes(u8);

impl PageSizes {
    // Bits of leaf 18h, EBX[3:0].
    pub(super) const KIB4: PageSizes = PageSizes(1);
    pub(super) const MIB2: PageSizes = PageSizes(2);
    pub(super) const MIB4: PageSizes = PageSizes(4);
    pub(super) const GIB1: PageSizes = PageSizes(8);

    pub(super) const fn and(self, other: PageSizes) -> PageSizes {
        PageSizes(self.0 | other.0)
    }

    /// Returns whether the set contains `page`.
    pub const fn contains(self, page: PageSize) -> bool {
        let bit = match page {
            PageSize::Kib4 => PageSizes::KIB4,
            PageSize::Mib2 => PageSizes::MIB2,
            PageSize::Mib4 => PageSizes::MIB4,
            PageSize::Gib1 => PageSizes::GIB1,
        };
        self.0 & bit.0 != 0
    }

    /// Returns the sizes in the set, smallest first.
    pub fn iter(self) -> impl Iterator<Item = PageSize> {
        PageSize::ALL.into_iter().filter(move |page| self.contains(*page))
    }
}

impl fmt::Debug for PageSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// One TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlb {
    /// Level: 1 is nearest to the core; 2 is the STLB.
    pub level: u8,
    /// The accesses that the TLB translates for.
    pub kind: TlbKind,
    /// The page sizes that share the TLB's entries.
    pub pages: PageSizes,
    /// Number of entries, never zero.
    pub entries: u32,
    /// Ways of associativity, equal to `entries` if fully associative; `None` if not reported.
    pub ways: Option<u32>,
}

impl Tlb {
    const FILLER: Tlb =
        Tlb { level: 0, kind: TlbKind::Unified, pages: PageSizes(0), entries: 0, ways: None };

    /// Returns whether the TLB translates loads.
    pub const fn holds_loads(&self) -> bool {
        matches!(self.kind, TlbKind::Data | TlbKind::Unified | TlbKind::Load)
    }
}

/// The TLBs of a CPU. Empty if CPUID reports none, as in many virtual machines.
///
/// In a hybrid CPU these are the TLBs of the core that executed CPUID: pin the thread first.
#[derive(Clone, Copy, Debug)]
pub struct Tlbs(List<Tlb, 32>);

impl Tlbs {
    /// Returns the TLBs of the CPU that executes the call.
    pub fn detect() -> Tlbs {
        Tlbs::read(CpuIdReaderNative)
    }

    /// Returns the TLBs that a CPUID reader reports: from leaf 18h, or else from the descriptors of leaf
    /// 2 (both Intel), or else from leaves 8000_0005h, 8000_0006h and 8000_0019h (AMD).
    pub fn read<R: CpuIdReader>(reader: R) -> Tlbs {
        let cpu = CpuId::with_cpuid_reader(reader.clone());
        let mut tlbs = Tlbs(List::new(Tlb::FILLER));
        let translations = cpu.get_deterministic_address_translation_info();
        for info in translations.into_iter().flatten().take(32) {
            tlbs.add(from_translation_leaf(&info));
        }
        if tlbs.is_empty() {
            for byte in descriptor::bytes(&reader) {
                descriptor::tlbs(byte).into_iter().for_each(|tlb| tlbs.add(tlb));
            }
        }
        let vendor = Identity::read(reader.clone()).vendor;
        if tlbs.is_empty() && matches!(vendor, Vendor::Amd | Vendor::Hygon) {
            tlbs.add_amd(&reader);
        }
        tlbs
    }

    /// Returns how many load translations of `page`-sized pages level `level` holds: the sum over the
    /// arrays that hold them. `None` if CPUID reports no such array.
    pub fn load_entries(&self, level: u8, page: PageSize) -> Option<u32> {
        let mut arrays = self
            .iter()
            .filter(|tlb| tlb.level == level && tlb.holds_loads() && tlb.pages.contains(page))
            .map(|tlb| tlb.entries);
        let first = arrays.next()?;
        Some(first + arrays.sum::<u32>())
    }

    fn add(&mut self, tlb: Option<Tlb>) {
        if let Some(tlb) = tlb.filter(|tlb| tlb.level != 0 && tlb.entries != 0) {
            self.0.push(tlb);
        }
    }

    /// Adds the TLBs of AMD's leaves (AMD64 APM volume 3, appendix E.4). Reads the registers directly,
    /// because the fields of the 1 GiB leaf are 12 bits wide and raw-cpuid returns only 8 of them.
    fn add_amd<R: CpuIdReader>(&mut self, reader: &R) {
        let last = reader.cpuid1(0x8000_0000).eax;
        if last >= 0x8000_0005 {
            let leaf = reader.cpuid1(0x8000_0005);
            for (register, pages) in [(leaf.ebx, PageSizes::KIB4), (leaf.eax, PageSizes::MIB2)] {
                self.add(amd_l1(TlbKind::Data, pages, register >> 16));
                self.add(amd_l1(TlbKind::Instruction, pages, register));
            }
        }
        if last >= 0x8000_0006 {
            let leaf = reader.cpuid1(0x8000_0006);
            self.add_amd_pair(2, PageSizes::KIB4, leaf.ebx);
            self.add_amd_pair(2, PageSizes::MIB2, leaf.eax);
        }
        if last >= 0x8000_0019 {
            let leaf = reader.cpuid1(0x8000_0019);
            self.add_amd_pair(1, PageSizes::GIB1, leaf.eax);
            self.add_amd_pair(2, PageSizes::GIB1, leaf.ebx);
        }
    }

    /// Adds the TLBs of a register: data in the upper half and instructions in the lower half, or a
    /// unified TLB in the lower half if the upper half is empty.
    fn add_amd_pair(&mut self, level: u8, pages: PageSizes, register: u32) {
        let (data, rest) = (register >> 16, register & 0xffff);
        if data == 0 {
            self.add(amd_outer(level, TlbKind::Unified, pages, rest));
        } else {
            self.add(amd_outer(level, TlbKind::Data, pages, data));
            self.add(amd_outer(level, TlbKind::Instruction, pages, rest));
        }
    }
}

impl Deref for Tlbs {
    type Target = [Tlb];

    fn deref(&self) -> &[Tlb] {
        &self.0
    }
}

/// Decodes a subleaf of leaf 18h: Intel SDM volume 2A, "CPUID".
fn from_translation_leaf(info: &DatInfo) -> Option<Tlb> {
    let kind = match info.cache_type() {
        DatType::DataTLB => TlbKind::Data,
        DatType::InstructionTLB => TlbKind::Instruction,
        DatType::UnifiedTLB => TlbKind::Unified,
        DatType::LoadOnly => TlbKind::Load,
        DatType::StoreOnly => TlbKind::Store,
        DatType::Null | DatType::Unknown => return None,
    };
    let held = [
        (info.has_4k_entries(), PageSizes::KIB4),
        (info.has_2mb_entries(), PageSizes::MIB2),
        (info.has_4mb_entries(), PageSizes::MIB4),
        (info.has_1gb_entries(), PageSizes::GIB1),
    ];
    let pages = held
        .into_iter()
        .filter(|(has, _)| *has)
        .fold(PageSizes(0), |pages, (_, page)| pages.and(page));
    let ways = u32::from(info.ways());
    Some(Tlb {
        level: info.cache_level(),
        kind,
        pages,
        entries: ways.saturating_mul(info.sets()),
        ways: Some(ways),
    })
}

/// Decodes half a register of leaf 8000_0005h: associativity in bits 15:8, entries in bits 7:0.
fn amd_l1(kind: TlbKind, pages: PageSizes, half: u32) -> Option<Tlb> {
    let entries = half & 0xff;
    let ways = match half >> 8 & 0xff {
        0 => return None,
        0xff => entries,
        ways => ways,
    };
    Some(Tlb { level: 1, kind, pages, entries, ways: Some(ways) })
}

/// Decodes half a register of leaf 8000_0006h or 8000_0019h: associativity code in bits 15:12, entries
/// in bits 11:0.
fn amd_outer(level: u8, kind: TlbKind, pages: PageSizes, half: u32) -> Option<Tlb> {
    let entries = half & 0xfff;
    let ways = match half >> 12 & 0xf {
        0x0 => return None,
        code @ 0x1..=0x4 => Some(code),
        0x5 => Some(6),
        0x6 => Some(8),
        0x8 => Some(16),
        0xa => Some(32),
        0xb => Some(48),
        0xc => Some(64),
        0xd => Some(96),
        0xe => Some(128),
        0xf => Some(entries),
        _ => None,
    };
    Some(Tlb { level, kind, pages, entries, ways })
}
