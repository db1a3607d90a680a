//! A record names the core that was measured; under this name, programs find the core's published values.
#![cfg(feature = "lab")]

use linefill::infer::Found;
use linefill::lab::inferred::Inferred;
use linefill::lab::record::Header;
use linefill::lab::sheet::sheet;
use linefill::recorded::machine_of;

use super::records::planted;

/// The header of a record with this name of the core, in the field `microarchitecture`.
fn header(microarchitecture: &str) -> Header {
    let mut header = planted().header;
    header.cpu.microarchitecture = Some(microarchitecture.to_owned());
    header
}

/// The core that predictions from a record assume.
fn core_of(header: &Header) -> Option<&'static str> {
    let machine = machine_of(header, &[]);
    machine.calibration.core().map(|core| core.name)
}

/// The published value that the machine sheet compares with a measured store buffer.
fn published_stores(header: &Header) -> Option<String> {
    let inferred =
        Inferred { stores: Some(Found { value: [1, 2], confidence: 1.0 }), ..Inferred::default() };
    let rows = sheet(header, &machine_of(header, &[]), &[], &inferred, None);
    let row = rows.into_iter().find(|row| row.name == "store buffer");
    row.expect("a row for what was inferred").cpuid
}

/// Records of earlier versions name the generation with its core in parentheses, or one name for both.
/// Records of the boot image name only the generation.
#[test]
fn every_form_of_a_name_in_old_records_is_understood() {
    for (recorded, core) in [
        ("Zen 4", Some("Zen 4")),
        ("Zen+ (Zen)", Some("Zen")),
        ("Zen 5", Some("Zen 5")),
        ("Zen 5 (Zen 5 (256-bit))", Some("Zen 5 (256-bit)")),
        ("NetBurst (Prescott)", Some("NetBurst (Prescott)")),
        ("Core 2 (Core)", Some("Core")),
        ("Core 2 (Penryn) (Core)", Some("Core")),
        ("K8 (Griffin) (K8)", Some("K8")),
        ("Sapphire Rapids (Golden Cove)", Some("Golden Cove")),
        ("Alder Lake (Gracemont)", Some("Gracemont")),
        ("Sapphire Rapids", Some("Golden Cove")),
        ("Core 2 (Penryn)", Some("Core")),
        // A generation with two kinds of cores, without the kind.
        ("Alder Lake", None),
        ("Zen 4 (Golden Cove)", None),
        ("Golden Cove)", None),
        ("nobody's", None),
    ] {
        assert_eq!(core_of(&header(recorded)), core, "{recorded}");
    }
}

#[test]
fn the_sheet_shows_what_is_published_of_such_a_core() {
    for (recorded, stores) in [
        ("Zen 5 (Zen 5 (256-bit))", 104),
        ("Core 2 (Penryn) (Core)", 20),
        ("Sapphire Rapids (Golden Cove)", 114),
    ] {
        let published = published_stores(&header(recorded));
        let expected = format!("{stores}, published for this core");
        assert_eq!(published, Some(expected), "{recorded}");
    }
}

/// The difference that the machine sheet reports, if the reorder buffer holds this number of operations.
fn of_reorder_buffer(microarchitecture: &str, held: [u32; 2]) -> Option<String> {
    let header = header(microarchitecture);
    let found = Found { value: held, confidence: 1.0 };
    let inferred = Inferred { buffers: vec![("reorder buffer", found)], ..Inferred::default() };
    let rows = sheet(&header, &machine_of(&header, &[]), &[], &inferred, None);
    let row = rows.into_iter().find(|row| row.name == "reorder buffer");
    let row = row.expect("a row for what was inferred");
    let [least, most] = held;
    assert_eq!(row.measured, Some(format!("{least} to {most} operations")));
    row.differs
}

#[test]
fn a_reorder_buffer_is_the_published_one_half_of_it_or_another() {
    assert_eq!(of_reorder_buffer("Zen 4", [304, 330]), None);
    let half = of_reorder_buffer("Zen 4", [152, 165]).unwrap();
    assert!(half.contains("the core's other thread"), "{half}");
    let other = of_reorder_buffer("Zen 4", [512, 557]).unwrap();
    assert_eq!(other, "not the number published");
    // A core that is not in the table has no published values, and so no difference.
    assert_eq!(of_reorder_buffer("unknown", [512, 557]), None);
}
