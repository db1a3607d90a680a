//! Pages: translations, their caches and tables, and memory at several addresses.

pub mod aliases;
pub mod directories;
pub mod large;
pub mod pages;
pub mod tlb_sets;
pub mod translate;

families![
    pages,
    tlb_sets,
    directories,
    hugepages in large::FIGURE_7_9,
    translate,
    aliases,
    large
];
