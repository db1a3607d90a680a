//! Intel's Atoms, including the efficient cores of hybrid CPUs, and Knights Landing.

use super::fact::{Fact, PrefetchSwitches, Translations, known, ports, unknown};
use super::intel::*;
use super::product::{EventTable, model, models, product};
use super::{Core, Source, Vectors};

const TWO_PREFETCHERS: Fact<PrefetchSwitches> = known(
    PrefetchSwitches { register: FEATURE_CONTROL, bits: &[STREAMER, NEXT_LINE] },
    sdm4("Atom since Silvermont"),
);
const FIVE_PREFETCHERS: Fact<PrefetchSwitches> = known(
    PrefetchSwitches {
        register: FEATURE_CONTROL,
        bits: &[STREAMER, NEXT_LINE, BY_INSTRUCTION, (4, "L1 data next page"), MULTIPATH],
    },
    DOCUMENT_357930,
);

/// Takes the L1 dTLB entries for 4 KiB pages and the STLB entries.
const fn translations(small: u32, second: u32, source: Source) -> Translations {
    Translations {
        small: known(small, source),
        large: unknown("the manual does not say how many 2 MiB pages the first level holds"),
        second: known(second, source),
    }
}

/// The manual gives this number for no Atom.
const NO_FILL_BUFFERS: Fact<u32> =
    unknown("Intel publishes no number for its Atoms, and no measurement was found");

const SILVERMONT_EVENTS: EventTable = list("Silvermont", "SLM", "silvermont v15");
const GOLDMONT_EVENTS: EventTable = list("Goldmont", "GLM", "goldmont v13");
const GOLDMONT_PLUS_EVENTS: EventTable = list("Goldmont Plus", "GLP", "goldmontplus v1.01");
const TREMONT_EVENTS: EventTable = list("Tremont", "TNT", "elkhartlake v1.05");
const GRACEMONT_EVENTS: EventTable = list("Gracemont", "GRT", "alderlake v1.27, cpu_atom");
const CRESTMONT_EVENTS: EventTable = list("Crestmont", "CMT", "meteorlake v1.10, cpu_atom");
const SKYMONT_EVENTS: EventTable = list("Skymont", "SKT", "lunarlake v1.01, cpu_atom");

const BONNELL: Core = Core {
    name: "Bonnell",
    vectors: Vectors::Sse,
    products: &[product(
        "Bonnell",
        &[model(6, 0x1c), models(6, 0x26, 0x27), models(6, 0x35, 0x36)],
    )],
    load_to_use: known(3, om("Bonnell: cache parameters")),
    ..INTEL
};

const SILVERMONT: Core = Core {
    name: "Silvermont",
    vectors: Vectors::Sse,
    products: &[product(
        "Silvermont",
        &[model(6, 0x37), model(6, 0x4a), models(6, 0x4c, 0x4d), model(6, 0x5a), model(6, 0x5d)],
    )
    .events(&SILVERMONT_EVENTS)],
    load_to_use: known(3, om("Silvermont: cache parameters")),
    outstanding_misses: NO_FILL_BUFFERS,
    ports: ports([16; 3], [16; 3], om("Silvermont: a memory operation of 128 bits per cycle")),
    translations: translations(48, 128, om("Silvermont: TLBs")),
    prefetchers: TWO_PREFETCHERS,
    ..INTEL
};

const GOLDMONT: Core = Core {
    name: "Goldmont",
    vectors: Vectors::Sse,
    products: &[product("Goldmont", &[model(6, 0x5c), model(6, 0x5f)]).events(&GOLDMONT_EVENTS)],
    load_to_use: known(3, om("Goldmont: cache parameters")),
    outstanding_misses: NO_FILL_BUFFERS,
    ports: ports(
        [16; 3],
        [16; 3],
        om("Goldmont and Goldmont Plus: a 128-bit load and a 128-bit store per cycle"),
    ),
    translations: translations(32, 512, om("Goldmont: TLBs")),
    prefetchers: TWO_PREFETCHERS,
    ..INTEL
};

const GOLDMONT_PLUS: Core = Core {
    name: "Goldmont Plus",
    vectors: Vectors::Sse,
    products: &[product("Goldmont Plus", &[model(6, 0x7a)]).events(&GOLDMONT_PLUS_EVENTS)],
    load_to_use: known(3, om("Goldmont Plus: cache parameters")),
    outstanding_misses: NO_FILL_BUFFERS,
    ports: GOLDMONT.ports,
    prefetchers: TWO_PREFETCHERS,
    ..INTEL
};

