//! How far a run is: drawn between two cases and at no other time.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plain;
use super::terminal::tell;

/// A line that is drawn over on a terminal; elsewhere, a line per experiment.
///
/// No thread redraws it, so that nothing runs beside a sample.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
    measured: u64,
    part: Option<Part>,
}

/// The experiment under way.
#[derive(Debug)]
struct Part {
    title: String,
    began: Instant,
    points: u64,
}

impl Progress {
    /// Progress over `points` points.
    pub fn new(points: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(points), ProgressDrawTarget::stderr());
        bar.set_style(
            ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Progress {
            bar,
            began: Instant::now(),
            measured: 0,
            part: None,
        }
    }

    /// Says that there are more points than was thought.
    pub fn more(&mut self, points: u64) {
        self.bar.inc_length(points);
    }

    /// Says that an experiment begins.
    pub fn begin(&mut self, title: String) {
        self.part = Some(Part {
            title,
            began: Instant::now(),
            points: 0,
        });
    }

    /// Says what is measured next.
    pub fn next(&mut self, what: &str) {
        let title = self.part.as_ref().map_or("", |part| &part.title);
        let message = match self.left() {
            // First, because a narrow terminal cuts the end off.
            Some(left) => format!("{} left; {title}: {what}", HumanDuration(left)),
            None => format!("{title}: {what}"),
        };
        self.bar.set_message(message);
    }

    /// Counts a point that was measured.
    pub fn measured(&mut self) {
        self.measured += 1;
        if let Some(part) = &mut self.part {
            part.points += 1;
        }
        self.bar.inc(1);
    }

    /// Counts a point that was there already.
    pub fn known(&mut self) {
        self.bar.inc(1);
    }

    /// Says that the experiment has ended.
    pub fn end(&mut self) {
        let Some(part) = self.part.take() else { return };
        if self.bar.is_hidden() && part.points > 0 {
            tell(format_args!(
                "{}: {} points, {:.1} s",
                part.title,
                part.points,
                part.began.elapsed().as_secs_f64()
            ));
        }
    }

    /// Says what was found, above the line.
    pub fn found(&self, text: &str) {
        match self.bar.is_hidden() {
            true => tell(text),
            false => self.bar.println(plain::word(text)),
        }
    }

    /// Clears the line.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    /// The time left, if the points to come take as long as those so far.
    fn left(&self) -> Option<Duration> {
        if self.measured < 3 {
            return None;
        }
        let remaining = self.bar.length()?.saturating_sub(self.bar.position());
        let seconds = self.began.elapsed().as_secs_f64() / self.measured as f64;
        // Whole seconds: a digit that flickers tells nothing.
        Some(Duration::from_secs(
            (seconds * remaining as f64).ceil() as u64
        ))
    }
}
