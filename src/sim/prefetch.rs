//! Hardware prefetchers: the accesses that they see, and the lines that they request.
//!
//! The three kinds are those of Intel's optimization manual (248966, "Data Prefetching"): the next line,
//! a stride per instruction, a stream per page. Real prefetchers differ in their numbers and in when
//! they throttle; none is exactly one of these.

use alloc::boxed::Box;
use alloc::vec;

/// A prefetcher of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Prefetcher {
    /// After a miss, and after the first use of a prefetched line: requests the next line.
    NextLine,
    /// For each of 64 instructions: once two distances between its accesses agree, requests the line at
    /// that distance. In a trace without instructions, all accesses count as one instruction's.
    Stride,
    /// For each of 32 pages of 4 KiB: after two steps in the same direction between lines that missed or
    /// were used for the first time since they were prefetched, requests `ahead` lines in that
    /// direction, within the page.
    Streamer {
        /// Lines that the streamer runs ahead of the program, 1 to 16.
        ahead: u8,
    },
}

/// The most lines that a streamer runs ahead.
pub const MOST_AHEAD: u8 = 16;

/// An access to a level, as its prefetchers see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Address of the access.
    pub(super) address: u64,
    /// Line number.
    pub(super) line: u64,
    /// Address of the instruction.
    pub(super) instruction: u64,
    /// Whether the line missed, or was prefetched and is used for the first time.
    pub(super) fresh: bool,
}

/// A prefetcher and its state. `line_bits` converts addresses to lines.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    line_bits: u32,
    memory: Memory,
}

#[derive(Clone, Debug)]
enum Memory {
    NextLine,
    Stride(Box<[Pace]>),
    Streamer { ahead: u64, streams: Box<[Stream]>, clock: u64 },
}

/// The accesses of an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// `None` before the first access. Traces without instructions have the address 0.
    instruction: Option<u64>,
    last: u64,
    stride: i64,
    agreed: u8,
}

/// The lines used in a page.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    page: u64,
    last: u64,
    /// Steps so far in the present direction: positive upwards, negative downwards.
    trend: i8,
    /// Time of the last use; 0 if never used.
    used: u64,
}

const PACES: usize = 64;
const STREAMS: usize = 32;
const PAGE_BITS: u32 = 12;

impl Engine {
    pub(super) fn new(prefetcher: Prefetcher, line_bits: u32) -> Self {
        let memory = match prefetcher {
            Prefetcher::NextLine => Memory::NextLine,
            Prefetcher::Stride => Memory::Stride(vec![Pace::default(); PACES].into_boxed_slice()),
            Prefetcher::Streamer { ahead } => Memory::Streamer {
                ahead: u64::from(ahead.clamp(1, MOST_AHEAD)),
                streams: vec![Stream::default(); STREAMS].into_boxed_slice(),
                clock: 0,
            },
        };
        Engine { line_bits, memory }
    }

    /// Observes an access, and calls `ask` with each line that should be brought in.
    pub(super) fn see(&mut self, seen: Seen, mut ask: impl FnMut(u64)) {
        let line_bits = self.line_bits;
        match &mut self.memory {
            Memory::NextLine => {
                if seen.fresh {
                    ask(seen.line.wrapping_add(1));
                }
            }
            Memory::Stride(paces) => {
                if let Some(address) = pace(paces, seen) {
                    let line = address >> line_bits;
                    if line != seen.line {
                        ask(line);
                    }
                }
            }
            Memory::Streamer { ahead, streams, clock } => {
                if !seen.fresh {
                    return;
                }
                *clock += 1;
                let page_bits = PAGE_BITS.saturating_sub(line_bits);
                let trend = stream(streams, seen.line, page_bits, *clock);
                for step in 1..=*ahead {
                    let line = match trend {
                        2.. => seen.line.wrapping_add(step),
                        ..=-2 => seen.line.wrapping_sub(step),
                        _ => return,
                    };
                    if line >> page_bits != seen.line >> page_bits {
                        return;
                    }
                    ask(line);
                }
            }
        }
    }
}

