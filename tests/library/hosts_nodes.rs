//! Experiments on a made-up host with several memory nodes. Linux provides the memory and the threads.
#![cfg(feature = "std")]

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use linefill::cpu::Features;
use linefill::experiment::{
    Context, CpuOrder, Effort, Linux, Machine, Point, Rig, State, Untestable, find,
};
use linefill::host::{
    Backing, Granted, Host, Lack, MemoryNode, MemoryPolicy, OnNode, Pages, RoundOptions,
    ThreadGroup, Worker,
};
use linefill::os::{Sysfs, allowed};

use crate::verdicts::machines::small;

/// Two nodes: the first has the first CPU of this process, the second all others.
#[derive(Debug, Default)]
struct TwoNodes {
    /// If set, the node of all pages that a CPU touches first.
    touched_on: Option<usize>,
    /// The nodes of pages by address, as far as pages were requested on nodes or touched first.
    pages: Mutex<BTreeMap<usize, usize>>,
}

impl TwoNodes {
    fn pages(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn near(cpu: usize) -> usize {
        usize::from(cpu != allowed()[0])
    }

    fn put(&self, first: *const u8, bytes: usize, node: impl Fn(usize) -> usize) {
        let addresses = (first.addr()..first.addr() + bytes).step_by(4096);
        let pages = addresses.enumerate();
        self.pages().extend(pages.map(|(index, address)| (address, node(index))));
    }
}

/// Memory from Linux that is reported to be on a node.
#[derive(Debug)]
struct Said {
    memory: Box<dyn Backing>,
    granted: Granted,
}

impl Backing for Said {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }

    fn granted(&self) -> &Granted {
        &self.granted
    }

    fn give_back(&mut self) -> Result<(), Lack> {
        self.memory.give_back()
    }

    fn populate(&mut self) -> Result<(), Lack> {
        self.memory.populate()
    }
}

impl Host for TwoNodes {
    fn name(&self) -> &'static str {
        "a machine of two nodes"
    }

    fn memory(
        &self,
        bytes: usize,
        pages: Pages,
        policy: &MemoryPolicy,
    ) -> Result<Box<dyn Backing>, Lack> {
        if policy.nodes().iter().any(|node| *node > 1) {
            return Err(Lack::refused(format_args!("memory on {policy} refused")));
        }
        let memory = Linux.memory(bytes, pages, &MemoryPolicy::Default)?;
        let nodes = policy.nodes();
        if nodes.is_empty() {
            return Ok(memory);
        }
        let first = memory.bytes().as_ptr();
        self.put(first, bytes, |index| nodes[index % nodes.len()]);
        let granted = Granted::Placed {
            pages: Box::new(memory.granted().clone()),
            on: self.nodes_of(first, bytes)?,
        };
        Ok(Box::new(Said { memory, granted }))
    }

    fn first_touched_on<'m>(&self, bytes: &'m mut [u8], cpu: usize) -> Result<&'m mut [u8], Lack> {
        let pages = Linux.first_touched_on(bytes, cpu)?;
        let near = self.touched_on.unwrap_or_else(|| TwoNodes::near(cpu));
        self.put(pages.as_ptr(), pages.len(), |_| near);
        Ok(pages)
    }

    fn nodes(&self) -> Result<Vec<MemoryNode>, Lack> {
        Ok(nodes())
    }

    fn nodes_of(&self, first: *const u8, bytes: usize) -> Result<Vec<OnNode>, Lack> {
        let pages = self.pages();
        let mut found = [0, 1].map(|node| OnNode { node, pages: 0 });
        for address in (first.addr()..first.addr() + bytes).step_by(4096) {
            let node = pages.get(&address).copied();
            found[node.ok_or_else(|| Lack::refused("nobody put it there"))?].pages += 1;
        }
        Ok(found.into_iter().filter(|on| on.pages > 0).collect())
    }

    fn thread_group(
        &self,
        workers: &mut [Worker<'_>],
        options: RoundOptions,
        lead: &mut dyn FnMut(&mut dyn ThreadGroup),
    ) -> Result<(), Lack> {
        Linux.thread_group(workers, options, lead)
    }
}

