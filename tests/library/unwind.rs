//! Unwinding by DWARF, as profilers and debuggers do it, has rules for every kernel.
#![cfg(feature = "lab")]

use std::collections::BTreeMap;
use std::fs;

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use linefill::kernel::symbols;
use object::{Object, ObjectSection};

#[test]
fn every_kernel_has_a_frame_description() {
    let program = fs::read("/proc/self/exe").unwrap();
    let file = object::File::parse(&*program).unwrap();
    let section = file.section_by_name(".eh_frame").unwrap();
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let frames = EhFrame::new(section.data().unwrap(), LittleEndian);
    let mut described = BTreeMap::new();
    let mut entries = frames.entries(&bases);
    while let Some(entry) = entries.next().unwrap() {
        if let CieOrFde::Fde(partial) = entry {
            let found = partial.parse(EhFrame::cie_from_offset).unwrap();
            described.insert(found.initial_address(), found.len());
        }
    }
    let loaded = loaded_at();
    for kernel in symbols::all() {
        let address = kernel.bytes.as_ptr().addr() as u64 - loaded;
        let bytes = Some(kernel.bytes.len() as u64);
        assert_eq!(described.get(&address).copied(), bytes, "{}", kernel.name);
    }
}

/// The address that the program's first byte is at.
fn loaded_at() -> u64 {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let first = maps.lines().find(|line| line.ends_with(own)).unwrap();
    let (start, _) = first.split_once('-').unwrap();
    u64::from_str_radix(start, 16).unwrap()
}
