//! The report: a record as one HTML file that opens offline.
//!
//! `build` turns an [`Analysis`](super::analysis::Analysis) into a [`ReportView`], plain data;
//! [`render`] turns that into the page. The page holds its style, its script and plotly.js, and loads nothing.

pub(in crate::lab) mod axes;
mod bars;
pub(in crate::lab) mod build;
pub(in crate::lab) mod chart;
mod counted;
mod heat;
pub(in crate::lab) mod page;
pub(in crate::lab) mod scale;
pub(in crate::lab) mod section;
pub(in crate::lab) mod surface;
mod table;
pub(in crate::lab) mod text;
pub mod view;

pub use build::build;
pub use page::render;
pub(in crate::lab) use scale::{number, place};
pub use view::ReportView;
