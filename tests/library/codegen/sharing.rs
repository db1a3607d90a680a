//! Words that threads share: increments, locks, a token.

use iced_x86::Mnemonic;

use super::kernel::{Kernel, Traffic};
use super::{Stated, stated};

/// The load of the word after the last increment.
const AGAIN: Traffic = Traffic { loads: 1, stores: 0, read: 8, written: 0 };

/// The store that passes the token on.
const PASSED_ON: Traffic = Traffic { loads: 0, stores: 1, read: 0, written: 8 };

pub const STATED: &[Stated] = &[
    stated("linefill_increment_plain", 1, 1, 8, 8).and_outside(AGAIN),
    stated("linefill_increment_compare", 2, 1, 16, 8),
    // Waiting is the innermost loop, with one load; the store that passes the token follows it.
    stated("linefill_roundtrip_store", 1, 0, 8, 0).and_outside(PASSED_ON),
    stated("linefill_roundtrip_compare", 1, 1, 8, 8),
    // Outside the loop: a read of the lock while it is taken.
    stated("linefill_increment_spin", 1, 2, 8, 16).and_outside(AGAIN),
    // Outside the loop: waiting for a ticket.
    stated("linefill_queue_ticket", 2, 2, 16, 16).and_outside(AGAIN),
    // Outside the loop: waiting for the previous node, and for the link to the next node, which gets the
    // lock.
    stated("linefill_queue_mcs", 3, 3, 24, 24).and_outside(Traffic {
        loads: 2,
        stores: 3,
        read: 16,
        written: 24,
    }),
];

#[test]
fn only_those_that_are_to_be_atomic_are() {
    for (name, mnemonic, locked) in [
        ("linefill_increment_plain", Mnemonic::Add, false),
        ("linefill_increment_compare", Mnemonic::Cmpxchg, true),
        // An exchange with memory is locked even without a prefix.
        ("linefill_increment_spin", Mnemonic::Xchg, false),
        ("linefill_queue_ticket", Mnemonic::Xadd, true),
        ("linefill_queue_mcs", Mnemonic::Xchg, false),
        ("linefill_queue_mcs", Mnemonic::Cmpxchg, true),
    ] {
        let kernel = Kernel::named(name);
        let found = kernel.code.iter().find(|code| code.mnemonic() == mnemonic);
        assert_eq!(found.unwrap().has_lock_prefix(), locked, "{name}");
    }
}

/// A waiting thread only reads the lock, without an RFO, and executes `pause` to leave resources to its
/// sibling thread.
#[test]
fn a_lock_that_is_taken_is_waited_for_by_looking() {
    let texts = Kernel::named("linefill_increment_spin").texts();
    let pause = texts.iter().position(|text| text == "pause").unwrap();
    assert_eq!(texts[pause + 1..][..2], ["cmp qword ptr [rdi],0", "Je"]);
    let texts = Kernel::named("linefill_queue_ticket").texts();
    let pause = texts.iter().position(|text| text == "pause").unwrap();
    assert_eq!(texts[pause + 1], "mov rcx,[rdi+8]");
    // A node waits on its own line, not on the line of the lock.
    let texts = Kernel::named("linefill_queue_mcs").texts();
    let pause = texts.iter().position(|text| text == "pause").unwrap();
    assert_eq!(texts[pause - 2..pause], ["cmp qword ptr [rdx+8],0", "Je"]);
}

/// `prefetchw` must be that instruction, whatever features the target enables.
#[test]
fn a_line_is_fetched_by_the_prefetch_in_the_name_and_nothing_else_differs() {
    for way in ["store", "add"] {
        let texts = |hint: &str| Kernel::named(&format!("linefill_take_{way}{hint}")).texts();
        let plain: Vec<_> = texts("").into_iter().filter(|text| text != "nop").collect();
        for (hint, instruction) in [("_t0", "prefetcht0"), ("_w", "prefetchw")] {
            let mut code = texts(hint);
            let at = code.iter().position(|text| text.starts_with("prefetch"));
            let at = at.expect("has a prefetch");
            assert_eq!(
                code[at - 2..=at],
                ["lea r10,[rdx+r9]", "and r10,rcx", &format!("{instruction} [rdi+r10]")]
            );
            code.drain(at - 2..=at);
            code.retain(|text| text != "nop");
            assert_eq!(code, plain, "{way}{hint}");
        }
    }
}
