//! The statement of a claim: its origin, how it is decided, and its document's value.

use super::takeaway::{Shown, Takeaway, Touches};
use super::verdict::{Judged, Judgement, Verdict};
use crate::experiment::{Evidence, Untestable};

/// A statement about memory, with code that can refute it.
///
/// Made by the function that names how it is decided: [`measured`], [`counted`], [`simulated`],
/// [`computed`] or [`reported`].
#[derive(Clone, Copy)]
pub struct Claim {
    /// Its permanent name: the experiment's id, a dot and a number that no other claim ever gets.
    pub id: &'static str,
    /// How it is decided.
    pub kind: Kind,
    /// Its origin.
    pub origin: Origin,
    /// The claim in words, with its threshold: a sentence that stands by itself.
    pub text: &'static str,
    /// The document's value for the first number of the judgement.
    pub then: Option<Then>,
    /// How the first number of the judgement reads as a finding, if it can be one.
    pub takeaway: Option<Takeaway>,
    /// A sentence on what follows if it holds, or nothing.
    pub holding: &'static str,
    /// A sentence on what follows if it does not hold, or nothing.
    pub failing: &'static str,
    /// Decides it.
    judge: fn(&Evidence<'_>) -> Judged,
}

/// How a claim is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Timed on this machine.
    Measured,
    /// Counted: by this machine's counters, or in code compiled for it.
    Counted,
    /// Found by the simulator, on the caches of this machine or of the document.
    Simulated,
    /// Found by arithmetic, from the document's own numbers or from definitions.
    Computed,
    /// Reported by CPUID or by the system.
    Reported,
}

impl Kind {
    /// All kinds, in the order in which reports list them.
    pub const ALL: [Kind; 5] = [
        Kind::Measured,
        Kind::Counted,
        Kind::Simulated,
        Kind::Computed,
        Kind::Reported,
    ];

    /// The kind in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Counted => "counted",
            Kind::Simulated => "simulated",
            Kind::Computed => "computed",
            Kind::Reported => "reported",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the verdict says something about this machine. Arithmetic and the simulator give the
    /// same verdicts on every machine, and a report of the system is no measurement.
    pub const fn is_of_this_machine(self) -> bool {
        matches!(self, Kind::Measured | Kind::Counted)
    }
}

/// A source document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Document {
    /// Drepper, "What Every Programmer Should Know About Memory", 2007.
    Drepper,
    /// Sestoft's note on false sharing.
    Sestoft,
    /// Startin's two posts on memory-level parallelism.
    Startin,
    /// The seventh of a series of posts on the layout of tensors.
    Tensor,
}

impl Document {
    /// All documents.
    pub const ALL: [Document; 4] = [
        Document::Drepper,
        Document::Sestoft,
        Document::Startin,
        Document::Tensor,
    ];

    /// Its name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Document::Drepper => "Drepper",
            Document::Sestoft => "Sestoft",
            Document::Startin => "Startin",
            Document::Tensor => "Tensor layout",
        }
    }
}

/// The origin of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A document makes the claim.
    Document {
        /// The document.
        document: Document,
        /// Where: section, and figure or table if one shows it.
        section: &'static str,
    },
    /// The claim is ours.
    Ours {
        /// Why we ask it.
        reason: &'static str,
    },
}

impl core::fmt::Display for Origin {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Origin::Document { document, section } => write!(f, "{} {section}", document.name()),
            Origin::Ours { .. } => f.write_str("ours"),
        }
    }
}

/// Drepper says it in `section`.
pub const fn drepper(section: &'static str) -> Origin {
    Origin::Document {
        document: Document::Drepper,
        section,
    }
}

/// Sestoft says it in `section`.
pub const fn sestoft(section: &'static str) -> Origin {
    Origin::Document {
        document: Document::Sestoft,
        section,
    }
}

/// Startin says it in `section`.
pub const fn startin(section: &'static str) -> Origin {
    Origin::Document {
        document: Document::Startin,
        section,
    }
}

/// The post on tensors says it in `section`.
pub const fn tensor(section: &'static str) -> Origin {
    Origin::Document {
        document: Document::Tensor,
        section,
    }
}

