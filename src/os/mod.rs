//! The std shim: what only an operating system can give (Linux).
