//! Records, verdict tables, the report, and the commands of `linefill`.

pub mod record;
