//! Code at chosen bytes of a line.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{CodeAlign, Placed};
use crate::mem::{LINE, Region};

/// Code at a byte of a line. An operation is a round through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeAlignSetup {
    /// What is placed.
    pub placed: Placed,
    /// The byte at which it starts.
    pub offset: usize,
}

impl Setup for CodeAlignSetup {
    /// A line, of which nothing is used: the code lies in the program.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let code = CodeAlign::new(self.placed, self.offset).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(code),
            lap: 1,
        })
    }
}
