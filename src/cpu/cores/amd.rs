//! AMD's cores since K8, and Hygon's, which are Zen cores under licence.

use super::fact::{Fact, PrefetchSwitches, known, ports, translations, unknown};
use super::product::{EventTable, family, model, models, product};
use super::{Core, Source, Vectors, Vendor};

// The Software Optimization Guides, by family.
const SOG_0F: &str = "AMD Software Optimization Guide 25112 (family 0Fh)";
const SOG_10: &str = "AMD Software Optimization Guide 40546 (family 10h)";
const SOG_14: &str = "AMD Software Optimization Guide 47534 (family 14h)";
const SOG_15: &str = "AMD Software Optimization Guide 47414 (family 15h)";
const SOG_16: &str = "AMD Software Optimization Guide 52128 (family 16h)";
const SOG_ZEN: &str = "AMD Software Optimization Guide 55723 (family 17h, models 00h to 2Fh)";
const SOG_ZEN_2: &str = "AMD Software Optimization Guide 56305 (family 17h, models 30h and later)";
const SOG_ZEN_3: &str = "AMD Software Optimization Guide 56665 (family 19h)";
const SOG_ZEN_4: &str = "AMD Software Optimization Guide 57647 (Zen 4)";
const SOG_ZEN_5: &str = "AMD Software Optimization Guide 58455 (Zen 5)";

/// Returns the section of a guide on caches, load and store queues, and outstanding misses.
const fn load_store(guide: &'static str) -> Source {
    Source::new(guide, "section \"Load-Store Unit\"")
}

const fn float(guide: &'static str) -> Source {
    Source::new(guide, "section \"Floating-Point Unit\"")
}

const fn retire(guide: &'static str) -> Source {
    Source::new(guide, "section \"Retire Control Unit\"")
}

const fn tlbs(guide: &'static str) -> Source {
    Source::new(guide, "section \"Translation-Lookaside Buffer\"")
}

const ANANDTECH_ZEN_2: Source = Source::new(
    "AnandTech, \"AMD Zen 2 Microarchitecture Analysis\" (2019)",
    "from 2 K to 4 K entries",
);

/// Outstanding misses of each generation, as AMD's guides give them.
const CHIPS_AND_CHEESE_ZEN_5: Source = Source::new(
    "Chips and Cheese, \"Discussing AMD's Zen 5 at Hot Chips 2024\", from AMD's Software \
     Optimization Guides",
    "124 outstanding L1 misses; Zen 4 and Zen 3: 24; Zen 2 and Zen 1: 22",
);

/// Bytes that a core moves to and from its first-level data cache per cycle.
const CHIPS_AND_CHEESE_STRIX_POINT: Source = Source::new(
    "Chips and Cheese, \"AMD's Strix Point: Zen 5 Hits Mobile\" (2024)",
    "L1d: loads of 64 bytes per cycle, stores of 64",
);

const fn list(name: &'static str, mark: &'static str, list: &'static str) -> EventTable {
    EventTable::new(Vendor::Amd, name, mark, list)
}

const ZEN_EVENTS: EventTable = list("Zen", "ZEN1", "amdzen1 v2");
const ZEN_2_EVENTS: EventTable = list("Zen 2", "ZEN2", "amdzen2 v1");
const ZEN_3_EVENTS: EventTable = list("Zen 3", "ZEN3", "amdzen3 v1");
const ZEN_4_EVENTS: EventTable = list("Zen 4", "ZEN4", "amdzen4 v1");
const ZEN_5_EVENTS: EventTable = list("Zen 5", "ZEN5", "amdzen5 v1");

