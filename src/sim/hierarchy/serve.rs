//! The path of a reference through the levels, one reference or many at a time.

use alloc::vec::Vec;

use super::{Hierarchy, Inclusion, Level, Victim};
use crate::sim::cache::Cache;
use crate::sim::level::Evicted;
use crate::sim::policy::Eight;
use crate::sim::prefetch::{MOST_AHEAD, Seen};
use crate::sim::reference::{Op, Reference, Side};
use crate::sim::run::{Others, Shape};

/// The result of looking up the lines of a reference in a level.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    /// One bit per line that missed, starting with the first line; all lines from the 64th on share a
    /// bit.
    missed: u64,
    /// Whether the store goes on to the next level.
    writes_on: bool,
}

/// Returns the bit of the line at `index`.
const fn bit(index: u64) -> u64 {
    1 << if index < 63 { index } else { 63 }
}

impl Hierarchy {
    /// Serves any reference, including those that TLBs and prefetchers see, and non-temporal stores.
    #[inline(never)]
    pub(super) fn serve_any(&mut self, reference: Reference) -> bool {
        if reference.op == Op::Fetch {
            self.instruction = reference.address;
        } else if let Some(tlb) = &mut self.tlb {
            tlb.reference(reference);
        }
        match self.side(reference.op) {
            None => true,
            Some(_) if reference.op == Op::NonTemporalStore => {
                self.pass(reference);
                false
            }
            Some(side) if self.prefetching => self.serve(side, reference),
            Some(_) => self.serve_unwatched(reference),
        }
    }

    /// Serves a reference that only the levels see. This is the fast path of the most common
    /// hierarchies.
    #[inline(always)]
    pub(super) fn serve_unwatched(&mut self, reference: Reference) -> bool {
        let Some(side) = self.side(reference.op) else { return true };
        let first = self.at_mut(side, 0);
        if first.level.again(reference) {
            first.level.count(reference.op, true);
            return true;
        }
        self.serve_other(side, reference)
    }

    /// Serves a reference that touches other lines than those used last in their sets.
    #[inline]
    fn serve_other(&mut self, side: Side, reference: Reference) -> bool {
        if self.apart { self.serve_inwards(side, reference) } else { self.serve(side, reference) }
    }

    /// Goes from level to level until one holds all lines. Returns whether the reference hit in L1.
    pub(super) fn serve(&mut self, side: Side, reference: Reference) -> bool {
        let mut write = reference.op.writes();
        let mut missed = u64::MAX;
        let mut hit_first = true;
        for depth in 0..self.levels.len() {
            let answer = if self.levels[depth].inclusion == Inclusion::Exclusive {
                self.move_up(side, depth, reference, missed)
            } else {
                self.look_up(side, depth, reference, write)
            };
            let hit = answer.missed == 0;
            self.at_mut(side, depth).level.count(reference.op, hit);
            self.settle(depth);
            if depth == 0 {
                hit_first = hit;
            }
            if hit && !answer.writes_on {
                break;
            }
            write = answer.writes_on;
            missed = answer.missed;
        }
        self.settle(self.levels.len());
        hit_first
    }

    /// Does the same for the most common case, and faster: no level is inclusive or exclusive and none
    /// prefetches.
    #[inline(never)]
    fn serve_inwards(&mut self, side: Side, reference: Reference) -> bool {
        let Some((first, mut behind)) = self.levels.split_first_mut() else { return false };
        let mut cache = match (side, &mut self.instructions) {
            (Side::Instructions, Some(own)) => own,
            _ => &mut first.cache,
        };
        let mut writes_on = reference.op.writes();
        let mut hit_first = None;
        loop {
            let write = writes_on;
            let [first, last] = cache.lines_of(reference);
            let (mut hit, mut line) = (true, first);
            writes_on = false;
            loop {
                let outcome = cache.access(line, write);
                hit &= outcome.hit();
                writes_on |= outcome.writes_on();
                if let Some(Evicted { line, dirty: true }) = outcome.evicted() {
                    write_back(cache.geometry().line() * line, behind);
                }
                if line == last {
                    break;
                }
                line += 1;
            }
            cache.level.count(reference.op, hit);
            let hit_first = *hit_first.get_or_insert(hit);
            match behind.split_first_mut() {
                Some((next, behind_it)) if !hit || writes_on => {
                    cache = &mut next.cache;
                    behind = behind_it;
                }
                _ => return hit_first,
            }
        }
    }

