//! Intel's cores from NetBurst to Palm Cove, without the Atoms.

use super::fact::{PrefetchSwitches, Translations, known, ports, translations, unknown};
use super::intel::*;
use super::product::{EventTable, model, models, product};
use super::{Core, NOT_FOUND, Vectors};

pub(super) const FOUR_PREFETCHERS: PrefetchSwitches = PrefetchSwitches {
    register: FEATURE_CONTROL,
    bits: &[STREAMER, ADJACENT, NEXT_LINE, BY_INSTRUCTION],
};

const NEHALEM_EVENTS: EventTable = list("Nehalem", "NHM", "nehalemep v4");
const WESTMERE_EVENTS: EventTable = list("Westmere", "WSM", "westmereep-dp v5");
const SANDY_BRIDGE_EVENTS: EventTable = list("Sandy Bridge", "SNB", "sandybridge v19");
const SANDY_BRIDGE_SERVER_EVENTS: EventTable = list("Sandy Bridge server", "JKT", "jaketown v24");
const IVY_BRIDGE_EVENTS: EventTable = list("Ivy Bridge", "IVB", "ivybridge v24");
const IVY_BRIDGE_SERVER_EVENTS: EventTable = list("Ivy Bridge server", "IVT", "ivytown v24");
const HASWELL_EVENTS: EventTable = list("Haswell", "HSW", "haswell v35");
const HASWELL_SERVER_EVENTS: EventTable = list("Haswell server", "HSX", "haswellx v28");
const BROADWELL_EVENTS: EventTable = list("Broadwell", "BDW", "broadwell v29");
const BROADWELL_SERVER_EVENTS: EventTable = list("Broadwell server", "BDX", "broadwellx v22");
const SKYLAKE_EVENTS: EventTable = list("Skylake client", "SKL", "skylake v59");
const SKYLAKE_SERVER_EVENTS: EventTable = list("Skylake server", "SKX", "skylakex v1.35");
const CASCADE_LAKE_EVENTS: EventTable = list("Cascade Lake", "CLX", "cascadelakex v1.22");

const NETBURST: Core = Core {
    name: "NetBurst",
    vectors: Vectors::Sse,
    products: &[product("NetBurst", &[models(0x0f, 0x00, 0x02)])],
    load_to_use: known(2, om("NetBurst: cache parameters, models 0 to 2")),
    combining_buffers: known(6, om("Write Combining: 6 in the Pentium 4")),
    prefetchers: known(
        PrefetchSwitches { register: MISC_ENABLE, bits: &[(9, "stream"), (19, "adjacent line")] },
        sdm4("NetBurst, IA32_MISC_ENABLE: bits 9 and 19"),
    ),
    ..INTEL
};

const PRESCOTT: Core = Core {
    name: "NetBurst (Prescott)",
    products: &[product("NetBurst (Prescott)", &[models(0x0f, 0x03, 0x06)])],
    load_to_use: known(4, om("NetBurst: cache parameters, models 3, 4 and 6")),
    combining_buffers: known(8, om("Write Combining: 8 from family 15 model 3 on")),
    // The manuals give the other facts for all of NetBurst.
    ..NETBURST
};

const PENTIUM_M: Core = Core {
    name: "Pentium M",
    vectors: Vectors::Sse,
    products: &[
        product("Pentium M", &[model(6, 0x09), model(6, 0x0d)]),
        product("Core Duo", &[model(6, 0x0e)]),
    ],
    load_to_use: known(3, om("Pentium M and Core Solo/Duo: cache parameters")),
    ..INTEL
};

const CORE_2: Core = Core {
    name: "Core",
    vectors: Vectors::Sse,
    products: &[
        product("Core 2", &[model(6, 0x0f), model(6, 0x16)]),
        product("Core 2 (Penryn)", &[model(6, 0x17), model(6, 0x1d)]),
    ],
    load_to_use: known(3, om("Core: cache parameters")),
    ports: ports([16; 3], [16; 3], om("Core: a 128-bit load and a 128-bit store per cycle")),
    reorder_buffer: known(96, om("Core: out-of-order engine")),
    store_buffer: known(20, om("Core: out-of-order engine")),
    combining_buffers: known(8, om("Write Combining: 8 in the Core microarchitecture")),
    prefetchers: known(
        PrefetchSwitches {
            register: MISC_ENABLE,
            bits: &[
                (9, "L2 streamer"),
                (19, "L2 adjacent line"),
                (37, "L1 data next line"),
                (39, "L1 data by instruction address"),
            ],
        },
        sdm4("Core, IA32_MISC_ENABLE: two more, of L1d"),
    ),
    ..INTEL
};

