//! The statement of a claim: its origin, how it is decided, and the document's value.

use super::takeaway::{Shown, Takeaway, Touches};
use super::verdict::{Judged, Judgement, Verdict};
use crate::experiment::{Evidence, Untestable};
use crate::prelude::*;

/// Decides a claim from the measured points.
type Judge = fn(&Evidence<'_>) -> Judged;

/// A statement about memory, with code that can refute it.
///
/// Constructed by the function named after the way it is decided: [`measured`], [`counted`],
/// [`simulated`], [`computed`] or [`reported`].
#[derive(Clone, Copy)]
pub struct Claim {
    /// The permanent name: the experiment's id, a dot and a number that no other claim ever gets.
    pub id: &'static str,
    /// How the claim is decided.
    pub kind: Kind,
    /// The origin of the claim.
    pub origin: Origin,
    /// The claim in words, with its threshold: a self-contained sentence.
    pub text: &'static str,
    /// The document's value for the first number of the judgement.
    pub then: Option<Then>,
    /// How the first number of the judgement reads as a finding, if it can be a finding.
    pub takeaway: Option<Takeaway>,
    /// A sentence on what follows if the claim holds, or empty.
    pub holding: &'static str,
    /// A sentence on what follows if the claim does not hold, or empty.
    pub failing: &'static str,
    /// Decides the claim.
    judge: Judge,
}

variants! {
    /// How a claim is decided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Kind {
        /// Timed on this machine.
        Measured = "measured",
        /// Counted on this machine: by its counters, in code compiled for it, or in the results of a run.
        Counted = "counted",
        /// Found by the simulator, on the caches of this machine or of the document.
        Simulated = "simulated",
        /// Found by arithmetic, from the document's own numbers or from definitions.
        Computed = "computed",
        /// Reported by CPUID or by the system.
        Reported = "reported",
    }
}

impl Kind {
    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the verdict is about this machine. Arithmetic and the simulator give the same verdicts on
    /// every machine, and a report of the system is no measurement.
    pub const fn is_of_this_machine(self) -> bool {
        matches!(self, Kind::Measured | Kind::Counted)
    }
}

variants! {
    /// A source document.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Document {
        /// Drepper, "What Every Programmer Should Know About Memory", 2007.
        Drepper = "Drepper",
        /// Sestoft's note on false sharing.
        Sestoft = "Sestoft",
        /// Startin's two posts on memory-level parallelism.
        Startin = "Startin",
        /// The seventh of a series of posts on the layout of tensors.
        Tensor = "Tensor layout",
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
        /// The section, and the figure or table if one shows the claim.
        section: &'static str,
    },
    /// The claim is this project's own.
    Ours {
        /// Why the claim is tested.
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

/// Defines functions that return the origin of a claim in a section of a document.
macro_rules! origins {
    ($($(#[$doc:meta])* $name:ident: $document:ident,)*) => {$(
        $(#[$doc])*
        pub const fn $name(section: &'static str) -> Origin {
            let document = Document::$document;
            Origin::Document { document, section }
        }
    )*};
}

origins! {
    /// Returns the origin of a claim in `section` of Drepper.
    drepper: Drepper,
    /// Returns the origin of a claim in `section` of Sestoft.
    sestoft: Sestoft,
    /// Returns the origin of a claim in `section` of Startin.
    startin: Startin,
    /// Returns the origin of a claim in `section` of the post on tensors.
    tensor: Tensor,
}

/// Returns the origin of a claim that no document makes, tested for this reason.
pub const fn ours(reason: &'static str) -> Origin {
    Origin::Ours { reason }
}

/// A document's value for the quantity of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Then {
    /// The smallest value.
    pub lo: f64,
    /// The largest value.
    pub hi: f64,
    /// The machine on which the value was measured; empty if the document does not name it.
    pub machine: &'static str,
    /// Whether the value needs more bytes from memory than that machine's bus carries.
    pub beyond_bus: bool,
}

/// Defines functions that return a claim of a kind.
macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident: $kind:ident,)*) => {$(
        $(#[$doc])*
        pub const fn $name(
            id: &'static str,
            origin: Origin,
            text: &'static str,
            judge: Judge,
        ) -> Claim {
            Claim {
                id,
                kind: Kind::$kind,
                origin,
                text,
                then: None,
                takeaway: None,
                holding: "",
                failing: "",
                judge,
            }
        }
    )*};
}

