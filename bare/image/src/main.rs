//! Makes the image of a bootable USB stick, and reads files from such an image. For `bare/stick`.
//!
//! The image is a disk with one FAT32 partition, which firmware and every operating system accept. Nothing
//! has to be mounted, so root is not needed.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};

const USAGE: &str =
    "linefill-image make IMAGE PROGRAM [WORD...]\n       linefill-image read IMAGE FILE";

const SECTOR: usize = 512;
/// The first byte of the partition: 1 MiB, where partitioning tools put it.
const START: usize = 1 << 20;
/// Bytes of the partition. More than 65,525 clusters make it FAT32 (Microsoft's FAT specification, "FAT type
/// determination").
const BYTES: usize = 64 << 20;
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
    let mut disk = vec![0; START + BYTES];
    let (head, partition) = disk.split_at_mut(START);
    write_partition_table(head);

    let mut partition = Cursor::new(partition);
    let options = FormatVolumeOptions::new()
        .fat_type(FatType::Fat32)
        .bytes_per_cluster(SECTOR as u32)
        .volume_label(*b"LINEFILL   ");
    fatfs::format_volume(&mut partition, options)?;
    let files = FileSystem::new(&mut partition, FsOptions::new())?;
    let mut folder = files.root_dir();
    for name in FOLDER {
        folder = folder.create_dir(name)?;
    }
    folder.create_file(PROGRAM)?.write_all(&program)?;
    let words = format!("{words}{LINE_END}");
    folder.create_file(WORDS)?.write_all(words.as_bytes())?;
    drop(folder);
    files.unmount()?;
    fs::write(image, disk).with_context(|| format!("cannot write {image}"))
}

/// Writes a master boot record with one partition, which takes the rest of the disk.
fn write_partition_table(head: &mut [u8]) {
    let first = (START / SECTOR) as u32;
    let count = (BYTES / SECTOR) as u32;
    let entry = &mut head[446..462];
    // Cylinder, head and sector numbers that mean "out of range".
    entry[1..4].copy_from_slice(&[0xfe, 0xff, 0xff]);
    entry[4] = FAT32_LBA;
    entry[5..8].copy_from_slice(&[0xfe, 0xff, 0xff]);
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..16].copy_from_slice(&count.to_le_bytes());
    head[510..512].copy_from_slice(&[0x55, 0xaa]);
}

/// Prints a file from the program's folder.
fn read(image: &str, name: &str) -> Result<()> {
    let disk = fs::read(image).with_context(|| format!("cannot read {image}"))?;
    let Some(partition) = disk.get(START..) else {
        bail!(
            "{image} has {} bytes; accepted: an image that `make` made",
            disk.len()
        );
    };
    let files = FileSystem::new(Cursor::new(partition.to_vec()), FsOptions::new())
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
