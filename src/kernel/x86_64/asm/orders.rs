//! `asm/orders.S`.

// Declares assembly.
#![allow(unsafe_code)]

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
