//! Orders and layouts in a caller's region.
//!
//! - A [`Ring`] is a circular list: one cycle through all its elements. Only this module builds rings,
//!   which makes walking them safe. Several threads walk a [`SharedRing`].
//! - A [`Chain`] is Sestoft's array of indices. Rings and chains have the orders of their sources.
//! - A [`Deck`] is an array to be shuffled, by indices from a generator.
//! - [`Lanes`] are rings for interleaved walks.
//! - [`Links`] are a ring whose elements refer to the next element in other ways than by its address.
//! - A [`Matrix`] is rows of bytes, to be swept along its rows or its columns.
//! - [`Orders`] are records of which a kernel reads only a few bytes.
//! - [`Picks`] are elements that a list of indices selects.
//! - A [`Product`] is two square matrices of doubles and their product.
//! - A [`Tensor`] has four indices; it is one array of floats, or arrays that refer to arrays.
//! - [`Visits`] are words in any order, several per line.

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
pub use deck::{Deck, DeckError, Indices};
pub use lanes::{Lanes, LanesError};
pub use layout::{Layout, LayoutError};
pub use links::{Link, Links, LinksError};
#[doc(hidden)]
pub use listing::{
    Behind, Between, Blocks, Callers, Filler, Indirect, LOOP, Listing, Nested, Window,
};
pub(crate) use matrix::Parts;
pub use matrix::{Matrix, MatrixError, Product, ProductError};
pub use order::{Order, Path};
pub use orders::{Arrangement, HotOrder, Orders, OrdersError, WholeOrder};
pub use picks::{Picks, PicksError};
pub use ring::Ring;
pub use rng::Rng;
pub use shared_ring::SharedRing;
pub use tensor::{Allocation, Shape, ShapeError, Storage, Tensor, TensorError};
#[doc(hidden)]
pub use tensor::{Heap, Hop};
pub use visits::{Visits, VisitsError};

/// Returns the greatest common divisor. Everything divides 0.
pub(crate) fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
