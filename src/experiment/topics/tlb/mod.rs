//! Pages: translations, their caches and tables, and memory at several addresses.

pub mod aliases;
pub mod directories;
pub mod hugepages;
pub mod large;
pub mod pages;
pub mod tlb_sets;

families![
    pages,
    tlb_sets,
    directories,
    hugepages,
    translate in tlb_sets::TRANSLATE,
    aliases,
    large
];
