//! Walks in which each load takes its address from the load before, by addressing mode and by
//! destination register.

// Calls assembly with links that the pattern vouches for.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::kernel::verify::{Oracle, RANDOM, ring};
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::{Layout, Link, Links, LinksError, Order, Ring};

variants! {
    /// The load of a step: its addressing mode, width and destination register.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Mode {
        /// A base register alone.
        Base,
        /// A base register and a displacement of one byte.
        Disp8,
        /// A base register and a displacement of four bytes.
        Disp32,
        /// A base and an index register.
        Index,
        /// A base, an index times 8 and a displacement.
        Scaled,
        /// A 4-byte load, zero-extended, with the addressing mode of [`Index`](Mode::Index).
        Load32,
        /// A 4-byte load, sign-extended, with the addressing mode of [`Index`](Mode::Index).
        Movsxd,
        /// A 2-byte load, zero-extended, with the addressing mode of [`Index`](Mode::Index).
        Movzx16,
        /// A 2-byte load, sign-extended, with the addressing mode of [`Index`](Mode::Index).
        Movsx16,
        /// 8 bytes into a vector register, moved from there into a general register.
        Xmm8,
        /// 16 bytes into a vector register; the low 8 are moved into a general register.
        Xmm16,
        /// Like [`Xmm16`](Mode::Xmm16) with 32 bytes; needs AVX2.
        Ymm32,
        /// Like [`Xmm16`](Mode::Xmm16) with 64 bytes; needs AVX-512.
        Zmm64,
    }
}

/// A displacement that fits into a byte.
const NEAR: usize = 64;

/// A displacement that needs four bytes, and is beyond the 2048 bytes that some CPUs add at no cost.
const FAR: usize = 4096;

impl Mode {
    /// The instructions of a step.
    pub const fn text(self) -> &'static str {
        match self {
            Mode::Base => "mov rax,[rax]",
            Mode::Disp8 => "mov rax,[rax+64]",
            Mode::Disp32 => "mov rax,[rax+4096]",
            Mode::Index => "mov rax,[rdx+rax]",
            Mode::Scaled => "mov rax,[rdx+rax*8+64]",
            Mode::Load32 => "mov eax,[rdx+rax]",
            Mode::Movsxd => "movsxd rax,[rdx+rax]",
            Mode::Movzx16 => "movzx eax,word [rdx+rax]",
            Mode::Movsx16 => "movsx rax,word [rdx+rax]",
            Mode::Xmm8 => "movq xmm0,[rax]; movq rax,xmm0",
            Mode::Xmm16 => "movdqa xmm0,[rax]; movq rax,xmm0",
            Mode::Ymm32 => "vmovdqa ymm0,[rax]; vmovq rax,xmm0",
            Mode::Zmm64 => "vmovdqa64 zmm0,[rax]; vmovq rax,xmm0",
        }
    }

    /// The link that the elements must hold.
    pub const fn link(self) -> Link {
        match self {
            Mode::Disp8 => Link::Address { less: NEAR },
            Mode::Disp32 => Link::Address { less: FAR },
            Mode::Index => Link::Offset { bytes: 8, unit: 1 },
            Mode::Scaled => Link::Offset { bytes: 8, unit: 8 },
            Mode::Load32 | Mode::Movsxd => Link::Offset { bytes: 4, unit: 1 },
            Mode::Movzx16 | Mode::Movsx16 => Link::Offset { bytes: 2, unit: 1 },
            Mode::Base | Mode::Xmm8 | Mode::Xmm16 | Mode::Ymm32 | Mode::Zmm64 => {
                Link::Address { less: 0 }
            }
        }
    }

    /// Bytes of the load.
    pub const fn bytes(self) -> usize {
        match self {
            Mode::Xmm16 => 16,
            Mode::Ymm32 => 32,
            Mode::Zmm64 => 64,
            _ => self.link().bytes(),
        }
    }

    /// Returns the feature that the load needs and the CPU lacks, if any.
    fn missing(self, features: &Features) -> Option<&'static str> {
        match self {
            Mode::Ymm32 if features.avx2().is_none() => Some("AVX2"),
            Mode::Zmm64 if features.avx512().is_none() => Some("AVX-512"),
            _ => None,
        }
    }
}

/// Why a ring cannot be followed with some mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChaseError {
    /// The CPU lacks this feature.
    Missing(&'static str),
    /// The links cannot represent the elements' places.
    Links(LinksError),
    /// A load of this many bytes does not fit in one element, or is not aligned to its size.
    Load(usize),
}

messages! { ChaseError:
    ChaseError::Missing(feature) => ("the load needs {feature}");
    ChaseError::Links(error) => ("{error}");
    ChaseError::Load(bytes) => (
        "a load of {bytes} bytes needs elements of a multiple of {bytes} bytes with the \
         pointer first, each at a multiple of {bytes}"
    );
}

/// A walk in which every load takes its address from the load before. An operation is a step.
#[derive(Debug)]
pub struct Chase<'m> {
    links: Links<'m>,
    mode: Mode,
}

