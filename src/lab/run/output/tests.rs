//! Tests of the records in a folder.

use super::*;
use crate::lab::read::read;
use crate::lab::record::EndLine;
use std::sync::Barrier;
use std::thread;

fn end(interrupted: bool) -> Line {
    Line::End(EndLine { seconds: 1.0, interrupted })
}

fn folder(name: &str) -> PathBuf {
    let name = format!("linefill-output-{name}-{}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&dir);
    dir
}

#[test]
fn an_earlier_record_is_moved_aside_each_time() {
    let dir = folder("aside");
    let (first, none) = Recorder::create(&dir, [end(false)]).unwrap();
    assert_eq!(none, None);
    drop(first);
    fs::write(dir.join(REPORT), "old").unwrap();
    for _ in 0..2 {
        let (_, aside) = Recorder::create(&dir, [end(false)]).unwrap();
        assert!(aside.unwrap().record.exists());
    }
    let names = fs::read_dir(&dir).unwrap().count();
    assert_eq!(names, 4, "three records and a report");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_compressed_record_is_read_and_moved_aside() {
    let dir = folder("packed");
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let record = read(&records.join("2026-11-20-zen4-guest.jsonl.zst")).unwrap().record;
    let (recorder, _) = Recorder::create(&dir, record.clone().lines()).unwrap();
    let plain = fs::metadata(recorder.path()).unwrap().len();
    let packed = recorder.packed();
    assert_eq!(packed, dir.join(PACKED));
    assert_eq!(packed, crate::lab::read::record_at(&dir));
    assert!(4 * fs::metadata(&packed).unwrap().len() < plain);
    assert_eq!(read(&packed).unwrap().record, record);
    let mut damaged = fs::read(&packed).unwrap();
    damaged.truncate(damaged.len() / 2);
    fs::write(dir.join("damaged"), damaged).unwrap();
    let error = read(&dir.join("damaged")).unwrap_err().to_string();
    assert!(error.contains("cannot be unpacked"), "{error}");
    assert_eq!(error.matches("damaged").count(), 1, "its name once: {error}");
    let (_, aside) = Recorder::create(&dir, [end(false)]).unwrap();
    let aside = aside.unwrap();
    assert!(aside.finished && read(&aside.record).unwrap().record == record);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn two_runs_do_not_write_to_one_folder() {
    let dir = folder("locked");
    let (_first, _) = Recorder::create(&dir, [end(false)]).unwrap();
    let error = Recorder::create(&dir, []).unwrap_err();
    assert!(format!("{error:#}").contains("another run"), "{error:#}");
    fs::remove_dir_all(dir).unwrap();
}

/// Every run finds an empty folder. Locks belong to open files, so that threads can represent processes.
#[test]
fn of_runs_that_start_in_one_empty_folder_together_one_writes() {
    let dir = folder("together");
    for _ in 0..200 {
        let _ = fs::remove_dir_all(&dir);
        let together = Barrier::new(4);
        let start = || {
            together.wait();
            Recorder::create(&dir, [end(false)])
        };
        let tried: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|tried| tried.unwrap()).collect()
        });
        let (writing, refused): (Vec<_>, Vec<_>) = tried.into_iter().partition(Result::is_ok);
        for error in refused {
            let error = format!("{:#}", error.unwrap_err());
            assert!(error.contains("another run"), "{error}");
        }
        let [Ok((recorder, None))] = &writing[..] else {
            panic!("one run writes, and finds no other's record: {writing:?}");
        };
        let text = fs::read(recorder.path()).unwrap();
        assert_eq!(text, text_of([end(false)]).unwrap());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_is_resumed_is_locked_before_it_is_read() {
    let dir = folder("resumed");
    let (first, _) = Recorder::create(&dir, [end(false)]).unwrap();
    let error = Claim::existing(&dir).unwrap_err();
    assert!(format!("{error:#}").contains("another run"), "{error:#}");
    drop(first);
    let claim = Claim::existing(&dir).unwrap().unwrap();
    assert!(Recorder::create(&dir, [end(true)]).is_err());
    let resumed = Recorder::replace(claim, [end(true), end(true)]).unwrap();
    assert!(Recorder::create(&dir, [end(true)]).is_err());
    let text = fs::read(resumed.path()).unwrap();
    assert_eq!(text, text_of([end(true), end(true)]).unwrap());
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_record_that_somebody_removes_is_written_anew() {
    let dir = folder("removed");
    let (mut recorder, _) = Recorder::create(&dir, [end(false)]).unwrap();
    for lines in 2..5 {
        match lines {
            2 => fs::remove_dir_all(&dir).unwrap(),
            3 => fs::remove_file(dir.join(RECORD)).unwrap(),
            _ => fs::write(dir.join("other"), "another").unwrap(),
        }
        if lines == 4 {
            // An editor replaces a file in this way.
            fs::rename(dir.join("other"), dir.join(RECORD)).unwrap();
        }
        recorder.append(&end(false)).unwrap();
        let text = fs::read(dir.join(RECORD)).unwrap();
        assert_eq!(text, text_of(vec![end(false); lines]).unwrap());
    }
    assert!(Recorder::create(&dir, []).is_err(), "it is locked");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "the other is kept");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_record_whose_folder_cannot_be_made_again_goes_elsewhere() {
    let dir = folder("elsewhere");
    let (mut recorder, _) = Recorder::create(&dir, [end(false)]).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    fs::write(&dir, "in its way").unwrap();
    recorder.append(&end(false)).unwrap();
    let text = fs::read(recorder.path()).unwrap();
    assert_eq!(text, text_of(vec![end(false); 2]).unwrap());
    fs::remove_dir_all(recorder.path().parent().unwrap()).unwrap();
    fs::remove_file(dir).unwrap();
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let error = Recorder::create(Path::new("/dev/null/out"), []).unwrap_err();
    assert!(error.to_string().contains("/dev/null/out"), "{error}");
}
