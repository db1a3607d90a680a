//! A closed system: clients that use one station in turns, and do something else in between.

/// Time from one use of a station to the next of the same client, where `clients` use it for `service` each,
/// one after the other, and do something else for `think` in between.
///
/// Clients that wait for nobody come back after `think + service`. A station that is never idle serves one
/// client in `service`, and each comes back after all others. By operational analysis no system is faster
/// than either (P. Denning and J. Buzen, Computing Surveys 10(3), 1978; Lazowska, Zahorjan, Graham and
/// Sevcik, Quantitative System Performance, 1984, chapter 5, asymptotic bounds), and one with equal times
/// reaches the bounds. By Little's law the throughput of all clients is their number over this time, at most
/// `1 / service`, and each spends this time less `think` at the station: with many clients
/// `clients * service - think`.
///
/// ```
/// # use linefill::model::closed_cycle;
/// // A line that takes 60 ns for each of its users, who have 100 ns of other work.
/// assert_eq!(closed_cycle(2.0, 100.0, 60.0), 160.0);
/// assert_eq!(closed_cycle(8.0, 100.0, 60.0), 480.0);
/// ```
pub fn closed_cycle(clients: f64, think: f64, service: f64) -> f64 {
    (think + service).max(clients * service)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A station of equal times, client by client: who comes first is served first.
    fn simulated(clients: usize, think: f64, service: f64) -> f64 {
        const TURNS: usize = 1000;
        let mut back = vec![0.0; clients];
        let mut free = 0.0_f64;
        let mut last = vec![0.0; clients];
        for _ in 0..TURNS {
            for client in 0..clients {
                free = free.max(back[client]) + service;
                last[client] = free;
                back[client] = free + think;
            }
        }
        last[0] / TURNS as f64
    }

    #[test]
    fn a_station_of_equal_times_reaches_the_bounds() {
        for (clients, think) in [(1, 0.0), (1, 5.0), (2, 0.5), (2, 1.0), (3, 7.0), (16, 3.0)] {
            let model = closed_cycle(clients as f64, think, 1.0);
            let found = simulated(clients, think, 1.0);
            assert!(
                (found / model - 1.0).abs() < 0.02,
                "{clients} {think}: {found} {model}"
            );
        }
    }
}
