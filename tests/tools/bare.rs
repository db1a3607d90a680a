//! Builds the bare image, boots it in QEMU, and reads its output on the serial port.
//!
//! QEMU interprets the image (TCG) and has no cache model. These tests therefore check correctness, and say
//! nothing about speed. Without QEMU or the image's Rust target they are skipped; if `CI` is set, they fail
//! instead.
#![cfg(feature = "lab")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::cli::Folder;
use crate::common::target;
use crate::common::untested::starts;
use crate::programs;
use linefill::experiment::LADDER;
use linefill::kernel::Work;
use linefill::kernel::symbols;
use linefill::lab::analysis::Analysis;
use linefill::lab::read::parse;
use linefill::lab::record::{FORMAT, MACHINE, Record};
use linefill::pmu::Quantity;
use linefill::stats::Interval;

pub const QEMU: &str = "qemu-system-x86_64";
const TARGET: &str = "x86_64-unknown-none";
/// QEMU's exit status: twice the image's status plus one (`bare/src/loader/exit.rs`).
pub const PASSED: i32 = 33;
pub const FAILED: i32 = 35;
pub const EXCEPTION: i32 = 37;
const PANICKED: i32 = 39;

/// The quantities that the image counts if there are counters.
const COUNTED: [Quantity; 3] = [Quantity::Cycles, Quantity::Instructions, Quantity::L1dMisses];

/// The result of one boot.
pub struct Boot {
    /// QEMU's exit status; `None` if it was killed.
    pub status: Option<i32>,
    pub serial: String,
}

pub fn have_qemu() -> bool {
    starts(QEMU) && target::installed(TARGET)
}

/// The image; all tests share one build.
pub fn image() -> &'static Path {
    static IMAGE: OnceLock<PathBuf> = OnceLock::new();
    IMAGE.get_or_init(|| build("linefill-bare", ""))
}

/// Builds the image with these features, under this name.
pub fn build(name: &str, features: &str) -> PathBuf {
    programs::build("bare", TARGET, features, "linefill", name)
}

fn boot(command_line: &str) -> Boot {
    boot_on(["-accel", "tcg", "-cpu", "max", "-m", "128"], command_line)
}

pub fn boot_on(machine: [&str; 6], command_line: &str) -> Boot {
    boot_image(image(), machine, command_line)
}

/// Boots `image` on a machine emulated by QEMU.
pub fn boot_image<const N: usize>(image: &Path, machine: [&str; N], command_line: &str) -> Boot {
    let output = assert_cmd::Command::new(QEMU)
        .args(machine)
        .args(["-M", "microvm,isa-serial=on", "-nodefaults", "-no-user-config"])
        .args(["-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"])
        .arg("-kernel")
        .arg(image)
        .args(["-append", command_line])
        // A single boot takes half a minute, and longer if several share two busy cores.
        .timeout(Duration::from_secs(600))
        .output()
        .expect("qemu starts");
    let serial = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{serial}{errors}");
    Boot { status: output.status.code(), serial }
}

/// The boot with more memory asked for than there is, shared by all tests that only read its output.
pub fn plain() -> &'static Boot {
    static BOOT: OnceLock<Boot> = OnceLock::new();
    BOOT.get_or_init(|| boot("largest=1073741824"))
}

/// The largest working set in boots for other tests.
const SMALL: usize = 65536;

/// Skips the checks of kernels, which take most of a boot in QEMU; for boots that test something else.
pub const UNVERIFIED: &str = "verify=off";

/// Boots in both rings that use planted counters, with enough memory for pages of 1 GiB.
pub fn large() -> &'static [Boot; 2] {
    static BOOTS: OnceLock<[Boot; 2]> = OnceLock::new();
    BOOTS.get_or_init(|| {
        ["", "ring=3"].map(|ring| {
            let words = format!("plant=pmu largest={SMALL} {UNVERIFIED} {ring}");
            boot_large("max", &words)
        })
    })
}

/// Boots a machine with enough memory for pages of 1 GiB.
fn boot_large(cpu: &str, command_line: &str) -> Boot {
    boot_on(["-accel", "tcg", "-cpu", cpu, "-m", "2304"], command_line)
}

impl Boot {
    /// The checks that the image reported, with their results.
    pub fn checks(&self) -> Vec<(&str, bool)> {
        self.serial
            .lines()
            .filter_map(|line| line.trim_end().strip_prefix("# check "))
            .map(|line| {
                let (name, result) = line.rsplit_once(": ").expect("a check has a result");
                assert!(["ok", "FAILED"].contains(&result), "{line}");
                (name, result == "ok")
            })
            .collect()
    }

    /// The kernels whose check passed.
    pub fn agreed(&self) -> BTreeSet<&str> {
        let passed = self.checks().into_iter().filter(|&(_, ok)| ok);
        passed.filter_map(|(name, _)| name.strip_prefix("kernel ")).collect()
    }

