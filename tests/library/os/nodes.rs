//! Memory on chosen nodes of this machine, and refusals.
#![cfg(feature = "std")]

use std::ops::Range;

use crate::common::untested;
use linefill::host::{Granted, MemoryPolicy, OnNode, Via};
use linefill::os::memory::nodes_of;
use linefill::os::{Memory, MemoryError, Pages, Sysfs, first_touched_on};

/// The range of addresses of `bytes`.
fn range(bytes: &[u8]) -> Range<usize> {
    let first = bytes.as_ptr().addr();
    first..first + bytes.len()
}

/// The lowest node with memory, if the kernel reports nodes and this process may choose one.
fn lowest_node() -> Option<usize> {
    let Ok(nodes) = Sysfs::live().nodes() else {
        untested::machine("the kernel tells of no memory nodes");
        return None;
    };
    let Some(node) = nodes.iter().find(|node| node.has_memory()) else {
        untested::machine("the kernel tells of no node with memory");
        return None;
    };
    let node = node.id;
    match Memory::on_nodes(1, Pages::Base, &MemoryPolicy::Bind(node)) {
        Err(MemoryError::NoPolicy { answer, .. }) => {
            untested::machine(&format!("memory on node {node}: {answer}"));
            None
        }
        _ => Some(node),
    }
}

#[test]
fn memory_bound_to_a_node_is_reported_there() {
    let Some(node) = lowest_node() else { return };
    let policy = MemoryPolicy::Bind(node);
    let mut memory = Memory::on_nodes(100 * 4096 + 1, Pages::Base, &policy).unwrap();
    let expected =
        Granted::Placed { pages: Box::new(Granted::Base), on: vec![OnNode { node, pages: 101 }] };
    assert_eq!(*memory.granted(), expected);
    assert_eq!(memory.granted().to_string(), format!("4 KiB, node {node}"));
    assert_eq!(*memory.granted().pages(), Granted::Base);
    memory.as_mut_slice().fill(7);
    let found = nodes_of(range(memory.as_slice())).unwrap();
    assert_eq!(found, [OnNode { node, pages: 101 }]);
}

#[test]
fn large_pages_bound_to_a_node_are_counted_as_pages() {
    let Some(node) = lowest_node() else { return };
    let policy = MemoryPolicy::Bind(node);
    match Memory::on_nodes(8 << 20, Pages::Huge, &policy) {
        Ok(memory) => match memory.granted() {
            Granted::Placed { pages, on } => {
                let expected = match **pages {
                    Granted::Huge { .. } => 4,
                    _ => 2048,
                };
                assert_eq!(*on, [OnNode { node, pages: expected }]);
            }
            other => panic!("{other:?}"),
        },
        Err(error) => {
            untested::machine(&format!("huge pages on a node: {error}"));
            assert!(matches!(error, MemoryError::NoHugePages(_)), "{error}");
        }
    }
    let shown = Granted::Placed {
        pages: Box::new(Granted::Huge { via: Via::Transparent }),
        on: vec![OnNode { node: 1, pages: 3 }],
    };
    assert_eq!(shown.to_string(), "2 MiB (transparent), node 1");
}

#[test]
fn memory_in_turn_on_one_node_lies_there() {
    let Some(node) = lowest_node() else { return };
    let policy = MemoryPolicy::Interleave(vec![node]);
    let memory = Memory::on_nodes(10 * 4096, Pages::Base, &policy).unwrap();
    let expected = vec![OnNode { node, pages: 10 }];
    assert!(
        matches!(memory.granted(), Granted::Placed { on, .. } if *on == expected),
        "{:?}",
        memory.granted()
    );
}

#[test]
fn memory_without_nodes_of_its_own_says_nothing_of_them() {
    for policy in [MemoryPolicy::Default, MemoryPolicy::Local] {
        match Memory::on_nodes(4096, Pages::Base, &policy) {
            Ok(memory) => assert_eq!(*memory.granted(), Granted::Base),
            Err(error) => {
                untested::machine(&format!("memory without nodes: {error}"));
                assert!(matches!(error, MemoryError::NoPolicy { .. }), "{error}");
            }
        }
    }
}

#[test]
fn a_node_that_does_not_exist_is_refused_with_those_that_do() {
    let known = Sysfs::live().nodes().unwrap_or_default();
    let known: Vec<usize> = known.into_iter().map(|node| node.id).collect();
    // The second number is beyond the mask of any kernel.
    for node in [1023, 5000] {
        let policy = MemoryPolicy::Bind(node);
        let error = Memory::on_nodes(4096, Pages::Base, &policy).unwrap_err();
        let text = error.to_string();
        match error {
            MemoryError::NoPolicy { asked, nodes, .. } => {
                assert_eq!((asked, nodes), (policy, known.clone()));
            }
            other => panic!("{other}"),
        }
        let asked = format!("memory on node {node} refused by mbind: ");
        assert!(text.starts_with(&asked), "{text}");
        let reserved = Memory::reserve_on_nodes(4096, &MemoryPolicy::Bind(node)).unwrap_err();
        assert!(matches!(reserved, MemoryError::NoPolicy { .. }), "{reserved}");
    }
}

#[test]
fn pages_that_were_never_touched_lie_nowhere() {
    let Some(_) = lowest_node() else { return };
    let memory = Memory::reserve(4096).unwrap();
    let error = nodes_of(range(memory.as_slice())).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{error}");
}

#[test]
fn what_a_cpu_touches_first_lies_on_its_node() {
    let Some(_) = lowest_node() else { return };
    let nodes = Sysfs::live().nodes().unwrap();
    let cpu = *linefill::os::allowed().last().unwrap();
    let near = nodes.iter().find(|node| node.cpus.contains(&cpu));
    let Some(near) = near.filter(|node| node.has_memory()) else {
        return untested::machine("the node of the last CPU has no memory");
    };
    let mut memory = Memory::on_nodes(4 * 4096, Pages::Base, &MemoryPolicy::Local).unwrap();
    let pages = first_touched_on(memory.as_mut_slice(), cpu).unwrap();
    let found = nodes_of(range(pages)).unwrap();
    assert_eq!(found, [OnNode { node: near.id, pages: 4 }]);
}
