//! A tour of ten experiments in twenty seconds, each explained as it is measured.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use serde_json::{Value, json};

use super::analysis::{Analysis, Answer};
use super::answer::{Finding, findings, named};
use super::figures::beside_claim;
use super::format::{Check, Output, Sheet};
use super::listing::section;
use super::record::{MACHINE, PointLine, Record, VerdictLine};
use super::run::{ladder_once, measure_passes};
use super::session::Session;
use super::show::{check, colour};
use super::terminal::{FAINT, STRONG, Screen, paragraph, show, tell};
use super::undecided::is_whole;
use crate::experiment::{Experiment, find};
use crate::recorded::machine_of;

/// The experiments of the tour, in order: effects that most programs meet.
pub(crate) const STOPS: [&str; 10] =
    ["D14", "D19", "D8", "E37", "D36", "E4", "E7", "E17", "A2", "B8"];

const PASSES: u32 = 2;

/// A guided tour, up to the point where it was stopped.
#[derive(Debug, Default)]
pub(crate) struct Tour {
    /// The result of each stop.
    pub answers: Vec<Answer>,
}

/// Measures the stops in order. Prints each as it is measured, in lines of `aloud` columns, unless `aloud`
/// is `None`.
pub(crate) fn tour(session: &Session, stop: &AtomicBool, aloud: Option<u16>) -> Result<Tour> {
    let say = |screen: &Screen| aloud.map_or(Ok(()), |_| show(screen));
    let width = aloud.unwrap_or_default();
    let header = &session.header;
    let mut opening = Screen::default();
    opening.paint(STRONG, &named(header, header.core_per_tick).to_string()).end();
    let text = "First, a random walk through lists of growing size finds the caches.";
    paragraph(&mut opening, None, text, width);
    say(&opening)?;
    let ladder = ladder_once(session, stop);
    let machine = machine_of(header, &ladder);
    let lines = ladder.into_iter().map(|point| PointLine::new(MACHINE, 0, point));
    let known = Record { points: lines.collect(), ..Record::new(header.clone()) };
    let measured = |experiment: &'static Experiment| {
        let cases = (experiment.cases)(&machine);
        let points = measure_passes(session, &cases, PASSES, stop).into_iter();
        let mut record = known.clone();
        let lines = points.map(|(pass, point)| PointLine::new(experiment.id, pass, point));
        record.points.extend(lines);
        let mut answers = Analysis::of(record).answers.into_iter();
        answers.find(|answer| answer.experiment.id == experiment.id)
    };
    let mut tour = Tour::default();
    for (number, id) in STOPS.into_iter().enumerate() {
        let Some(experiment) = find(id).filter(|_| !stop.load(Ordering::Relaxed)) else { break };
        say(&question(experiment, number + 1, width))?;
        // A part of an experiment decides nothing.
        let answer = measured(experiment).filter(|of| is_whole(experiment, &machine, &of.points));
        let Some(answer) = answer else {
            tell(format_args!("stopped: {id} was not measured to its end"));
            break;
        };
        say(&seen(&answer, width))?;
        tour.answers.push(answer);
    }
    Ok(tour)
}

fn question(of: &Experiment, number: usize, width: u16) -> Screen {
    let mut screen = Screen::default();
    let title = format!("{number}. {} ({}, {})", of.title, of.id, section(of));
    screen.end();
    paragraph(&mut screen, Some(STRONG), &title, width);
    paragraph(&mut screen, None, of.question, width);
    screen
}

/// Formats the finding of an experiment, or its verdicts if there is no finding.
fn seen(answer: &Answer, width: u16) -> Screen {
    let mut screen = Screen::default();
    match findings(&answer.claims, 1).first() {
        Some(finding) => found(&mut screen, finding, width),
        None => {
            for line in &answer.claims {
                verdict(&mut screen, line, width);
            }
        }
    }
    screen
}

fn found(screen: &mut Screen, finding: &Finding, width: u16) {
    paragraph(screen, Some(STRONG), &format!("  {}.", finding.headline()), width);
    let (then, now) = (finding.then_text(), finding.interval_text());
    let text = format!("  Then {then} ({}), now {now}. {}", finding.source(), finding.why);
    paragraph(screen, None, text.trim_end(), width);
    if !finding.advice().is_empty() {
        paragraph(screen, None, &format!("  What to do: {}", finding.advice()), width);
    }
}

fn verdict(screen: &mut Screen, line: &VerdictLine, width: u16) {
    screen.add("  ").paint(colour(line.verdict), line.verdict.name()).end();
    paragraph(screen, None, &format!("  {}", line.claim), width);
    paragraph(screen, Some(FAINT), &format!("  {}", beside_claim(line)), width);
}

impl Output for Tour {
    fn name(&self) -> String {
        "linefill tour".to_owned()
    }

    /// Returns only the closing remark: everything else was printed during the measurement.
    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        screen.end();
        let text = "The claims rest on two passes, so take the numbers as a first look: \
                    `linefill run` measures all experiments until their claims are decided.";
        paragraph(&mut screen, Some(FAINT), text, width);
        screen
    }

    fn json(&self) -> Value {
        let stop = |answer: &Answer| {
            let found = findings(&answer.claims, 1);
            json!({
                "experiment": answer.experiment.id,
                "question": answer.experiment.question,
                "finding": found.first().map(Finding::headline),
                "claims": answer.claims,
            })
        };
        json!({ "stops": self.answers.iter().map(stop).collect::<Vec<_>>() })
    }

    fn sheets(&self) -> Vec<Sheet> {
        let mut sheet =
            Sheet::new("Ten experiments", &["id", "question", "finding", "then", "now"]);
        for answer in &self.answers {
            let of = answer.experiment;
            let found = findings(&answer.claims, 1);
            let text = |of: fn(&Finding) -> String| found.first().map(of).unwrap_or_default();
            sheet.row([
                of.id,
                of.question,
                &text(Finding::headline),
                &text(Finding::then_text),
                &text(Finding::now_text),
            ]);
        }
        vec![sheet]
    }

    fn checks(&self) -> Vec<Check> {
        let claims = self.answers.iter().flat_map(|answer| &answer.claims);
        claims.map(check).collect()
    }
}
