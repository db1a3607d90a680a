//! The instruction side: footprint, placement, branches.

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
    behind_jumps in footprint::BEHIND_JUMPS,
    codealign,
    codelayout,
    buffers,
];
