//! Intel's cores from Sunny Cove on, without the Atoms: in a hybrid CPU, the performance cores.

use super::fact::{PrefetchSwitches, Translations, known, ports, translations, unknown};
use super::intel::*;
use super::intel_core::FOUR_PREFETCHERS;
use super::product::{EventTable, model, models, product};
use super::{Core, NOT_FOUND, Vectors};

const ICE_LAKE_EVENTS: EventTable = list("Ice Lake client", "ICL", "icelake v1.22");
const ICE_LAKE_SERVER_EVENTS: EventTable = list("Ice Lake server", "ICX", "icelakex v1.26");
const TIGER_LAKE_EVENTS: EventTable = list("Tiger Lake", "TGL", "tigerlake v1.16");
const ALDER_LAKE_EVENTS: EventTable = list("Alder Lake (P)", "ADL", "alderlake v1.27, cpu_core");
const SAPPHIRE_RAPIDS_EVENTS: EventTable = list("Sapphire Rapids", "SPR", "sapphirerapids v1.23");
const METEOR_LAKE_P_EVENTS: EventTable =
    list("Meteor Lake (P)", "MTL", "meteorlake v1.10, cpu_core");
const GRANITE_RAPIDS_EVENTS: EventTable = list("Granite Rapids", "GNR", "graniterapids v1.02");
const LUNAR_LAKE_P_EVENTS: EventTable = list("Lunar Lake (P)", "LNL", "lunarlake v1.01, cpu_core");

const SUNNY_COVE: Core = Core {
    name: "Sunny Cove",
    vectors: Vectors::Avx512,
    products: &[
        product("Ice Lake client", &[models(6, 0x7d, 0x7e)]).events(&ICE_LAKE_EVENTS),
        product("Ice Lake server", &[model(6, 0x6a), model(6, 0x6c)])
            .events(&ICE_LAKE_SERVER_EVENTS),
        product("Lakefield", &[model(6, 0x8a)]).performance(),
    ],
    load_to_use: known(5, om("Ice Lake client: cache parameters")),
    float_add: known(4, om("Ice Lake client: latency of ADDSD")),
    ports: ports(
        [32, 64, 128],
        [32, 64, 64],
        om("Ice Lake client: two 512-bit loads per cycle; two stores of up to 256 bits to one \
             line, or one of 512"),
    ),
    reorder_buffer: known(352, om("Ice Lake client: out-of-order engine")),
    store_buffer: known(72, om("Ice Lake client: out-of-order engine")),
    outstanding_misses: known(12, ARCHITECTURE_DAY),
    combining_buffers: known(12, ARCHITECTURE_DAY),
    decoded_cache: known(2304, ANANDTECH_ZEN_2),
    translations: translations(64, 32, 2048, om("Ice Lake client: TLBs")),
    prefetchers: known(FOUR_PREFETCHERS, sdm4("10th generation, MSR_PREFETCH_CONTROL")),
    ..INTEL
};

/// Sunny Cove with a larger L2; the manual treats the two cores as one.
const WILLOW_COVE: Core = Core {
    name: "Willow Cove",
    products: &[product("Tiger Lake", &[models(6, 0x8c, 0x8d)]).events(&TIGER_LAKE_EVENTS)],
    decoded_cache: known(2304, HARDWARE_TIMES),
    ..SUNNY_COVE
};

/// Sunny Cove in an older process.
const CYPRESS_COVE: Core = Core {
    name: "Cypress Cove",
    products: &[product("Rocket Lake", &[model(6, 0xa7)]).events(&ICE_LAKE_EVENTS)],
    decoded_cache: unknown(NOT_FOUND),
    ..SUNNY_COVE
};

const GOLDEN_COVE: Core = Core {
    name: "Golden Cove",
    vectors: Vectors::Amx,
    products: &[
        product("Alder Lake", &[model(6, 0x97), model(6, 0x9a)])
            .performance()
            .events(&ALDER_LAKE_EVENTS),
        product("Sapphire Rapids", &[model(6, 0x8f)]).events(&SAPPHIRE_RAPIDS_EVENTS),
    ],
    load_to_use: known(5, om("Golden Cove: cache parameters")),
    ports: ports(
        [48, 96, 128],
        [32, 64, 64],
        om("Golden Cove: three loads of up to 256 bits per cycle or two of 512; two stores of up \
             to 256 bits or one of 512"),
    ),
    reorder_buffer: known(512, om("Golden Cove: out-of-order engine")),
    store_buffer: known(114, GOLDEN_COVE_POPPED),
    outstanding_misses: known(16, ARCHITECTURE_DAY),
    combining_buffers: known(16, ARCHITECTURE_DAY),
    decoded_cache: known(4096, HARDWARE_TIMES),
    translations: translations(96, 32, 2048, om("Golden Cove: TLBs; 96 entries for loads")),
    prefetchers: known(
        PrefetchSwitches {
            register: FEATURE_CONTROL,
            bits: &[STREAMER, ADJACENT, NEXT_LINE, BY_INSTRUCTION, MULTIPATH],
        },
        sdm4("12th generation, P-core; PerfSpect has it for the servers, too"),
    ),
    ..INTEL
};

