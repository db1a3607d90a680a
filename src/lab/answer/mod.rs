//! The main results of a record: the name of the machine, its memory ladder, how many claims of each
//! document still hold, and what changed most. The report and the terminal print them.

mod ladder;
mod paper;

pub(in crate::lab) use ladder::digits;
pub use ladder::{Ladder, Latency, Level, ladder};
pub use paper::{Chapter, Counts, Paper, Part, papers};

use crate::experiment::topics::topic_of;
use crate::experiment::{Document, Origin, Shown, Takeaway, Verdict, find_claim};
use crate::lab::analysis::Analysis;
use crate::lab::inferred::core_per_tick;
use crate::lab::record::{Header, Record, VerdictLine};
use crate::lab::size::{counted, show};
use crate::order::{self, greatest_first};
use crate::recorded::core_of;
use crate::stats::Interval;

/// The main results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub machine: MachineName,
    /// The levels of the machine's memory.
    pub ladder: Ladder,
    /// The documents with their claims, section by section, and last the claims that are ours.
    pub papers: Vec<Paper>,
    /// The findings, the greatest change first.
    pub findings: Vec<Finding>,
}

/// Maximum number of findings of a summary.
const MOST_FINDINGS: usize = 9;

impl Summary {
    pub fn of(analysis: &Analysis) -> Self {
        Summary {
            machine: machine_name(&analysis.record),
            ladder: ladder(analysis),
            papers: papers(&analysis.verdicts),
            findings: findings(&analysis.verdicts, MOST_FINDINGS),
        }
    }

    /// Returns the document with the most claims decided on this machine. `None` if no claim of a document
    /// was decided.
    pub fn foremost(&self) -> Option<&Paper> {
        let decided = |paper: &&Paper| paper.counts().decided();
        // Of several documents with the highest number the first counts: `max_by_key` returns the last one.
        let documents = self.papers.iter().rev().filter(|paper| paper.document.is_some());
        documents.max_by_key(decided).filter(|paper| decided(paper) > 0)
    }

    /// Returns the headline: `171 of 225 claims still hold`. If no claim of a document was decided, the
    /// headline counts the claims that are ours.
    pub fn headline(&self) -> String {
        let ours = || {
            let ours = self.papers.iter().find(|paper| paper.document.is_none())?;
            Some(ours.counts()).filter(|counts| counts.decided() > 0)
        };
        let says = |counts: Counts, of: &str| {
            let (holds, decided) = (counts.holds(), counts.decided());
            let verb = if holds == 1 { "holds" } else { "hold" };
            format!("{holds} of {decided} {of} {verb}")
        };
        match (self.foremost(), ours()) {
            (Some(paper), _) => says(paper.counts(), "claims still"),
            (None, Some(counts)) => says(counts, "claims of our own"),
            (None, None) => "No claim is decided yet".to_owned(),
        }
    }
}

/// A document's number compared with this machine's number, and advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The claim's id.
    pub claim: String,
    /// The experiment's id.
    pub experiment: String,
    pub verdict: Verdict,
    /// How the number is worded and shown, and the advice.
    pub takeaway: Takeaway,
    /// The document's number, as an interval.
    pub then: Interval,
    /// The machine that the document measured on; empty if the document does not say.
    pub machine: String,
    /// This machine's number, as an interval.
    pub now: Interval,
    /// The sentence that follows from the verdict; may be empty.
    pub why: &'static str,
    pub document: Document,
    /// Section of the document, and the figure or table.
    pub section: &'static str,
    /// Logarithm of the least factor between the two numbers, multiplied by a weight for the number of
    /// programs concerned.
    pub score: f64,
}

/// Least factor between two numbers that counts as a change.
const A_CHANGE: f64 = 1.1;

/// Maximum number of findings of one topic.
const OF_A_TOPIC: usize = 2;

/// Returns the findings among these verdicts, the greatest change first: at most `most` in total, one per
/// experiment, and two per topic. Claims that were not decided on this machine give no findings, nor do
/// numbers of a document that its machine's bus rules out.
pub fn findings(verdicts: &[VerdictLine], most: usize) -> Vec<Finding> {
    let mut all: Vec<Finding> = verdicts.iter().filter_map(finding).collect();
    greatest_first(&mut all, |of| of.score);
    let mut chosen: Vec<Finding> = Vec::new();
    for finding in all {
        let topic = |id: &str| topic_of(id).map(|topic| topic.name);
        let own = topic(&finding.experiment);
        let of_topic = chosen.iter().filter(|of| topic(&of.experiment) == own);
        let of_topic = of_topic.count();
        let again = chosen.iter().any(|of| of.experiment == finding.experiment);
        if !again && of_topic < OF_A_TOPIC && chosen.len() < most {
            chosen.push(finding);
        }
    }
    chosen
}

