//! Pages: translations, their caches and tables, and memory at several addresses.

pub mod aliases;
pub mod directories;
pub mod large;
pub mod pages;
pub mod tlb_sets;

families![
    pages,
    tlb_sets,
    directories,
    hugepages in large::FIGURE_7_9,
    translate in tlb_sets::TRANSLATE,
    aliases,
    large
];
