//! Decodes the one-byte descriptors of CPUID leaf 2.
//!
//! Source: Intel SDM volume 2A, "CPUID", table "Encoding of CPUID Leaf 2 Descriptors". Caches with
//! 32-byte lines are left out, because their CPUs run no 64-bit code.

use raw_cpuid::{CpuId, CpuIdReader};

use super::cache::{Cache, CacheKind};
use super::identity::{Identity, Vendor};
use super::tlb::{PageSizes, Tlb, TlbKind};

/// Returns the descriptor bytes of leaf 2; none on other vendors' CPUs, where the leaf is reserved.
pub(super) fn bytes<R: CpuIdReader>(reader: &R) -> impl Iterator<Item = u8> + use<R> {
    let cpu = CpuId::with_cpuid_reader(reader.clone());
    let vendor = Identity::read(reader.clone()).vendor;
    let known = vendor == Vendor::Intel && cpu.get_cache_info().is_some();
    let registers = if known {
        let leaf = reader.cpuid1(2);
        // AL is not a descriptor: it is the number of times to read the leaf, always 1.
        [leaf.eax & !0xff, leaf.ebx, leaf.ecx, leaf.edx]
    } else {
        [0; 4]
    };
    registers
        .into_iter()
        .filter(|register| register >> 31 == 0)
        .flat_map(u32::to_le_bytes)
        .filter(|byte| *byte != 0)
}

/// Returns the cache that a descriptor stands for.
pub(super) fn cache(byte: u8) -> Option<Cache> {
    use CacheKind::{Data, Instruction, Unified};
    let (level, kind, kib, ways) = match byte {
        0x09 => (1, Instruction, 32, 4),
        0x0d => (1, Data, 16, 4),
        0x0e => (1, Data, 24, 6),
        0x1d => (2, Unified, 128, 2),
        0x21 => (2, Unified, 256, 8),
        0x22 => (3, Unified, 512, 4),
        0x23 => (3, Unified, 1024, 8),
        0x24 => (2, Unified, 1024, 16),
        0x25 => (3, Unified, 2048, 8),
        0x29 => (3, Unified, 4096, 8),
        0x2c => (1, Data, 32, 8),
        0x30 => (1, Instruction, 32, 8),
        0x46 => (3, Unified, 4096, 4),
        0x47 => (3, Unified, 8192, 8),
        0x48 => (2, Unified, 3072, 12),
        // On family 0Fh model 06h this is a third level; leaf 4 of that CPU reports it correctly.
        0x49 => (2, Unified, 4096, 16),
        0x4a => (3, Unified, 6144, 12),
        0x4b => (3, Unified, 8192, 16),
        0x4c => (3, Unified, 12288, 12),
        0x4d => (3, Unified, 16384, 16),
        0x4e => (2, Unified, 6144, 24),
        0x60 => (1, Data, 16, 8),
        0x66 => (1, Data, 8, 4),
        0x67 => (1, Data, 16, 4),
        0x68 => (1, Data, 32, 4),
        0x78 => (2, Unified, 1024, 4),
        0x79 => (2, Unified, 128, 8),
        0x7a => (2, Unified, 256, 8),
        0x7b => (2, Unified, 512, 8),
        0x7c => (2, Unified, 1024, 8),
        0x7d => (2, Unified, 2048, 8),
        0x7f => (2, Unified, 512, 2),
        0x80 => (2, Unified, 512, 8),
        0x86 => (2, Unified, 512, 4),
        0x87 => (2, Unified, 1024, 8),
        0xd0 => (3, Unified, 512, 4),
        0xd1 => (3, Unified, 1024, 4),
        0xd2 => (3, Unified, 2048, 4),
        0xd6 => (3, Unified, 1024, 8),
        0xd7 => (3, Unified, 2048, 8),
        0xd8 => (3, Unified, 4096, 8),
        0xdc => (3, Unified, 1536, 12),
        0xdd => (3, Unified, 3072, 12),
        0xde => (3, Unified, 6144, 12),
        0xe2 => (3, Unified, 2048, 16),
        0xe3 => (3, Unified, 4096, 16),
        0xe4 => (3, Unified, 8192, 16),
        0xea => (3, Unified, 12288, 24),
        0xeb => (3, Unified, 18432, 24),
        0xec => (3, Unified, 24576, 24),
        _ => return None,
    };
    Some(Cache::plain(level, kind, kib, Some(ways), 64))
}

