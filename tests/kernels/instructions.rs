//! Each instruction wrapper must be the one instruction that it is named after. In an optimised build the
//! wrapper is inlined; in a debug build the instruction may be inside a function of `core` that the wrapper
//! calls.
//!
//! Each wrapper is called from a separate function that is never inlined. The test decodes that function's
//! machine code in memory, including the functions that it calls. The mnemonic must occur exactly once.

use std::arch::x86_64::{__m128, __m128d, __m128i, __m256i, __m512i};

use crate::common::untested;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use linefill::cpu::{self, Avx2, Avx512, Cldemote, Clflushopt, Clwb, Rdtscp, Sse41};

/// Longer than any function below, and shorter than the program text that follows it.
const LONGEST: usize = 4096;

/// The instructions from `entry` on, until the first invalid one or for `LONGEST` bytes.
fn instructions(entry: usize) -> impl Iterator<Item = Instruction> {
    // SAFETY: the test program's text is mapped readable. Far more than `LONGEST` bytes of it follow `entry`,
    // because libstd and libtest are linked after the test's own functions.
    let code = unsafe { std::slice::from_raw_parts(entry as *const u8, LONGEST) };
    Decoder::with_ip(64, code, entry as u64, DecoderOptions::NONE)
        .into_iter()
        .take_while(|instruction| !instruction.is_invalid())
}

/// The instructions of the function at `entry`, up to its first `ret`.
fn decode(entry: usize) -> Vec<Instruction> {
    let mut code = Vec::new();
    for instruction in instructions(entry) {
        code.push(instruction);
        if instruction.mnemonic() == Mnemonic::Ret {
            return code;
        }
    }
    panic!("no `ret` within {LONGEST} bytes of {entry:#x}");
}

/// The entry of the function that `instruction` calls, if it is a call.
fn called(instruction: &Instruction) -> Option<usize> {
    match instruction.flow_control() {
        FlowControl::Call => Some(instruction.near_branch_target() as usize),
        // The call goes through the table of addresses that the loader has filled.
        FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
            let slot = instruction.ip_rel_memory_address() as *const usize;
            // SAFETY: this is a linker's table of addresses, mapped readable.
            Some(unsafe { slot.read() })
        }
        _ => None,
    }
}

/// Whether `instruction` has this mnemonic, or calls a function that has it before its `ret`.
fn leads_to(instruction: &Instruction, mnemonic: Mnemonic) -> bool {
    let is = |i: &Instruction| i.mnemonic() == mnemonic;
    is(instruction)
        || called(instruction).is_some_and(|entry| {
            instructions(entry).take_while(|i| i.mnemonic() != Mnemonic::Ret).any(|i| is(&i))
        })
}

/// The only instruction with this mnemonic in the function at `entry` or, in a debug build, in a function
/// that it calls.
#[track_caller]
fn only(entry: usize, mnemonic: Mnemonic) -> Instruction {
    let code = decode(entry);
    let found: Vec<_> = code.iter().filter(|i| leads_to(i, mnemonic)).collect();
    assert_eq!(found.len(), 1, "{mnemonic:?} in {code:?}");
    match called(found[0]) {
        Some(entry) if cfg!(debug_assertions) => only(entry, mnemonic),
        Some(_) => panic!("{mnemonic:?} is called, in {code:?}"),
        None => *found[0],
    }
}

/// Defines a function around one wrapper, which is never inlined, and asserts its instruction.
macro_rules! one_instruction {
    ($(
        $test:ident: $mnemonic:ident, fn($($arg:ident: $ty:ty),*) $(-> $ret:ty)? $body:block
    )*) => {$(
        #[test]
        fn $test() {
            #[inline(never)]
            extern "C-unwind" fn wrapped($($arg: $ty),*) $(-> $ret)? $body
            only(wrapped as *const () as usize, Mnemonic::$mnemonic);
        }
    )*};
}

