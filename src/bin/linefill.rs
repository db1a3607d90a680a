//! The lab's program.

fn main() -> std::process::ExitCode {
    linefill::lab::main()
}