const NEHALEM: Core = Core {
    name: "Nehalem",
    vectors: Vectors::Sse,
    products: &[
        product("Nehalem", &[models(6, 0x1e, 0x1f), model(6, 0x1a), model(6, 0x2e)])
            .events(&NEHALEM_EVENTS),
        product("Westmere", &[model(6, 0x25), model(6, 0x2c), model(6, 0x2f)])
            .events(&WESTMERE_EVENTS),
    ],
    load_to_use: known(4, om("Nehalem: cache parameters")),
    float_add: known(3, om("Nehalem: latency of ADDSD")),
    ports: ports([16; 3], [16; 3], om("Nehalem: a 128-bit load and a 128-bit store per cycle")),
    reorder_buffer: known(128, om("Nehalem: out-of-order engine")),
    store_buffer: known(32, om("Nehalem: out-of-order engine")),
    outstanding_misses: known(10, om("Nehalem: L1d components, line fill buffers")),
    combining_buffers: known(10, om("Write Combining: 10 from Nehalem on")),
    translations: translations(64, 32, 512, om("Nehalem: TLBs; the second for 4 KiB alone")),
    prefetchers: known(FOUR_PREFETCHERS, INTEL_2014),
    ..INTEL
};

const SANDY_BRIDGE: Core = Core {
    name: "Sandy Bridge",
    vectors: Vectors::Avx,
    products: &[
        product("Sandy Bridge", &[model(6, 0x2a)]).events(&SANDY_BRIDGE_EVENTS),
        product("Sandy Bridge", &[model(6, 0x2d)]).events(&SANDY_BRIDGE_SERVER_EVENTS),
        product("Ivy Bridge", &[model(6, 0x3a)]).events(&IVY_BRIDGE_EVENTS),
        product("Ivy Bridge", &[model(6, 0x3e)]).events(&IVY_BRIDGE_SERVER_EVENTS),
    ],
    load_to_use: known(
        4,
        om("Sandy Bridge: cache parameters; 5 with an index or a large displacement"),
    ),
    float_add: known(3, om("Sandy Bridge: latency of ADDSD")),
    ports: ports(
        [32; 3],
        [16; 3],
        om("Sandy Bridge: two 128-bit loads and a 128-bit store per cycle; 256 bits take two \
             cycles"),
    ),
    reorder_buffer: known(168, om("Sandy Bridge: out-of-order engine")),
    store_buffer: known(36, om("Sandy Bridge: out-of-order engine")),
    outstanding_misses: known(10, om("Sandy Bridge: L1d components, line fill buffers")),
    combining_buffers: known(10, om("Sandy Bridge: L1d components, line fill buffers")),
    decoded_cache: known(1536, REAL_WORLD),
    translations: translations(64, 32, 512, om("Sandy Bridge: TLBs; the second for 4 KiB alone")),
    prefetchers: known(FOUR_PREFETCHERS, INTEL_2014),
    ..INTEL
};

