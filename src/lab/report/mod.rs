//! The report: a record as one HTML file that opens offline.
//!
//! `build` turns an [`Analysis`](super::analysis::Analysis) into a [`ReportView`], which is plain data, and
//! [`render`] turns that into the page. The page contains its style and script, and loads nothing.

pub(in crate::lab) mod build;
mod drawing;
pub(in crate::lab) mod first;
mod ladder;
pub(in crate::lab) mod page;
mod paper;
pub(in crate::lab) mod section;
mod table;
pub(in crate::lab) mod text;
pub mod view;

pub use build::build;
pub use page::render;
pub use view::ReportView;
