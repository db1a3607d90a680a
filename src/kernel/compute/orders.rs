//! The sum of all outstanding payments (Drepper, section 6.2.1, `struct order`).

// Calls assembly with addresses of orders inside the region.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::{Arrangement, Orders};

/// The CPU lacks AVX2, which adds up prices and `paid` fields in separate arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAvx2;

messages! { NoAvx2:
    NoAvx2 => ("the sum over two arrays needs AVX2, which this CPU lacks");
}

/// Adds up the prices of all unpaid orders, round and round. An operation is a batch of 16 orders.
///
/// `paid` is a mask over the price and not a branch: half of the orders, chosen at random, are paid, so a
/// branch would be mispredicted every other time, which costs more than a line.
#[derive(Debug)]
pub struct Outstanding<'m> {
    orders: Orders<'m>,
    batch: u64,
}

impl<'m> Outstanding<'m> {
    /// Creates a sum that begins with the first order.
    ///
    /// # Errors
    /// If the arrangement needs AVX2 and `features` lack it.
    pub fn new(orders: Orders<'m>, features: &Features) -> Result<Self, NoAvx2> {
        match orders.arrangement() {
            Arrangement::Apart if features.avx2().is_none() => Err(NoAvx2),
            Arrangement::Whole | Arrangement::Split | Arrangement::Apart => {
                Ok(Outstanding { orders, batch: 0 })
            }
        }
    }

    /// Batches per pass over the orders.
    pub fn pass(&self) -> u64 {
        (self.orders.count() / Orders::BATCH) as u64
    }

    fn advance(&mut self, batches: u64) {
        self.batch = (self.batch + batches) % self.pass();
    }

    /// Orders per access.
    fn together(&self) -> usize {
        match self.orders.arrangement() {
            Arrangement::Apart => LANES,
            Arrangement::Whole | Arrangement::Split => 1,
        }
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
            // SAFETY: `batches` batches are left in the borrowed orders, whose `paid` is 0 or 1, in
            // the arrangement for which the kernel is made; `new` has checked that the CPU has AVX2 if the
            // orders are `Apart`.
            let sum = unsafe {
                match self.orders.arrangement() {
                    Arrangement::Whole => linefill_orders_whole(price, batches),
                    Arrangement::Split => linefill_orders_split(price, batches),
                    Arrangement::Apart => linefill_orders_apart(price, batches, paid),
                }
            };
            cents += f64::from_bits(sum) as u64;
            self.advance(batches);
            left -= batches;
        }
        cents
    }

    fn work(&self) -> Work {
        let (orders, together) = (Orders::BATCH as u32, self.together() as u32);
        let each = orders / together;
        Work::default().load(each, together).load(each, 8 * together)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let together = self.together();
        let mut cents = 0;
        for _ in 0..operations {
            let first = self.batch as usize * Orders::BATCH;
            for number in first..first + Orders::BATCH {
                if number % together == 0 {
                    let (price, paid) = self.orders.places(number);
                    sink(Access::load(paid, together as u32));
                    sink(Access::load(price, 8 * together as u32));
                }
                let (price, paid) = self.orders.order(number);
                cents += if paid { 0 } else { price };
            }
            self.advance(1);
        }
        cents
    }
}

/// Prices per ymm register.
const LANES: usize = 4;

unsafe extern "sysv64" {
    /// Returns the bits of an `f64`: the sum of the prices of all unpaid orders in `batches` batches of 16
    /// whole orders of 64 bytes.
    ///
    /// # Safety
    /// `at` is the address of `16 * batches` orders that are valid for reads; their `paid` is 0 or
    /// 1; `batches` is not 0.
    pub fn linefill_orders_whole(at: *const u8, batches: u64) -> u64;

    /// Like [`linefill_orders_whole`], for orders of 16 bytes: the price and `paid`.
    ///
    /// # Safety
    /// As for [`linefill_orders_whole`].
    pub fn linefill_orders_split(at: *const u8, batches: u64) -> u64;

    /// Like [`linefill_orders_whole`], for an array of prices and an array of `paid`, one byte each.
    ///
    /// # Safety
    /// Both arrays hold `16 * batches` elements that are valid for reads, each `paid` 0 or 1; `batches` is
    /// not 0; the CPU has AVX2.
    pub fn linefill_orders_apart(prices: *const u8, batches: u64, paid: *const u8) -> u64;
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
            // One batch, a few, and a number that is not a power of two.
            self.check(name, [16, 64, 1008], |&count, memory, then| {
                let orders = Orders::new(memory, arrangement, count, 11).ok()?;
                then(&mut Outstanding::new(orders, &features).ok()?)
            });
        }
    }
}
