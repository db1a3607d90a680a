//! The folder of the program's file.

use core::fmt::{self, Display, Formatter};
use core::num::NonZero;

use uefi::proto::device_path::DevicePathNodeEnum;
use uefi::proto::loaded_image::LoadedImage;
use uefi::proto::media::file::{
    Directory, File, FileAttribute, FileHandle, FileMode, FileType, RegularFile,
};
use uefi::{CStr16, Status, boot};

use super::words::{self, Invalid};

/// The file with words for the program.
const WORDS: &str = "linefill.txt";
/// One byte more than the maximum, to notice a longer file.
pub const WORDS_ROOM: usize = words::BYTES + 1;
/// The number of names that are tried for a record. One stick is used on many machines.
const RECORDS: u32 = 9999;
/// Code units of a path, including the terminator.
const PATH_UNITS: usize = 512;
const BACKSLASH: u16 = b'\\' as u16;

/// The folder of the program's file.
pub struct Folder(Directory);

/// Why the words in [`WORDS`] cannot be used.
pub enum Refused {
    /// The file cannot be read.
    Unreadable(Status),
    /// The bytes of the file are not words.
    Invalid(Invalid),
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unreadable(status) => write!(f, "{WORDS} cannot be read ({status})"),
            Refused::Invalid(reason) => write!(f, "{WORDS} is {reason}"),
        }
    }
}

/// The name of a record: `record.jsonl`, `record-2.jsonl` and so on.
#[derive(Clone, Copy)]
pub struct Name(NonZero<u32>);

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.get() {
            1 => f.write_str("record.jsonl"),
            number => write!(f, "record-{number}.jsonl"),
        }
    }
}

impl Folder {
    /// Opens the folder on the file system from which the firmware loaded the program.
    pub fn of_program() -> Result<Self, Status> {
        let image = boot::image_handle();
        let mut volume = boot::get_image_file_system(image).map_err(|error| error.status())?;
        let mut root = volume.open_volume().map_err(|error| error.status())?;
        let mut path = [0; PATH_UNITS];
        let folder = path_of_program(&mut path)?;
        if folder.is_empty() {
            return Ok(Self(root));
        }
        let folder = root.open(folder, FileMode::Read, FileAttribute::empty());
        match folder.and_then(FileHandle::into_type) {
            Ok(FileType::Dir(folder)) => Ok(Self(folder)),
            Ok(FileType::Regular(_)) => Err(Status::NOT_FOUND),
            Err(error) => Err(error.status()),
        }
    }

    /// The words in [`WORDS`], or none if there is no such file.
    pub fn words<'r>(&mut self, room: &'r mut [u8; WORDS_ROOM]) -> Result<&'r str, Refused> {
        let mut file = match self.open(format_args!("{WORDS}"), FileMode::Read) {
            Ok(file) => file,
            Err(Status::NOT_FOUND) => return Ok(""),
            Err(status) => return Err(Refused::Unreadable(status)),
        };
        let bytes = file.read(room);
        let bytes = bytes.map_err(|error| Refused::Unreadable(error.status()))?;
        words::words(&room[..bytes]).map_err(Refused::Invalid)
    }

    /// Creates a new file for a record. Existing records are kept.
    pub fn new_record(&mut self) -> Result<(RegularFile, Name), Status> {
        for number in (1..=RECORDS).filter_map(NonZero::new) {
            let name = Name(number);
            match self.open(format_args!("{name}"), FileMode::Read) {
                Ok(_) => {}
                Err(Status::NOT_FOUND) => {
                    let file = self.open(format_args!("{name}"), FileMode::CreateReadWrite)?;
                    return Ok((file, name));
                }
                Err(status) => return Err(status),
            }
        }
        Err(Status::VOLUME_FULL)
    }

    fn open(&mut self, name: fmt::Arguments<'_>, mode: FileMode) -> Result<RegularFile, Status> {
        let mut units = Units::default();
        fmt::write(&mut units, name).map_err(|_| Status::BUFFER_TOO_SMALL)?;
        let file = self.0.open(units.as_str(), mode, FileAttribute::empty());
        match file.and_then(FileHandle::into_type) {
            Ok(FileType::Regular(file)) => Ok(file),
            Ok(FileType::Dir(_)) => Err(Status::ACCESS_DENIED),
            Err(error) => Err(error.status()),
        }
    }
}

/// The path of the program's folder.
fn path_of_program(path: &mut [u16; PATH_UNITS]) -> Result<&CStr16, Status> {
    let image = boot::open_protocol_exclusive::<LoadedImage>(boot::image_handle())
        .map_err(|error| error.status())?;
    let mut used = 0;
    for node in image.file_path().ok_or(Status::NOT_FOUND)?.node_iter() {
        let Ok(DevicePathNodeEnum::MediaFilePath(part)) = node.as_enum() else {
            continue;
        };
        // The parts form one path, and only some firmware separates them with a backslash.
        let part = part.path_name();
        let part = part.iter().take_while(|&unit| unit != 0);
        for unit in core::iter::once(BACKSLASH).chain(part) {
            if unit == BACKSLASH && used > 0 && path[used - 1] == BACKSLASH {
                continue;
            }
            // The last unit stays 0.
            *path[..PATH_UNITS - 1].get_mut(used).ok_or(Status::BUFFER_TOO_SMALL)? = unit;
            used += 1;
        }
    }
    // Removes the file's own name and the backslash before it.
    let folder = path[..used].iter().rposition(|&unit| unit == BACKSLASH);
    let end = folder.unwrap_or(0);
    path[end] = 0;
    CStr16::from_u16_with_nul(&path[..=end]).map_err(|_| Status::INVALID_PARAMETER)
}

/// A short name in UCS-2 code units, which the firmware uses.
#[derive(Default)]
struct Units {
    /// The last unit stays 0.
    units: [u16; 32],
    used: usize,
}

impl Units {
    fn as_str(&self) -> &CStr16 {
        CStr16::from_u16_with_nul(&self.units[..=self.used]).expect("ASCII, with a 0 behind it")
    }
}

impl fmt::Write for Units {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for unit in text.encode_utf16() {
            if self.used + 1 == self.units.len() {
                return Err(fmt::Error);
            }
            self.units[self.used] = unit;
            self.used += 1;
        }
        Ok(())
    }
}