    /// Looks up the lines of a reference in a level, and brings in the missing ones.
    fn look_up(&mut self, side: Side, depth: usize, reference: Reference, write: bool) -> Answer {
        let [first, last] = self.at(side, depth).lines_of(reference);
        let mut answer = Answer::default();
        for line in first..=last {
            let outcome = self.at_mut(side, depth).access(line, write);
            if !outcome.hit() {
                answer.missed |= bit(line - first);
            }
            answer.writes_on |= outcome.writes_on();
            if let Some(evicted) = outcome.evicted() {
                self.evicted(side, depth, evicted);
            }
            if reference.op != Op::Fetch && !self.levels[depth].engines.is_empty() {
                let fresh = !outcome.hit() || outcome.by_prefetch();
                self.prefetch(depth, reference.address, line, fresh);
            }
        }
        answer
    }

    /// Looks up, in an exclusive level, the lines of a reference that the level before missed. A line
    /// found here moves to the level before, where its place has been made.
    fn move_up(&mut self, side: Side, depth: usize, reference: Reference, wanted: u64) -> Answer {
        let [first, last] = self.at(side, depth).lines_of(reference);
        let mut answer = Answer::default();
        for line in first..=last {
            if wanted & bit(line - first) == 0 {
                continue;
            }
            match self.take(depth, line) {
                Some(Evicted { dirty: true, .. }) => self.at_mut(side, depth - 1).level.mark(line),
                Some(_) => {}
                None => {
                    answer.missed |= bit(line - first);
                    self.missed_last += u64::from(depth + 1 == self.levels.len());
                }
            }
        }
        answer
    }

    /// Takes a line out of an exclusive level, or out of the victims on their way to it: a line may be
    /// needed again before it arrives.
    fn take(&mut self, depth: usize, line: u64) -> Option<Evicted> {
        let is = |victim: &Victim| victim.depth == depth && victim.line.line == line;
        match self.victims.iter().position(is) {
            Some(place) => Some(self.victims.swap_remove(place).line),
            None => self.levels[depth].cache.take(line),
        }
    }

    /// Passes on the victim of the level at `depth`.
    #[inline]
    fn evicted(&mut self, side: Side, depth: usize, evicted: Evicted) {
        let inclusive = self.levels[depth].inclusion == Inclusion::Inclusive;
        if evicted.dirty || inclusive || self.exclusive {
            self.send_on(side, depth, evicted);
        }
    }

    /// Passes on a victim that other levels must handle.
    fn send_on(&mut self, side: Side, depth: usize, evicted: Evicted) {
        let address = evicted.line << self.at(side, depth).geometry().offset_bits();
        let mut dirty = evicted.dirty;
        if self.levels[depth].inclusion == Inclusion::Inclusive {
            let bytes = self.levels[depth].cache.geometry().line();
            dirty |= self.remove_before(depth, address, bytes);
            if dirty && !evicted.dirty {
                self.levels[depth].cache.level.lines.write_backs += 1;
            }
        }
        for next in depth + 1..self.levels.len() {
            let level = &mut self.levels[next];
            let line = level.cache.geometry().line_of(address);
            if level.inclusion == Inclusion::Exclusive {
                let line = Evicted { line, dirty };
                self.victims.push(Victim { depth: next, line });
                return;
            }
            if !dirty || !level.cache.write_back(line) {
                return;
            }
        }
    }

