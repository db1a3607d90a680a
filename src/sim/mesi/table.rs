//! The states of a line and what moves it from one to another: Figure 3.18 as data.

use core::fmt;

/// The state of a line in one core's cache (Drepper 3.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// Changed here, and in no other cache.
    Modified,
    /// As in memory, and in no other cache.
    Exclusive,
    /// As in memory, and perhaps in other caches.
    Shared,
    /// Not here.
    Invalid,
}

impl State {
    /// All states, in the order of the protocol's name.
    pub const ALL: [State; 4] = [
        State::Modified,
        State::Exclusive,
        State::Shared,
        State::Invalid,
    ];

    /// Its letter.
    pub const fn letter(self) -> char {
        match self {
            State::Modified => 'M',
            State::Exclusive => 'E',
            State::Shared => 'S',
            State::Invalid => 'I',
        }
    }

    /// Whether no other cache may have the line.
    pub const fn sole(self) -> bool {
        matches!(self, State::Modified | State::Exclusive)
    }
}

/// What happens to a line, as seen by one core: the arrows of Figure 3.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Event {
    /// This core reads.
    LocalRead,
    /// This core writes.
    LocalWrite,
    /// Another core asks for the line, to read it.
    RemoteRead,
    /// Another core asks for the line, or announces a write to it.
    RemoteWrite,
}

impl Event {
    /// All events, in the order of the figure's legend.
    pub const ALL: [Event; 4] = [
        Event::LocalRead,
        Event::LocalWrite,
        Event::RemoteRead,
        Event::RemoteWrite,
    ];

    /// The event in words.
    pub const fn name(self) -> &'static str {
        match self {
            Event::LocalRead => "local read",
            Event::LocalWrite => "local write",
            Event::RemoteRead => "remote read",
            Event::RemoteWrite => "remote write",
        }
    }
}

/// What a core puts on the bus before it reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Nothing: the line is here.
    None,
    /// Asks for the line to read it.
    Read,
    /// Asks for the line to write it, and tells the others to give it up (RFO).
    Own,
    /// Tells the others to give up a line that is here already (an RFO that moves no data).
    Announce,
}

/// What one event does to a line in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// What goes on the bus first. A remote event asks for nothing.
    pub request: Request,
    /// The state afterwards, if no other cache has the line.
    pub alone: State,
    /// The state afterwards, if another cache has it.
    pub shared: State,
    /// On a remote event, this core sends the line to the one that asked.
    pub sends: bool,
    /// The line that is sent goes to memory as well.
    pub writes_back: bool,
}

impl Transition {
    /// To one state, whatever others have, without a word to anybody.
    pub const fn to(state: State) -> Self {
        Transition {
            request: Request::None,
            alone: state,
            shared: state,
            sends: false,
            writes_back: false,
        }
    }

    /// The same after a request.
    pub const fn asking(self, request: Request) -> Self {
        Transition { request, ..self }
    }

    /// The same if another cache has the line; otherwise to `state`.
    pub const fn or_alone(self, state: State) -> Self {
        Transition {
            alone: state,
            ..self
        }
    }

    /// The same, sending the line to the core that asked.
    pub const fn sending(self) -> Self {
        Transition {
            sends: true,
            ..self
        }
    }

    /// The same, sending the line to the core that asked and to memory.
    pub const fn sending_to_memory_too(self) -> Self {
        Transition {
            sends: true,
            writes_back: true,
            ..self
        }
    }
}

/// A protocol: a transition for each state and event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocol {
    /// By state, then by event.
    table: [[Transition; 4]; 4],
}

impl Protocol {
    /// MESI, as Figure 3.18 and the text beside it have it.
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

    /// The protocol without its state E, which "can be left out completely without causing
    /// functional problems".
    pub const MSI: Protocol = Protocol::MESI.with(
        State::Invalid,
        Event::LocalRead,
        Transition::to(State::Shared).asking(Request::Read),
    );

    /// What `event` does to a line in `state`.
    pub const fn on(&self, state: State, event: Event) -> Transition {
        self.table[state as usize][event as usize]
    }

    /// The protocol with another transition in one place.
    pub const fn with(mut self, state: State, event: Event, transition: Transition) -> Self {
        self.table[state as usize][event as usize] = transition;
        self
    }
}

impl fmt::Display for Transition {
    /// The next state, or that with and without other copies, and what moves: `S/E Read`.
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
    /// One line per state and one column per event. `S/E` is S if another cache has the line, else E.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: usize = 16;
        write!(f, "  ")?;
        for event in Event::ALL {
            write!(f, "{:WIDTH$}", event.name())?;
        }
        for state in State::ALL {
            write!(f, "\n{} ", state.letter())?;
            for event in Event::ALL {
                // Padding goes by characters of a text that is whole.
                let cell = alloc::format!("{}", self.on(state, event));
                write!(f, "{cell:WIDTH$}")?;
            }
        }
        Ok(())
    }
}
