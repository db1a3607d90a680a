//! Startin's A6: a list of events replaces the default events.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::AskSetup;
use crate::host::Host;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[OPTION];

/// Two of the kernel's own events, which need no hardware counter.
const ASKED: &str = "page-faults,minor-faults";

/// The post's events, as its author passed them to JMH.
const OF_POST: &str = "L1D_PEND_MISS.PENDING,L1D_PEND_MISS.PENDING_CYCLES";

const USUAL: &str = "events counted if nobody says which";
const OURS: &str = "events asked for and counted";
const OTHERS: &str = "events counted besides those asked for";
const POST: &str = "the post's events, counted";

const OPTION: Experiment = Experiment {
    id: "A6",
    name: "startin-perfnorm-option",
    title: "Events given as a list",
    question: "Does a list of events replace the default events?",
    source: "Startin, \"Observing memory level parallelism with JMH\": `-prof \
             perfnorm:events=...` overrides the standard events",
    seen: &[],
    about: "`linefill counters -e LIST` and `counters::Counters` count only the events of the \
            list, so that no other event takes a share of a counter. Without a list they count \
            default events. The experiment counts the events of both cases. The post's two events \
            exist on Intel only.",
    plot: None,
    cases: |_| {
        let case = |series, ask| {
            let setup = AskSetup {
                name: series,
                ask,
                argument: 0,
            };
            Case::new(series, 0, setup)
        };
        vec![
            case(USUAL, |host, _| Ok(host.counted(None)?.len() as f64)),
            case(OURS, |host, _| Ok(among(host, ASKED, true)? as f64)),
            case(OTHERS, |host, _| Ok(among(host, ASKED, false)? as f64)),
            case(POST, |host, _| Ok(among(host, OF_POST, true)? as f64)),
        ]
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        // The argument overrides the standard events. To have CPI and cycles as well, name them in
        // the list.
        reported(
            "A6.1",
            startin("option perfnorm:events"),
            "a list that names two events of the kernel has both counted and no other event, \
             while a run without a list counts at least one event",
            |e| {
                all_of([
                    at_least("events counted without a list", e.at(USUAL, 0.0), 1.0),
                    between("events of the list", e.at(OURS, 0.0), 2.0, 2.0),
                    between("others", e.at(OTHERS, 0.0), 0.0, 0.0),
                ])
            },
        ),
        // The post shows the option with these two events.
        counted(
            "A6.2",
            startin("option perfnorm:events"),
            "a list that names L1D_PEND_MISS.PENDING and L1D_PEND_MISS.PENDING_CYCLES has both \
             counted",
            |e| between("events of the list", e.at(POST, 0.0), 2.0, 2.0),
        ),
    ],
};

/// How many counted events are in the list, or are not.
fn among(host: &dyn Host, list: &str, in_it: bool) -> Result<usize, Untestable> {
    let names = host.counted(Some(list))?;
    let is_in_it = |name: &&String| list.split(',').any(|asked| asked == *name);
    Ok(names.iter().filter(|name| is_in_it(name) == in_it).count())
}