/// `Core::X86::Msr::PrefetchControl`, which CPUID leaf 8000_0021h announces in bit 13 of EAX. Bits 6 to
/// 9 set how far ahead the prefetchers run, and are left unchanged.
const PREFETCHERS: Fact<PrefetchSwitches> = known(
    PrefetchSwitches {
        register: PrefetchSwitches::PREFETCH_CONTROL,
        bits: &[
            (0, "L1 stream"),
            (1, "L1 stride"),
            (2, "L1 region"),
            (3, "L2 stream"),
            (5, "L2 up/down"),
        ],
    },
    Source::new(
        "AMD Processor Programming Reference of family 19h",
        "MSRC000_0108 Prefetch Control",
    ),
);

/// No guide of a Zen core gives this number.
const NO_COMBINING: Fact<u32> = unknown("AMD publishes none for its Zen cores");
/// No reference of a core before Zen 3 describes this register.
const NO_REGISTER: Fact<PrefetchSwitches> =
    unknown("AMD publishes no such register of its cores before Zen 3");

/// The base of every row.
const AMD: Core = Core { vendor: Vendor::Amd, ..Core::UNKNOWN };

const K8: Core = Core {
    name: "K8",
    vectors: Vectors::Sse,
    products: &[product("K8", &[family(0x0f)]), product("K8 (Griffin)", &[family(0x11)])],
    load_to_use: known(3, load_store(SOG_0F)),
    // Two 64-bit accesses per cycle.
    ports: ports([16; 3], [16; 3], load_store(SOG_0F)),
    translations: translations(32, 8, 512, tlbs(SOG_0F)),
    prefetchers: NO_REGISTER,
    ..AMD
};

const K10: Core = Core {
    name: "K10",
    vectors: Vectors::Sse,
    products: &[product("K10", &[family(0x10), family(0x12)])],
    load_to_use: known(3, load_store(SOG_10)),
    // Two 128-bit loads or two 64-bit stores per cycle.
    ports: ports([32; 3], [16; 3], load_store(SOG_10)),
    translations: translations(48, 48, 512, tlbs(SOG_10)),
    prefetchers: NO_REGISTER,
    ..AMD
};

const BOBCAT: Core = Core {
    name: "Bobcat",
    vectors: Vectors::Sse,
    products: &[product("Bobcat", &[family(0x14)])],
    load_to_use: known(3, load_store(SOG_14)),
    // A 64-bit load and a 64-bit store per cycle.
    ports: ports([8; 3], [8; 3], load_store(SOG_14)),
    translations: translations(40, 8, 512, tlbs(SOG_14)),
    prefetchers: NO_REGISTER,
    ..AMD
};

const BULLDOZER: Core = Core {
    name: "Bulldozer",
    vectors: Vectors::Avx2,
    products: &[
        product("Bulldozer", &[models(0x15, 0x00, 0x01)]),
        product("Piledriver", &[model(0x15, 0x02), models(0x15, 0x10, 0x1f)])
            .translations(PILEDRIVER_TRANSLATIONS),
        product("Steamroller", &[models(0x15, 0x30, 0x3f)]).translations(PILEDRIVER_TRANSLATIONS),
        product("Excavator", &[models(0x15, 0x60, 0x7f)]).translations(PILEDRIVER_TRANSLATIONS),
    ],
    load_to_use: known(4, load_store(SOG_15)),
    // Two 128-bit loads or a 128-bit store per cycle.
    ports: ports([32; 3], [16; 3], load_store(SOG_15)),
    translations: translations(32, 32, 1024, tlbs(SOG_15)),
    prefetchers: NO_REGISTER,
    ..AMD
};

/// The L1 dTLB has 64 entries from model 10h on.
const PILEDRIVER_TRANSLATIONS: super::Translations = translations(64, 64, 1024, tlbs(SOG_15));

const JAGUAR: Core = Core {
    name: "Jaguar",
    vectors: Vectors::Avx,
    products: &[
        product("Jaguar", &[models(0x16, 0x00, 0x0f)]),
        product("Puma", &[models(0x16, 0x10, 0xff)]),
    ],
    load_to_use: known(3, load_store(SOG_16)),
    // A 128-bit load and a 128-bit store per cycle.
    ports: ports([16; 3], [16; 3], load_store(SOG_16)),
    outstanding_misses: known(8, Source::new(SOG_16, "section 2.12")),
    translations: translations(40, 8, 512, tlbs(SOG_16)),
    prefetchers: NO_REGISTER,
    ..AMD
};

