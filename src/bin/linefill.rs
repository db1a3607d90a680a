//! The `linefill` program.

fn main() -> std::process::ExitCode {
    linefill::lab::main()
}
