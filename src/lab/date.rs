//! Dates in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    year: u64,
    month: u64,
    day: u64,
    /// Seconds since midnight.
    second: u64,
}

/// Returns the seconds since 1970; 0 if the machine's clock is set to an earlier time.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Date {
    /// Returns the date `seconds` after the start of 1970, by H. Hinnant's `civil_from_days`.
    pub fn from_unix(seconds: u64) -> Self {
        let days = seconds / 86_400 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // Months count from March, so that the leap day comes last.
        let month = (5 * day_of_year + 2) / 153;
        let year = era * 400 + year_of_era;
        Date {
            year: if month < 10 { year } else { year + 1 },
            month: if month < 10 { month + 3 } else { month - 9 },
            day: day_of_year - (153 * month + 2) / 5 + 1,
            second: seconds % 86_400,
        }
    }

    /// Formats the date as a part of a file name: `20251120-130600`.
    pub fn stamp(&self) -> String {
        let Date { year, month, day, .. } = self;
        let (hour, minute, second) = self.time();
        format!("{year}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }

    /// Formats the time of day: `13:06:07`.
    pub fn clock(&self) -> String {
        let (hour, minute, second) = self.time();
        format!("{hour:02}:{minute:02}:{second:02}")
    }

    fn time(&self) -> (u64, u64, u64) {
        (self.second / 3600, self.second / 60 % 60, self.second % 60)
    }
}

impl core::fmt::Display for Date {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Date { year, month, day, .. } = self;
        let (hour, minute, _) = self.time();
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        let shown = |seconds| Date::from_unix(seconds).to_string();
        assert_eq!(shown(0), "1970-01-01 00:00 UTC");
        assert_eq!(shown(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(shown(1_763_643_960), "2025-11-20 13:06 UTC");
        assert_eq!(Date::from_unix(1_763_643_967).stamp(), "20251120-130607");
    }
}
