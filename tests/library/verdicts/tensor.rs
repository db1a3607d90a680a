//! The tensor series.

automod::dir!("tests/library/verdicts/tensor");

use super::Exact;
use super::planted::Row;

pub const EXACT: &[Exact] = &[
    ("C1", access::TOUCHED),
    ("C1", access::SUMS),
    ("C8", access::FOURTH),
    ("C8", access::SEVEN),
    ("C2", operation::LOADS),
    ("C2", operation::OFTEN),
    ("C2", operation::BRANCHES),
    ("C3", size::BYTES),
    ("C3", size::FORMULA),
    ("C3", size::HEADERS),
    ("C4", misses::PAGES),
    ("C4", misses::PAGE_MISSES),
    ("C4", misses::SMALL_PAGES),
    ("C5", simulator::SERIES),
    ("C5", simulator::POLICIES),
    ("C5", simulator::INDICES),
    ("C5", simulator::NESTED),
    ("C6", misses::COMPULSORY),
    ("C6", misses::MYSTERY),
    ("C6", misses::OTHERS),
    ("C10", series::QUOTED),
    ("C10", series::SERIES),
];

pub fn rows() -> Vec<Row> {
    [
        access::pattern(),
        operation::operation(),
        size::sizes(),
        misses::pages(),
        misses::mystery(),
        index::index(),
        access::dereferences(),
        harness::harness(),
        series::series(),
        simulator::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
