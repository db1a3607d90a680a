//! The firmware's clocks.

use core::time::Duration;

use linefill::stats::median;
use linefill::time::{Rate, start};
use uefi::{boot, runtime};

/// Measurements of the rate; the median counts.
const LOOKS: usize = 5;
const SHORT: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_millis(50);

/// The rate of the time-stamp counter from the firmware's delays: the difference between a long and a short
/// delay, so that the cost of a call cancels. `None` if the delays are implausible.
pub fn tsc_rate() -> Option<Rate> {
    let mut rates = [0.0; LOOKS];
    for rate in &mut rates {
        let ticks = ticks_of(LONG).checked_sub(ticks_of(SHORT))?;
        let nanos = (LONG - SHORT).as_nanos() as u64;
        *rate = Rate::between(ticks, nanos).ok()?.hz();
    }
    rates.sort_unstable_by(f64::total_cmp);
    median(&rates).map(Rate::from_hz)
}

fn ticks_of(delay: Duration) -> u64 {
    let began = start();
    boot::stall(delay);
    start() - began
}

/// Seconds since 1970 from the machine's clock. The clock is assumed to be in UTC unless it reports a time
/// zone. 0 if there is no clock.
pub fn date() -> u64 {
    let Ok(time) = runtime::get_time() else {
        return 0;
    };
    let days = days(time.year().into(), time.month().into(), time.day().into());
    let [hours, minutes, seconds] = [time.hour(), time.minute(), time.second()].map(i64::from);
    let zone = i64::from(time.time_zone().unwrap_or(0));
    let seconds = ((days * 24 + hours) * 60 + minutes + zone) * 60 + seconds;
    seconds.try_into().unwrap_or(0)
}

/// Days since 1 January 1970 in the Gregorian calendar. The computation starts a year in March, so that the
/// leap day is the last day of a year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = match month {
        ..=2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    // There are 719,468 days from 1 March of year 0 to 1 January 1970.
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}
