//! linefill for C. `include/linefill.h` documents the functions; this file implements them.
//!
//! Every pointer argument may be null: that is an error. A panic of the library becomes the code
//! `LF_INTERNAL`. The caller must keep the memory that it passes valid and untouched; no compiler checks
//! this.

mod error;
mod machine;

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use linefill::cpu::Features;
use linefill::kernel::{Bandwidth, Kernel, Motion, Step, Vector, Walk};
use linefill::measure::{Buffers, Ended, NoMonitor, Plan, Sample, steady};
use linefill::mem::Region;
use linefill::pattern::{Layout, Order, Ring};
use linefill::time::{Rate, start, stop};

use error::{Code, Error, detail, failed};
pub use machine::lf_machine;

/// The maximum number of samples in a measurement, which the header states.
const SAMPLES: usize = 1000;
/// How long the rate of the time-stamp counter is measured.
const CALIBRATION: Duration = Duration::from_millis(200);

/// A list in memory of the caller.
#[allow(non_camel_case_types, reason = "the name in the header")]
pub struct lf_ring(Ring<'static>);

/// Work to run and time, and the number of its operations in a lap.
#[allow(non_camel_case_types, reason = "the name in the header")]
pub struct lf_kernel {
    work: Box<dyn Kernel>,
    lap: u64,
}

/// A steady measurement, with the layout of the header.
#[allow(non_camel_case_types, reason = "the name in the header")]
#[repr(C)]
pub struct lf_timing {
    ticks: f64,
    ticks_low: f64,
    ticks_high: f64,
    nanoseconds: f64,
    core_cycles: f64,
    operations: u64,
    samples: u64,
    checksum: u64,
    precise: i32,
}

/// Runs the body of a function, and returns the code for its result. A panic must not unwind into C.
fn guarded(work: impl FnOnce() -> Result<(), Error>) -> i32 {
    let done = catch_unwind(AssertUnwindSafe(work));
    failed(done.unwrap_or_else(|_| Err(Error::new(Code::Internal, "the library panicked"))))
}

/// The pointer, if it is not null.
fn given<T>(pointer: *mut T, name: &str) -> Result<NonNull<T>, Error> {
    NonNull::new(pointer).ok_or_else(|| Error::new(Code::Null, format!("`{name}` is null")))
}

/// The place for a handle, if it is not null. It holds null until the call succeeds, so that no call leaves
/// an old handle there.
///
/// # Safety
/// `place` is null or valid for writes.
unsafe fn place_for<T>(place: *mut *mut T, name: &str) -> Result<NonNull<*mut T>, Error> {
    let place = given(place, name)?;
    // SAFETY: `place` is not null, so it is valid for writes.
    unsafe { place.write(std::ptr::null_mut()) };
    Ok(place)
}

/// The caller's memory as a region.
///
/// # Safety
/// The memory is valid, and nothing else accesses it while the ring or kernel made from it exists.
unsafe fn lent(memory: *mut c_void, bytes: usize) -> Result<Region<'static>, Error> {
    let memory = given(memory, "memory")?.cast::<u8>();
    if bytes > isize::MAX as usize {
        return Err(Error::new(Code::Memory, format!("no memory has {bytes} bytes")));
    }
    // SAFETY: the caller guarantees that the memory is valid; every byte is a value of `u8`.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.as_ptr(), bytes) };
    Region::new(bytes).map_err(|error| Error::new(Code::Memory, error))
}

