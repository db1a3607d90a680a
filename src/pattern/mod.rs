//! Orders and layouts in a caller's region.
//!
//! - A [`Ring`] is a circular list: one cycle through all its elements. Only this module builds rings,
//!   which makes walking them safe. Several threads walk a [`SharedRing`].
//! - A [`Chain`] is Sestoft's array of indices. Rings and chains have the orders of their sources.
//! - [`Lanes`] are rings for interleaved walks.
//! - [`Links`] are a ring whose elements refer to the next element in other ways than by its address.
//! - A [`Matrix`] is rows of bytes, to be swept along its rows or its columns.
//! - [`Visits`] are words in any order, several per line.
//!
//! The patterns that experiments alone use are hidden here, as their kernels are in [`kernel`](crate::kernel).

mod chain;
mod computed;
mod deck;
#[doc(hidden)]
pub mod java;
#[doc(hidden)]
pub mod kmeans;
mod lanes;
mod layout;
mod links;
mod listing;
mod matrix;
mod order;
mod orders;
mod picks;
mod ring;
mod rng;
mod shared_ring;
mod tensor;
mod visits;

pub use chain::{Chain, ChainError, Fill};
pub(crate) use deck::DeckParts;
#[doc(hidden)]
pub use deck::{Deck, DeckError, Indices};
pub use lanes::{Lanes, LanesError};
pub use layout::{Layout, LayoutError};
pub use links::{Link, Links, LinksError};
#[doc(hidden)]
pub use listing::{
    Behind, Between, Blocks, Callers, Filler, Indirect, LOOP, Listing, Nested, Window,
};
pub(crate) use matrix::Parts;
pub use matrix::{Matrix, MatrixError};
#[doc(hidden)]
pub use matrix::{Product, ProductError};
pub use order::{Order, Path};
#[doc(hidden)]
pub use orders::{Arrangement, HotOrder, Orders, OrdersError, WholeOrder};
#[doc(hidden)]
pub use picks::{Picks, PicksError};
pub use ring::Ring;
pub use rng::Rng;
pub use shared_ring::SharedRing;
#[doc(hidden)]
pub use tensor::{Allocation, Heap, Hop, Shape, ShapeError, Storage, Tensor, TensorError};
pub use visits::{Visits, VisitsError};

/// Returns the greatest common divisor. Everything divides 0.
pub(crate) fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