const TREMONT: Core = Core {
    name: "Tremont",
    vectors: Vectors::Sse,
    products: &[
        product("Tremont", &[model(6, 0x86), model(6, 0x96), model(6, 0x9c)])
            .events(&TREMONT_EVENTS),
        product("Lakefield", &[model(6, 0x8a)]).efficient(),
    ],
    load_to_use: known(3, om("Tremont: cache parameters")),
    ports: unknown(
        "WikiChip Fuse and the manual name two loads or stores per cycle, and a port of 16 bytes \
         for the data of vector stores, but not how wide a load is",
    ),
    reorder_buffer: known(208, WIKICHIP_TREMONT),
    outstanding_misses: NO_FILL_BUFFERS,
    translations: translations(32, 1024, om("Tremont: TLBs")),
    prefetchers: TWO_PREFETCHERS,
    ..INTEL
};

const GRACEMONT: Core = Core {
    name: "Gracemont",
    vectors: Vectors::Avx2,
    products: &[
        product("Alder Lake", &[model(6, 0x97), model(6, 0x9a)])
            .efficient()
            .events(&GRACEMONT_EVENTS),
        product("Raptor Lake", &[model(6, 0xb7), model(6, 0xba), model(6, 0xbf)])
            .efficient()
            .events(&GRACEMONT_EVENTS),
        product("Alder Lake-N", &[model(6, 0xbe)]).events(&GRACEMONT_EVENTS),
    ],
    load_to_use: known(3, om("Gracemont: cache parameters")),
    ports: ports(
        [32; 3],
        [32; 3],
        om(
            "Gracemont and Crestmont: two 128-bit loads and two 128-bit stores per cycle, 256 bits \
             in halves",
        ),
    ),
    reorder_buffer: known(256, J_CHEN_GRACEMONT),
    outstanding_misses: NO_FILL_BUFFERS,
    translations: translations(48, 2048, om("Gracemont: TLBs")),
    prefetchers: FIVE_PREFETCHERS,
    ..INTEL
};

const CRESTMONT: Core = Core {
    name: "Crestmont",
    vectors: Vectors::Avx2,
    products: &[
        product("Meteor Lake", &[model(6, 0xaa), model(6, 0xac)])
            .efficient()
            .events(&CRESTMONT_EVENTS),
        product("Sierra Forest", &[model(6, 0xaf)]).events(&CRESTMONT_EVENTS),
        product("Arrow Lake-U", &[model(6, 0xb5)]).efficient(),
        // The LP-E cores of Arrow Lake-H.
        product("Arrow Lake", &[model(6, 0xc5)]).efficient().native_model(2),
    ],
    load_to_use: known(3, CHIPS_AND_CHEESE_SKYMONT),
    ports: GRACEMONT.ports,
    reorder_buffer: known(256, ANANDTECH_LUNAR_LAKE),
    outstanding_misses: NO_FILL_BUFFERS,
    translations: translations(48, 3072, CHIPS_AND_CHEESE_SKYMONT),
    prefetchers: FIVE_PREFETCHERS,
    ..INTEL
};

const SKYMONT: Core = Core {
    name: "Skymont",
    vectors: Vectors::Avx2,
    products: &[
        product("Arrow Lake", &[model(6, 0xc5)]).efficient().native_model(3),
        product("Arrow Lake", &[model(6, 0xc6)]).efficient(),
        product("Lunar Lake", &[model(6, 0xbd)]).efficient().events(&SKYMONT_EVENTS),
    ],
    load_to_use: known(4, CHIPS_AND_CHEESE_SKYMONT),
    // Three 128-bit loads and two 128-bit stores per cycle, 256 bits in halves.
    ports: ports([48; 3], [32; 3], CHIPS_AND_CHEESE_SKYMONT),
    reorder_buffer: known(416, ANANDTECH_LUNAR_LAKE),
    outstanding_misses: NO_FILL_BUFFERS,
    translations: translations(48, 4096, CHIPS_AND_CHEESE_SKYMONT),
    ..INTEL
};

const DARKMONT: Core = Core {
    name: "Darkmont",
    vectors: Vectors::Avx2,
    products: &[
        product("Panther Lake", &[model(6, 0xcc)]).efficient(),
        product("Clearwater Forest", &[model(6, 0xdd)]),
    ],
    ..INTEL
};

const KNIGHTS_LANDING: Core = Core {
    name: "Knights Landing",
    vectors: Vectors::Avx512,
    products: &[product("Knights Landing", &[model(6, 0x57), model(6, 0x85)])],
    ports: ports(
        [32, 64, 128],
        [16, 32, 64],
        om("Knights Landing: two 512-bit loads and a 512-bit store per cycle"),
    ),
    // The two bits have the opposite order from Intel's other cores.
    prefetchers: known(
        PrefetchSwitches { register: FEATURE_CONTROL, bits: &[(0, "L1 data"), (1, "L2")] },
        sdm4("Xeon Phi, MSR_MISC_FEATURE_CONTROL"),
    ),
    ..INTEL
};

/// All Atoms and Knights Landing, by age.
pub(super) static CORES: &[Core] = &[
    BONNELL,
    SILVERMONT,
    GOLDMONT,
    GOLDMONT_PLUS,
    TREMONT,
    GRACEMONT,
    CRESTMONT,
    SKYMONT,
    DARKMONT,
    KNIGHTS_LANDING,
];
