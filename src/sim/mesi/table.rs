//! The states of a line and the transitions between them: Figure 3.18 as data.

use core::fmt;

/// The state of a line in one core's cache (Drepper 3.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// Changed in this cache, and in no other cache.
    Modified,
    /// Same as memory, and in no other cache.
    Exclusive,
    /// Same as memory, and possibly in other caches.
    Shared,
    /// Not in this cache.
    Invalid,
}

impl State {
    /// All states, in the order of the protocol's name.
    pub const ALL: [State; 4] = [State::Modified, State::Exclusive, State::Shared, State::Invalid];

    /// Returns the state's letter.
    pub const fn letter(self) -> char {
        match self {
            State::Modified => 'M',
            State::Exclusive => 'E',
            State::Shared => 'S',
            State::Invalid => 'I',
        }
    }

    /// Returns whether no other cache may hold the line.
    pub const fn sole(self) -> bool {
        matches!(self, State::Modified | State::Exclusive)
    }
}

variants! {
    /// An event on a line, as seen by one core: the arrows of Figure 3.18.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum Event {
        /// This core reads.
        LocalRead = "local read",
        /// This core writes.
        LocalWrite = "local write",
        /// Another core requests the line in order to read it.
        RemoteRead = "remote read",
        /// Another core requests the line in order to write it, or announces a write to it.
        RemoteWrite = "remote write",
    }
}

/// The request that a core puts on the bus before it reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// No request: the line is in this cache in a suitable state.
    None,
    /// Requests the line in order to read it.
    Read,
    /// Requests the line in order to write it, and invalidates the other cores' copies (RFO).
    Own,
    /// Invalidates the other cores' copies of a line that this core already holds (an RFO without data).
    Announce,
}

/// The effect of one event on a line in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The request that goes on the bus first. A remote event makes no request.
    pub request: Request,
    /// The state afterwards, if no other cache has the line.
    pub alone: State,
    /// The state afterwards, if another cache has the line.
    pub shared: State,
    /// Whether, on a remote event, this core sends the line to the requesting core.
    pub sends: bool,
    /// Whether the line that is sent is also written to memory.
    pub writes_back: bool,
}

impl Transition {
    /// Returns a transition to one state, with or without other copies, without any message.
    pub const fn to(state: State) -> Self {
        Transition {
            request: Request::None,
            alone: state,
            shared: state,
            sends: false,
            writes_back: false,
        }
    }

    /// Returns the transition with a request before it.
    pub const fn asking(self, request: Request) -> Self {
        Transition { request, ..self }
    }

    /// Returns the transition with `state` as the next state if no other cache has the line.
    pub const fn or_alone(self, state: State) -> Self {
        Transition { alone: state, ..self }
    }

    /// Returns the transition with the line sent to the requesting core.
    pub const fn sending(self) -> Self {
        Transition { sends: true, ..self }
    }

    /// Returns the transition with the line sent to the requesting core and to memory.
    pub const fn sending_to_memory_too(self) -> Self {
        Transition { sends: true, writes_back: true, ..self }
    }
}

/// A coherence protocol: one transition per state and event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocol {
    /// Indexed by state, then by event.
    table: [[Transition; 4]; 4],
}

impl Protocol {
    /// MESI, as Figure 3.18 and the text beside it define it.
    pub const MESI: Protocol = {
        use State::{Exclusive, Invalid, Modified, Shared};
        let keep = Transition::to;
        Protocol {
            table: [
                [
                    keep(Modified),
                    keep(Modified),
                    keep(Shared).sending_to_memory_too(),
                    keep(Invalid).sending(),
                ],
                [keep(Exclusive), keep(Modified), keep(Shared), keep(Invalid)],
                [
                    keep(Shared),
                    keep(Modified).asking(Request::Announce),
                    keep(Shared),
                    keep(Invalid),
                ],
                [
                    keep(Shared).or_alone(Exclusive).asking(Request::Read),
                    keep(Modified).asking(Request::Own),
                    keep(Invalid),
                    keep(Invalid),
                ],
            ],
        }
    };

    /// MESI without state E, which "can be left out completely without causing functional problems".
    pub const MSI: Protocol = Protocol::MESI.with(
        State::Invalid,
        Event::LocalRead,
        Transition::to(State::Shared).asking(Request::Read),
    );

    /// Returns the effect of `event` on a line in `state`.
    pub const fn on(&self, state: State, event: Event) -> Transition {
        self.table[state as usize][event as usize]
    }

    /// Returns the protocol with one transition replaced.
    pub const fn with(mut self, state: State, event: Event, transition: Transition) -> Self {
        self.table[state as usize][event as usize] = transition;
        self
    }
}

impl fmt::Display for Transition {
    /// Prints the next state, or the states with and without other copies, and the messages: `S/E read`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shared.letter())?;
        if self.alone != self.shared {
            write!(f, "/{}", self.alone.letter())?;
        }
        f.write_str(match self.request {
            Request::None => "",
            Request::Read => " read",
            Request::Own => " RFO",
            Request::Announce => " RFO, no data",
        })?;
        f.write_str(match (self.sends, self.writes_back) {
            (true, true) => " data, memory",
            (true, false) => " data",
            (false, _) => "",
        })
    }
}

impl fmt::Display for Protocol {
    /// Prints one line per state and one column per event. `S/E` is S if another cache has the line,
    /// else E.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: usize = 16;
        write!(f, "  ")?;
        for event in Event::ALL {
            write!(f, "{:WIDTH$}", event.name())?;
        }
        for state in State::ALL {
            write!(f, "\n{} ", state.letter())?;
            for event in Event::ALL {
                // Padding applies to the complete text, so the cell is formatted first.
                let cell = alloc::format!("{}", self.on(state, event));
                write!(f, "{cell:WIDTH$}")?;
            }
        }
        Ok(())
    }
}
