//! The points of a run, in its record and in memory, and the resumable record of an unfinished run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::output::{Claim, modified};
use super::{Line, Point, PointLine, Recorder};
use crate::lab::read::read;
use crate::lab::record::{EndLine, Header, MACHINE, PACKED, RECORD, Record, points_of, version};

/// The key of a point: experiment, pass, series, and the bits of x.
type Place = (String, u32, String, u64);

/// The points of a run so far, in the record and in memory.
pub(super) struct PointStore {
    pub(super) recorder: Recorder,
    pub(super) points: Vec<PointLine>,
    /// The index in `points` of each point.
    places: HashMap<Place, usize>,
}

impl PointStore {
    /// Continues from `points`, which the record has already.
    pub(super) fn new(recorder: Recorder, points: Vec<PointLine>) -> Self {
        PointStore { recorder, places: points.iter().map(place_of).zip(0..).collect(), points }
    }

    /// Records a point once. The point is kept in memory even if the record cannot be written.
    pub(super) fn add(&mut self, line: PointLine) -> Result<()> {
        if let Entry::Vacant(place) = self.places.entry(place_of(&line)) {
            place.insert(self.points.len());
            self.points.push(line.clone());
            self.recorder.append(&Line::Point(Box::new(line)))?;
        }
        Ok(())
    }

    pub(super) fn find(&self, place: &Place) -> Option<&PointLine> {
        self.places.get(place).map(|&index| &self.points[index])
    }

    pub(super) fn ladder(&self) -> Vec<Point> {
        points_of(&self.points, MACHINE)
    }
}

fn place_of(line: &PointLine) -> Place {
    place(&line.experiment, line.pass, &line.point.series, line.point.x)
}

pub(super) fn place(experiment: &str, pass: u32, series: &str, x: f64) -> Place {
    (experiment.to_owned(), pass, series.to_owned(), x.to_bits())
}

/// A record to resume.
#[derive(Debug)]
pub struct Unfinished {
    /// The locked record: no other run can resume it.
    pub claim: Claim,
    /// The record, reduced to its header and points.
    pub record: Record,
    /// Duration of its sessions so far, in seconds.
    pub seconds: f64,
    /// Whether the last line was cut off.
    pub cut_off: bool,
}

impl Unfinished {
    /// Locks and reads the record in `dir`. `None` if the record has no complete line: the run was killed
    /// before it had written the header.
    ///
    /// # Errors
    /// If there is no record, the record is not valid for this version, or another run is writing to it.
    pub fn read(dir: &Path) -> Result<Option<Self>> {
        let Some(claim) = Claim::existing(dir)? else {
            let path = dir.join(RECORD);
            let packed = dir.join(PACKED);
            if packed.exists() {
                bail!("nothing to resume: the run of `{}` came to its end", packed.display());
            }
            bail!("nothing to resume: there is no `{}`", path.display());
        };
        let path = claim.path();
        let text = fs::read(path)
            .with_context(|| format!("nothing to resume: cannot read `{}`", path.display()))?;
        if !text.contains(&b'\n') {
            return Ok(None);
        }
        let reading = read(path)?;
        let mut record = reading.record;
        record.verdicts.clear();
        // A killed run wrote no end: it ran until the file was last modified.
        let seconds = match record.end.take() {
            Some(EndLine { seconds, .. }) => seconds,
            None => {
                let header = &record.header;
                let began = header.resumed.unwrap_or(header.started);
                header.earlier + modified(path).saturating_sub(began) as f64
            }
        };
        Ok(Some(Unfinished { seconds, claim, record, cut_off: reading.cut_off.is_some() }))
    }
}

/// Largest relative difference between two calibrations of one machine's counter. Calibrations of one machine
/// differ far less. Counters of two machines usually differ more.
const SAME_RATE: f64 = 2e-3;

/// Checks that `here` is the machine and the program of `recorded`: points of two machines, or of two
/// versions of a kernel, must not be mixed in one record.
///
/// # Errors
/// If the two differ. The message names the first difference.
pub fn same_machine(recorded: &Header, here: &Header) -> Result<()> {
    let cpu = |header: &Header| {
        let cpu = &header.cpu;
        format!(
            "{} {} (family {:X}h, model {:X}h, stepping {})",
            cpu.vendor, cpu.brand, cpu.family, cpu.model, cpu.stepping
        )
    };
    let facts = [
        ("CPU", cpu(recorded), cpu(here)),
        ("set of CPU features", recorded.cpu.features.join(" "), here.cpu.features.join(" ")),
        ("hypervisor", format!("{:?}", recorded.hypervisor), format!("{:?}", here.hypervisor)),
        ("version of linefill", version(recorded), version(here)),
    ];
    for (what, then, now) in facts {
        if then != now {
            bail!("cannot resume: the {what} differs: the record has {then}, here is {now}");
        }
    }
    if (recorded.tick_hz / here.tick_hz - 1.0).abs() > SAME_RATE {
        bail!(
            "cannot resume: the rate of the time-stamp counter differs: the record has {:.4} GHz, \
             here is {:.4} GHz",
            recorded.tick_hz / 1e9,
            here.tick_hz / 1e9
        );
    }
    Ok(())
}