/// The choice with this number. `choices` stand in the order of the numbers in `linefill.h`.
fn choice<T: Copy>(name: &str, number: i32, choices: &[T]) -> Result<T, Error> {
    let chosen = usize::try_from(number).ok().and_then(|number| choices.get(number));
    chosen.copied().ok_or_else(|| {
        let last = choices.len() - 1;
        let why = format!("{name} {number} does not exist; valid numbers are 0 to {last}");
        Error::new(Code::Choice, why)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_message(code: i32) -> *const c_char {
    Code::text(code).as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_detail() -> *const c_char {
    detail()
}

/// # Safety
/// `machine` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_describe(machine: *mut lf_machine) -> i32 {
    guarded(|| {
        let machine = given(machine, "machine")?;
        // SAFETY: `machine` is not null, so it is valid for writes.
        unsafe { machine.write(lf_machine::detect()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_start() -> u64 {
    start()
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_stop() -> u64 {
    stop()
}

/// The rate of the time-stamp counter. The first call measures it.
fn rate() -> Result<Rate, Error> {
    static RATE: OnceLock<Result<Rate, String>> = OnceLock::new();
    let measured = RATE.get_or_init(|| {
        let (clock, ticks) = (Instant::now(), start());
        std::thread::sleep(CALIBRATION);
        let (ticks, nanos) = (stop() - ticks, clock.elapsed().as_nanos() as u64);
        Rate::between(ticks, nanos).map_err(|error| error.to_string())
    });
    measured.clone().map_err(|error| Error::new(Code::Time, error))
}

/// # Safety
/// `hz` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_tick_hz(hz: *mut f64) -> i32 {
    guarded(|| {
        let hz = given(hz, "hz")?;
        let rate = rate()?;
        // SAFETY: `hz` is not null, so it is valid for writes.
        unsafe { hz.write(rate.hz()) };
        Ok(())
    })
}

/// # Safety
/// `memory` has `bytes` bytes that only the ring uses; `ring` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_ring_new(
    memory: *mut c_void,
    bytes: usize,
    npad: usize,
    order: i32,
    seed: u64,
    ring: *mut *mut lf_ring,
) -> i32 {
    guarded(|| {
        // SAFETY: `ring` is null or valid for writes.
        let into = unsafe { place_for(ring, "ring") }?;
        let orders = [Order::Sequential, Order::Random { seed }, Order::Backward];
        let order = choice("order", order, &orders)?;
        // SAFETY: only the ring uses the memory.
        let region = unsafe { lent(memory, bytes) }?;
        if npad >= region.len() / 8 {
            let why = format!("no element with {npad} words fits into {} bytes", region.len());
            return Err(Error::new(Code::Layout, why));
        }
        let layout = Layout::npad(npad);
        let count = layout.count(region.len());
        let made = Ring::new(region, layout, count, order);
        let made = made.map_err(|error| Error::new(Code::Layout, error))?;
        // SAFETY: `ring` is not null, so it is valid for writes.
        unsafe { into.write(Box::into_raw(Box::new(lf_ring(made)))) };
        Ok(())
    })
}

/// # Safety
/// `ring` is null or a ring that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_ring_count(ring: *const lf_ring) -> usize {
    // SAFETY: `ring` is null or was not freed.
    unsafe { ring.as_ref() }.map_or(0, |ring| ring.0.count())
}

/// # Safety
/// `ring` is null or a ring that was not freed, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_ring_free(ring: *mut lf_ring) {
    if let Some(ring) = NonNull::new(ring) {
        // SAFETY: `lf_ring_new` boxed the ring, and it is freed once.
        drop(unsafe { Box::from_raw(ring.as_ptr()) });
    }
}

/// # Safety
/// `ring` is null or a ring that was not freed, and is not used afterwards; `kernel` is null or valid for
/// writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_walk_new(
    ring: *mut lf_ring,
    step: i32,
    kernel: *mut *mut lf_kernel,
) -> i32 {
    guarded(|| {
        // SAFETY: `kernel` is null or valid for writes.
        let into = unsafe { place_for(kernel, "kernel") };
        let ring = given(ring, "ring")?;
        // SAFETY: `lf_ring_new` boxed the ring, and the caller passes its ownership.
        let ring = unsafe { Box::from_raw(ring.as_ptr()) }.0;
        let into = into?;
        let step = choice("step", step, &[Step::Follow, Step::Inc, Step::Addnext0])?;
        let lap = ring.count() as u64;
        let walk = Walk::new(ring, step).map_err(|error| Error::new(Code::Layout, error))?;
        // SAFETY: `kernel` is not null, so it is valid for writes.
        unsafe { hand_over(into, walk, lap) };
        Ok(())
    })
}

/// # Safety
/// `memory` has `bytes` bytes that only the kernel uses; `kernel` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_stream_new(
    memory: *mut c_void,
    bytes: usize,
    motion: i32,
    vector: usize,
    kernel: *mut *mut lf_kernel,
) -> i32 {
    guarded(|| {
        // SAFETY: `kernel` is null or valid for writes.
        let into = unsafe { place_for(kernel, "kernel") }?;
        let motions =
            [Motion::Read, Motion::Write, Motion::WriteNonTemporal, Motion::Update, Motion::Copy];
        let motion = choice("motion", motion, &motions)?;
        let vector = Vector::of(vector, Features::detect()).ok_or_else(|| {
            let why = format!(
                "this CPU has no vector registers of {vector} bytes; there may be 16, 32, 64"
            );
            Error::new(Code::Unsupported, why)
        })?;
        // SAFETY: only the kernel uses the memory.
        let region = unsafe { lent(memory, bytes) }?;
        if region.len() != bytes {
            let why = format!("{bytes} bytes do not begin on a line of 64 bytes, or end in one");
            return Err(Error::new(Code::Memory, why));
        }
        let stream = Bandwidth::new(region, motion, vector);
        let stream = stream.map_err(|error| Error::new(Code::Memory, error))?;
        let lap = stream.pass();
        // SAFETY: `kernel` is not null, so it is valid for writes.
        unsafe { hand_over(into, stream, lap) };
        Ok(())
    })
}

/// Boxes a kernel for the caller.
///
/// # Safety
/// `into` is valid for writes.
unsafe fn hand_over(into: NonNull<*mut lf_kernel>, work: impl Kernel + 'static, lap: u64) {
    let work = Box::new(work);
    // SAFETY: the caller guarantees that `into` is valid for writes.
    unsafe { into.write(Box::into_raw(Box::new(lf_kernel { work, lap }))) };
}

/// # Safety
/// `kernel` is null or was not freed, and no other thread uses it; `checksum` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_run(
    kernel: *mut lf_kernel,
    operations: u64,
    checksum: *mut u64,
) -> i32 {
    guarded(|| {
        // SAFETY: `kernel` was not freed, and no other thread uses it.
        let kernel = unsafe { given(kernel, "kernel")?.as_mut() };
        let sum = kernel.work.run(operations);
        if let Some(checksum) = NonNull::new(checksum) {
            // SAFETY: `checksum` is not null, so it is valid for writes.
            unsafe { checksum.write(sum) };
        }
        Ok(())
    })
}

/// # Safety
/// `kernel` is null or a kernel that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_lap(kernel: *const lf_kernel) -> u64 {
    // SAFETY: `kernel` is null or was not freed.
    unsafe { kernel.as_ref() }.map_or(0, |kernel| kernel.lap)
}

/// # Safety
/// `kernel` is null or was not freed, and no other thread uses it; `timing` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_time(
    kernel: *mut lf_kernel,
    seconds: f64,
    timing: *mut lf_timing,
) -> i32 {
    guarded(|| {
        // SAFETY: `kernel` was not freed, and no other thread uses it.
        let kernel = unsafe { given(kernel, "kernel")?.as_mut() };
        let into = given(timing, "timing")?;
        if !(seconds > 0.0 && seconds <= 3600.0) {
            let why = format!("{seconds} s is not a budget above 0 s and of at most 3600 s");
            return Err(Error::new(Code::Time, why));
        }
        let rate = rate()?;
        let (mut samples, mut scratch) = (vec![Sample::default(); SAMPLES], vec![0.0; SAMPLES]);
        let buffers = Buffers { samples: &mut samples, scratch: &mut scratch };
        let plan = Plan::of_seconds(rate.hz(), seconds).warm_up(kernel.lap);
        let outcome = steady(&mut *kernel.work, &plan, &mut NoMonitor, buffers)
            .ok_or_else(|| Error::new(Code::Internal, "no sample was taken"))?;
        let ticks = outcome.ticks;
        let measured = lf_timing {
            ticks: ticks.median,
            ticks_low: ticks.interval.lo,
            ticks_high: ticks.interval.hi,
            nanoseconds: rate.nanos(ticks.median),
            core_cycles: outcome.core_per_tick.map_or(f64::NAN, |ratio| ratio * ticks.median),
            operations: outcome.operations,
            samples: outcome.taken as u64,
            checksum: outcome.checksum,
            precise: (outcome.ended == Ended::Precise).into(),
        };
        // SAFETY: `timing` is not null, so it is valid for writes.
        unsafe { into.write(measured) };
        Ok(())
    })
}

/// # Safety
/// `kernel` is null or a kernel that was not freed, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_kernel_free(kernel: *mut lf_kernel) {
    if let Some(kernel) = NonNull::new(kernel) {
        // SAFETY: `hand_over` boxed the kernel, and it is freed once.
        drop(unsafe { Box::from_raw(kernel.as_ptr()) });
    }
}