/// No document makes the claim: we ask, for this reason.
pub const fn ours(reason: &'static str) -> Origin {
    Origin::Ours { reason }
}

/// A document's value for the quantity of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Then {
    /// Least value.
    pub lo: f64,
    /// Greatest value.
    pub hi: f64,
    /// The machine on which it was measured; empty if the document does not say.
    pub machine: &'static str,
}

/// A claim that is timed on this machine.
pub const fn measured(
    id: &'static str,
    origin: Origin,
    text: &'static str,
    judge: fn(&Evidence<'_>) -> Judged,
) -> Claim {
    Claim::new(id, Kind::Measured, origin, text, judge)
}

/// A claim that is counted.
pub const fn counted(
    id: &'static str,
    origin: Origin,
    text: &'static str,
    judge: fn(&Evidence<'_>) -> Judged,
) -> Claim {
    Claim::new(id, Kind::Counted, origin, text, judge)
}

/// A claim that the simulator decides.
pub const fn simulated(
    id: &'static str,
    origin: Origin,
    text: &'static str,
    judge: fn(&Evidence<'_>) -> Judged,
) -> Claim {
    Claim::new(id, Kind::Simulated, origin, text, judge)
}

/// A claim that arithmetic decides.
pub const fn computed(
    id: &'static str,
    origin: Origin,
    text: &'static str,
    judge: fn(&Evidence<'_>) -> Judged,
) -> Claim {
    Claim::new(id, Kind::Computed, origin, text, judge)
}

/// A claim that CPUID or the system decides.
pub const fn reported(
    id: &'static str,
    origin: Origin,
    text: &'static str,
    judge: fn(&Evidence<'_>) -> Judged,
) -> Claim {
    Claim::new(id, Kind::Reported, origin, text, judge)
}

impl Claim {
    const fn new(
        id: &'static str,
        kind: Kind,
        origin: Origin,
        text: &'static str,
        judge: fn(&Evidence<'_>) -> Judged,
    ) -> Self {
        Claim {
            id,
            kind,
            origin,
            text,
            then: None,
            takeaway: None,
            holding: "",
            failing: "",
            judge,
        }
    }

    /// The same; the document has `value` for the first number of the judgement, on `machine`.
    pub const fn then(self, value: f64, machine: &'static str) -> Self {
        self.then_between(value, value, machine)
    }

    /// The same; the document has `lo` to `hi`.
    pub const fn then_between(self, lo: f64, hi: f64, machine: &'static str) -> Self {
        Claim {
            then: Some(Then { lo, hi, machine }),
            ..self
        }
    }

    /// The same, with how its number reads as a finding beside the document's own.
    pub const fn takeaway(
        self,
        shown: Shown,
        touches: Touches,
        subject: &'static str,
        headline: &'static str,
    ) -> Self {
        Claim {
            takeaway: Some(Takeaway::new(shown, touches, subject, headline)),
            ..self
        }
    }

    /// The same, with what to do about the finding if the claim holds, and if it does not.
    pub const fn advice(self, holding: &'static str, failing: &'static str) -> Self {
        let takeaway = match self.takeaway {
            Some(takeaway) => Some(takeaway.advice(holding, failing)),
            None => None,
        };
        Claim { takeaway, ..self }
    }

    /// The same, with a sentence on what follows if it holds.
    pub const fn holding(self, holding: &'static str) -> Self {
        Claim { holding, ..self }
    }

    /// The same, with a sentence on what follows if it does not hold.
    pub const fn failing(self, failing: &'static str) -> Self {
        Claim { failing, ..self }
    }

    /// The sentence that follows from a verdict, or nothing.
    pub const fn follows(&self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Holds => self.holding,
            Verdict::DoesNotHold => self.failing,
            Verdict::Inconclusive | Verdict::Untestable => "",
        }
    }

    /// The judgement; a reason why it cannot be tested becomes an untestable one.
    pub fn decide(&self, evidence: &Evidence<'_>) -> Judgement {
        (self.judge)(evidence).unwrap_or_else(|Untestable(reason)| Judgement {
            verdict: Verdict::Untestable,
            numbers: reason,
            value: None,
        })
    }
}

impl core::fmt::Debug for Claim {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Claim").field(&self.id).finish()
    }
}
