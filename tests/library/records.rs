//! The records in `records/`, each read and analysed once for all tests.
#![cfg(feature = "lab")]

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use linefill::lab::analysis::Analysis;
use linefill::lab::read::{parse, read};
use linefill::lab::record::Record;
use linefill::lab::report::{ReportView, build};

/// A stored record.
pub struct Stored {
    pub path: PathBuf,
    record: OnceLock<Record>,
    analysis: OnceLock<Analysis>,
    report: OnceLock<ReportView>,
}

impl Stored {
    pub fn record(&self) -> &Record {
        self.record.get_or_init(|| read(&self.path).unwrap().record)
    }

    pub fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| Analysis::of(self.record().clone()))
    }

    pub fn report(&self) -> &ReportView {
        self.report.get_or_init(|| build(self.analysis()).expect("a report"))
    }
}

/// All records, the earliest first.
pub fn all() -> &'static [Stored] {
    static ALL: LazyLock<Vec<Stored>> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
        let files = folder.read_dir().unwrap().map(|file| file.unwrap().path());
        let records = files.filter(|file| file.extension().is_some_and(|ending| ending == "zst"));
        let mut records: Vec<Stored> = records
            .map(|path| Stored {
                path,
                record: OnceLock::new(),
                analysis: OnceLock::new(),
                report: OnceLock::new(),
            })
            .collect();
        records.sort_by(|one, other| one.path.cmp(&other.path));
        assert!(!records.is_empty());
        records
    });
    &ALL
}

/// A run of D14, D15 and D17 on a made-up machine, stopped before the verdicts of D15 were written. A reason
/// and the brand look like markup.
pub fn planted() -> Record {
    let text = include_bytes!("../fixtures/record/planted.jsonl");
    parse(&text[..]).expect("a record").record
}

/// A quick run without streams.
pub fn first() -> &'static Stored {
    named("2026-11-20-zen4-guest")
}

/// The latest run.
pub fn last() -> &'static Stored {
    named("2026-11-25-zen4-guest")
}

fn named(name: &str) -> &'static Stored {
    let is = |stored: &&Stored| stored.path.ends_with(format!("{name}.jsonl.zst"));
    all().iter().find(is).unwrap()
}