impl<'m> Chase<'m> {
    /// Creates a walk that begins at the ring's cursor. Replaces the ring's pointers with the links from
    /// which `mode` computes an address.
    ///
    /// # Errors
    /// If `features` lack the load, or the ring does not suit the load.
    pub fn new(ring: Ring<'m>, mode: Mode, features: &Features) -> Result<Self, ChaseError> {
        if let Some(feature) = mode.missing(features) {
            return Err(ChaseError::Missing(feature));
        }
        let layout = ring.layout();
        let wide = mode.bytes();
        let whole = |bytes: usize| bytes.is_multiple_of(wide);
        let suits = layout.pointer_offset() == 0
            && whole(layout.element())
            && whole(layout.stride())
            && whole(layout.place(0));
        if wide > 8 && !suits {
            return Err(ChaseError::Load(wide));
        }
        let links = Links::new(ring, mode.link()).map_err(ChaseError::Links)?;
        Ok(Chase { links, mode })
    }
}

impl Kernel for Chase<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            // The scaled mode adds its displacement to the base.
            let base = match self.mode {
                Mode::Scaled => self.links.base().wrapping_sub(NEAR),
                _ => self.links.base(),
            };
            // SAFETY: the links were made for this mode, are borrowed, and each points to another;
            // `new` has checked that the CPU has the load and that wide loads lie inside an
            // element, at a multiple of their size.
            let link = unsafe { (kernel(self.mode).call)(self.links.cursor(), operations, base) };
            self.links.set_cursor(link);
        }
        self.links.place(self.links.cursor()) as u64
    }

    fn work(&self) -> Work {
        Work::default().load(1, self.mode.bytes() as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let link = self.links.cursor();
            let place = self.links.place(link);
            sink(Access::load(place, self.mode.bytes() as u32));
            self.links.set_cursor(self.links.next(link));
        }
        self.links.place(self.links.cursor()) as u64
    }
}

family! {
    /// The function type of the family: follows links for `steps` steps from `link` on; returns the
    /// last link loaded.
    ///
    /// # Safety
    /// `link`, by the mode's [address](Mode::text) with `base` in `rdx`, gives a readable place that holds
    /// another such link, for `steps` steps; `steps` is not 0. Vector kernels read there as many bytes as
    /// their name says, 16 and more at a multiple of their size; the CPU has AVX2 for 32 and AVX-512 for 64.
    pub type Chases = unsafe extern "sysv64" fn(link: u64, steps: u64, base: usize) -> u64;

    fn kernel(mode: Mode) {
        Mode::Base => linefill_chase_base,
        Mode::Disp8 => linefill_chase_disp8,
        Mode::Disp32 => linefill_chase_disp32,
        Mode::Index => linefill_chase_index,
        Mode::Scaled => linefill_chase_scaled,
        Mode::Load32 => linefill_chase_load32,
        Mode::Movsxd => linefill_chase_movsxd,
        Mode::Movzx16 => linefill_chase_movzx16,
        Mode::Movsx16 => linefill_chase_movsx16,
        Mode::Xmm8 => linefill_chase_xmm8,
        Mode::Xmm16 => linefill_chase_xmm16,
        Mode::Ymm32 => linefill_chase_ymm32,
        Mode::Zmm64 => linefill_chase_zmm64,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn chases(&mut self, features: Features) {
        // As many lines as 2-byte offsets reach, a single line, and lines at a distance.
        let rings = [
            ring(Layout::npad(7), 512, RANDOM),
            ring(Layout::npad(7), 1, Order::Sequential),
            ring(Layout::npad(7).spaced(192), 100, RANDOM),
        ];
        let there = |mode: &Mode| mode.missing(&features).is_none();
        for mode in Mode::ALL.into_iter().filter(there) {
            self.check(kernel(mode).name, rings, |ring, memory, then| {
                then(&mut Chase::new(ring.build(memory)?, mode, &features).ok()?)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::mem::Region;
    use crate::pattern::{Layout, Order};
    use std::vec;

    fn refused(layout: Layout, mode: Mode, features: &Features) -> Option<ChaseError> {
        let mut bytes = vec![0u8; 64 * 1024];
        let region = Region::new(&mut bytes).unwrap();
        let ring = Ring::new(region, layout, 100, Order::Sequential).unwrap();
        Chase::new(ring, mode, features).err()
    }

    #[test]
    fn wide_loads_want_elements_that_hold_them() {
        let features = Features::detect();
        let small = refused(Layout::npad(0), Mode::Xmm16, &features);
        assert_eq!(small, Some(ChaseError::Load(16)));
        let skewed = refused(Layout::npad(7).skewed(8), Mode::Xmm16, &features);
        assert_eq!(skewed, Some(ChaseError::Load(16)));
        let last = Layout::npad(7).pointer_in_word(7);
        assert_eq!(refused(last, Mode::Xmm16, &features), Some(ChaseError::Load(16)));
        assert_eq!(refused(Layout::npad(7), Mode::Xmm16, &features), None);
        assert_eq!(refused(last, Mode::Base, &features), None);
    }

    #[test]
    fn a_load_that_the_cpu_lacks_is_refused_by_name() {
        let without = Features::detect().without("avx2").unwrap();
        let refused = |mode| refused(Layout::npad(7), mode, &without);
        assert_eq!(refused(Mode::Ymm32), Some(ChaseError::Missing("AVX2")));
        assert_eq!(refused(Mode::Zmm64), Some(ChaseError::Missing("AVX-512")));
    }
}