/// Returns the TLBs that a descriptor stands for, which may be two.
pub(super) fn tlbs(byte: u8) -> [Option<Tlb>; 2] {
    use TlbKind::{Data, Instruction, Unified};
    const K4: PageSizes = PageSizes::KIB4;
    const M2: PageSizes = PageSizes::MIB2;
    const M4: PageSizes = PageSizes::MIB4;
    const G1: PageSizes = PageSizes::GIB1;
    const LARGE: PageSizes = M2.and(M4);

    let any = |level, kind, pages, entries, ways| Some(Tlb { level, kind, pages, entries, ways });
    let one = |level, kind, pages, entries, ways| any(level, kind, pages, entries, Some(ways));
    let full = |level, kind, pages, entries| any(level, kind, pages, entries, Some(entries));
    let unstated = |level, kind, pages, entries| any(level, kind, pages, entries, None);
    let tlb = match byte {
        0x01 => one(1, Instruction, K4, 32, 4),
        0x02 => full(1, Instruction, M4, 2),
        0x03 => one(1, Data, K4, 64, 4),
        0x04 => one(1, Data, M4, 8, 4),
        0x05 => one(1, Data, M4, 32, 4),
        0x0b => one(1, Instruction, M4, 4, 4),
        0x4f => unstated(1, Instruction, K4, 32),
        0x50 => unstated(1, Instruction, K4.and(LARGE), 64),
        0x51 => unstated(1, Instruction, K4.and(LARGE), 128),
        0x52 => unstated(1, Instruction, K4.and(LARGE), 256),
        0x55 => full(1, Instruction, LARGE, 7),
        0x56 => one(1, Data, M4, 16, 4),
        0x57 => one(1, Data, K4, 16, 4),
        0x59 => full(1, Data, K4, 16),
        0x5a => one(1, Data, LARGE, 32, 4),
        0x5b => unstated(1, Data, K4.and(M4), 64),
        0x5c => unstated(1, Data, K4.and(M4), 128),
        0x5d => unstated(1, Data, K4.and(M4), 256),
        0x61 => full(1, Instruction, K4, 48),
        0x63 => return [one(1, Data, LARGE, 32, 4), one(1, Data, G1, 4, 4)],
        0x64 => one(1, Data, K4, 512, 4),
        // Knights Landing: a micro-TLB in front of a second level.
        0x6a => one(1, Data, K4, 64, 8),
        0x6b => one(2, Data, K4, 256, 8),
        0x6c => one(2, Data, LARGE, 128, 8),
        0x6d => full(2, Data, G1, 16),
        0x76 => full(1, Instruction, LARGE, 8),
        0xa0 => full(1, Data, K4, 32),
        0xb0 => one(1, Instruction, K4, 128, 4),
        0xb1 => return [one(1, Instruction, M2, 8, 4), one(1, Instruction, M4, 4, 4)],
        0xb2 => one(1, Instruction, K4, 64, 4),
        0xb3 => one(1, Data, K4, 128, 4),
        // The "TLB1" of Core 2 lies behind the "TLB0" of 56h to 5Ah.
        0xb4 => one(2, Data, K4, 256, 4),
        0xb5 => one(1, Instruction, K4, 64, 8),
        0xb6 => one(1, Instruction, K4, 128, 8),
        0xba => one(2, Data, K4, 64, 4),
        0xc0 => one(1, Data, K4.and(M4), 8, 4),
        0xc1 => one(2, Unified, K4.and(M2), 1024, 8),
        0xc2 => one(1, Data, LARGE, 16, 4),
        0xc3 => {
            let small = one(2, Unified, K4.and(M2), 1536, 6);
            return [small, one(2, Unified, G1, 16, 4)];
        }
        0xc4 => one(1, Data, LARGE, 32, 4),
        0xca => one(2, Unified, K4, 512, 4),
        _ => None,
    };
    [tlb, None]
}