    /// Whether the output says that `agreed` of all kernels agree with their reference implementations.
    pub fn counts(&self, agreed: usize) -> bool {
        let all = symbols::all().count();
        let line =
            format!("# {agreed} of {all} kernels agree with their reference implementations");
        self.serial.lines().any(|said| said.trim_end() == line)
    }

    /// The record, parsed from output that also has lines for people.
    pub fn record(&self) -> Record {
        let reading = parse(self.serial.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(reading.cut_off, None);
        reading.record
    }

    /// The flags of the record's points, as written in their lines.
    fn flags(&self) -> Vec<Vec<String>> {
        let lines = self.serial.lines().filter(|line| line.contains("\"timed\":"));
        let flags = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line.trim_end()).unwrap();
            serde_json::from_value(line["timed"]["flags"].clone()).unwrap()
        };
        lines.map(flags).collect()
    }
}

/// The working sets of the walk in bytes: half octaves from 4 KiB to the arena's 32 MiB, rounded down to
/// whole lines.
fn working_sets() -> impl Iterator<Item = usize> {
    (24..=50).map(|half| 2f64.powf(f64::from(half) / 2.0) as usize / 64 * 64)
}

/// Each element is a line of the working set; the walk visits all of them, in both rings. The kernels are checked
/// in ring 0: what they do does not depend on the ring.
#[test]
fn boots_in_both_rings_and_passes() {
    if !have_qemu() {
        return;
    }
    let in_ring_3 = boot(&format!("ring=3 {UNVERIFIED}"));
    for (ring, boot) in [(0, plain()), (3, &in_ring_3)] {
        assert_eq!(boot.status, Some(PASSED));
        let first = boot.serial.lines().next().expect("a first line");
        assert!(first.ends_with(&format!("in ring {ring}")), "{first}");
        assert!(boot.serial.contains("# no PMU: "), "no word of counters");
        let cut = "# largest=1073741824 is more than the memory that is there: working sets end at \
                   33554432";
        assert_eq!(boot.serial.contains(cut), ring == 0);
        let checks = boot.checks();
        assert!(checks.iter().all(|&(_, ok)| ok), "{checks:?}");
        for bytes in working_sets() {
            let lines = bytes / 64;
            let name = format!("walk {bytes} visits {lines} of {lines}");
            assert!(checks.contains(&(&name, true)), "no check `{name}`");
        }
    }
}

/// The lines on the serial port have the lab's format: a header, a point per working set, an end.
#[test]
fn the_record_is_one_that_the_lab_reads() {
    if !have_qemu() {
        return;
    }
    let record = plain().record();
    let header = &record.header;
    let end = record.end.as_ref().expect("an end");
    assert!(record.verdicts.is_empty());
    assert_eq!(header.format, FORMAT);
    assert_eq!(header.linefill, env!("CARGO_PKG_VERSION"));
    assert_eq!(header.profile, "bare");
    assert_eq!(header.hypervisor.as_deref(), Some("QEMU TCG"));
    assert!(header.rustc.starts_with("rustc "), "{}", header.rustc);
    // The emulated CPU has no counters; the record gives this reason for each quantity.
    let refused = header.counting.iter().map(|line| line.refused.as_deref());
    let no_pmu = Some("no PMU: CPUID reports no counters");
    assert_eq!(refused.collect::<Vec<_>>(), [no_pmu; COUNTED.len()]);
    // The time-stamp counter runs at the host's rate; the image calibrates it with the emulated interval
    // timer.
    assert!((1e8..1e11).contains(&header.tick_hz), "{}", header.tick_hz);
    assert!(!end.interrupted && end.seconds > 0.0, "{end:?}");

    let mut places = Vec::new();
    let flags = plain().flags();
    assert_eq!(flags.len(), record.points.len());
    for (line, flags) in record.points.iter().zip(flags) {
        let point = &line.point;
        let measured = point.measured().expect("every point is timed");
        let (ticks, interval) = (measured.ticks, measured.ticks.interval);
        assert!(interval.lo <= ticks.median && ticks.median <= interval.hi);
        assert!(ticks.min <= interval.lo && ticks.median > 0.0);
        assert_eq!(ticks.n, measured.samples.len());
        let work = Work { loads: 1, bytes_read: 8, ..Work::default() };
        assert_eq!(measured.work, work);
        assert!(measured.counts.is_empty(), "{:?}", measured.counts);
        assert_eq!((&*line.experiment, &*point.series), (MACHINE, LADDER));
        // The lab decides from the interval whether a point is noisy.
        let flagged = flags.iter().any(|flag| flag == "noisy");
        assert_eq!(flagged, measured.noisy(), "{point:?}");
        places.push(point.x as usize);
    }
    assert!(places.into_iter().eq(working_sets()));

    // The lab derives the machine from the record, with every point of its ladder.
    let machine = Analysis::of(record).machine;
    assert_eq!(machine.ladder.len(), working_sets().count());
    assert_eq!(machine.largest, 32 << 20);
}

