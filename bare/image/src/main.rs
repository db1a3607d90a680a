//! Makes the image of a bootable USB stick, and reads files from such an image. For `bare/stick`.
//!
//! The image is a disk with one FAT32 partition, which firmware and every operating system accept. Nothing
//! has to be mounted, so root is not needed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};

const USAGE: &str =
    "linefill-image make IMAGE PROGRAM [WORD...]\n       linefill-image read IMAGE FILE";

const SECTOR: u64 = 512;
/// The first byte of the partition: 1 MiB, where partitioning tools put it.
const START: u64 = 1 << 20;
/// Bytes of the partition: room for the records of some forty runs of all experiments. What is not written is a
/// hole in the image's file.
const BYTES: u64 = 512 << 20;
/// Bytes of a cluster. More than 65,525 clusters make the partition FAT32 (Microsoft's FAT specification, "FAT type
/// determination").
const CLUSTER: u32 = 4096;
/// The partition type of FAT32 with LBA. Windows hides partitions of the EFI system type; firmware also boots
/// from this type.
const FAT32_LBA: u8 = 0x0c;

/// The folder that firmware boots removable disks from, and the program's name in that folder (UEFI
/// specification 2.10, section 3.5.1.1).
const FOLDER: [&str; 2] = ["EFI", "BOOT"];
const PROGRAM: &str = "BOOTX64.EFI";
/// The file that the program reads its options from, and its maximum size (`bare/src/firmware/words.rs`).
const WORDS: &str = "linefill.txt";
const WORDS_BYTES: usize = 1024;
const LINE_END: &str = "\r\n";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &*arguments {
        ["make", image, program, words @ ..] => make(image, program, words),
        ["read", image, file] => read(image, file),
        _ => Err(anyhow::anyhow!("accepted: {USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("linefill-image: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Writes an image with the program and its options.
fn make(image: &str, program: &str, words: &[&str]) -> Result<()> {
    let words = words.join(" ");
    let most = WORDS_BYTES - LINE_END.len();
    ensure!(
        words.is_ascii() && words.len() <= most,
        "the words are `{words}`; accepted: at most {most} letters of ASCII"
    );
    let program = fs::read(program).with_context(|| format!("cannot read {program}"))?;
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(true);
    let opened = options.open(image);
    let mut disk = opened.with_context(|| format!("cannot write {image}"))?;
    disk.set_len(START + BYTES)?;
    disk.write_all(&partition_table())?;

    let mut partition = Partition::of(disk)?;
    let options = FormatVolumeOptions::new()
        .fat_type(FatType::Fat32)
        .bytes_per_cluster(CLUSTER)
        .volume_label(*b"LINEFILL   ");
    fatfs::format_volume(&mut partition, options)?;
    let files = FileSystem::new(partition, FsOptions::new())?;
    let mut folder = files.root_dir();
    for name in FOLDER {
        folder = folder.create_dir(name)?;
    }
    folder.create_file(PROGRAM)?.write_all(&program)?;
    let words = format!("{words}{LINE_END}");
    folder.create_file(WORDS)?.write_all(words.as_bytes())?;
    drop(folder);
    files.unmount()?;
    Ok(())
}

/// Returns a master boot record with one partition, which takes the rest of the disk.
fn partition_table() -> [u8; SECTOR as usize] {
    let first = (START / SECTOR) as u32;
    let count = (BYTES / SECTOR) as u32;
    let mut head = [0; SECTOR as usize];
    let entry = &mut head[446..462];
    // Cylinder, head and sector numbers that mean "out of range".
    entry[1..4].copy_from_slice(&[0xfe, 0xff, 0xff]);
    entry[4] = FAT32_LBA;
    entry[5..8].copy_from_slice(&[0xfe, 0xff, 0xff]);
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..16].copy_from_slice(&count.to_le_bytes());
    head[510..512].copy_from_slice(&[0x55, 0xaa]);
    head
}

/// The partition of a disk, with positions from its own beginning.
struct Partition(File);

impl Partition {
    fn of(mut disk: File) -> io::Result<Self> {
        disk.seek(SeekFrom::Start(START))?;
        Ok(Self(disk))
    }
}

impl Read for Partition {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Partition {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Partition {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => SeekFrom::Start(START + at),
            relative => relative,
        };
        let at = self.0.seek(to)?;
        let before = || io::Error::other("a position before the partition");
        at.checked_sub(START).ok_or_else(before)
    }
}

/// Prints a file from the program's folder.
fn read(image: &str, name: &str) -> Result<()> {
    let disk = File::open(image).with_context(|| format!("cannot read {image}"))?;
    let bytes = disk.metadata()?.len();
    ensure!(bytes > START, "{image} has {bytes} bytes; accepted: an image that `make` made");
    let files = FileSystem::new(Partition::of(disk)?, FsOptions::new())
        .with_context(|| format!("{image} is no image that `make` made"))?;
    let folder = files.root_dir().open_dir(&FOLDER.join("/"))?;
    let mut text = Vec::new();
    match folder.open_file(name) {
        Ok(mut file) => file.read_to_end(&mut text)?,
        Err(_) => {
            let names: Vec<String> = folder
                .iter()
                .filter_map(|entry| Some(entry.ok()?.file_name()))
                .filter(|name| !name.starts_with('.'))
                .collect();
            bail!("{image} has no `{name}`; accepted: {}", names.join(", "));
        }
    };
    std::io::stdout().write_all(&text)?;
    Ok(())
}
