//! The sum of all outstanding payments (Drepper, section 6.2.1, `struct order`).

// Calls assembly with orders inside the region.
#![allow(unsafe_code)]

use super::x86_64::asm::orders as asm;
use super::{Access, Kernel, Work};
use crate::cpu::{Avx2, Features};
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
                    Way::Whole => asm::linefill_orders_whole(price, batches),
                    Way::Split => asm::linefill_orders_split(price, batches),
                    Way::Apart(_) => asm::linefill_orders_apart(price, batches, paid),
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
