//! Golden files of the program: reports and JSON as they were when they were blessed.

automod::dir!("tests/program/golden");
