//! The twin of [`Outstanding`](crate::kernel::Outstanding).

use crate::pattern::Orders;

/// The sum of all payments that are outstanding, in cents, over `operations` batches of which the
/// first is number `done` since the beginning.
pub fn outstanding(orders: &Orders<'_>, done: u64, operations: u64) -> u64 {
    let batches = (orders.count() / Orders::BATCH) as u64;
    let mut cents = 0;
    for number in done..done + operations {
        let first = (number % batches) as usize * Orders::BATCH;
        for order in first..first + Orders::BATCH {
            let (price, paid) = orders.order(order);
            if !paid {
                cents += price;
            }
        }
    }
    cents
}
