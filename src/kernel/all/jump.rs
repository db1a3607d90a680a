//! The twin of [`Jump`](crate::kernel::Jump).

use crate::pattern::Chain;

/// Jumps `operations` times along `chain` from its cursor and leaves the cursor there.
pub fn jump(chain: &mut Chain<'_>, operations: u64) {
    for _ in 0..operations {
        let next = chain.slots()[chain.cursor() as usize];
        chain.set_cursor(next);
    }
}