// The load-to-use latency of all Zen cores is that of an integer load with simple addressing; otherwise
// it is 5.

const ZEN: Core = Core {
    name: "Zen",
    vectors: Vectors::Avx2,
    products: &[
        product(
            "Zen",
            &[
                models(0x17, 0x00, 0x07),
                models(0x17, 0x09, 0x17),
                models(0x17, 0x19, 0x2f),
                family(0x18),
            ],
        )
        .events(&ZEN_EVENTS),
        product("Zen+", &[model(0x17, 0x08), model(0x17, 0x18)]).events(&ZEN_EVENTS),
    ],
    load_to_use: known(4, load_store(SOG_ZEN)),
    float_add: known(3, float(SOG_ZEN)),
    // Two 128-bit loads and a 128-bit store per cycle, 256-bit accesses in halves.
    ports: ports([32; 3], [16; 3], load_store(SOG_ZEN)),
    reorder_buffer: known(192, retire(SOG_ZEN)),
    store_buffer: known(44, load_store(SOG_ZEN)),
    outstanding_misses: known(22, CHIPS_AND_CHEESE_ZEN_5),
    combining_buffers: NO_COMBINING,
    decoded_cache: known(2048, ANANDTECH_ZEN_2),
    translations: translations(64, 64, 1536, tlbs(SOG_ZEN)),
    prefetchers: NO_REGISTER,
    ..AMD
};

const ZEN_2: Core = Core {
    name: "Zen 2",
    vectors: Vectors::Avx2,
    products: &[product("Zen 2", &[models(0x17, 0x30, 0xff)]).events(&ZEN_2_EVENTS)],
    load_to_use: known(4, load_store(SOG_ZEN_2)),
    float_add: known(3, float(SOG_ZEN_2)),
    // Two loads and a store of up to 256 bits per cycle, 512-bit accesses in halves.
    ports: ports([32, 64, 64], [16, 32, 32], load_store(SOG_ZEN_2)),
    reorder_buffer: known(224, retire(SOG_ZEN_2)),
    store_buffer: known(48, load_store(SOG_ZEN_2)),
    outstanding_misses: known(22, CHIPS_AND_CHEESE_ZEN_5),
    combining_buffers: NO_COMBINING,
    decoded_cache: known(4096, ANANDTECH_ZEN_2),
    translations: translations(64, 64, 2048, tlbs(SOG_ZEN_2)),
    prefetchers: NO_REGISTER,
    ..AMD
};

const ZEN_3: Core = Core {
    name: "Zen 3",
    vectors: Vectors::Avx2,
    products: &[
        product(
            "Zen 3",
            &[
                models(0x19, 0x00, 0x0f),
                models(0x19, 0x20, 0x2f),
                // LLVM's Host.cpp ("Badami"); Linux has 20h to 5Fh as Zen 3.
                models(0x19, 0x30, 0x3f),
                models(0x19, 0x50, 0x5f),
            ],
        )
        .events(&ZEN_3_EVENTS),
        product("Zen 3+", &[models(0x19, 0x40, 0x4f)]).events(&ZEN_3_EVENTS),
    ],
    load_to_use: known(4, load_store(SOG_ZEN_3)),
    float_add: known(3, float(SOG_ZEN_3)),
    // As in Zen 2: the third load and the second store are for general registers only.
    ports: ports([32, 64, 64], [16, 32, 32], load_store(SOG_ZEN_3)),
    reorder_buffer: known(256, retire(SOG_ZEN_3)),
    store_buffer: known(64, load_store(SOG_ZEN_3)),
    outstanding_misses: known(24, CHIPS_AND_CHEESE_ZEN_5),
    combining_buffers: NO_COMBINING,
    decoded_cache: known(
        4096,
        Source::new("WikiChip, \"Zen 3\"", "8 instructions of 8 ways of 64 sets"),
    ),
    translations: translations(64, 64, 2048, tlbs(SOG_ZEN_3)),
    prefetchers: PREFETCHERS,
    ..AMD
};

