//! The twins of [`Walk`](crate::kernel::Walk) and [`SharedWalk`](crate::kernel::SharedWalk).

use crate::kernel::Step;
use crate::kernel::walk::{padding_of, padding_offsets};
use crate::pattern::{Layout, Ring, SharedRing};

/// Sees to it that there is padding for a step that writes.
fn check(layout: &Layout, step: Step) {
    assert!(
        step == Step::Follow || layout.padding() > 0,
        "{step:?} needs elements with padding"
    );
}

/// Walks `operations` steps along `ring` from its cursor and leaves the cursor there.
///
/// # Panics
/// If the ring's elements have no padding and the step is not `Follow`: it would write to a pointer
/// word.
pub fn walk(ring: &mut Ring<'_>, step: Step, operations: u64) {
    check(ring.layout(), step);
    let (first, last) = padding_offsets(ring);
    for _ in 0..operations {
        let at = ring.cursor();
        let next = ring.next(at);
        let added = match step {
            Step::Follow => None,
            Step::Inc => Some(1),
            Step::Addnext0 => Some(ring.word(next.wrapping_add_signed(first))),
            Step::Addnextlast => Some(ring.word(next.wrapping_add_signed(last))),
        };
        if let Some(added) = added {
            let counter = at.wrapping_add_signed(first);
            ring.set_word(counter, ring.word(counter).wrapping_add(added));
        }
        ring.set_cursor(next);
    }
}

/// Walks `operations` steps along `ring` from the pointer word at `at`, and returns the address of
/// the one behind the last.
///
/// # Panics
/// If no pointer word of the ring lies at `at`, or its elements have no padding and the step is not
/// `Follow`: it would write to a pointer word.
pub fn shared(ring: &SharedRing<'_>, mut at: usize, step: Step, operations: u64) -> usize {
    check(ring.layout(), step);
    let pointer = ring.pointer_at(ring.offset(at));
    assert!(pointer == Some(at), "no pointer word at {at:#x}");
    let (first, last) = padding_of(ring.layout());
    for _ in 0..operations {
        let next = ring.next(at);
        let added = match step {
            Step::Follow => None,
            Step::Inc => Some(1),
            Step::Addnext0 => Some(ring.word(next.wrapping_add_signed(first))),
            Step::Addnextlast => Some(ring.word(next.wrapping_add_signed(last))),
        };
        if let Some(added) = added {
            ring.add(at.wrapping_add_signed(first), added);
        }
        at = next;
    }
    at
}
