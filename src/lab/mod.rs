//! Records, verdict tables, the report, and the commands of `linefill`.
