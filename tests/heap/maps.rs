//! The maps of Sestoft's section 5: their contents, linearizability of concurrent operations, and that no
//! memory is freed twice, too early or never.
#![cfg(feature = "std")]

automod::dir!("tests/heap/maps");

use std::sync::Arc;

use linefill::experiment::topics::maps::map::{MapKind, SharedMap};

/// All maps in this build with their names, each with this number of stripes and space for this number of
/// keys.
fn maps(stripes: usize, keys: usize) -> Vec<(&'static str, Arc<dyn SharedMap>)> {
    let made = MapKind::ALL.map(|kind| (kind, kind.make(stripes, keys)));
    let missing = made.iter().filter(|(_, map)| map.is_err()).count();
    assert_eq!(missing, if cfg!(feature = "peers") { 0 } else { 2 });
    let present = made.into_iter();
    present.filter_map(|(kind, map)| Some((kind.name(), map.ok()?))).collect()
}
