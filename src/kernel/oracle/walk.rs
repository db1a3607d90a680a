//! Walks.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{BARE, PADDED, RingCase};
use super::run::Oracle;
use crate::kernel::{Form, SharedWalk, Step, Visit, Walk, all};
use crate::mem::{LINE, Region};

struct WalkCase {
    ring: RingCase,
    step: Step,
    sharing: Sharing,
}

/// Who walks.
#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    /// One thread, in this form.
    Alone(Form),
    /// Threads that share the ring.
    Shared,
}

impl Case for WalkCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let ring = self.ring.build(memory)?;
        match self.sharing {
            Sharing::Shared => {
                then(&mut SharedWalk::new(ring.share()?, Visit::Step(self.step)).ok()?);
            }
            Sharing::Alone(form) => then(&mut Walk::new(ring, self.step).ok()?.by(form)),
        }
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        if self.sharing == Sharing::Shared {
            let ring = ring.share()?;
            let mut at = ring.first();
            then(&mut |operations| {
                at = all::walk::shared(&ring, at, self.step, operations);
                ring.offset(at) as u64
            });
            return Some(());
        }
        then(&mut |operations| {
            all::walk::walk(&mut ring, self.step, operations);
            ring.offset(ring.cursor()) as u64
        });
        Some(())
    }
}

/// A walk that reads both lines of each element, or works at it, and changes nothing.
struct ReaderCase {
    ring: RingCase,
    visit: Visit,
}

impl Case for ReaderCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let ring = self.ring.build(memory)?.share()?;
        then(&mut SharedWalk::new(ring, self.visit).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let ring = self.ring.build(memory)?.share()?;
        let mut at = ring.first();
        then(&mut |operations| {
            at = all::walk::shared(&ring, at, Step::Follow, operations);
            ring.offset(at) as u64
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn walks(&mut self) {
        let all = PADDED.into_iter().chain(BARE);
        let follow = alone(all, Step::Follow).chain(shared(Step::Follow));
        self.check("linefill_walk_follow", follow);
        let inc = alone(PADDED.into_iter(), Step::Inc);
        self.check("linefill_walk_inc", inc.chain(shared(Step::Inc)));
        let zero = alone(PADDED.into_iter(), Step::Addnext0);
        let last = alone(PADDED.into_iter(), Step::Addnextlast);
        let alone = zero.chain(last);
        let shared = shared(Step::Addnext0).chain(shared(Step::Addnextlast));
        self.check("linefill_walk_addnext", alone.chain(shared));
        let long = PADDED
            .into_iter()
            .filter(|ring| ring.layout.element() > LINE);
        let visits = [Visit::Lines, Visit::Work(53)].into_iter();
        let readers = visits.flat_map(|visit| {
            let reader = move |ring| ReaderCase { ring, visit };
            long.clone().map(reader)
        });
        self.check("linefill_walk_lines", readers);
    }
}

/// Walks along `rings` in both forms.
fn alone(
    rings: impl Iterator<Item = RingCase> + Clone,
    step: Step,
) -> impl Iterator<Item = WalkCase> {
    Form::ALL.into_iter().flat_map(move |form| {
        let sharing = Sharing::Alone(form);
        rings.clone().map(move |ring| WalkCase {
            ring,
            step,
            sharing,
        })
    })
}

/// Rings whose words lie on multiples of 8 bytes, to be shared.
fn shared(step: Step) -> impl Iterator<Item = WalkCase> {
    let rings = PADDED.into_iter().filter(|ring| ring.layout.place(0) == 0);
    rings.map(move |ring| WalkCase {
        ring,
        step,
        sharing: Sharing::Shared,
    })
}
