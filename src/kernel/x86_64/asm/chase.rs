//! `asm/chase.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the family: `link` leads to a place that holds the next link, `steps` times;
/// returns the last link loaded.
///
/// # Safety
/// `link`, taken as the name says, leads to a readable place that holds such a link in turn, for
/// `steps` steps; `steps` is not 0. Vector kernels read as many bytes there as their name says,
/// 16 and more at a multiple of as many, and the CPU has AVX2 for 32, AVX-512 for 64.
pub type Chases = unsafe extern "sysv64" fn(link: u64, steps: u64, base: usize) -> u64;

macro_rules! chases {
    ($($(#[$doc:meta])* $name:ident)*) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// # Safety
            /// See [`Chases`].
            pub fn $name(link: u64, steps: u64, base: usize) -> u64;
        )*}
    };
}

chases! {
    /// `mov rax, [rax]`: the link is an address.
    linefill_chase_base
    /// `mov rax, [rax + 64]`: an address less 64.
    linefill_chase_disp8
    /// `mov rax, [rax + 4096]`: an address less 4096.
    linefill_chase_disp32
    /// `mov rax, [rdx + rax]`: bytes from `base`.
    linefill_chase_index
    /// `mov rax, [rdx + rax*8 + 64]`: words from 64 bytes behind `base`.
    linefill_chase_scaled
    /// `mov eax, [rdx + rax]`: bytes from `base`, in 4 bytes.
    linefill_chase_load32
    /// `movsxd rax, dword ptr [rdx + rax]`.
    linefill_chase_movsxd
    /// `movzx eax, word ptr [rdx + rax]`: in 2 bytes.
    linefill_chase_movzx16
    /// `movsx rax, word ptr [rdx + rax]`.
    linefill_chase_movsx16
    /// `movq xmm0, [rax]` and `movq rax, xmm0`: the link is an address.
    linefill_chase_xmm8
    /// The same with `movdqa` of 16 bytes.
    linefill_chase_xmm16
    /// The same with `vmovdqa` of 32 bytes.
    linefill_chase_ymm32
    /// The same with `vmovdqa64` of 64 bytes.
    linefill_chase_zmm64
}