one_instruction! {
    rdtsc: Rdtsc, fn() -> u64 { cpu::rdtsc() }
    rdtscp: Rdtscp, fn(has: &Rdtscp, aux: &mut u32) -> u64 {
        let (ticks, cpu) = cpu::rdtscp(*has);
        *aux = cpu;
        ticks
    }
    lfence: Lfence, fn() { cpu::lfence() }
    sfence: Sfence, fn() { cpu::sfence() }
    mfence: Mfence, fn() { cpu::mfence() }
    // SAFETY: the functions of this block are decoded, but never called.
    clflush: Clflush, fn(p: *const u8) { unsafe { cpu::clflush(p) } }
    clflushopt: Clflushopt, fn(has: &Clflushopt, p: *const u8) {
        // SAFETY: as above.
        unsafe { cpu::clflushopt(*has, p) }
    }
    // SAFETY: as above.
    clwb: Clwb, fn(has: &Clwb, p: *const u8) { unsafe { cpu::clwb(*has, p) } }
    cldemote: Cldemote, fn(has: &Cldemote, p: *const u8) { cpu::cldemote(*has, p) }
    // SAFETY: as above.
    rdpmc: Rdpmc, fn(counter: u32) -> u64 { unsafe { cpu::rdpmc(counter) } }
    prefetcht0: Prefetcht0, fn(p: *const u8) { cpu::prefetcht0(p) }
    prefetcht1: Prefetcht1, fn(p: *const u8) { cpu::prefetcht1(p) }
    prefetcht2: Prefetcht2, fn(p: *const u8) { cpu::prefetcht2(p) }
    prefetchnta: Prefetchnta, fn(p: *const u8) { cpu::prefetchnta(p) }
    prefetchw: Prefetchw, fn(p: *const u8) { cpu::prefetchw(p) }
    // SAFETY: as above.
    movntdq: Movntdq, fn(d: *mut __m128i, s: &__m128i) { unsafe { cpu::movntdq(d, *s) } }
    // SAFETY: as above.
    movntps: Movntps, fn(d: *mut __m128, s: &__m128) { unsafe { cpu::movntps(d, *s) } }
    // SAFETY: as above.
    movntpd: Movntpd, fn(d: *mut __m128d, s: &__m128d) { unsafe { cpu::movntpd(d, *s) } }
    movntdq_from: Movntdq, fn(d: *mut __m128i, s: *const __m128i) {
        // SAFETY: as above.
        unsafe { cpu::by_address::movntdq_from(d, s) }
    }
    movntps_from: Movntps, fn(d: *mut __m128, s: *const __m128) {
        // SAFETY: as above.
        unsafe { cpu::by_address::movntps_from(d, s) }
    }
    movntpd_from: Movntpd, fn(d: *mut __m128d, s: *const __m128d) {
        // SAFETY: as above.
        unsafe { cpu::by_address::movntpd_from(d, s) }
    }
    movntdqa_to: Movntdqa, fn(has: &Sse41, d: *mut __m128i, s: *const __m128i) {
        // SAFETY: as above.
        unsafe { cpu::by_address::movntdqa_to(*has, d, s) }
    }
    vmovntdq256_from: Vmovntdq, fn(has: &Avx2, d: *mut __m256i, s: *const __m256i) {
        // SAFETY: as above.
        unsafe { cpu::by_address::vmovntdq256_from(*has, d, s) }
    }
    vmovntdq512_from: Vmovntdq, fn(has: &Avx512, d: *mut __m512i, s: *const __m512i) {
        // SAFETY: as above.
        unsafe { cpu::by_address::vmovntdq512_from(*has, d, s) }
    }
    vmovntdqa256_to: Vmovntdqa, fn(has: &Avx2, d: *mut __m256i, s: *const __m256i) {
        // SAFETY: as above.
        unsafe { cpu::by_address::vmovntdqa256_to(*has, d, s) }
    }
    vmovntdqa512_to: Vmovntdqa, fn(has: &Avx512, d: *mut __m512i, s: *const __m512i) {
        // SAFETY: as above.
        unsafe { cpu::by_address::vmovntdqa512_to(*has, d, s) }
    }
}

#[test]
fn movnti_has_the_width_of_its_name() {
    #[inline(never)]
    extern "C" fn narrow(d: *mut u32, v: u32) {
        // SAFETY: the function is decoded, but never called.
        unsafe { cpu::movnti32(d, v) }
    }
    #[inline(never)]
    extern "C" fn wide(d: *mut u64, v: u64) {
        // SAFETY: the function is decoded, but never called.
        unsafe { cpu::movnti64(d, v) }
    }
    let of = |entry| only(entry, Mnemonic::Movnti).memory_size().size();
    assert_eq!(of(narrow as *const () as usize), 4);
    assert_eq!(of(wide as *const () as usize), 8);
}