    /// Removes the lines in `bytes` from `address` out of every level before `depth`, and out of the
    /// victims on their way to one. Returns whether any of them was dirty.
    fn remove_before(&mut self, depth: usize, address: u64, bytes: u64) -> bool {
        let mut dirty = false;
        let mut remove = |cache: &mut Cache, victims: &mut Vec<Victim>, at: usize| {
            let geometry = cache.geometry();
            let lines = geometry.line_of(address)..=geometry.line_of(address + (bytes - 1));
            victims.retain(|victim| {
                let goes = victim.depth == at && lines.contains(&victim.line.line);
                dirty |= goes && victim.line.dirty;
                !goes
            });
            for line in lines {
                dirty |= cache.remove(line).is_some_and(|removed| removed.dirty);
            }
        };
        for (at, level) in self.levels[..depth].iter_mut().enumerate() {
            remove(&mut level.cache, &mut self.victims, at);
        }
        if let Some(instructions) = &mut self.instructions {
            remove(instructions, &mut self.victims, 0);
        }
        dirty
    }

    /// Lets exclusive levels up to `depth` take their victims. These levels have been searched for the
    /// reference's lines by then, so that a victim never evicts a line that is needed.
    fn settle(&mut self, depth: usize) {
        while let Some(place) = self.victims.iter().position(|victim| victim.depth <= depth) {
            let Victim { depth, line } = self.victims.swap_remove(place);
            if let Some(evicted) = self.levels[depth].cache.insert(line.line, line.dirty, false) {
                self.evicted(Side::Data, depth, evicted);
            }
        }
    }

    /// Shows an access to the prefetchers of a level and brings in the lines that they request.
    fn prefetch(&mut self, depth: usize, address: u64, line: u64, fresh: bool) {
        let seen = Seen { address, line, instruction: self.instruction, fresh };
        let mut asked = [0; MOST_AHEAD as usize];
        for index in 0..self.levels[depth].engines.len() {
            let mut count = 0;
            self.levels[depth].engines[index].see(seen, |line| {
                asked[count] = line;
                count += 1;
            });
            for &line in &asked[..count] {
                if !self.levels[depth].cache.holds(line) {
                    self.bring(depth, line);
                }
            }
        }
    }

    /// Brings a line to `depth` from the nearest level that holds it, or from memory. Victims stay on their
    /// way: an exclusive level may hold the line of the reference that is being served, and must not evict
    /// it for them.
    fn bring(&mut self, depth: usize, line: u64) {
        let address = line << self.levels[depth].cache.geometry().offset_bits();
        let mut dirty = false;
        for next in depth + 1..self.levels.len() {
            let level = &mut self.levels[next];
            let line = level.cache.geometry().line_of(address);
            let hit = if level.inclusion == Inclusion::Exclusive {
                let taken = self.take(next, line);
                dirty = taken.is_some_and(|taken| taken.dirty);
                self.missed_last += u64::from(taken.is_none() && next + 1 == self.levels.len());
                taken.is_some()
            } else {
                let outcome = level.cache.access(line, false);
                if let Some(evicted) = outcome.evicted() {
                    self.evicted(Side::Data, next, evicted);
                }
                outcome.hit()
            };
            self.levels[next].cache.level.count(Op::Prefetch, hit);
            if hit {
                break;
            }
        }
        if let Some(evicted) = self.levels[depth].cache.insert(line, dirty, true) {
            self.evicted(Side::Data, depth, evicted);
        }
    }

    /// Serves a non-temporal store: its lines are removed from all levels, and it waits in a
    /// write-combining buffer for other stores to the same line.
    pub(super) fn pass(&mut self, reference: Reference) {
        let geometry = self.levels[0].cache.geometry();
        let last = self.levels.len() - 1;
        for line in geometry.line_of(reference.address)..=geometry.line_of(reference.last()) {
            let first = line << geometry.offset_bits();
            if self.remove_before(self.levels.len(), first, geometry.line()) {
                self.levels[last].cache.level.lines.write_backs += 1;
            }
        }
        self.levels[0].cache.level.count(reference.op, false);
        self.combining.reference(Reference { op: Op::Store, ..reference });
    }
}