const HASWELL: Core = Core {
    name: "Haswell",
    vectors: Vectors::Avx2,
    products: &[
        product("Haswell", &[model(6, 0x3c), models(6, 0x45, 0x46)]).events(&HASWELL_EVENTS),
        product("Haswell", &[model(6, 0x3f)]).events(&HASWELL_SERVER_EVENTS),
        product("Broadwell", &[model(6, 0x3d), model(6, 0x47)])
            .translations(BROADWELL_TRANSLATIONS)
            .events(&BROADWELL_EVENTS),
        product("Broadwell", &[model(6, 0x4f), model(6, 0x56)])
            .translations(BROADWELL_TRANSLATIONS)
            .events(&BROADWELL_SERVER_EVENTS),
    ],
    load_to_use: known(4, om("Haswell: cache parameters")),
    float_add: known(3, om("Haswell: latency of ADDSD")),
    ports: ports(
        [32, 64, 64],
        [16, 32, 32],
        om("Haswell: two 256-bit loads and a 256-bit store per cycle"),
    ),
    reorder_buffer: known(192, om("Haswell: out-of-order engine")),
    store_buffer: known(42, om("Haswell: out-of-order engine")),
    outstanding_misses: known(10, om("Haswell: L1d components, line fill buffers")),
    combining_buffers: known(10, om("Haswell: L1d components, line fill buffers")),
    decoded_cache: known(1536, ANANDTECH_ZEN),
    translations: translations(64, 32, 1024, om("Haswell: TLBs")),
    prefetchers: known(FOUR_PREFETCHERS, INTEL_2014),
    ..INTEL
};

const BROADWELL_TRANSLATIONS: Translations =
    translations(64, 32, 1536, om("Broadwell: 1.5 K entries where Haswell has 1 K"));

const SKYLAKE: Core = Core {
    name: "Skylake",
    vectors: Vectors::Avx512,
    // As in Linux, the stepping tells which generation a shared model number means.
    products: &[
        product("Skylake client", &[model(6, 0x4e), model(6, 0x5e)]).events(&SKYLAKE_EVENTS),
        product("Skylake server", &[model(6, 0x55).steppings(0, 4)]).events(&SKYLAKE_SERVER_EVENTS),
        product("Cascade Lake", &[model(6, 0x55).steppings(5, 9)]).events(&CASCADE_LAKE_EVENTS),
        product("Cooper Lake", &[model(6, 0x55).since_stepping(10)]).events(&CASCADE_LAKE_EVENTS),
        product("Kaby Lake", &[model(6, 0x8e).steppings(0, 9), model(6, 0x9e).steppings(0, 9)])
            .events(&SKYLAKE_EVENTS),
        product(
            "Coffee Lake",
            &[model(6, 0x8e).steppings(10, 10), model(6, 0x9e).since_stepping(10)],
        )
        .events(&SKYLAKE_EVENTS),
        product("Whiskey Lake or Comet Lake", &[model(6, 0x8e).since_stepping(11)])
            .events(&SKYLAKE_EVENTS),
        product("Comet Lake", &[models(6, 0xa5, 0xa6)]).events(&SKYLAKE_EVENTS),
    ],
    load_to_use: known(4, om("Skylake: cache parameters")),
    float_add: known(4, om("Skylake: latency of ADDSD")),
    ports: ports(
        [32, 64, 128],
        [16, 32, 64],
        om("Skylake: two 256-bit loads and a 256-bit store per cycle, of 512 bits with AVX-512"),
    ),
    reorder_buffer: known(224, om("Skylake: out-of-order engine")),
    store_buffer: known(56, om("Skylake: out-of-order engine")),
    outstanding_misses: known(12, STACK_OVERFLOW),
    combining_buffers: known(12, STACK_OVERFLOW),
    decoded_cache: known(1536, ANANDTECH_ZEN),
    translations: translations(64, 32, 1536, om("Skylake: TLBs")),
    prefetchers: known(FOUR_PREFETCHERS, sdm4("6th generation, MSR_MISC_FEATURE_CONTROL")),
    ..INTEL
};

/// Skylake in a smaller process. Facts that the manual does not give for Skylake were not found.
const PALM_COVE: Core = Core {
    name: "Palm Cove",
    products: &[product("Cannon Lake", &[model(6, 0x66)])],
    float_add: unknown(NOT_FOUND),
    outstanding_misses: unknown(NOT_FOUND),
    combining_buffers: unknown(NOT_FOUND),
    decoded_cache: unknown(NOT_FOUND),
    ..SKYLAKE
};

/// All of these cores, by age.
pub(super) static CORES: &[Core] =
    &[NETBURST, PRESCOTT, PENTIUM_M, CORE_2, NEHALEM, SANDY_BRIDGE, HASWELL, SKYLAKE, PALM_COVE];
