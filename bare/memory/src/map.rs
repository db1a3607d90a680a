//! The memory that a loader or the firmware reports.

use core::ffi::CStr;

use crate::Area;

/// The parts of a loader's information that the image uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Map<'i> {
    /// Entries of at least 24 bytes, with the address and the size in the first 16 bytes.
    entries: &'i [u8],
    entry_bytes: usize,
    /// Offset of the memory type in an entry.
    kind_at: usize,
    /// The command line.
    pub command_line: &'i str,
}

/// The memory type of free memory in a BIOS memory map (ACPI specification, "System Address Map Interfaces").
/// Both loaders use the same numbers.
const RAM: u32 = 1;

impl<'i> Map<'i> {
    /// Returns the areas of free memory in the loader's order.
    pub fn free(self) -> impl Iterator<Item = Area> + use<'i> {
        let Map { entries, entry_bytes, kind_at, .. } = self;
        entries
            .chunks_exact(entry_bytes.max(1))
            .filter(move |entry| u32_at(entry, kind_at) == Some(RAM))
            .filter_map(|entry| Some(Area::new(u64_at(entry, 0)?, u64_at(entry, 8)?)))
    }
}

/// Returns the map of a PVH loader. `entries` holds `struct hvm_memmap_table_entry`
/// (xen/include/public/arch-x86/hvm/start_info.h).
pub fn pvh<'i>(entries: &'i [u8], command_line: &'i CStr) -> Map<'i> {
    Map { entries, entry_bytes: 24, kind_at: 16, command_line: command_line.to_str().unwrap_or("") }
}

/// Parses the information of a Multiboot2 loader (specification, section 3.6), including the 8 bytes of its
/// head. Stops at a tag that is cut off or smaller than its own head.
pub fn multiboot(information: &[u8]) -> Map<'_> {
    const HEAD: usize = 8;
    const COMMAND_LINE: u32 = 1;
    const MEMORY_MAP: u32 = 6;
    let mut map = Map::default();
    let mut rest = information.get(HEAD..).unwrap_or(&[]);
    while let (Some(kind), Some(bytes)) = (u32_at(rest, 0), u32_at(rest, 4)) {
        let Some(tag) = rest.get(HEAD..bytes as usize) else {
            break;
        };
        match kind {
            COMMAND_LINE => {
                let line = CStr::from_bytes_until_nul(tag).ok();
                map.command_line = line.and_then(|line| line.to_str().ok()).unwrap_or("");
            }
            MEMORY_MAP => {
                map.entry_bytes = u32_at(tag, 0).unwrap_or(0) as usize;
                map.kind_at = 16;
                map.entries = tag.get(8..).unwrap_or(&[]);
            }
            _ => {}
        }
        rest = rest.get((bytes as usize).next_multiple_of(8)..).unwrap_or(&[]);
    }
    map
}

/// Returns whether memory with these attributes in UEFI firmware's map is ordinary: it can be cached write-back,
/// and is not set aside for a special purpose, as high-bandwidth memory and CXL memory are.
pub const fn is_ordinary(attributes: u64) -> bool {
    // `EFI_MEMORY_WB` and `EFI_MEMORY_SP` (UEFI specification 2.10, section 7.2.3).
    const WRITE_BACK: u64 = 1 << 3;
    const SPECIAL_PURPOSE: u64 = 1 << 18;
    attributes & (WRITE_BACK | SPECIAL_PURPOSE) == WRITE_BACK
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}
