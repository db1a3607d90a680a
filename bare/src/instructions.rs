//! Tests single instructions in their form with memory operands, which also exists on targets without vector
//! registers.

use linefill::cpu::by_address::{
    movntdq_from, movntdqa_to, movntpd_from, movntps_from, vmovntdq256_from, vmovntdq512_from,
    vmovntdqa256_to, vmovntdqa512_to,
};
use linefill::cpu::{
    Features, clflush, clflushopt, clwb, mfence, movnti32, movnti64, prefetcht0, sfence,
};

/// A line of words.
#[repr(C, align(64))]
#[derive(Clone, Copy, PartialEq)]
struct Line([u64; 8]);

const FROM: Line = Line([1, 2, 3, 4, 5, 6, 7, 8]);
const ZERO: Line = Line([0; 8]);

/// Checks that the non-temporal stores and loads of this CPU move all bytes, and reports each width.
pub fn check_all(features: &Features, report: &mut dyn FnMut(&'static str, bool)) {
    let (source, mut line) = (FROM, ZERO);
    let from = (&raw const source).cast::<u64>();
    let to = (&raw mut line).cast::<u64>();
    // SAFETY: `from` and `to` are separate lines, aligned to 64 bytes, and every access stays within them.
    unsafe {
        movnti64(to, from.read());
        movnti32(to.add(1).cast(), 2);
        movntdq_from(to.add(2).cast(), from.add(2).cast());
        movntps_from(to.add(4).cast(), from.add(4).cast());
        movntpd_from(to.add(6).cast(), from.add(6).cast());
    }
    sfence();
    report("stores of 16 bytes and less", line == FROM);

    prefetcht0(from.cast());
    // SAFETY: flushing or writing back a local line does not change its contents.
    unsafe {
        clflush(to.cast());
        if let Some(has) = features.clflushopt() {
            clflushopt(has, to.cast());
        }
        if let Some(has) = features.clwb() {
            clwb(has, to.cast());
        }
    }
    mfence();
    report("a line that was flushed", line == FROM);

    if let Some(has) = features.sse41() {
        let mut line = ZERO;
        let to = (&raw mut line).cast::<u64>();
        for word in (0..8).step_by(2) {
            // SAFETY: as above.
            unsafe { movntdqa_to(has, to.add(word).cast(), from.add(word).cast()) };
        }
        report("loads of 16 bytes", line == FROM);
    }
    if let Some(has) = features.avx2() {
        let (mut line, mut back) = (ZERO, ZERO);
        let to = (&raw mut line).cast::<u64>();
        let again = (&raw mut back).cast::<u64>();
        for word in [0, 4] {
            // SAFETY: as above; the token proves that the CPU has the instructions.
            unsafe {
                vmovntdq256_from(has, to.add(word).cast(), from.add(word).cast());
                sfence();
                vmovntdqa256_to(has, again.add(word).cast(), to.add(word).cast_const().cast());
            }
        }
        report("stores and loads of 32 bytes", line == FROM && back == FROM);
    }
    if let Some(has) = features.avx512() {
        let (mut line, mut back) = (ZERO, ZERO);
        let to = &raw mut line;
        // SAFETY: as above; the token proves that the CPU has the instructions.
        unsafe {
            vmovntdq512_from(has, to.cast(), from.cast());
            sfence();
            vmovntdqa512_to(has, (&raw mut back).cast(), to.cast_const().cast());
        }
        report("stores and loads of 64 bytes", line == FROM && back == FROM);
    }
}
