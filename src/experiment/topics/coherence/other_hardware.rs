//! What no program on this architecture, or none without special hardware, can put to the test:
//! rows that say what the document claims, and why it stays a claim.

use crate::experiment::prelude::*;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[DCBZ, STACK, DCA];

/// A row without points. Its claim is always untestable, for its reason.
const fn row(
    id: &'static str,
    name: &'static str,
    title: &'static str,
    texts: [&'static str; 3],
    claims: &'static [Claim],
) -> Experiment {
    let [question, source, about] = texts;
    Experiment {
        id,
        name,
        title,
        question,
        source,
        about,
        seen: &[],
        plot: None,
        events: &[],
        cases: |_| Vec::new(),
        curves: plain_curves,
        claims,
    }
}

const DCBZ: Experiment = row(
    "E3",
    "drepper-dcbz",
    "Clearing a line without reading it",
    [
        "Does an instruction that clears a whole line save reading it from memory?",
        "Drepper 6.1: the PowerPC instruction dcbz",
        "An ordinary store to a line that is in no cache moves it twice, in to be owned and out \
         again; dcbz moves it once, and fills the cache with it. What comes near it on x86-64 is \
         timed in E2: non-temporal stores of whole lines, which leave no line behind, and `rep \
         stosb`, which may take a line without reading it. AMD's `clzero` \
         writes a line of zeros without reading it, too.",
    ],
    &[
        // dcbz clears a whole line without reading data, but allocates the line.
        measured(
            "E3.1",
            drepper("6.1"),
            "dcbz clears a line without reading it, at the price of a line of cache",
            |_| {
                Err(Untestable(
                "dcbz is an instruction of PowerPC; x86-64 has none that allocates a cleared line. \
                 By the document's account it halves the traffic of a line that is only written: \
                 1 transfer in place of 2"
                    .to_owned(),
            ))
            },
        ),
    ],
);

const STACK: Experiment = row(
    "E16",
    "drepper-stack-alignment",
    "A stack that is aligned to less",
    [
        "Does it help to align the stack to 4 bytes in place of 16?",
        "Drepper 6.2.1: gcc -mpreferred-stack-boundary=2",
        "The option is one of 32-bit code, whose functions may align by themselves what they load \
         by SSE. On x86-64 the ABI has the stack aligned to 16 bytes at every call, because \
         floating-point parameters travel in SSE registers, and compilers rely on it. No switch of \
         rustc changes that.",
    ],
    &[
        // The option can reduce the size of code and improve its speed; for x86-64 it is generally
        // not applicable.
        measured(
            "E16.1",
            drepper("6.2.1"),
            "a stack aligned to 4 bytes makes code smaller and quicker",
            |_| {
                Err(Untestable(
                "the ABI of x86-64 demands 16 bytes, as the document says itself. What is at stake \
                 is the alignment's waste: 12 bytes of a frame at most, and one instruction that \
                 aligns"
                    .to_owned(),
            ))
            },
        ),
    ],
);

const DCA: Experiment = row(
    "E44",
    "drepper-dca",
    "Packets that the network card puts into a cache",
    [
        "What does it save if a packet's header is in a cache when the CPU looks at it?",
        "Drepper 6.3.5, Figure 6.9: Direct Cache Access",
        "Intel's servers since 2012 do without the flag: DDIO has devices write into some ways of \
         the last level. It takes a network card, a driver and traffic to see it, and events of the \
         uncore to tell it from a miss. What is saved a line is the difference between the last \
         level and memory, which D7 shows.",
    ],
    &[
        // A packet's header is pushed into the cache, so that the processor does not miss on it.
        measured(
            "E44.1",
            drepper("6.3.5, Figure 6.9"),
            "packet headers that are pushed into a cache save hundreds of cycles per packet",
            |_| {
                Err(Untestable(
                "it takes a network card under load and events of the uncore. The document's \
                 arithmetic: hundreds of cycles a packet times tens of thousands of packets a \
                 second, such as 300 x 50,000 = 15 million cycles, half a percent of a core of 3 GHz"
                    .to_owned(),
            ))
            },
        ),
    ],
);
