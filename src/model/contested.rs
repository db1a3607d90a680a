//! A line that several cores write to, each as often as it can.

/// A line that goes around between cores which all want it, whose times are in one unit.
///
/// Half a round trip takes a core's request for the line on its way to the owner and the line on its
/// way back. Who loses the line asks for it anew at once, while it is still on its way to the next
/// owner, and the request comes to that one behind it: about half of the time from one owner to the
/// next the line is at rest, and is worked with. So what a core does on such a line is slower by how
/// many cores there are, and hardly by how far they are apart.
///
/// ```
/// # use linefill::model::Contested;
/// // Two cores whose line takes 280 cycles there and back add to it in 10 cycles on their own.
/// let line = Contested { threads: 2.0, round_trip: 280.0 };
/// assert_eq!(line.hold(), 70.0); // seven additions in a round of 280 cycles
/// assert_eq!(line.waiting(10.0), 40.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contested {
    /// Cores that want the line.
    pub threads: f64,
    /// Time of the line's way to another core and back, if each takes it with its first access and
    /// gives it back at once.
    pub round_trip: f64,
}

impl Contested {
    /// Time in which every core has the line once.
    pub fn round(&self) -> f64 {
        self.threads * self.round_trip / 2.0
    }

    /// How long a core has it at a time.
    pub fn hold(&self) -> f64 {
        self.round_trip / 4.0
    }

    /// Time of an operation that waits for the line, such as a locked addition, and takes `own` while
    /// the line is there: at least one is done before the line goes.
    pub fn waiting(&self, own: f64) -> f64 {
        self.round() / (self.hold() / own).max(1.0)
    }

    /// The same of an operation that loads first and changes what it has loaded, such as a
    /// compare-and-exchange: the load has the line shared, so that the core asks for it twice.
    pub fn loading_first(&self, own: f64) -> f64 {
        2.0 * self.waiting(own)
    }

    /// Cycles of an increment whose store waits in a buffer of `pending`, and whose load gets the
    /// value from there `forward` cycles after the increment before. What has waited goes to the line
    /// a store a cycle; then increments are done as quickly as they forward.
    pub fn buffered(&self, pending: f64, forward: f64) -> f64 {
        let waited = self.hold().min(pending);
        let more = (self.hold() - waited) / forward;
        self.round() / (waited + more).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Contested = Contested {
        threads: 2.0,
        round_trip: 240.0,
    };
    const FAR: Contested = Contested {
        round_trip: 960.0,
        ..NEAR
    };

    #[test]
    fn what_waits_for_the_line_is_slower_by_the_cores_and_not_by_their_distance() {
        assert_eq!(NEAR.waiting(12.0), 48.0);
        assert_eq!(FAR.waiting(12.0), 48.0);
        assert_eq!(FAR.loading_first(12.0), 96.0);
        let four = Contested {
            threads: 4.0,
            ..NEAR
        };
        assert_eq!(four.waiting(12.0), 96.0);
    }

    #[test]
    fn an_operation_longer_than_the_line_stays_is_one_a_round() {
        assert_eq!(NEAR.waiting(600.0), 240.0);
    }

    #[test]
    fn stores_that_waited_go_a_cycle_each_and_others_as_they_forward() {
        assert_eq!(NEAR.buffered(64.0, 4.0), 4.0);
        // 64 at once, and then 176 cycles of 4.
        assert_eq!(FAR.buffered(64.0, 4.0), 960.0 / 108.0);
    }
}
