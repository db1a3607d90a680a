//! The twin of [`Abreast`](crate::kernel::Abreast).

use crate::pattern::Lanes;

/// Takes `operations` steps, of which the first is number `done` since the beginning, a step of
/// each walk in turn. Returns where the walk that took the last step comes to next.
pub fn abreast(lanes: &mut Lanes<'_>, done: u64, operations: u64) -> u64 {
    let count = lanes.lanes() as u64;
    for number in done..done + operations {
        lanes.step((number % count) as usize);
    }
    let last = (done + operations + count - 1) % count;
    lanes.cursor(last as usize) as u64
}
