//! The progress of a run, drawn only between two cases.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::plain;
use super::size::counted;
use super::terminal::tell;

/// The minimum time between two drawings.
const PAUSE: Duration = Duration::from_millis(50);
/// The width of the bar in columns.
const BAR: u64 = 20;
/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

/// A progress line that is redrawn on a terminal; elsewhere, a line per experiment.
///
/// No thread redraws it, so that nothing runs beside a sample.
#[derive(Debug)]
pub struct Progress {
    /// Whether the standard error is a terminal that can clear a line.
    terminal: bool,
    points: u64,
    done: u64,
    message: String,
    drawn: Option<Instant>,
    began: Instant,
    measured: u64,
    part: Option<Part>,
}

/// The experiment that is being measured.
#[derive(Debug)]
struct Part {
    title: String,
    began: Instant,
    points: usize,
}

impl Progress {
    /// Creates the progress of a run of `points` points.
    pub fn new(points: u64) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|kind| kind == "dumb");
        Progress {
            terminal: io::stderr().is_terminal() && !dumb,
            points,
            done: 0,
            message: String::new(),
            drawn: None,
            began: Instant::now(),
            measured: 0,
            part: None,
        }
    }

    /// Adds points that were not expected at the start.
    pub fn more(&mut self, points: u64) {
        self.points += points;
    }

    /// Takes away points that are not measured after all.
    pub fn less(&mut self, points: u64) {
        self.points = self.points.saturating_sub(points);
    }

    /// Starts an experiment.
    pub fn begin(&mut self, title: String) {
        self.part = Some(Part { title, began: Instant::now(), points: 0 });
    }

    /// Sets the case that is measured next.
    pub fn next(&mut self, what: &str) {
        let title = self.part.as_ref().map_or("", |part| &part.title);
        self.message = match self.left() {
            // The time comes first, because a narrow terminal cuts the end off.
            Some(left) => format!("{} left; {title}: {what}", time_left(left)),
            None => format!("{title}: {what}"),
        };
        self.draw();
    }

    /// Counts a measured point.
    pub fn measured(&mut self) {
        self.measured += 1;
        if let Some(part) = &mut self.part {
            part.points += 1;
        }
        self.known();
    }

    /// Counts a point that was known already.
    pub fn known(&mut self) {
        self.done += 1;
        self.draw();
    }

    /// Ends the experiment.
    pub fn end(&mut self) {
        let Some(part) = self.part.take() else { return };
        if !self.terminal && part.points > 0 {
            let (points, seconds) =
                (counted(part.points, "point"), part.began.elapsed().as_secs_f64());
            tell(format_args!("{}: {points}, {seconds:.1} s", part.title));
        }
    }

    /// Prints a result above the progress line.
    pub fn found(&self, text: &str) {
        match self.terminal {
            false => tell(text),
            true => write(&format!("{CLEAR}{}\n{}", plain::word(text), self.line())),
        }
    }

    /// Clears the line.
    pub fn finish(self) {
        if self.terminal {
            write(CLEAR);
        }
    }

    /// Redraws the line, unless it was drawn less than `PAUSE` ago.
    fn draw(&mut self) {
        if self.terminal && self.drawn.is_none_or(|drawn| drawn.elapsed() >= PAUSE) {
            write(&format!("{CLEAR}{}", self.line()));
            self.drawn = Some(Instant::now());
        }
    }

    /// Returns the line, cut so that it never wraps.
    fn line(&self) -> String {
        let columns = terminal_size::terminal_size_of(io::stderr())
            .map_or(80, |(terminal_size::Width(columns), _)| columns);
        line(self.done, self.points, &self.message, columns.into())
    }

    /// Returns the time left, if the remaining points take as long as the points measured so far.
    fn left(&self) -> Option<Duration> {
        if self.measured < 3 {
            return None;
        }
        let remaining = self.points.saturating_sub(self.done);
        let seconds = self.began.elapsed().as_secs_f64() / self.measured as f64;
        // Rounded to whole seconds: a fraction would change at every redraw.
        Some(Duration::from_secs((seconds * remaining as f64).ceil() as u64))
    }
}

/// Formats a bar, the counts and a message in fewer than `columns` columns.
fn line(done: u64, points: u64, message: &str, columns: usize) -> String {
    let full = (done.min(points) * BAR).checked_div(points).unwrap_or(BAR) as usize;
    let (full, open) = ("█".repeat(full), "░".repeat(BAR as usize - full));
    let mut line = format!("{full}{open} {done}/{points} {}", plain::word(message));
    while textwrap::core::display_width(&line) >= columns && line.pop().is_some() {}
    line
}

/// Formats a time in seconds, or in minutes from 90 seconds on.
fn time_left(time: Duration) -> String {
    match time.as_secs() as usize {
        seconds @ ..90 => counted(seconds, "second"),
        seconds => counted(seconds.div_ceil(60), "minute"),
    }
}

/// Writes to the terminal. Errors are ignored: a lost terminal must not end a measurement.
fn write(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_share_and_stays_shorter_than_the_terminal() {
        let half = format!("{}{} 5/10 D14", "█".repeat(10), "░".repeat(10));
        assert_eq!(line(5, 10, "D14", 80), half);
        // A character that is two columns wide is dropped if only one column is left.
        assert_eq!(line(5, 10, "漢字漢字", 32), half.replace("D14", "漢字"));
        assert!(line(12, 10, "", 80).starts_with(&"█".repeat(20)));
        assert!(!line(0, 0, "\x1b[2J", 80).contains('\x1b'));
    }

    #[test]
    fn long_times_are_told_in_minutes() {
        let time_left = |seconds| time_left(Duration::from_secs(seconds));
        assert_eq!(
            [time_left(1), time_left(89), time_left(90), time_left(181)],
            ["1 second", "89 seconds", "2 minutes", "4 minutes"]
        );
    }
}