/// A fence also orders the compiler: it must not move a store across the fence, or drop a store because a
/// later one overwrites it. The same holds for reading the time-stamp counter.
#[test]
fn stores_stay_on_their_side_of_a_fence_and_of_the_counter() {
    macro_rules! between {
        ($mnemonic:ident, $instruction:expr $(, $has:ident: $token:ty)?) => {{
            #[inline(never)]
            extern "C-unwind" fn wrapped(at: *mut u64 $(, $has: &$token)?) {
                // SAFETY: the function is decoded, but never called.
                unsafe {
                    at.write(1);
                    let _ = $instruction;
                    at.write(2);
                }
            }
            let code = decode(wrapped as *const () as usize);
            let is_store = |i: &&Instruction| {
                i.op_count() == 2
                    && i.op0_kind() == OpKind::Memory
                    && i.op1_kind() == OpKind::Immediate32to64
            };
            let middle = code.iter().position(|i| leads_to(i, Mnemonic::$mnemonic));
            let middle = middle.unwrap();
            if !cfg!(debug_assertions) {
                let sides = [&code[..middle], &code[middle + 1..]];
                let values = sides.map(|side| {
                    let stores = side.iter().filter(is_store);
                    stores.map(Instruction::immediate32to64).collect::<Vec<_>>()
                });
                assert_eq!(values, [[1], [2]], "{code:?}");
            }
        }};
    }
    between!(Lfence, cpu::lfence());
    between!(Sfence, cpu::sfence());
    between!(Mfence, cpu::mfence());
    between!(Rdtsc, cpu::rdtsc());
    between!(Rdtscp, cpu::rdtscp(*has), has: Rdtscp);
    between!(Rdtsc, linefill::time::start());
    between!(Rdtscp, linefill::time::stop());
}

/// The wrappers beyond SSE2 have a `target_feature`, so the wrappers themselves are decoded.
#[test]
fn the_wide_stores_and_loads_use_their_register_width() {
    let store = |entry| {
        let instruction = only(entry, Mnemonic::Vmovntdq);
        assert_eq!(instruction.op0_kind(), OpKind::Memory);
        instruction.op1_register()
    };
    let load = |entry| {
        let instruction = only(entry, Mnemonic::Vmovntdqa);
        assert_eq!(instruction.op1_kind(), OpKind::Memory);
        instruction.op0_register()
    };
    let store_256: unsafe fn(Avx2, *mut __m256i, __m256i) = cpu::vmovntdq256;
    let store_512: unsafe fn(Avx512, *mut __m512i, __m512i) = cpu::vmovntdq512;
    let load_128: unsafe fn(Sse41, *const __m128i) -> __m128i = cpu::movntdqa;
    let load_256: unsafe fn(Avx2, *const __m256i) -> __m256i = cpu::vmovntdqa256;
    let load_512: unsafe fn(Avx512, *const __m512i) -> __m512i = cpu::vmovntdqa512;
    let is_ymm = |r: Register| r.is_ymm();
    let is_zmm = |r: Register| r.is_zmm();
    let entry = load_128 as *const () as usize;
    assert!(only(entry, Mnemonic::Movntdqa).op0_register().is_xmm());
    assert!(is_ymm(store(store_256 as *const () as usize)));
    assert!(is_zmm(store(store_512 as *const () as usize)));
    assert!(is_ymm(load(load_256 as *const () as usize)));
    assert!(is_zmm(load(load_512 as *const () as usize)));
}

/// The memory operand of a prefetch must be the given pointer, not the address of a copy on the stack.
#[test]
fn prefetch_by_constant_hint_is_one_instruction_on_the_pointer() {
    #[inline(never)]
    extern "C-unwind" fn wrapped(p: *const u8) {
        cpu::prefetch(cpu::Hint::Write, p);
    }
    let instruction = only(wrapped as *const () as usize, Mnemonic::Prefetchw);
    assert_ne!(instruction.memory_base(), Register::RSP);
    assert_ne!(instruction.memory_base(), Register::RBP);
    assert_eq!(instruction.memory_displacement64(), 0);
}

#[test]
fn prefetches_ignore_addresses_that_are_not_mapped() {
    for hint in cpu::Hint::ALL {
        cpu::prefetch(hint, std::ptr::null());
        cpu::prefetch(hint, std::ptr::without_provenance(usize::MAX));
    }
}

#[test]
fn the_counter_advances_and_names_a_cpu() {
    let first = cpu::rdtsc();
    cpu::lfence();
    let second = match cpu::Features::detect().rdtscp() {
        Some(has) => cpu::rdtscp(has).0,
        None => cpu::rdtsc(),
    };
    assert!(second > first, "{second} after {first}");
}

/// The token of a feature. Without it, a part of the test is not run.
#[track_caller]
fn known<T>(token: Option<T>, name: &str) -> Option<T> {
    if token.is_none() {
        untested::machine(&format!("the CPU has no {name}"));
    }
    token
}

