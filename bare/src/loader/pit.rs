//! The 8254 interval timer: the only clock with a known rate that every PC has. The TSC is calibrated against
//! it.

use linefill::stats::median;
use linefill::time::{Rate, start};

use super::port;

/// Counts per second (Intel 8254 data sheet; the clock is a third of the NTSC colour carrier).
const HZ: f64 = 1_193_181.666;
const CHANNEL_0: u16 = 0x40;
const CONTROL: u16 = 0x43;
/// Channel 0, both bytes, mode 2 (rate generator), binary.
const FREE_RUNNING: u8 = 0x34;
/// Channel 0, counter latch.
const LATCH: u8 = 0x00;

/// Number of windows; the median of their rates counts. If a hypervisor takes the CPU away for longer than
/// the counter's period of 55 ms, the window misses whole periods. The median ignores such a window.
const WINDOWS: usize = 9;
/// Counts per window: 25 ms.
const WINDOW: u64 = 29_830;
/// Polls until a stopped counter is given up: some chipsets gate its clock.
const PATIENCE: u32 = 1_000_000;

/// The rate of the time-stamp counter, measured for about a quarter of a second. `None` if the timer is
/// stopped.
pub fn tsc_rate() -> Option<Rate> {
    // SAFETY: interrupts are off and nothing else uses the timer.
    unsafe {
        port::write(CONTROL, FREE_RUNNING);
        port::write(CHANNEL_0, 0);
        port::write(CHANNEL_0, 0);
    }
    let mut rates = [0.0; WINDOWS];
    for rate in &mut rates {
        *rate = window()?.hz();
    }
    rates.sort_unstable_by(f64::total_cmp);
    median(&rates).map(Rate::from_hz)
}

fn window() -> Option<Rate> {
    let (first_count, first_tick) = wait_for_change(count())?;
    let mut last = first_count;
    let mut counts = 0;
    let mut tick = first_tick;
    while counts < WINDOW {
        let (now, at) = wait_for_change(last)?;
        counts += u64::from(last.wrapping_sub(now));
        last = now;
        tick = at;
    }
    let nanos = (counts as f64 * 1e9 / HZ) as u64;
    Rate::between(tick - first_tick, nanos).ok()
}

/// The first count other than `old`, and the tick at which it was read.
fn wait_for_change(old: u16) -> Option<(u16, u64)> {
    (0..PATIENCE).map(|_| (count(), start())).find(|&(now, _)| now != old)
}

/// Reads the counter, which counts down.
fn count() -> u16 {
    // SAFETY: latching and reading the counter changes only the latch.
    unsafe {
        port::write(CONTROL, LATCH);
        let low = port::read(CHANNEL_0);
        let high = port::read(CHANNEL_0);
        u16::from_le_bytes([low, high])
    }
}