/// The output of the serial port, with its comments and line ends, is compared with the record of a machine.
/// Both have a ladder, which is what the comparison uses.
#[test]
fn the_serial_port_is_compared_with_a_recorded_machine() {
    if !have_qemu() {
        return;
    }
    let boot = plain();
    assert_eq!(boot.status, Some(PASSED));
    let folder = Folder::new("bare-compare");
    std::fs::write(folder.at("serial.txt"), &boot.serial).unwrap();
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/records/2026-11-20-zen4-guest.jsonl.zst");
    let compared = folder.run(&["compare", recorded, "serial.txt", "--json"]);
    assert_eq!(compared.status, Some(0), "{compared:?}");
    let json: serde_json::Value = serde_json::from_str(&compared.out).unwrap();
    // Sides with different machines are named by their machines.
    let name = json["records"][1]["name"].as_str().unwrap();
    assert!(name.contains("QEMU"), "{name}");
    let differences = json["differences"].as_array().unwrap();
    let experiments: BTreeSet<_> =
        differences.iter().map(|difference| difference["experiment"].as_str().unwrap()).collect();
    assert_eq!(experiments, BTreeSet::from([MACHINE]));
    // Every working set of both ladders is compared, each with its own times.
    let rungs = differences[0]["points"].as_array().unwrap();
    assert_eq!(rungs.len(), working_sets().count());
    let ratio = |rung: &serde_json::Value| rung["ratio"][1].as_f64().unwrap();
    assert!(rungs.iter().all(|rung| ratio(rung) > 0.0));

    // Writes the page, and tests a gate: a record compared with itself passes.
    folder.run(&["compare", recorded, "serial.txt"]).ok();
    let page = std::fs::read_to_string(folder.at("compare.html")).unwrap();
    assert!(page.contains("QEMU TCG"), "no word of the hypervisor");
    let gated = ["compare", "serial.txt", "serial.txt", "--fail-if", "machine > 1.05"];
    folder.run(&gated).ok();
}

/// Planted counters, which CPUID does not report: the image programs and reads them, because QEMU allows
/// writes to these registers and reads them as 0. The record names the event of each quantity, and its counts
/// are 0.
#[test]
fn counters_are_programmed_and_read() {
    if !have_qemu() {
        return;
    }
    let [boot, refused] = large();
    let small = working_sets().filter(|&bytes| bytes <= SMALL).count();
    assert_eq!(boot.status, Some(PASSED));
    assert!(boot.serial.contains("# PMU: 4 general counters, 3 fixed"));
    let record = boot.record();
    let header = &record.header;
    let by = header.counting.iter().map(|line| (&*line.counts, line.by.as_deref()));
    let architectural = Some("architectural event");
    let events = [architectural, architectural, None];
    assert!(by.eq(COUNTED.map(Quantity::name).into_iter().zip(events)));
    assert_eq!(record.points.len(), small);
    for line in &record.points {
        let counts = line.point.counts().iter();
        let counts = counts.map(|count| (count.quantity, count.value, count.multiplexed));
        let none = |quantity| (quantity, Interval::exact(0.0), false);
        assert!(counts.eq([Quantity::Cycles, Quantity::Instructions].map(none)));
    }
    // In ring 3 the counters are not used.
    assert_eq!(refused.status, Some(PASSED));
    assert_eq!(refused.record().points.len(), small);
    assert!(refused.serial.contains("# counters are programmed in ring 0 alone"));
}

/// The tables of the image map an address with pages of the requested size. A walk of the tables and accesses
/// by the CPU both confirm this. A page of 1 GiB needs that much contiguous memory, and a CPU that supports
/// it.
#[test]
fn memory_comes_in_pages_of_every_size_in_both_rings() {
    if !have_qemu() {
        return;
    }
    let pages = |boot: &Boot| {
        assert_eq!(boot.status, Some(PASSED));
        let sizes = ["4 KiB", "2 MiB", "1 GiB"];
        sizes.map(|size| boot.checks().contains(&(&*format!("pages of {size}"), true)))
    };
    assert_eq!(pages(plain()), [true, true, false]);
    let small = "no 1024 MiB of memory are free in one piece for pages of 1 GiB";
    assert!(plain().serial.contains(small));
    let none = "this CPU has no pages of 1 GiB";
    for boot in large() {
        assert_eq!(pages(boot), [true; 3]);
        assert!(!boot.serial.contains(none));
    }
    let boot = boot_large("max,-pdpe1gb", &format!("largest=4096 {UNVERIFIED}"));
    assert_eq!(pages(&boot), [true, true, false]);
    assert!(boot.serial.contains(none));
}

