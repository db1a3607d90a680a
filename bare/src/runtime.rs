//! What compiled code expects from a C library and an unwinder.

use core::arch::asm;

/// # Safety
/// As C's `memcpy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: the caller answers for both ranges; `rep movsb` touches nothing else.
    unsafe {
        asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
    to
}

/// # Safety
/// As C's `memmove`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= bytes {
        // SAFETY: copying upwards never overwrites a byte before it is read.
        return unsafe { memcpy(to, from, bytes) };
    }
    // SAFETY: the caller answers for both ranges, which are not empty here; copying downwards
    // reads each byte before it is overwritten, and the direction flag is cleared again.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rcx") bytes => _,
            inout("rdi") to.add(bytes - 1) => _, inout("rsi") from.add(bytes - 1) => _,
            options(nostack));
    }
    to
}

/// # Safety
/// As C's `memset`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, bytes: usize) -> *mut u8 {
    // SAFETY: the caller answers for the range; `rep stosb` touches nothing else.
    unsafe {
        asm!("rep stosb", inout("rcx") bytes => _, inout("rdi") to => _, in("al") value as u8,
            options(nostack, preserves_flags));
    }
    to
}

/// # Safety
/// As C's `memcmp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, bytes: usize) -> i32 {
    for i in 0..bytes {
        // SAFETY: the caller answers for both ranges.
        let (x, y) = unsafe { (a.add(i).read(), b.add(i).read()) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

/// # Safety
/// As C's `bcmp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, bytes: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, bytes) }
}

/// # Safety
/// As C's `strlen`.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let left: usize;
    // SAFETY: the caller promises a zero byte, at which `repne scasb` stops.
    unsafe {
        asm!("repne scasb", inout("rcx") usize::MAX => left, inout("rdi") text => _, in("al") 0u8,
            options(nostack, readonly));
    }
    usize::MAX - left - 1
}

/// The ordinary core was compiled to unwind and names its personality; nothing calls it here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// As above: a landing pad that no unwinder will ever enter names it.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the unwinder's own name")]
extern "C" fn _Unwind_Resume() -> ! {
    crate::exit::exit(crate::exit::Status::Panicked)
}