constructors! {
    /// Returns a claim that is timed on this machine.
    measured: Measured,
    /// Returns a claim that is counted.
    counted: Counted,
    /// Returns a claim that the simulator decides.
    simulated: Simulated,
    /// Returns a claim that arithmetic decides.
    computed: Computed,
    /// Returns a claim that CPUID or the system decides.
    reported: Reported,
}

impl Claim {
    /// Sets the document's value for the first number of the judgement, measured on `machine`.
    pub const fn then(self, value: f64, machine: &'static str) -> Self {
        self.then_between(value, value, machine)
    }

    /// Sets the document's range of values, `lo` to `hi`, for the first number of the judgement.
    pub const fn then_between(self, lo: f64, hi: f64, machine: &'static str) -> Self {
        Claim { then: Some(Then { lo, hi, machine, beyond_bus: false }), ..self }
    }

    /// Marks the document's value as one that needs more bytes from memory than the bus of its machine
    /// carries. The value is shown, but a difference from it is no finding. Needs a value.
    pub const fn beyond_its_bus(self) -> Self {
        let then = match self.then {
            Some(then) => Some(Then { beyond_bus: true, ..then }),
            None => None,
        };
        Claim { then, ..self }
    }

    /// Sets how the first number of the judgement reads as a finding beside the document's number.
    pub const fn takeaway(
        self,
        shown: Shown,
        touches: Touches,
        subject: &'static str,
        headline: &'static str,
    ) -> Self {
        Claim {
            takeaway: Some(Takeaway { subject, headline, shown, touches, advice: [""; 2] }),
            ..self
        }
    }

    /// Sets what to do about the finding if the claim holds, and if it does not. Needs a takeaway.
    pub const fn advice(self, holding: &'static str, failing: &'static str) -> Self {
        let takeaway = match self.takeaway {
            Some(takeaway) => Some(Takeaway { advice: [holding, failing], ..takeaway }),
            None => None,
        };
        Claim { takeaway, ..self }
    }

    /// Sets the sentence on what follows if the claim holds.
    pub const fn holding(self, holding: &'static str) -> Self {
        Claim { holding, ..self }
    }

    /// Sets the sentence on what follows if the claim does not hold.
    pub const fn failing(self, failing: &'static str) -> Self {
        Claim { failing, ..self }
    }

    /// Returns the sentence that follows from a verdict, or an empty string.
    pub const fn follows(&self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Holds => self.holding,
            Verdict::DoesNotHold => self.failing,
            Verdict::Inconclusive | Verdict::Untestable => "",
        }
    }

    /// Judges the claim. The reason why it cannot be tested becomes an untestable judgement, or an
    /// inconclusive one if only noise is in the way: the middles of the same points could be judged.
    pub fn decide(&self, evidence: &Evidence<'_>) -> Judgement {
        (self.judge)(evidence).unwrap_or_else(|Untestable(reason)| {
            let points = evidence.points.iter().map(|point| point.narrowed(0.0));
            let exact = Evidence { points: &points.collect::<Vec<_>>(), ..*evidence };
            let verdict = match (self.judge)(&exact) {
                Ok(_) => Verdict::Inconclusive,
                Err(_) => Verdict::Untestable,
            };
            Judgement::in_words(verdict, reason)
        })
    }
}

impl core::fmt::Debug for Claim {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Claim").field(&self.id).finish()
    }
}
