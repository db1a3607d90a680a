//! Orders and layouts in a caller's region.
//!
//! A [`Ring`] is a circular list that is one cycle through all its elements; only this module
//! can build one, which is what makes walking it safe; threads walk a [`SharedRing`]. A [`Chain`] is Sestoft's array of
//! indices; both come with the fills of their documents. A [`Deck`] is an array to be shuffled, by
//! indices of [`java`]'s generators. [`kmeans`] has points that lie in clusters. [`Lanes`] are rings
//! that are walked side by side. A [`Listing`] is code, to be executed for its own sake. [`Links`] are a ring whose elements name
//! the next in other ways than by its address. A [`Matrix`] is rows of bytes, to be swept along
//! its rows or its columns. [`Orders`] are records of which few bytes are read.
//! [`Picks`] are elements that an array of indices leads to. A [`Product`] is
//! two square matrices of doubles and what they come to. A [`Tensor`] has four indices, and is one
//! run of floats or arrays that refer to arrays. [`Visits`] are words in any order, several to a line.

mod chain;
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
pub use ring::{Ring, SharedRing};
pub use rng::Rng;
pub use tensor::{Allocation, Shape, ShapeError, Storage, Tensor, TensorError};
#[doc(hidden)]
pub use tensor::{Heap, Hop};
pub use visits::{Visits, VisitsError};

/// The greatest common divisor.
fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