/// Returns the finding that a verdict gives, if it gives one.
fn finding(line: &VerdictLine) -> Option<Finding> {
    let decided = line.verdict.is_decided();
    let claim = find_claim(&line.id)?;
    let takeaway = claim.takeaway?;
    // What no machine of its time could do has not changed.
    if claim.then.is_some_and(|then| then.beyond_bus) {
        return None;
    }
    let Origin::Document { document, section } = claim.origin else { return None };
    let (then, [lo, hi]) = (line.then.as_ref()?, line.now?);
    let (now, old) = (Interval::new(lo, hi), Interval::new(then.lo, then.hi));
    let change = change(old, now)?;
    let score = change.ln() * takeaway.touches.weight();
    (decided && line.is_of_this_machine() && change >= A_CHANGE).then(|| Finding {
        claim: line.id.clone(),
        experiment: line.experiment.clone(),
        verdict: line.verdict,
        takeaway,
        then: old,
        machine: then.machine.clone(),
        now,
        why: claim.follows(line.verdict),
        document,
        section,
        score,
    })
}

/// Returns the least factor between two numbers that their intervals allow, at least 1. `None` unless both
/// intervals are positive.
fn change(then: Interval, now: Interval) -> Option<f64> {
    let up = now.ratio(then)?;
    Some(up.lo.max(1.0 / up.hi).max(1.0))
}

impl Finding {
    /// Returns the headline of the finding, with the number as [`number_text`] says it. What takes more time adds to
    /// it.
    pub fn headline(&self) -> String {
        let Takeaway { headline, shown, .. } = self.takeaway;
        match added(shown, self.now) {
            Some(added) => {
                let added = format!("adds {} to", number_text(Shown::Share, added, Shown::words));
                headline.replace("saves {now} of", &added)
            }
            None => headline.replace("{now}", &number_text(shown, self.now, Shown::words)),
        }
    }

    /// Returns the document's number: `43x`, `25x to 51x`.
    pub fn then_text(&self) -> String {
        range_text(self.takeaway.shown, self.then, Shown::text)
    }

    /// Returns this machine's number: `160x`, `at most 8.9 %`, `0.4x to 1.9x`.
    pub fn now_text(&self) -> String {
        number_text(self.takeaway.shown, self.now, Shown::text)
    }

    /// Returns the interval of this machine's number: `150x to 170x`.
    pub fn interval_text(&self) -> String {
        range_text(self.takeaway.shown, self.now, Shown::text)
    }

    pub fn advice(&self) -> &'static str {
        self.takeaway.advice_on(self.verdict)
    }

    /// Returns the place in the document: `Drepper 3.3.2, Figure 3.15`.
    pub fn source(&self) -> String {
        format!("{} {}", self.document.name(), self.section)
    }

    /// Returns the lengths of the bars for the document and for this machine, as fractions of the longer
    /// bar.
    pub fn bars(&self) -> [f64; 2] {
        let amount = |value: f64| self.takeaway.shown.amount(value).max(0.0);
        let [then, now] = [self.then, self.now].map(|of| amount(of.center()));
        let longest = then.max(now);
        if longest > 0.0 { [then / longest, now / longest] } else { [0.0, 0.0] }
    }
}

/// Formats a claim's number of this machine. Where it is not sure that any time is saved, says how much at most;
/// where the interval is too wide for a single number, says the interval.
pub(super) fn number_text(shown: Shown, of: Interval, text: fn(Shown, f64) -> String) -> String {
    if let Some(added) = added(shown, of) {
        return format!("{} more time", number_text(Shown::Share, added, text));
    }
    if shown == Shown::Saved && of.hi >= 1.0 {
        return format!("at most {}", text(shown, of.lo));
    }
    let [lo, hi] = [of.lo, of.hi].map(|end| shown.amount(end));
    match Interval::new(lo, hi).tells_a_value() {
        true => text(shown, of.center()),
        false => range_text(shown, of, text),
    }
}

/// Returns the share of the time that is added where all of the interval says that none is saved.
fn added(shown: Shown, of: Interval) -> Option<Interval> {
    (shown == Shown::Saved && of.lo > 1.0).then(|| Interval::new(of.lo - 1.0, of.hi - 1.0))
}

/// Formats an interval with the smaller amount first, or as one number if both ends look the same. A unit that is
/// a word of its own is said once.
pub(super) fn range_text(shown: Shown, of: Interval, text: fn(Shown, f64) -> String) -> String {
    if let Some(added) = added(shown, of) {
        return format!("{} more time", range_text(Shown::Share, added, text));
    }
    let mut ends = [of.lo, of.hi].map(|end| text(shown, end));
    if shown == Shown::Saved {
        ends.reverse();
    }
    let [lo, hi] = ends;
    if lo == hi { lo } else { format!("{} to {hi}", lo.split(' ').next().unwrap_or_default()) }
}