/// Writes a line at `address` back to the first of these levels that takes it.
fn write_back(address: u64, levels: &mut [Level]) {
    for level in levels {
        let line = level.cache.geometry().line_of(address);
        if !level.cache.write_back(line) {
            return;
        }
    }
}

/// Up to this many references are served one by one, because preparing the fast path would take longer.
const FEW: usize = 64;

impl Hierarchy {
    /// Returns the [`Shape`] of the caches that references enter. `None` if these caches do not fit it,
    /// or if something other than references changes their contents.
    fn shape(&self) -> Option<Shape> {
        let data = &self.levels[0].cache;
        let instructions = self.instructions.as_ref();
        let steady = |cache: &Cache| cache.level.is_steady();
        if self.watched || !self.apart || self.joint() || !steady(data) {
            return None;
        }
        let geometry = data.geometry();
        let of_instructions = instructions.unwrap_or(data).geometry();
        if of_instructions.line() != geometry.line() || !instructions.is_none_or(steady) {
            return None;
        }
        let sets = [of_instructions.sets(), geometry.sets()];
        Shape::new(instructions.is_some(), geometry.offset_bits(), sets)
    }

    /// Serves the references up to the first non-temporal store, and returns their number. `None` if the
    /// fast path does not apply.
    pub(super) fn serve_many(&mut self, references: &[Reference]) -> Option<usize> {
        let shape = self.shape().filter(|_| references.len() > FEW)?;
        let served = match Eights::of(self) {
            Some(mut eights) => shape.serve(references, &mut eights),
            None => shape.serve(references, self),
        };
        for op in Op::ALL {
            if let Some(side) = self.side(op) {
                self.at_mut(side, 0).level.count_hits(op, served.hits[op as usize]);
            }
        }
        Some(served.references)
    }
}

/// The levels of a hierarchy that are all [`Eight`]s: among others, those that cachegrind simulates.
struct Eights<'a> {
    /// `None` if fetches are ignored.
    instructions: Option<Eight<'a>>,
    data: Eight<'a>,
    behind: Vec<Eight<'a>>,
}

impl<'a> Eights<'a> {
    fn of(hierarchy: &'a mut Hierarchy) -> Option<Self> {
        let instructions = match &mut hierarchy.instructions {
            Some(cache) => Some(cache.first_eight()?),
            None => None,
        };
        let mut levels = hierarchy.levels.iter_mut();
        let data = levels.next()?.cache.first_eight()?;
        let behind = levels.map(|level| level.cache.eight());
        Some(Eights { instructions, data, behind: behind.collect::<Option<_>>()? })
    }

    /// Returns the level that an operation enters, and the levels behind it.
    #[inline(always)]
    fn enter(&mut self, op: Op) -> Option<(&mut Eight<'a>, &mut [Eight<'a>])> {
        let own = if op == Op::Fetch { self.instructions.as_mut()? } else { &mut self.data };
        Some((own, &mut self.behind))
    }
}

impl Others for Eights<'_> {
    #[inline(always)]
    fn in_one(&mut self, line: u64, reference: &Reference) {
        if let Some((first, behind)) = self.enter(reference.op) {
            first.serve(line, reference.op, behind);
        }
    }

    #[inline(always)]
    fn in_last(&mut self, last: u64, reference: &Reference) {
        if let Some((first, behind)) = self.enter(reference.op) {
            first.serve_last(last, reference, behind);
        }
    }

    #[inline(always)]
    fn in_several(&mut self, reference: &Reference) {
        if let Some((first, behind)) = self.enter(reference.op) {
            first.serve_several(reference, reference.op.writes(), behind);
        }
    }
}

impl Others for Hierarchy {
    #[inline(always)]
    fn in_several(&mut self, reference: &Reference) {
        self.serve_unwatched(*reference);
    }
}
