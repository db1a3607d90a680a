//! Drepper's orders (section 6.2.1): a structure of which a frequent job reads only two fields.

use super::Rng;
use crate::mem::{Region, Span};

/// An order as the paper defines it and C lays it out on a 64-bit machine: 57 bytes of members in
/// 64 bytes. The sum of outstanding payments reads 9 bytes of this line.
#[derive(Debug)]
#[repr(C)]
pub struct WholeOrder {
    /// The amount to pay.
    pub price: f64,
    /// Whether the order is paid.
    pub paid: bool,
    /// The buyer's name and address.
    pub buyer: [*const core::ffi::c_char; 5],
    /// The buyer's id.
    pub buyer_id: core::ffi::c_long,
}

/// The part of an order that the sum reads, split off as in the paper.
#[derive(Debug)]
#[repr(C)]
pub struct HotOrder {
    /// The amount to pay.
    pub price: f64,
    /// Whether the order is paid.
    pub paid: bool,
}

/// The arrangement of orders in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arrangement {
    /// An array of [`WholeOrder`].
    Whole,
    /// An array of [`HotOrder`]; the other fields are omitted.
    Split,
    /// An array of prices, followed by an array of `paid` bytes.
    Apart,
}

impl Arrangement {
    /// All arrangements.
    pub const ALL: [Arrangement; 3] = [Arrangement::Whole, Arrangement::Split, Arrangement::Apart];

    /// Bytes of `count` orders; `usize::MAX` if the number overflows.
    pub const fn bytes(self, count: usize) -> usize {
        let one = match self {
            Arrangement::Whole => size_of::<WholeOrder>(),
            Arrangement::Split => size_of::<HotOrder>(),
            Arrangement::Apart => size_of::<f64>() + 1,
        };
        Span::of(one).times(count).bytes()
    }
}

/// Orders in a region. Prices are whole cents below 100,000 cents, so that their sum is exact in any order
/// of addition; half of the orders are paid, at random.
#[derive(Debug)]
pub struct Orders<'m> {
    region: Region<'m>,
    arrangement: Arrangement,
    count: usize,
}

/// Why a region cannot hold the orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrdersError {
    /// The number of orders, if it is not a positive multiple of [`Orders::BATCH`].
    Count(usize),
    /// The region is too small.
    RegionTooSmall {
        /// Bytes of the orders.
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
}

messages! { OrdersError:
    OrdersError::Count(count) => (
        "{count} orders are not a positive multiple of {}", Orders::BATCH
    );
    OrdersError::RegionTooSmall { needed, region } => (
        "the orders have {needed}, the region {region}", needed = Span::of(*needed)
    );
}

impl<'m> Orders<'m> {
    /// Orders per operation of a kernel.
    pub const BATCH: usize = 16;

    /// Writes `count` orders. `seed` determines the prices and which orders are paid, equally in every
    /// arrangement.
    ///
    /// # Errors
    /// If `count` is not a positive multiple of [`BATCH`](Self::BATCH), or the orders do not fit.
    pub fn new(
        region: Region<'m>,
        arrangement: Arrangement,
        count: usize,
        seed: u64,
    ) -> Result<Self, OrdersError> {
        if count == 0 || !count.is_multiple_of(Self::BATCH) {
            return Err(OrdersError::Count(count));
        }
        let too_small = |needed, region| OrdersError::RegionTooSmall { needed, region };
        Span::of(arrangement.bytes(count)).within(region.len(), too_small)?;
        let mut orders = Orders { region, arrangement, count };
        let mut rng = Rng::new(seed);
        for index in 0..count {
            let price = rng.below(100_000) as f64;
            let paid = rng.below(2) == 1;
            let (at, flag) = orders.places(index);
            orders.region.set_word(at, price.to_bits());
            orders.region.bytes_mut()[flag] = u8::from(paid);
        }
        Ok(orders)
    }

    /// The arrangement.
    pub fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Number of orders.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Byte offsets of the price and of `paid` of order `index` in the region.
    ///
    /// # Panics
    /// If there is no such order.
    #[inline]
    pub fn places(&self, index: usize) -> (usize, usize) {
        assert!(index < self.count, "{} orders, not {index}", self.count);
        match self.arrangement {
            Arrangement::Whole => {
                let order = index * size_of::<WholeOrder>();
                (order, order + core::mem::offset_of!(WholeOrder, paid))
            }
            Arrangement::Split => {
                let order = index * size_of::<HotOrder>();
                (order, order + core::mem::offset_of!(HotOrder, paid))
            }
            Arrangement::Apart => (index * size_of::<f64>(), self.count * size_of::<f64>() + index),
        }
    }

    /// The price of order `index` in cents, and whether it is paid.
    ///
    /// # Panics
    /// If there is no such order.
    pub fn order(&self, index: usize) -> (u64, bool) {
        let (price, paid) = self.places(index);
        let cents = f64::from_bits(self.region.word(price)) as u64;
        (cents, self.region.bytes()[paid] == 1)
    }

    /// The bytes that hold the orders.
    pub fn bytes(&self) -> &[u8] {
        &self.region.bytes()[..self.arrangement.bytes(self.count)]
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn the_structures_are_those_of_the_paper() {
        use core::mem::offset_of;
        // As pahole prints them: 57 bytes of members and a hole of 7 after `paid`.
        assert_eq!(size_of::<WholeOrder>(), 64);
        assert_eq!(offset_of!(WholeOrder, price), 0);
        assert_eq!(offset_of!(WholeOrder, paid), 8);
        assert_eq!(offset_of!(WholeOrder, buyer), 16);
        assert_eq!(offset_of!(WholeOrder, buyer_id), 56);
        assert_eq!(size_of::<HotOrder>(), 16);
        assert_eq!(offset_of!(HotOrder, paid), 8);
    }

    #[test]
    fn every_arrangement_holds_the_same_orders() {
        let all = Arrangement::ALL.map(|arrangement| {
            let mut bytes = vec![0xA5; 100 * 1024];
            let region = Region::new(&mut bytes).unwrap();
            let orders = Orders::new(region, arrangement, 1024, 5).unwrap();
            (0..1024).map(|index| orders.order(index)).collect::<Vec<_>>()
        });
        assert_eq!(all[0], all[1]);
        assert_eq!(all[0], all[2]);
        let paid = all[0].iter().filter(|(_, paid)| *paid).count();
        assert!((400..624).contains(&paid), "{paid} of 1024 are paid");
    }

    #[test]
    fn a_count_that_is_no_batch_or_does_not_fit_is_refused() {
        let mut bytes = [0u8; 4096];
        let mut region = Region::new(&mut bytes).unwrap();
        for count in [0, 15, 17] {
            let refused = Orders::new(region.reborrow(), Arrangement::Split, count, 1);
            assert_eq!(refused.unwrap_err(), OrdersError::Count(count));
        }
        let len = region.len();
        assert_eq!(
            Orders::new(region, Arrangement::Whole, 64, 1).unwrap_err(),
            OrdersError::RegionTooSmall { needed: 4096, region: len }
        );
        // Times 64 it is 2^64.
        let refused = Orders::new(Region::new(&mut bytes).unwrap(), Arrangement::Whole, 1 << 58, 1);
        assert_eq!(
            refused.unwrap_err(),
            OrdersError::RegionTooSmall { needed: usize::MAX, region: len }
        );
    }
}