/// The name of a machine: `AMD EPYC (Zen 5), 2 vCPUs of a KVM guest, 23.5 GiB, 3.9 GHz`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineName {
    /// Brand without trademark signs, or vendor, family and model of a CPU that reports no brand.
    pub brand: String,
    /// Core design, if it is known and the brand does not contain it.
    pub core: Option<String>,
    /// Number of CPUs that threads may use, and number of their cores; `None` if the record does not say.
    pub cpus: Option<(usize, usize)>,
    /// Hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Core clock rate in GHz.
    pub gigahertz: Option<f64>,
}

/// Returns the name of the machine of a record.
pub fn machine_name(record: &Record) -> MachineName {
    named(&record.header, core_per_tick(record))
}

/// Returns the name of the machine that a header describes, with these core cycles per tick.
pub(super) fn named(header: &Header, core_per_tick: Option<f64>) -> MachineName {
    let cpu = &header.cpu;
    let brand = match cpu.brand.trim() {
        "" => format!("{} family {:X}h model {:X}h", cpu.vendor, cpu.family, cpu.model),
        brand => without_marks(brand),
    };
    let known = core_of(cpu).map(|core| core.name.to_owned());
    let core = known.or_else(|| cpu.microarchitecture.clone());
    let cores = order::distinct(header.locations.iter().map(|location| location.core));
    MachineName {
        core: core.filter(|core| !brand.contains(core.as_str())),
        brand,
        cpus: (!header.locations.is_empty()).then_some((header.locations.len(), cores.len())),
        hypervisor: header.hypervisor.clone(),
        memory: header.memory,
        gigahertz: core_per_tick.map(|ratio| header.tick_hz * ratio / 1e9),
    }
}

/// Returns the brand without uninformative words: trademark signs, `CPU`, a nominal clock rate, a number of
/// cores.
fn without_marks(brand: &str) -> String {
    let brand = brand.replace("(R)", "").replace("(TM)", "");
    let brand = brand.split(" @ ").next().unwrap_or_default();
    let says = |word: &&str| *word != "CPU" && *word != "Processor" && !word.ends_with("-Core");
    let words: Vec<&str> = brand.split_whitespace().filter(says).collect();
    words.join(" ")
}

impl MachineName {
    /// Returns the brand and the core design.
    pub fn cpu(&self) -> String {
        match &self.core {
            Some(core) => format!("{} ({core})", self.brand),
            None => self.brand.clone(),
        }
    }

    /// Returns the name for tables: `Zen 5, 2 vCPUs, KVM`.
    pub fn short(&self) -> String {
        let kind = if self.hypervisor.is_some() { "vCPU" } else { "CPU" };
        let cpus = self.cpus.map(|(cpus, _)| counted(cpus, kind));
        let name = Some(self.core.as_ref().unwrap_or(&self.brand).clone());
        let parts = [name, cpus, self.hypervisor.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Returns the resources of the machine: CPUs, memory, clock rate.
    pub fn extent(&self) -> Vec<String> {
        let cpus = self.cpus.map(|(cpus, cores)| match &self.hypervisor {
            Some(_) => counted(cpus, "vCPU"),
            None if cpus == cores => counted(cores, "core"),
            None => format!("{}, {}", counted(cores, "core"), counted(cpus, "CPU")),
        });
        let guest = self.hypervisor.as_ref().map(|name| format!("{name} guest"));
        let place = match (cpus, guest) {
            (Some(cpus), Some(guest)) => Some(format!("{cpus} of a {guest}")),
            (Some(one), None) | (None, Some(one)) => Some(one),
            (None, None) => None,
        };
        let memory = self.memory.map(|bytes| show(bytes as f64));
        let clock = self.gigahertz.map(|rate| format!("{rate:.1} GHz"));
        [place, memory, clock].into_iter().flatten().collect()
    }
}

impl core::fmt::Display for MachineName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.cpu())?;
        self.extent().iter().try_for_each(|part| write!(f, ", {part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brand_loses_its_marks() {
        let brands =
            ["Intel(R) Xeon(R) Platinum 8581C CPU @ 2.10GHz", "AMD EPYC 9654 96-Core Processor"]
                .map(without_marks);
        assert_eq!(brands, ["Intel Xeon Platinum 8581C", "AMD EPYC 9654"]);
    }

    #[test]
    fn a_machine_is_named_by_what_is_known_of_it() {
        let guest = MachineName {
            brand: "AMD EPYC".to_owned(),
            core: Some("Zen 5".to_owned()),
            cpus: Some((2, 2)),
            hypervisor: Some("KVM".to_owned()),
            memory: Some(25_276_510_208),
            gigahertz: Some(3.89),
        };
        let text = "AMD EPYC (Zen 5), 2 vCPUs of a KVM guest, 23.5 GiB, 3.9 GHz";
        assert_eq!(guest.to_string(), text);
        assert_eq!(guest.short(), "Zen 5, 2 vCPUs, KVM");
        let host = MachineName {
            cpus: Some((32, 16)),
            hypervisor: None,
            core: None,
            memory: None,
            ..guest
        };
        assert_eq!(host.to_string(), "AMD EPYC, 16 cores, 32 CPUs, 3.9 GHz");
    }
}