#[test]
fn stores_past_the_caches_reach_memory_and_loads_read_it() {
    #[repr(align(64))]
    struct Line([u64; 8]);

    let features = cpu::Features::detect();
    let mut line = Line([0; 8]);
    let at = line.0.as_mut_ptr();
    // SAFETY: `at` is a line of 64 bytes aligned to 64, and each store stays within it.
    unsafe {
        cpu::movnti64(at, 0x1111_2222_3333_4444);
        cpu::movnti32(at.add(1).cast(), 0x5555_6666);
        cpu::movntdq(at.add(2).cast(), std::mem::transmute::<[u64; 2], __m128i>([7, 8]));
        cpu::movntpd(at.add(4).cast(), std::mem::transmute::<[u64; 2], __m128d>([9, 10]));
        cpu::movntps(at.add(6).cast(), std::mem::transmute::<[u64; 2], __m128>([11, 12]));
    }
    cpu::sfence();
    assert_eq!(line.0, [0x1111_2222_3333_4444, 0x5555_6666, 7, 8, 9, 10, 11, 12]);

    let at = line.0.as_mut_ptr();
    // SAFETY: as above; the line belongs to this thread, so flushing it does not fault.
    unsafe { cpu::clflush(at.cast()) };
    if let Some(has) = known(features.clflushopt(), "CLFLUSHOPT") {
        // SAFETY: as above.
        unsafe { cpu::clflushopt(has, at.cast()) };
    }
    if let Some(has) = known(features.clwb(), "CLWB") {
        // SAFETY: as above.
        unsafe { cpu::clwb(has, at.cast()) };
    }
    cpu::mfence();
    if let Some(has) = known(features.sse41(), "SSE4.1") {
        // SAFETY: as above.
        let pair: [u64; 2] =
            unsafe { std::mem::transmute(cpu::movntdqa(has, at.add(2).cast_const().cast())) };
        assert_eq!(pair, [7, 8]);
    }
    if let Some(has) = known(features.avx2(), "AVX2") {
        let value = [21_u64, 22, 23, 24];
        // SAFETY: the token proves AVX2; the upper half of the line is aligned to 32.
        let half: [u64; 4] = unsafe {
            cpu::vmovntdq256(
                has,
                at.add(4).cast(),
                std::mem::transmute::<[u64; 4], __m256i>(value),
            );
            cpu::sfence();
            std::mem::transmute(cpu::vmovntdqa256(has, at.add(4).cast_const().cast()))
        };
        assert_eq!(half, value);
    }
    if let Some(has) = known(features.avx512(), "AVX-512") {
        let value = [31_u64, 32, 33, 34, 35, 36, 37, 38];
        // SAFETY: the token proves AVX-512; the line is aligned to 64.
        let whole: [u64; 8] = unsafe {
            cpu::vmovntdq512(has, at.cast(), std::mem::transmute::<[u64; 8], __m512i>(value));
            cpu::sfence();
            std::mem::transmute(cpu::vmovntdqa512(has, at.cast_const().cast()))
        };
        assert_eq!(whole, value);
    }
}

/// The bytes at one address must arrive at the other, whether the store or the load is non-temporal.
#[test]
fn stores_and_loads_by_address_copy_what_they_say() {
    #[repr(align(64))]
    struct Line([u8; 64]);

    fn copied(bytes: usize, copy: impl FnOnce(*mut u8, *const u8)) {
        let source = Line(std::array::from_fn(|at| at as u8 + 1));
        let mut target = Line([0; 64]);
        copy(target.0.as_mut_ptr(), source.0.as_ptr());
        cpu::sfence();
        assert_eq!(target.0[..bytes], source.0[..bytes]);
        assert!(target.0[bytes..].iter().all(|&byte| byte == 0));
    }

    let features = cpu::Features::detect();
    // SAFETY: both lines are aligned to 64 bytes and at least as long as each copy; the tokens prove that the
    // CPU has the instructions.
    unsafe {
        copied(16, |d, s| cpu::by_address::movntdq_from(d.cast(), s.cast()));
        copied(16, |d, s| cpu::by_address::movntps_from(d.cast(), s.cast()));
        copied(16, |d, s| cpu::by_address::movntpd_from(d.cast(), s.cast()));
        if let Some(has) = known(features.sse41(), "SSE4.1") {
            copied(16, |d, s| cpu::by_address::movntdqa_to(has, d.cast(), s.cast()));
        }
        if let Some(has) = known(features.avx2(), "AVX2") {
            copied(32, |d, s| cpu::by_address::vmovntdq256_from(has, d.cast(), s.cast()));
            copied(32, |d, s| cpu::by_address::vmovntdqa256_to(has, d.cast(), s.cast()));
        }
        if let Some(has) = known(features.avx512(), "AVX-512") {
            copied(64, |d, s| cpu::by_address::vmovntdq512_from(has, d.cast(), s.cast()));
            copied(64, |d, s| cpu::by_address::vmovntdqa512_to(has, d.cast(), s.cast()));
        }
    }
}
