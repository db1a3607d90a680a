//! The maps of Sestoft's section 5: what they hold, that operations of several threads look as if
//! done one after the other, and that nothing is freed twice, too early or never.
#![cfg(feature = "std")]

automod::dir!("tests/heap/maps");

use std::sync::Arc;

use linefill::experiment::topics::maps::map::{MapKind, SharedMap};

/// Every map that this was built with, named, with so many stripes and room for so many keys.
fn maps(stripes: usize, keys: usize) -> Vec<(&'static str, Arc<dyn SharedMap>)> {
    let made = MapKind::ALL.map(|kind| (kind, kind.make(stripes, keys)));
    let missing = made.iter().filter(|(_, map)| map.is_err()).count();
    assert_eq!(missing, if cfg!(feature = "peers") { 0 } else { 2 });
    let present = made.into_iter();
    present
        .filter_map(|(kind, map)| Some((kind.name(), map.ok()?)))
        .collect()
}
