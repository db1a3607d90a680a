//! The report: a record as one HTML file that opens offline.
//!
//! [`of_record`] turns the lines of a record into a [`ReportView`], plain data; [`render`] turns
//! that into the page. The page holds its style, its script and plotly.js, and loads nothing.

mod axes;
mod bars;
mod chart;
mod counted;
mod facts;
mod machine;
mod of_record;
mod page;
mod prose;
mod scale;
mod section;
mod surface;
mod table;
mod verdict;
pub mod view;

pub use of_record::{ReportError, of_record};
pub use page::render;
pub use view::ReportView;
