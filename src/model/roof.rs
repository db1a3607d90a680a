//! The bandwidth that the tightest of several limits leaves: a roofline with three roofs.

/// What limits a stream of operations, each in the same unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofs {
    /// Bytes that the load and store ports move in a unit of time.
    pub ports: f64,
    /// Bytes that the level where the data lives delivers in a unit of time.
    pub level: f64,
    /// Lines that can be on their way from that level at once.
    pub in_flight: f64,
    /// Time that a line is on its way.
    pub latency: f64,
}

/// Which roof is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The load and store ports.
    Ports,
    /// What the level delivers.
    Level,
    /// The lines in flight: Little's law.
    InFlight,
}

impl Roofs {
    /// Bytes in a unit of time with lines of `line` bytes, and what keeps it from more.
    pub fn bandwidth(&self, line: f64) -> (f64, Bound) {
        let in_flight = self.in_flight * line / self.latency;
        let mut lowest = (self.ports, Bound::Ports);
        for roof in [(self.level, Bound::Level), (in_flight, Bound::InFlight)] {
            if roof.0 < lowest.0 {
                lowest = roof;
            }
        }
        lowest
    }

    /// Time of an operation that moves `bytes` and otherwise takes `work`, if the two overlap.
    pub fn time(&self, work: f64, bytes: f64, line: f64) -> f64 {
        work.max(bytes / self.bandwidth(line).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Roofs = Roofs {
        ports: 64.0,
        level: 10.0,
        in_flight: 12.0,
        latency: 400.0,
    };

    #[test]
    fn the_lowest_roof_counts() {
        assert_eq!(MEMORY.bandwidth(64.0), (1.92, Bound::InFlight));
        let near = Roofs {
            latency: 14.0,
            ..MEMORY
        };
        assert_eq!(near.bandwidth(64.0), (10.0, Bound::Level));
        let wide = Roofs {
            level: 100.0,
            ..near
        };
        assert_eq!(wide.bandwidth(128.0), (64.0, Bound::Ports));
    }

    #[test]
    fn work_hides_what_takes_less_time() {
        assert_eq!(MEMORY.time(100.0, 19.2, 64.0), 100.0);
        assert_eq!(MEMORY.time(1.0, 19.2, 64.0), 10.0);
    }
}