/// Returns the expected address of the instruction's next access, if two distances agreed.
fn pace(paces: &mut [Pace], seen: Seen) -> Option<u64> {
    let place = (seen.instruction ^ seen.instruction >> 6) as usize % paces.len();
    let pace = &mut paces[place];
    if pace.instruction != Some(seen.instruction) {
        *pace = Pace { instruction: Some(seen.instruction), last: seen.address, ..Pace::default() };
        return None;
    }
    let stride = seen.address.wrapping_sub(pace.last) as i64;
    pace.last = seen.address;
    if stride == 0 {
        return None;
    }
    if stride == pace.stride {
        pace.agreed = pace.agreed.saturating_add(1);
    } else {
        pace.stride = stride;
        pace.agreed = 0;
    }
    (pace.agreed > 0).then(|| seen.address.wrapping_add_signed(stride))
}

/// Records the line in the stream of its page. Returns the number of steps in the present direction,
/// negative if downwards.
fn stream(streams: &mut [Stream], line: u64, page_bits: u32, now: u64) -> i8 {
    let page = line >> page_bits;
    let known = streams.iter().position(|stream| stream.used != 0 && stream.page == page);
    let Some(known) = known else {
        if let Some(oldest) = streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = Stream { page, last: line, trend: 0, used: now };
        }
        return 0;
    };
    let stream = &mut streams[known];
    let up = line > stream.last;
    stream.trend = match (up, stream.trend) {
        _ if line == stream.last => stream.trend,
        (true, 0..) => stream.trend.saturating_add(1),
        (true, _) => 1,
        (false, ..=0) => stream.trend.saturating_sub(1),
        (false, _) => -1,
    };
    stream.last = line;
    stream.used = now;
    stream.trend
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Returns the lines requested after each of these addresses, which no instruction fetch precedes.
    fn asked(prefetcher: Prefetcher, addresses: &[u64]) -> Vec<Vec<u64>> {
        let mut engine = Engine::new(prefetcher, 6);
        addresses
            .iter()
            .map(|&address| {
                let mut lines = Vec::new();
                let seen = Seen { address, line: address >> 6, instruction: 0, fresh: true };
                engine.see(seen, |line| lines.push(line));
                lines
            })
            .collect()
    }

    #[test]
    fn the_next_line_after_every_miss() {
        assert_eq!(asked(Prefetcher::NextLine, &[0, 640]), [[1], [11]]);
    }

    #[test]
    fn a_stride_once_two_distances_agree_and_backwards_too() {
        let none: Vec<u64> = Vec::new();
        let up = asked(Prefetcher::Stride, &[0, 256, 512, 768, 5000, 5256]);
        let (third, fourth) = (vec![12], vec![16]);
        let wanted = [&none, &none, &third, &fourth, &none, &none];
        assert!(up.iter().eq(wanted));
        // The first address is no distance.
        assert!(asked(Prefetcher::Stride, &[4096, 8192]).iter().all(Vec::is_empty));
        let down = asked(Prefetcher::Stride, &[4096, 3840, 3584]);
        assert!(down.iter().eq([&none, &none, &vec![52]]));
    }

    #[test]
    fn a_stream_runs_ahead_in_its_direction_and_stays_in_its_page() {
        let streamer = Prefetcher::Streamer { ahead: 3 };
        let up = asked(streamer, &[0, 64, 128, 192]);
        assert!(up[0].is_empty() && up[1].is_empty());
        assert_eq!(up[2..], [vec![3, 4, 5], vec![4, 5, 6]]);
        let down = asked(streamer, &[4032, 3968, 3904]);
        assert_eq!(down[2], [60, 59, 58]);
        let edge = asked(streamer, &[60 << 6, 61 << 6, 62 << 6]);
        assert_eq!(edge[2], [63]);
    }

    #[test]
    fn more_pages_than_streams_forget_the_oldest() {
        let streamer = Prefetcher::Streamer { ahead: 1 };
        let round =
            |pages: u64| (0..3).flat_map(move |line| (0..pages).map(move |p| p << 12 | line << 6));
        let few: Vec<u64> = round(STREAMS as u64).collect();
        let many: Vec<u64> = round(STREAMS as u64 + 1).collect();
        assert!(asked(streamer, &few).iter().any(|lines| !lines.is_empty()));
        assert!(asked(streamer, &many).iter().all(Vec::is_empty));
    }
}
