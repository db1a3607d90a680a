//! Settings of the machine in which hosts with the same hardware may differ.

use super::root::{Root, read};

/// Files below `/sys` that hold a setting, each with the setting's name.
const FILES: [(&str, &str); 8] = [
    ("BIOS vendor", "class/dmi/id/bios_vendor"),
    ("BIOS version", "class/dmi/id/bios_version"),
    ("BIOS date", "class/dmi/id/bios_date"),
    ("SMT", "devices/system/cpu/smt/control"),
    ("clock source", "devices/system/clocksource/clocksource0/current_clocksource"),
    ("transparent huge pages", "kernel/mm/transparent_hugepage/enabled"),
    ("huge page defrag", "kernel/mm/transparent_hugepage/defrag"),
    ("boost", "devices/system/cpu/cpufreq/boost"),
];

/// Files of the measuring CPU that hold a setting.
const OF_CPU: [(&str, &str); 3] = [
    ("microcode", "microcode/version"),
    ("governor", "cpufreq/scaling_governor"),
    ("frequency driver", "cpufreq/scaling_driver"),
];

/// Returns the settings that the system reports, by name: firmware, microcode, frequency governor, pages,
/// and others. Settings that it does not report are left out. Without a `cpu`, reads those of CPU 0.
pub fn settings(root: &Root, cpu: Option<usize>) -> Vec<(&'static str, String)> {
    let cpu = cpu.unwrap_or(0);
    let of_cpu = root.sys.join(format!("devices/system/cpu/cpu{cpu}"));
    let files = FILES.map(|(name, file)| (name, root.sys.join(file)));
    let of_cpu = OF_CPU.map(|(name, file)| (name, of_cpu.join(file)));
    let mut found: Vec<(&'static str, String)> = files
        .into_iter()
        .chain(of_cpu)
        .filter_map(|(name, file)| Some((name, chosen(&read(&file).ok()?))))
        .collect();
    // A guest often lacks the file.
    if !found.iter().any(|(name, _)| *name == "microcode") {
        found.extend(microcode(root, cpu).map(|version| ("microcode", version)));
    }
    let balancing = read(&root.proc.join("sys/kernel/numa_balancing"));
    found.extend(balancing.ok().map(|text| ("NUMA balancing", text)));
    found.retain(|(_, text)| !text.is_empty());
    found
}

/// Returns the choice in brackets if the text has one, as in a file that lists all choices; otherwise the
/// whole text.
fn chosen(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(choice, _)| choice).to_owned()
}

/// Returns the microcode version of a CPU in `/proc/cpuinfo`.
fn microcode(root: &Root, cpu: usize) -> Option<String> {
    let text = read(&root.proc.join("cpuinfo")).ok()?;
    let field = |block: &str, name: &str| {
        let mut fields = block.lines().filter_map(|line| line.split_once(':'));
        let found = fields.find(|(key, _)| key.trim() == name);
        found.map(|(_, value)| value.trim().to_owned())
    };
    let mut blocks = text.split("\n\n");
    let block = blocks.find(|block| field(block, "processor") == Some(cpu.to_string()))?;
    field(block, "microcode")
}
