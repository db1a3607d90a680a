//! The instruction side: footprint, placement, branches.

pub mod behind_jumps;
pub mod buffers;
pub mod codealign;
pub mod codelayout;
pub mod footprint;
pub mod jump;
pub mod speculate;

families![
    speculate,
    jump,
    footprint,
    behind_jumps,
    codealign,
    codelayout,
    buffers,
];
