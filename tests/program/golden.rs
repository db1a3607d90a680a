//! Golden files of the program: reports and JSON as of the last `BLESS`.

automod::dir!("tests/program/golden");