/// Golden Cove with a larger L2.
const RAPTOR_COVE: Core = Core {
    name: "Raptor Cove",
    products: &[
        product("Raptor Lake", &[model(6, 0xb7), model(6, 0xba), model(6, 0xbf)])
            .performance()
            .events(&ALDER_LAKE_EVENTS),
        product("Emerald Rapids", &[model(6, 0xcf)]).events(&SAPPHIRE_RAPIDS_EVENTS),
        product("Bartlett Lake", &[model(6, 0xd7)]),
    ],
    decoded_cache: known(4096, CHIPS_AND_CHEESE_REDWOOD_COVE),
    ..GOLDEN_COVE
};

/// Has the same L1d as Golden Cove.
const REDWOOD_COVE: Core = Core {
    name: "Redwood Cove",
    vectors: Vectors::Amx,
    products: &[
        product("Meteor Lake", &[model(6, 0xaa), model(6, 0xac)])
            .performance()
            .events(&METEOR_LAKE_P_EVENTS),
        product("Granite Rapids", &[models(6, 0xad, 0xae)]).events(&GRANITE_RAPIDS_EVENTS),
        product("Arrow Lake-U", &[model(6, 0xb5)]).performance(),
    ],
    load_to_use: GOLDEN_COVE.load_to_use,
    ports: GOLDEN_COVE.ports,
    reorder_buffer: known(512, WIKIPEDIA),
    store_buffer: known(114, CHIPS_AND_CHEESE_REDWOOD_COVE),
    outstanding_misses: unknown(
        "Intel publishes no number for Golden Cove's successors, and no measurement was found",
    ),
    decoded_cache: known(4096, WIKIPEDIA),
    translations: Translations {
        small: known(96, J_CHEN),
        second: known(2048, CHIPS_AND_CHEESE_LION_COVE),
        large: unknown("no published figure was found for 2 MiB pages"),
    },
    prefetchers: known(
        PrefetchSwitches {
            register: FEATURE_CONTROL,
            bits: &[
                STREAMER,
                ADJACENT,
                NEXT_LINE,
                BY_INSTRUCTION,
                MULTIPATH,
                (6, "last-level page"),
                (7, "array of pointers"),
            ],
        },
        PERFSPECT,
    ),
    ..INTEL
};

const LION_COVE: Core = Core {
    name: "Lion Cove",
    vectors: Vectors::Avx512,
    products: &[
        product("Arrow Lake", &[models(6, 0xc5, 0xc6)]).performance(),
        product("Lunar Lake", &[model(6, 0xbd)]).performance().events(&LUNAR_LAKE_P_EVENTS),
    ],
    // The latency of the first level of 48 KiB, which CPUID calls L1d and Intel calls L0. A level of 192
    // KiB follows it.
    load_to_use: known(4, llvm_lunar_lake("LoadLatency")),
    // The core has no 512-bit accesses.
    ports: ports(
        [48, 96, 96],
        [32, 64, 64],
        llvm_lunar_lake("three load ports, two ports of store data, of up to 256 bits"),
    ),
    reorder_buffer: known(576, WIKIPEDIA),
    store_buffer: unknown(
        "Chips and Cheese measured a few more than Redwood Cove has, and names no number",
    ),
    outstanding_misses: unknown(
        "Intel publishes the number of L2 (80), not that of L1d, and no measurement was found",
    ),
    decoded_cache: known(5250, WIKIPEDIA),
    translations: Translations {
        small: known(128, ANANDTECH_LUNAR_LAKE),
        second: known(2048, CHIPS_AND_CHEESE_LION_COVE),
        large: unknown("as many as Redwood Cove's, of which no published figure was found"),
    },
    ..INTEL
};

const COUGAR_COVE: Core = Core {
    name: "Cougar Cove",
    vectors: Vectors::Avx512,
    products: &[product("Panther Lake", &[model(6, 0xcc)]).performance()],
    ..INTEL
};

/// All of these cores, by age.
pub(super) static CORES: &[Core] = &[
    SUNNY_COVE,
    WILLOW_COVE,
    CYPRESS_COVE,
    GOLDEN_COVE,
    RAPTOR_COVE,
    REDWOOD_COVE,
    LION_COVE,
    COUGAR_COVE,
];
