//! The words that the loader passes to the image.

use core::ffi::CStr;

/// `XEN_HVM_START_MAGIC_VALUE` (xen/include/public/arch-x86/hvm/start_info.h).
const START_MAGIC: u32 = 0x336e_c578;

/// The head of `struct hvm_start_info` (same source).
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
}

/// The command line, or an empty one where the loader was not a PVH loader.
///
/// # Safety
/// `start_info` is the physical address that the loader passed in EBX, memory is identity
/// mapped, and nothing writes to the loader's data.
pub unsafe fn read(start_info: u32) -> &'static str {
    let info = start_info as *const StartInfo;
    if info.is_null() || !info.is_aligned() {
        return "";
    }
    // SAFETY: the caller's address is mapped; a Multiboot2 loader leaves other data there, at
    // least as long, which the magic number tells apart.
    let info = unsafe { info.read() };
    if info.magic != START_MAGIC || info.command_line == 0 {
        return "";
    }
    // SAFETY: the PVH protocol says that this is the address of a zero-terminated string.
    let line = unsafe { CStr::from_ptr(info.command_line as *const _) };
    line.to_str().unwrap_or("")
}
