//! Tests on a host: the tables lie in heap memory, whose addresses serve as physical addresses.

use std::collections::HashSet;
use std::vec::Vec;

use crate::{
    Access, Area, Error, Lend, Mapped, Physical, Pool, Size, Tables, Window, is_ordinary,
    multiboot, pvh,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The first address for mappings.
const FREE: u64 = 1 << 46;

/// Allocates and leaks heap memory for tables, and takes a root table from it.
fn memory(bytes: u64) -> (Physical, u64) {
    let block: &'static mut [u64] = vec![u64::MAX; (bytes / 8) as usize].leak();
    let start = block.as_mut_ptr().expose_provenance() as u64;
    let mut pool = Pool::new();
    let whole = Area { start: start.next_multiple_of(4 * KIB), end: start + bytes };
    assert!(pool.add(whole));
    // SAFETY: the heap's memory is accessible, and leaked for this use alone.
    let mut physical = unsafe { Physical::new(pool, u64::MAX) };
    let root = physical.lend().unwrap();
    (physical, root)
}

fn tables(levels: u32, root: u64) -> Tables {
    // SAFETY: `memory` lent the root, and only these tables use it.
    unsafe { Tables::new(root, levels, Access::AllRings) }
}

/// Returns a generator of random numbers below a bound. Its slight bias does no harm here.
fn random() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % bound
    }
}

