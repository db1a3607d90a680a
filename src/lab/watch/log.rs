//! The record of a watch: a line per round, with a limited size.

use std::path::Path;

use anyhow::Result;

use super::timeline::Timeline;
use crate::lab::record::{EndLine, Line, Record, RoundLine};
use crate::lab::run::{MovedRecord, Recorder};

const MOST_ROUNDS: usize = 1000;

/// Maximum size of a record in bytes, besides its last round and its end.
const MOST_BYTES: u64 = 16 << 20;

/// Maximum number of points of a round, so that a round is smaller than half a megabyte.
pub const MOST_POINTS: usize = 1000;

/// A record that grows by rounds, and is thinned when it is too large.
///
/// Thinning removes the second of every two rounds, from the oldest on, or the first if only the second has
/// a figure outside. The older the rounds, the fewer of them are left.
#[derive(Debug)]
pub struct Log {
    /// The lines in the file.
    pub record: Record,
    pub(crate) timeline: Timeline,
    /// `None` after the record could not be rewritten.
    recorder: Option<Recorder>,
}

impl Log {
    /// Starts a record in `dir`. An earlier record in `dir` is moved aside.
    ///
    /// # Errors
    /// If the folder cannot be written, or another run is writing to it.
    pub fn create(dir: &Path, record: Record) -> Result<(Self, Option<MovedRecord>)> {
        let (recorder, aside) = Recorder::create(dir, record.lines())?;
        let log = Log { timeline: Timeline::of(&record), record, recorder: Some(recorder) };
        Ok((log, aside))
    }

    pub fn path(&self) -> &Path {
        self.recorder.as_ref().map_or(Path::new(""), Recorder::path)
    }

    /// Adds a round, and thins the record if it is then too large.
    pub fn add(&mut self, round: RoundLine) -> Result<()> {
        let line = Line::Round(Box::new(round.clone()));
        self.record.rounds.push(round);
        if let Some(round) = self.record.rounds.last() {
            self.timeline.add(round);
        }
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        recorder.append(&line)?;
        if self.record.rounds.len() > MOST_ROUNDS || recorder.length() > MOST_BYTES {
            self.thin()?;
        }
        Ok(())
    }

    /// Removes one of every two rounds, and replaces the record atomically.
    fn thin(&mut self) -> Result<()> {
        let outside = self.timeline.rounds_outside();
        let rounds = std::mem::take(&mut self.record.rounds);
        self.record.rounds = thinned(rounds, |index| outside.contains(&index));
        self.timeline = Timeline::of(&self.record);
        if let Some(recorder) = self.recorder.take() {
            self.recorder = Some(recorder.rewritten(self.record.lines())?);
        }
        Ok(())
    }

    /// Writes the end line.
    pub fn end(&mut self, end: EndLine) -> Result<()> {
        self.record.end = Some(end.clone());
        if let Some(recorder) = &mut self.recorder {
            recorder.append(&Line::End(end))?;
            recorder.sync()?;
        }
        Ok(())
    }
}

/// Keeps the last round and one of every two: the first, unless only the second is outside.
fn thinned(rounds: Vec<RoundLine>, outside: impl Fn(usize) -> bool) -> Vec<RoundLine> {
    let last = rounds.len().saturating_sub(1);
    let kept = |index: usize| {
        let (first, second) = (index & !1, index | 1);
        let other = second <= last && outside(second) && !outside(first);
        index == last || index == if other { second } else { first }
    };
    let left = rounds.into_iter().enumerate().filter(|(index, _)| kept(*index));
    left.map(|(_, round)| round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::read::read_any;
    use crate::lab::watch::planted;
    use std::fs;

    fn folder(name: &str) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("linefill-log-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn a_record_of_many_rounds_keeps_within_its_limits_and_keeps_its_spikes() {
        let dir = folder("many");
        let spikes = [301, 777, 1802];
        let slower = |round| if spikes.contains(&round) { 4.0 } else { 1.0 };
        let mut planted = planted(2600, slower);
        let rounds = std::mem::take(&mut planted.rounds);
        let (mut log, _) = Log::create(&dir, planted).unwrap();
        for (index, mut round) in rounds.into_iter().enumerate() {
            round.points.truncate(2);
            log.add(round).unwrap();
            assert!(log.record.rounds.len() <= MOST_ROUNDS, "{index}");
        }
        log.end(EndLine { seconds: 1.0, interrupted: false }).unwrap();
        let read = read_any(log.path()).unwrap().record;
        assert_eq!(read, log.record, "the file is what is at hand");
        let numbers: Vec<u64> = read.rounds.iter().map(|of| of.number).collect();
        assert!(numbers.is_sorted() && numbers.len() > MOST_ROUNDS / 2);
        assert_eq!((numbers[0], numbers[numbers.len() - 1]), (0, 2599));
        for spike in spikes {
            assert!(numbers.contains(&spike), "{spike} is lost");
        }
        // All of the latest rounds are kept; the oldest rounds are thinned most.
        let apart = |at: usize| numbers[at + 1] - numbers[at];
        assert_eq!(apart(numbers.len() - 2), 1);
        assert!(apart(20) >= 4, "{:?}", &numbers[..30]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn large_rounds_are_thinned_by_their_bytes() {
        let dir = folder("large");
        let mut planted = planted(120, |_| 1.0);
        let rounds = std::mem::take(&mut planted.rounds);
        let (mut log, _) = Log::create(&dir, planted).unwrap();
        let mut largest = 0;
        for mut round in rounds {
            // Half a megabyte: as many points as a round may have.
            let points = round.points.clone();
            round.points = points.into_iter().cycle().take(MOST_POINTS).collect();
            log.add(round).unwrap();
            largest = largest.max(fs::metadata(log.path()).unwrap().len());
        }
        assert!(largest <= MOST_BYTES, "{largest}");
        assert!(largest > MOST_BYTES / 4 && log.record.rounds.len() >= 20);
        fs::remove_dir_all(dir).unwrap();
    }
}
