//! Records, verdict tables, the report, and the commands of `linefill`.

pub mod convert;
pub mod record;
pub mod reference;
pub mod report;
