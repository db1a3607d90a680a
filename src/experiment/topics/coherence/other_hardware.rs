//! Claims that no program can test on this architecture or without special hardware. Each
//! experiment states the document's claim, and why it cannot be tested.

use crate::experiment::prelude::*;

pub(crate) static ALL: &[Experiment] = &[DCBZ, STACK, DCA];

const DCBZ: Experiment = Experiment {
    id: "E3",
    name: "drepper-dcbz",
    title: "Clearing a line without reading it",
    question: "Does an instruction that clears a whole line avoid reading the line from memory?",
    source: "Drepper 6.1: the PowerPC instruction dcbz",
    about: "An ordinary store to a line that is in no cache moves the line twice: the core reads \
            it in order to own it, and later writes it back. dcbz allocates a cleared line in the \
            cache without the read, so that the line moves once. x86-64 has no such instruction, \
            but E2 times two close relatives. Non-temporal stores of whole lines need no read, and \
            leave no line in the cache. `rep stosb` may also take a line without reading it. AMD's \
            `clzero` writes a line of zeros without reading it, too.",
    claims: &[
        // dcbz clears a whole line without reading data, but allocates the line.
        measured(
            "E3.1",
            drepper("6.1"),
            "dcbz clears a line without reading it, and the line occupies space in the cache",
            |_| {
                Err(Untestable::because(
                    "dcbz is an instruction of PowerPC; x86-64 has no instruction that allocates a \
                     cleared line. By our count, dcbz halves the traffic of a line that is only \
                     written: 1 transfer instead of 2",
                ))
            },
        ),
    ],
    ..Experiment::PLAIN
};

const STACK: Experiment = Experiment {
    id: "E16",
    name: "drepper-stack-alignment",
    title: "A stack that is aligned to 4 bytes",
    question: "Does it help to align the stack to 4 bytes instead of 16?",
    source: "Drepper 6.2.1: gcc -mpreferred-stack-boundary=2",
    about: "The option is meant for 32-bit code, whose functions may align the data that they \
            access by SSE instructions themselves. On x86-64 the ABI requires the stack to be \
            aligned to 16 bytes at every call, because floating-point parameters travel in SSE \
            registers, and compilers rely on this alignment. rustc has no switch that changes it.",
    claims: &[
        // The option can reduce the size of code and improve its speed; for x86-64 it is generally
        // not applicable.
        measured(
            "E16.1",
            drepper("6.2.1"),
            "a stack that is aligned to 4 bytes makes code smaller and faster",
            |_| {
                Err(Untestable::because(
                    "the ABI of x86-64 requires 16 bytes, as the document also says. A smaller \
                     alignment would save at most 12 bytes per frame and one instruction that \
                     aligns the stack",
                ))
            },
        ),
    ],
    ..Experiment::PLAIN
};

const DCA: Experiment = Experiment {
    id: "E44",
    name: "drepper-dca",
    title: "Packets that the network card puts into a cache",
    question: "How much time is saved if a packet's header is in a cache when the CPU reads it?",
    source: "Drepper 6.3.5, Figure 6.9: Direct Cache Access",
    about: "The flag marks data that the network card wants in a cache. Intel's servers since 2012 \
            do without the flag: with DDIO, devices write directly into some ways of the last \
            level. A test would need a network card, a driver and traffic, and uncore events that \
            tell a hit in the last level from a miss. Per line, the saving is the difference \
            between the latencies of memory and of the last level, which D7 shows.",
    claims: &[
        // A packet's header is pushed into the cache, so that the processor does not miss on it.
        measured(
            "E44.1",
            drepper("6.3.5, Figure 6.9"),
            "packet headers that are pushed into a cache save hundreds of cycles per packet",
            |_| {
                Err(Untestable::because(
                    "the test needs a network card under load and uncore events. The document's \
                     arithmetic: hundreds of cycles per packet times tens of thousands of packets \
                     per second, for example 300 x 50,000 = 15 million cycles per second, half a \
                     percent of a 3 GHz core",
                ))
            },
        ),
    ],
    ..Experiment::PLAIN
};