fn nodes() -> Vec<MemoryNode> {
    let cpus = allowed();
    let node = |id: usize, cpus: &[usize]| MemoryNode {
        id,
        cpus: cpus.to_vec(),
        distances: vec![[10, 20], [20, 10]][id].to_vec(),
        memory: Some(1 << 30),
    };
    vec![node(0, &cpus[..1]), node(1, &cpus[1..])]
}

/// A small machine with two nodes and the CPUs of this process.
fn machine() -> Machine {
    let cpus = allowed();
    Machine {
        cpu_order: CpuOrder::around(Some(cpus[0]), Sysfs::live().locations(&cpus)),
        nodes: nodes(),
        ..small()
    }
}

/// The cases of an experiment on `host`, with all memory on `node` if it is given.
fn run(id: &str, host: TwoNodes, node: Option<usize>) -> Vec<Point> {
    let stop = AtomicBool::new(false);
    let context = Context { features: Features::detect(), host: Box::leak(Box::new(host)) };
    let machine = machine();
    let rig = Rig::new(machine.rate, context, Effort::SMOKE, &stop);
    let mut rig = rig.with_node(node);
    let cases = (find(id).unwrap().cases)(&machine).into_iter();
    let points: Vec<Point> = cases.filter_map(|case| rig.measure(&case)).collect();
    assert!(!points.is_empty(), "{id}");
    points
}

/// The pages of a point, or the reason why it was not measured.
fn pages(point: &Point) -> String {
    match &point.state {
        State::Measured(of) => of.pages.clone(),
        State::Untestable(Untestable(reason)) => reason.clone(),
        State::Counted(_) => panic!("{point:?}"),
    }
}

#[test]
fn x19_measures_what_lies_on_each_node_and_says_so() {
    let points = run("X19", TwoNodes::default(), None);
    let several = allowed().len() > 1;
    assert!(points.len() >= 10, "{points:?}");
    let mut maps = 0;
    for point in &points {
        let pages = pages(point);
        assert!(point.measured().is_some(), "{}: {pages}", point.series);
        let expected = match point.series.as_str() {
            "walk, two nodes in turn" | "read, two nodes in turn" => ", nodes 0 and 1".to_owned(),
            series => {
                maps += usize::from(series.parse::<usize>().is_ok());
                format!(", node {}", point.x)
            }
        };
        assert!(pages.ends_with(&expected), "{}: {pages}", point.series);
    }
    assert_eq!(maps, if several { 4 } else { 2 });
}

#[test]
fn a_line_whose_page_lies_elsewhere_is_no_pair_of_x14() {
    if allowed().len() < 2 {
        return crate::common::untested::machine("one CPU has no pairs");
    }
    for point in run("X14", TwoNodes::default(), None) {
        let first: usize = point.series.parse().unwrap();
        let home = format!("4 KiB, node {}", TwoNodes::near(first));
        assert_eq!(pages(&point), home);
    }
    let elsewhere = TwoNodes { touched_on: Some(1), ..TwoNodes::default() };
    let first = allowed()[0];
    let points = run("X14", elsewhere, None);
    let near = points.iter().find(|point| point.series == first.to_string());
    assert_eq!(
        pages(near.unwrap()),
        format!(
            "memory touched first by CPU {first} should lie on node 0: there are 2 pages on node 1"
        )
    );
    // The node that a run names comes first.
    let bound = TwoNodes { touched_on: Some(1), ..TwoNodes::default() };
    for point in run("X14", bound, Some(1)) {
        assert_eq!(pages(&point), "4 KiB, node 1");
    }
}

#[test]
fn memory_on_a_node_that_there_is_not_is_a_reason() {
    for point in run("D14", TwoNodes::default(), Some(7)) {
        assert_eq!(pages(&point), "memory on node 7 refused");
    }
    for point in run("D14", TwoNodes::default(), Some(1)) {
        assert!(pages(&point).ends_with(", node 1"), "{}", pages(&point));
    }
}