const ZEN_4: Core = Core {
    name: "Zen 4",
    vectors: Vectors::Avx512,
    products: &[
        product("Zen 4", &[models(0x19, 0x10, 0x1f), models(0x19, 0x60, 0x7f)])
            .events(&ZEN_4_EVENTS),
        // Linux has 60h to AFh as Zen 4.
        product("Zen 4", &[models(0x19, 0x80, 0x9f)]).events(&ZEN_4_EVENTS),
        product("Zen 4c", &[models(0x19, 0xa0, 0xaf)]).events(&ZEN_4_EVENTS),
    ],
    load_to_use: known(4, load_store(SOG_ZEN_4)),
    float_add: known(3, float(SOG_ZEN_4)),
    // As in Zen 3.
    ports: ports([32, 64, 64], [16, 32, 32], load_store(SOG_ZEN_4)),
    reorder_buffer: known(320, retire(SOG_ZEN_4)),
    store_buffer: known(64, load_store(SOG_ZEN_4)),
    outstanding_misses: known(24, Source::new(SOG_ZEN_4, "section 2.12")),
    combining_buffers: NO_COMBINING,
    decoded_cache: known(
        6912,
        Source::new("WikiChip, \"Zen 4\"", "9 instructions of 12 ways of 64 sets"),
    ),
    translations: translations(72, 72, 3072, tlbs(SOG_ZEN_4)),
    prefetchers: PREFETCHERS,
    ..AMD
};

const ZEN_5: Core = Core {
    name: "Zen 5",
    vectors: Vectors::Avx512,
    products: &[product(
        "Zen 5",
        &[models(0x1a, 0x00, 0x1f), models(0x1a, 0x40, 0x4f), models(0x1a, 0x70, 0x7f)],
    )
    .events(&ZEN_5_EVENTS)],
    load_to_use: known(4, Source::new(SOG_ZEN_5, "section 2.6.2")),
    // Two loads of up to 512 bits per cycle; two stores of up to 256 bits or one of 512.
    ports: ports([32, 64, 128], [32, 64, 64], load_store(SOG_ZEN_5)),
    reorder_buffer: known(448, retire(SOG_ZEN_5)),
    store_buffer: known(104, load_store(SOG_ZEN_5)),
    outstanding_misses: known(124, CHIPS_AND_CHEESE_ZEN_5),
    combining_buffers: NO_COMBINING,
    decoded_cache: known(
        6144,
        Source::new("Chips and Cheese, \"Disabling Zen 5's Op Cache\" (2025)", "6 K entries"),
    ),
    translations: translations(96, 96, 4096, tlbs(SOG_ZEN_5)),
    prefetchers: PREFETCHERS,
    ..AMD
};

/// Zen 5 with 256-bit vector units and load paths.
const ZEN_5_MOBILE: Core = Core {
    name: "Zen 5 (256-bit)",
    products: &[product("Zen 5", &[models(0x1a, 0x20, 0x2f), models(0x1a, 0x60, 0x6f)])
        .events(&ZEN_5_EVENTS)],
    ports: ports([32, 64, 64], [32, 64, 64], CHIPS_AND_CHEESE_STRIX_POINT),
    ..ZEN_5
};

/// All AMD cores, by age.
pub(super) static CORES: &[Core] =
    &[K8, K10, BOBCAT, BULLDOZER, JAGUAR, ZEN, ZEN_2, ZEN_3, ZEN_4, ZEN_5, ZEN_5_MOBILE];