/// Runs the unit tests of the package that maps memory, on this host.
#[test]
fn the_tests_of_page_tables_pass() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/bare/memory/Cargo.toml");
    let status = Command::new(env!("CARGO"))
        .args(["test", "--locked", "--manifest-path", manifest])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .arg("--target-dir")
        .arg(programs::folder())
        .status()
        .expect("cargo starts");
    assert!(status.success(), "{status}");
}

/// Each kind of failure has a separate status, and none hangs.
#[test]
fn planted_faults_end_the_run_with_their_own_status() {
    if !have_qemu() {
        return;
    }
    for (plant, status, trace) in [
        ("plant=failure largest=65536 verify=off", FAILED, "# check planted on purpose: FAILED"),
        // Words that are not understood are failed checks. `ring=3` must be a whole word.
        ("ring=30 plant=panic", PANICKED, "in ring 0"),
        (
            "largest=4095 plant=panic",
            PANICKED,
            "# check not understood: largest=4095 (accepted: largest=BYTES from 4096, ",
        ),
        ("plant=exception", EXCEPTION, "# exception: vector 6 (#UD"),
        ("ring=3 plant=exception", EXCEPTION, "# exception: vector 6 (#UD"),
        ("plant=panic", PANICKED, "# panic: "),
    ] {
        let boot = boot(plant);
        assert_eq!(boot.status, Some(status), "{plant}");
        assert!(boot.serial.contains(trace), "{plant}: no `{trace}`");
    }
}

/// A Multiboot2 loader enters the image with bits of CR4 that do not fit its page tables, and with words. It
/// cannot ask for ring 3. The loader is code beside the image, which the entry of its PVH note leads to.
#[test]
fn a_multiboot2_loader_may_leave_bits_of_cr4() {
    if !have_qemu() {
        return;
    }
    let folder = Folder::new("bare-multiboot2");
    let mut elf = std::fs::read(image()).unwrap();
    let note = b"\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0";
    let at = elf.windows(note.len()).position(|bytes| bytes == note);
    let at = at.expect("a PVH note") + note.len();
    let start32: [u8; 4] = elf[at..at + 4].try_into().unwrap();
    elf[at..at + 4].copy_from_slice(&LOADER.to_le_bytes());
    let image = folder.at("image");
    std::fs::write(&image, elf).unwrap();
    let loader = folder.at("loader");
    std::fs::write(&loader, multiboot2_loader(start32, b"ring=3 plant=panic\0")).unwrap();

    let device = format!("loader,file={},addr={LOADER},force-raw=on", loader.display());
    let machine = ["-accel", "tcg", "-cpu", "max", "-m", "128", "-device", &device];
    let boot = boot_image(&image, machine, "");
    assert_eq!(boot.status, Some(PANICKED));
    let ring_3 = "ring=3 works with a PVH loader alone, such as QEMU's -kernel";
    assert_eq!(boot.checks(), [(ring_3, false)]);
}

/// The address of the loader, far behind the image.
const LOADER: u32 = 64 << 20;

/// A loader that sets CR4, passes `words` (with their 0), and jumps to `start32`.
fn multiboot2_loader(start32: [u8; 4], words: &[u8]) -> Vec<u8> {
    const INFORMATION: u32 = 64;
    const CR4_LA57_SMEP_SMAP: u32 = 1 << 12 | 1 << 20 | 1 << 21;
    const MAGIC: u32 = 0x36d7_6289;
    let mut loader = [
        &[0xb8][..], // mov eax, ...
        &CR4_LA57_SMEP_SMAP.to_le_bytes(),
        &[0x0f, 0x22, 0xe0, 0xbb], // mov cr4, eax; mov ebx, ...
        &(LOADER + INFORMATION).to_le_bytes(),
        &[0xb8], // mov eax, ...
        &MAGIC.to_le_bytes(),
        &[0xba], // mov edx, ...
        &start32,
        &[0xff, 0xe2], // jmp edx
    ]
    .concat();
    loader.resize(INFORMATION as usize, 0);
    // The size of all, 0; a tag of type 1 with the words; an end tag (Multiboot2 specification, section 3.4).
    let padded = words.len().next_multiple_of(8);
    let head = [24 + padded, 0, 1, 8 + words.len()];
    loader.extend(head.iter().flat_map(|&word| (word as u32).to_le_bytes()));
    loader.extend(words);
    loader.resize(INFORMATION as usize + 16 + padded, 0);
    loader.extend([0, 8u32].iter().flat_map(|word| word.to_le_bytes()));
    loader
}
