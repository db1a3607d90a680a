//! Records, verdict tables, the report, and the commands of `linefill`.

// `print!` and `eprint!` panic if the terminal has gone; `terminal` writes to it without a panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]
// The program alone uses these modules: a name that says all needs no comment.
#![allow(missing_docs)]

pub mod analysis;
pub mod answer;
pub mod chart;
mod checkup;
mod commands;
pub mod compare;
pub mod consistency;
pub mod counters;
pub mod date;
mod export;
mod figures;
mod fleet;
mod format;
mod gallery;
pub mod gate;
pub mod inferred;
pub mod layout;
mod listing;
pub mod plain;
mod progress;
mod quiet;
pub mod read;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod selection;
pub mod session;
pub mod sharing;
pub mod sheet;
mod show;
pub mod simulate;
pub mod size;
mod summary;
mod terminal;
mod time;
mod tour;
pub mod undecided;
pub mod watch;
mod whole;

pub use commands::main;
