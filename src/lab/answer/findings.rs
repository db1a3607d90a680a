//! What changed most between a document's numbers and this machine's.

use crate::experiment::topics::topic_of;
use crate::experiment::{Document, Origin, Takeaway, Verdict, find_claim};
use crate::lab::record::VerdictLine;
use crate::stats::Interval;

/// A number of a document beside this machine's, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The claim's id.
    pub claim: String,
    /// The experiment's id.
    pub experiment: String,
    /// What the claim came to.
    pub verdict: Verdict,
    /// How its number reads.
    pub takeaway: Takeaway,
    /// What the document has, from the least to the most.
    pub then: Interval,
    /// The machine that the document has it of; empty if it does not say.
    pub machine: String,
    /// What was found here.
    pub now: Interval,
    /// Why, as far as the verdict tells; may be empty.
    pub why: &'static str,
    /// The document.
    pub document: Document,
    /// Its section, and the figure or table.
    pub section: &'static str,
    /// By what factor both differ at least, as a logarithm, weighed by how many programs it touches.
    pub score: f64,
}

/// Changes smaller than this, as a factor, are none.
const A_CHANGE: f64 = 1.1;

/// The most findings of one topic.
const OF_A_TOPIC: usize = 2;

/// The findings among these verdicts, the greatest change first: at most `most`, one of each experiment
/// and two of each topic. Claims that are not decided here are none.
pub fn findings(verdicts: &[VerdictLine], most: usize) -> Vec<Finding> {
    let mut all: Vec<Finding> = verdicts.iter().filter_map(finding).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
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

/// The finding that a verdict is, if it is one.
fn finding(line: &VerdictLine) -> Option<Finding> {
    let decided = matches!(line.verdict, Verdict::Holds | Verdict::DoesNotHold);
    let claim = find_claim(&line.id)?;
    let takeaway = claim.takeaway?;
    let Origin::Document { document, section } = claim.origin else {
        return None;
    };
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

/// The least factor between two numbers that their intervals allow, 1 or more. `None` unless all is
/// positive.
fn change(then: Interval, now: Interval) -> Option<f64> {
    let up = now.ratio(then)?;
    Some(up.lo.max(1.0 / up.hi).max(1.0))
}

impl Finding {
    /// The sentence at its head.
    pub fn headline(&self) -> String {
        let now = self.takeaway.shown.words(self.now.middle());
        self.takeaway.headline.replace("{now}", &now)
    }

    /// The document's number: `43x`, `25x to 51x`.
    pub fn then_text(&self) -> String {
        self.range(self.then)
    }

    /// This machine's number: `160x`.
    pub fn now_text(&self) -> String {
        self.takeaway.shown.text(self.now.middle())
    }

    /// The interval of this machine's number: `150x to 170x`.
    pub fn interval_text(&self) -> String {
        self.range(self.now)
    }

    /// What to do.
    pub fn advice(&self) -> &'static str {
        self.takeaway.advice_on(self.verdict)
    }

    /// Where the document says it: `Drepper 3.3.2, Figure 3.15`.
    pub fn source(&self) -> String {
        format!("{} {}", self.document.name(), self.section)
    }

    /// The lengths of the bars for then and for now, in shares of the longer bar.
    pub fn bars(&self) -> [f64; 2] {
        let amount = |value: f64| self.takeaway.shown.amount(value).max(0.0);
        let [then, now] = [self.then, self.now].map(|of| amount(of.middle()));
        let longest = then.max(now);
        match longest > 0.0 {
            true => [then / longest, now / longest],
            false => [0.0, 0.0],
        }
    }

    /// Both ends, the smaller amount first, or one number where they read alike.
    fn range(&self, of: Interval) -> String {
        let shown = self.takeaway.shown;
        let (mut lo, mut hi) = (shown.text(of.lo), shown.text(of.hi));
        if shown.amount(of.lo) > shown.amount(of.hi) {
            (lo, hi) = (hi, lo);
        }
        match lo == hi {
            true => lo,
            false => format!("{lo} to {hi}"),
        }
    }
}
