//! A run on a machine with counters, from the rig to the report. The kernel's page faults stand in for the
//! PMU's instructions.
#![cfg(feature = "lab")]

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::software::refused;
use linefill::counters::Quantity;
use linefill::experiment::find;
use linefill::lab::record::{CountingLine, RECORD, Record};
use linefill::lab::run::{Recorder, Run, run};
use linefill::lab::session::{Request, Session};
use linefill::os::Root;
use linefill::os::perf::{Event, Software};
use linefill::stats::Interval;

#[test]
fn what_a_run_counts_comes_into_its_record_its_verdicts_and_its_report() {
    if refused() {
        return;
    }
    let Some(c9) = find("C9") else {
        panic!("C9 is built");
    };
    let request = Request {
        memory: Some(1 << 20),
        // After two passes the time is over, and no undecided claim is measured further.
        budget: Some(Duration::from_secs(1)),
        seed: 1,
        ..Request::default()
    };
    let mut session = Session::open(&request, &Root::live()).unwrap();
    let faults = Event::software(Software::PageFaults);
    session.counters = vec![(Quantity::Instructions, faults)];
    session.header.counting = vec![CountingLine {
        counts: Quantity::Instructions.name().to_owned(),
        by: Some("page-faults".to_owned()),
        refused: None,
    }];

    let folder = Folder::new("run-counts");
    let header = Record::new(session.header.clone());
    let (recorder, _) = Recorder::create(&folder.at(""), header.lines()).unwrap();
    let stop = AtomicBool::new(false);
    let of_this = Run { session: &session, experiments: &[c9], recorded: Vec::new(), stop: &stop };
    let finished = run(of_this, recorder);
    assert!(finished.unwritten.is_none(), "{finished:?}");

    // Every timed point has its count: a read of a tensor causes no page faults.
    let reading = linefill::lab::read::read(&folder.at(RECORD)).unwrap();
    let mut counted = 0;
    let points = reading.record.points.iter();
    for line in points.filter(|line| line.experiment == "C9") {
        assert!(line.point.measured().is_some(), "C9 is timed: {line:?}");
        let [count] = line.point.counts() else {
            panic!("one thing was counted: {line:?}");
        };
        assert_eq!(count.quantity, Quantity::Instructions);
        assert_eq!((count.value, count.multiplexed), (Interval::exact(0.0), false));
        counted += u32::from(line.pass == 0);
    }
    assert_eq!(counted, 4, "four cases in the first pass");
    // The claim about instructions is judged on the counts, and a ratio of zeros does not exist.
    let claims = finished.analysis.verdicts.iter();
    let mut about = claims.filter(|verdict| verdict.claim.contains("instructions"));
    assert!(about.next().unwrap().numbers.starts_with("no ratio: 0"));
    let page = std::fs::read_to_string(&finished.report).unwrap();
    assert!(page.contains("instructions by page-faults"));
    assert!(!page.contains("Not counted"));
}
