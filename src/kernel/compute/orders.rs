//! The sum of all outstanding payments (Drepper, section 6.2.1, `struct order`).

// Calls assembly with orders inside the region.
#![allow(unsafe_code)]

use crate::cpu::{Avx2, Features};
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::{Arrangement, Orders};

/// The sum cannot be formed on this CPU: prices and `paid` in arrays of their own are added up by
/// AVX2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAvx2;

impl core::fmt::Display for NoAvx2 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "the sum over two arrays needs AVX2, which this CPU lacks"
        )
    }
}

impl core::error::Error for NoAvx2 {}

/// The kernel for an arrangement, with the proof that the CPU can run it.
#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    Split,
    Apart(Avx2),
}

/// Adds up the prices of all orders that are not paid, again and again. An operation is a batch
/// of 16 orders.
///
/// `paid` is a mask over the price and not a branch: half the orders being paid at random, a
/// branch would be mispredicted every other time, which costs more than a line.
#[derive(Debug)]
pub struct Outstanding<'m> {
    orders: Orders<'m>,
    way: Way,
    batch: u64,
}

impl<'m> Outstanding<'m> {
    /// A sum that begins with the first order.
    ///
    /// # Errors
    /// If the arrangement needs AVX2 and `features` lack it.
    pub fn new(orders: Orders<'m>, features: &Features) -> Result<Self, NoAvx2> {
        let way = match orders.arrangement() {
            Arrangement::Whole => Way::Whole,
            Arrangement::Split => Way::Split,
            Arrangement::Apart => Way::Apart(features.avx2().ok_or(NoAvx2)?),
        };
        Ok(Outstanding {
            orders,
            way,
            batch: 0,
        })
    }

    /// Batches of one pass over the orders.
    pub fn pass(&self) -> u64 {
        (self.orders.count() / Orders::BATCH) as u64
    }

    /// The orders.
    pub fn into_orders(self) -> Orders<'m> {
        self.orders
    }

    fn advance(&mut self, batches: u64) {
        self.batch = (self.batch + batches) % self.pass();
    }
}

impl Kernel for Outstanding<'_> {
    /// Returns the sum in cents.
    fn run(&mut self, operations: u64) -> u64 {
        let mut cents = 0;
        let mut left = operations;
        while left > 0 {
            let batches = left.min(self.pass() - self.batch);
            let (price, paid) = self.orders.places(self.batch as usize * Orders::BATCH);
            let bytes = self.orders.bytes();
            let (price, paid) = (bytes[price..].as_ptr(), bytes[paid..].as_ptr());
            // SAFETY: as many batches as are left in the borrowed orders, whose `paid` is 0 or 1,
            // in the arrangement that the kernel is for; the token proves AVX2.
            let sum = unsafe {
                match self.way {
                    Way::Whole => linefill_orders_whole(price, batches),
                    Way::Split => linefill_orders_split(price, batches),
                    Way::Apart(_) => linefill_orders_apart(price, batches, paid),
                }
            };
            cents += f64::from_bits(sum) as u64;
            self.advance(batches);
            left -= batches;
        }
        cents
    }

    fn work(&self) -> Work {
        let loads = match self.way {
            Way::Whole | Way::Split => 2 * Orders::BATCH,
            Way::Apart(_) => 2 * Orders::BATCH / LANES,
        };
        Work {
            loads: loads as u32,
            bytes_read: 9 * Orders::BATCH as u32,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let together = match self.way {
            Way::Whole | Way::Split => 1,
            Way::Apart(_) => LANES,
        };
        for _ in 0..operations {
            let first = self.batch as usize * Orders::BATCH;
            for order in (first..first + Orders::BATCH).step_by(together) {
                let (price, paid) = self.orders.places(order);
                sink(Access::load(paid, together as u32));
                sink(Access::load(price, 8 * together as u32));
            }
            self.advance(1);
        }
    }
}

/// Prices in a ymm register.
const LANES: usize = 4;

unsafe extern "sysv64" {
    /// The bits of the sum, an `f64`, of the prices of all orders that are not paid, in `batches`
    /// batches of 16 whole orders of 64 bytes.
    ///
    /// # Safety
    /// `at` is the address of 16 `batches` orders that are valid for reads; their `paid` is 0 or
    /// 1; `batches` is not 0.
    pub fn linefill_orders_whole(at: *const u8, batches: u64) -> u64;

    /// The same of orders of 16 bytes: the price and `paid`.
    ///
    /// # Safety
    /// As for [`linefill_orders_whole`].
    pub fn linefill_orders_split(at: *const u8, batches: u64) -> u64;

    /// The same of an array of prices and an array of `paid`, one byte each.
    ///
    /// # Safety
    /// Both hold 16 `batches` elements that are valid for reads, each `paid` 0 or 1; `batches` is
    /// not 0; the CPU has AVX2.
    pub fn linefill_orders_apart(prices: *const u8, batches: u64, paid: *const u8) -> u64;
}

/// The reference implementation.
pub(crate) mod reference {
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
}

/// The patterns on which the kernels are checked against the reference.
mod checks {
    use crate::cpu::Features;
    use crate::kernel::Outstanding;
    use crate::kernel::verify::check::{Built, Case, WithKernel, WithTwin};
    use crate::kernel::verify::run::Oracle;
    use crate::mem::Region;
    use crate::pattern::{Arrangement, Orders};

    struct OrdersCase {
        arrangement: Arrangement,
        count: usize,
        features: Features,
    }

    impl OrdersCase {
        fn build<'m>(&self, memory: Region<'m>) -> Option<Orders<'m>> {
            Orders::new(memory, self.arrangement, self.count, 11).ok()
        }
    }

    impl Case for OrdersCase {
        fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
            then(&mut Outstanding::new(self.build(memory)?, &self.features).ok()?);
            Some(())
        }

        fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
            let orders = self.build(memory)?;
            let mut done = 0;
            then(&mut |operations| {
                let cents = super::reference::outstanding(&orders, done, operations);
                done += operations;
                cents
            });
            Some(())
        }
    }

    impl Oracle<'_, '_> {
        pub(crate) fn orders(&mut self, features: Features) {
            for (name, arrangement) in [
                ("linefill_orders_whole", Arrangement::Whole),
                ("linefill_orders_split", Arrangement::Split),
                ("linefill_orders_apart", Arrangement::Apart),
            ] {
                if arrangement == Arrangement::Apart && features.avx2().is_none() {
                    continue;
                }
                // One batch, a few, and a number that is no power of two.
                let cases = [16, 64, 1008].map(|count| OrdersCase {
                    arrangement,
                    count,
                    features,
                });
                self.check(name, cases);
            }
        }
    }
}