#[test]
fn a_walk_finds_what_was_mapped_with_its_size() {
    for levels in [4, 5] {
        let (mut physical, root) = memory(8 * MIB);
        let mut tables = tables(levels, root);
        let pages = [
            (Size::Base, 0x1000, 0xffff_f000),
            (Size::Large, 0x4000_0000, 0x20_0000),
            (Size::Giant, 0x7f_c000_0000, 0x8_4000_0000),
        ];
        for (size, address, to) in pages {
            tables.map(address, to, size, &mut physical).unwrap();
        }
        for (size, address, to) in pages {
            for inside in [0, 8, size.bytes() - 1] {
                let found = tables.walk(address + inside).unwrap();
                assert_eq!((found.physical, found.size), (to + inside, size));
            }
            assert_eq!(tables.walk(address + size.bytes()), None);
        }
        // The tables translate neither the upper half nor addresses of one level more.
        assert_eq!(tables.walk(1 << 63), None);
        assert_eq!(tables.walk(1 << (9 * levels + 11)), None);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (mut physical, root) = memory(8 * MIB);
    let mut tables = tables(4, root);
    let mut map = |address, to, size| tables.map(address, to, size, &mut physical);
    assert_eq!(map(0x20_1000, 0, Size::Large), Err(Error::Address(0x20_1000)));
    assert_eq!(map(0, MIB, Size::Large), Err(Error::Address(MIB)));
    assert_eq!(map(GIB, 2 * MIB, Size::Giant), Err(Error::Address(2 * MIB)));
    assert_eq!(map(1 << 47, 0, Size::Base), Err(Error::Address(1 << 47)));
    assert_eq!(map(0, 1 << 52, Size::Base), Err(Error::Address(1 << 52)));
    map(0, 0, Size::Large).unwrap();
    for size in [Size::Base, Size::Large] {
        assert_eq!(map(0, 0, size), Err(Error::Occupied(0)));
    }
    // Tables that map smaller pages are in the way.
    assert_eq!(map(0, 0, Size::Giant), Err(Error::Occupied(0)));
    map(GIB, GIB, Size::Giant).unwrap();
    assert_eq!(map(GIB, 0, Size::Base), Err(Error::Occupied(GIB)));
}

#[test]
fn an_area_is_mapped_onto_itself_and_the_hole_beside_it_is_not() {
    for levels in [4, 5] {
        let (mut physical, root) = memory(8 * MIB);
        let mut tables = tables(levels, root);
        // The second area begins in the last page of the first, and crosses 512 GiB.
        let end = 512 * GIB - 2 * MIB + 4 * KIB;
        let areas = [
            Area::new(0, 4 * GIB),
            Area { start: 511 * GIB + 4 * KIB, end },
            Area::new(end, 4 * MIB),
        ];
        for area in areas {
            let before = frames(&mut physical);
            tables.map_onto_itself(area, &mut physical).unwrap();
            let taken = before - frames(&mut physical);
            let most = Tables::most_tables(area);
            assert!(taken <= most, "{taken} tables of at most {most}");
        }
        let mapped = |address| {
            tables.walk(address).map(|found| {
                assert_eq!((found.physical, found.size), (address, Size::Large));
            })
        };
        for address in [0, 4 * GIB - 1, 511 * GIB, end, 512 * GIB + 4 * MIB - 1] {
            assert!(mapped(address).is_some(), "{address:#x}");
        }
        for hole in [4 * GIB, 511 * GIB - 1, 512 * GIB + 4 * MIB] {
            assert!(mapped(hole).is_none(), "{hole:#x}");
        }
    }
}

/// The number of frames that are left.
fn frames(physical: &mut Physical) -> u64 {
    let all: Vec<u64> = std::iter::from_fn(|| physical.lend()).collect();
    for &frame in &all {
        Lend::give_back(physical, frame);
    }
    all.len() as u64
}

#[test]
fn without_memory_for_tables_nothing_is_mapped() {
    let (mut physical, root) = memory(2 * MIB + 4 * KIB);
    let window = tables(4, root);
    let mut window = Window::new(window, Area::new(FREE, 1 << 40));
    // More tables than fit in 2 MiB.
    let mapped = window.map(Area::new(0, 4 * GIB), Size::Base, &mut physical, &mut random());
    assert_eq!(mapped, Err(Error::NoTables));
    assert_eq!(window.physical(FREE), None);
    // The failed attempt gave back all frames except the table above the cleared GiB.
    let few = Area::new(0, 512 * 4 * KIB);
    window.map(few, Size::Base, &mut physical, &mut random()).unwrap();
}

#[test]
fn a_window_maps_memory_in_pages_of_every_size() {
    let (mut physical, root) = memory(8 * MIB);
    let mut window = Window::new(tables(4, root), Area::new(FREE, 1 << 40));
    for size in Size::ALL {
        let memory = Area::new(16 * GIB, 2 * size.bytes());
        let mapped = window.map(memory, size, &mut physical, &mut random()).unwrap();
        assert_eq!(window.pages_of(&mapped), Some(size));
        let elsewhere = Mapped { address: mapped.address, memory: Area::new(0, memory.bytes()) };
        assert_eq!(window.pages_of(&elsewhere), None);
        let address = mapped.address;
        window.unmap(mapped, &mut physical);
        assert_eq!(window.physical(address), None);
        // The memory came back; the addresses are not used again.
        assert!(physical.take(memory.bytes(), size.bytes()).is_some());
    }
    let crooked = window.map(Area::new(0, 4 * KIB), Size::Large, &mut physical, &mut random());
    assert_eq!(crooked, Err(Error::Address(4 * KIB)));
}

#[test]
fn pages_of_4_kib_lie_in_a_random_order_and_each_once() {
    let (mut physical, root) = memory(8 * MIB);
    let mut window = Window::new(tables(4, root), Area::new(FREE, 1 << 40));
    let memory = Area::new(GIB, 4 * MIB);
    let mapped = window.map(memory, Size::Base, &mut physical, &mut random()).unwrap();
    let frames: Vec<u64> =
        (0..1024).map(|page| window.physical(mapped.address + page * 4 * KIB).unwrap()).collect();
    let all: HashSet<u64> = frames.iter().copied().collect();
    assert_eq!(all.len(), frames.len());
    assert!(frames.iter().all(|frame| (GIB..GIB + 4 * MIB).contains(frame)));
    let side_by_side = frames.windows(2).filter(|pair| pair[0] + 4 * KIB == pair[1]);
    assert!(side_by_side.count() < 10);
}

#[test]
fn a_second_mapping_leads_to_the_same_memory_page_by_page() {
    let (mut physical, root) = memory(8 * MIB);
    let mut window = Window::new(tables(4, root), Area::new(FREE, 1 << 40));
    let memory = Area::new(GIB, 2 * MIB);
    let first = window.map(memory, Size::Base, &mut physical, &mut random()).unwrap();
    let second = window.map_again(&first, &mut physical).unwrap();
    assert_ne!(first.address, second.address);
    for page in 0..512 {
        let of = |mapped: &Mapped| window.physical(mapped.address + page * 4 * KIB).unwrap();
        assert_eq!(of(&first), of(&second));
    }
    let address = second.address;
    let free = physical.pool().bytes();
    window.forget(&second, &mut physical);
    assert_eq!(window.physical(address), None);
    assert_eq!(window.pages_of(&first), Some(Size::Base));
    assert_eq!(physical.pool().bytes(), free);
}

#[test]
fn addresses_are_used_once_and_run_out() {
    let (mut physical, root) = memory(8 * MIB);
    let mut window = Window::new(tables(4, root), Area::new(FREE, 2 * GIB));
    let memory = Area::new(0, 2 * MIB);
    let mut map = || window.map(memory, Size::Large, &mut physical, &mut random());
    assert_eq!(map().unwrap().address, FREE);
    assert_eq!(map().unwrap().address, FREE + GIB);
    assert_eq!(map(), Err(Error::NoAddresses));
}

#[test]
fn frames_that_come_back_are_lent_again_and_are_zeros() {
    let (mut physical, first) = memory(2 * MIB + 4 * KIB);
    let mut lent = vec![first];
    lent.extend(std::iter::from_fn(|| physical.lend()));
    assert_eq!(lent.len(), 512);
    let all: HashSet<u64> = lent.iter().copied().collect();
    assert_eq!(all.len(), 512);
    for &frame in &lent {
        Lend::give_back(&mut physical, frame);
    }
    for _ in 0..512 {
        let frame = physical.lend().unwrap();
        // SAFETY: the frame is lent to this test.
        let words = unsafe {
            std::slice::from_raw_parts(
                std::ptr::with_exposed_provenance::<u64>(frame as usize),
                512,
            )
        };
        assert!(words.iter().all(|&word| word == 0));
        assert!(all.contains(&frame));
    }
    assert_eq!(physical.lend(), None);
}

fn pool(areas: &[[u64; 2]]) -> Pool {
    let mut pool = Pool::new();
    for &[start, end] in areas {
        assert!(pool.add(Area { start, end }));
    }
    pool
}

fn areas(pool: &Pool) -> Vec<[u64; 2]> {
    pool.areas().iter().map(|area| [area.start, area.end]).collect()
}

#[test]
fn areas_that_touch_become_one() {
    assert_eq!(areas(&pool(&[[8, 9], [1, 3], [3, 5]])), [[1, 5], [8, 9]]);
    assert_eq!(areas(&pool(&[[1, 3], [6, 9], [2, 7]])), [[1, 9]]);
    assert_eq!(areas(&pool(&[[4, 4], [1, 2]])), [[1, 2]]);
}

#[test]
fn what_is_removed_is_not_free() {
    let removed = |start, end| {
        let mut pool = pool(&[[10, 20], [30, 40]]);
        assert!(pool.remove(Area { start, end }));
        areas(&pool)
    };
    assert_eq!(removed(0, 10), [[10, 20], [30, 40]]);
    assert_eq!(removed(12, 14), [[10, 12], [14, 20], [30, 40]]);
    assert_eq!(removed(15, 35), [[10, 15], [35, 40]]);
    assert_eq!(removed(10, 20), [[30, 40]]);
    assert_eq!(removed(0, 100), [[0; 2]; 0]);
}

#[test]
fn a_piece_is_aligned_and_of_the_smallest_area_that_has_it() {
    let mut pool = pool(&[[0x1001, 0x9000], [0x1_0000, 0x1_3000], [0x2_0000, 0x4_0000]]);
    let before = pool.bytes();
    assert_eq!(pool.take(0x2000, 0x1000, u64::MAX), Some(Area::new(0x1_0000, 0x2000)));
    assert_eq!(pool.take(0x2000, 0x1000, u64::MAX), Some(Area::new(0x2000, 0x2000)));
    assert_eq!(pool.take(0x1_0000, 0x1_0000, 0x3_0000), Some(Area::new(0x2_0000, 0x1_0000)));
    assert_eq!(pool.take(0x1_0000, 0x1_0000, 0x3_0000), None);
    assert_eq!(pool.take(1 << 40, 0x1000, u64::MAX), None);
    assert_eq!(before - pool.bytes(), 0x1_4000);
    assert!(pool.add(Area::new(0x1_0000, 0x2000)));
    assert_eq!(pool.take(0x2000, 0x1000, u64::MAX), Some(Area::new(0x1_0000, 0x2000)));
}

#[test]
fn less_memory_is_taken_where_no_piece_is_large_enough() {
    let pool = pool(&[[MIB, 7 * MIB], [8 * MIB, 18 * MIB], [4 * GIB, 16 * GIB]]);
    // SAFETY: no frame is lent, so no memory is accessed.
    let mut physical = unsafe { Physical::new(pool, 4 * GIB) };
    let mut take = || physical.take_accessible_up_to(33 * MIB, 2 * MIB);
    assert_eq!(take(), Some(Area::new(8 * MIB, 8 * MIB)));
    assert_eq!(take(), Some(Area::new(2 * MIB, 4 * MIB)));
    assert_eq!(take(), Some(Area::new(16 * MIB, 2 * MIB)));
    assert_eq!(take(), None);
}

#[test]
fn a_pool_of_too_many_areas_says_so_and_stays_as_it_is() {
    let mut pool = Pool::new();
    for index in 0..64 {
        assert!(pool.add(Area::new(index * 16 + 2, 8)));
    }
    let before = areas(&pool);
    assert!(!pool.add(Area::new(64 * 16, 8)));
    assert!(!pool.remove(Area::new(4, 2)));
    assert_eq!(areas(&pool), before);
    assert_eq!(pool.take(2, 4, 16), None);
    assert_eq!(areas(&pool), before);
}

/// Returns an entry of a memory map. Both loaders use this layout.
fn entry(start: u64, bytes: u64, kind: u32) -> Vec<u8> {
    let numbers = [start.to_le_bytes(), bytes.to_le_bytes()].concat();
    [&numbers[..], &kind.to_le_bytes(), &[0; 4]].concat()
}

#[test]
fn both_loaders_tell_what_memory_is_free() {
    let entries =
        [entry(0, 0x9fc00, 1), entry(0xf0000, 0x10000, 2), entry(MIB, 127 * MIB, 1)].concat();
    let free = [Area::new(0, 0x9fc00), Area::new(MIB, 127 * MIB)];
    let map = pvh(&entries, c"largest=65536");
    assert_eq!(map.command_line, "largest=65536");
    assert_eq!(map.free().collect::<Vec<_>>(), free);

    let words = |numbers: &[u32]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    let mut information = [words(&[0, 0]), words(&[1, 8 + 5]), b"a=b c".to_vec()].concat();
    // A command line without a terminating zero is ignored.
    assert_eq!(multiboot(&information).command_line, "");
    information[12] += 1;
    information.extend([0, 0, 0]);
    information.resize(information.len().next_multiple_of(8), 0);
    information.extend(words(&[6, 16 + entries.len() as u32, 24, 0]));
    information.extend(&entries);
    information.extend(words(&[0, 8]));
    let map = multiboot(&information);
    assert_eq!(map.command_line, "a=b c");
    assert_eq!(map.free().collect::<Vec<_>>(), free);
    // A tag that is cut off, or claims to be smaller than its own head, yields no memory.
    for bytes in 0..information.len() - 8 {
        assert!(multiboot(&information[..bytes]).free().count() == 0);
    }
    for bytes in 0..8 {
        let tag = [words(&[0, 0]), words(&[6, bytes])].concat();
        assert_eq!(multiboot(&tag).free().count(), 0);
    }
}

#[test]
fn memory_for_special_purposes_or_without_caching_is_not_ordinary() {
    // What firmware says of DRAM: it can be cached in every way. Bit 16 is that of more reliable
    // memory.
    let dram = 0xf;
    assert!(is_ordinary(dram) && is_ordinary(dram | 1 << 16));
    assert!(!is_ordinary(dram | 1 << 18));
    assert!(!is_ordinary(dram & !8) && !is_ordinary(0));
}
