//! Which events answer which question, the nearest first.
//!
//! What an event counts is said in the descriptions of the lists that [`Microarch::source`]
//! names.
//!
//! [`Microarch::source`]: crate::pmu::Microarch::source

use super::Question::{self, *};

/// An event that answers on those cores that have it.
pub(super) struct Candidate {
    pub name: &'static str,
    /// A threshold that the vendor's own event does not have; 0 for none.
    pub cmask: u8,
    /// In what it differs from the question; empty if in nothing.
    pub differs: &'static str,
}

/// An event that counts just what was asked.
const fn same(name: &'static str) -> Candidate {
    near(name, "")
}

/// An event that counts nearly that.
const fn near(name: &'static str, differs: &'static str) -> Candidate {
    Candidate {
        name,
        cmask: 0,
        differs,
    }
}

const MAB: &str = "misses of stores and prefetches too";
const FILLS: &str = "fills of L1d, by speculative loads and stores too";
const MAB_ALLOCATED: &str = "lines asked for, not loads: those that wait for the same line count \
                             once; speculative ones too";
const STORES_TOO: &str = "stores too";
const SPECULATIVE: &str = "speculative ones too";
const ONLY_4K: &str = "4 KiB pages alone, stores too";
const HITS_OF_FETCHES: &str = "requests of lines, those of instruction fetches too";
const LOCAL: &str = "demand fills from memory of the own node alone";

pub(super) const TABLE: &[(Question, &[Candidate])] = &[
    (
        CoreCycles,
        &[
            same("CPU_CLK_UNHALTED.THREAD"),
            same("CPU_CLK_UNHALTED.CORE"),
            same("ls_not_halted_cyc"),
        ],
    ),
    (
        Instructions,
        &[same("INST_RETIRED.ANY"), same("ex_ret_instr")],
    ),
    (
        ReferenceCycles,
        &[
            same("CPU_CLK_UNHALTED.REF_TSC"),
            same("CPU_CLK_UNHALTED.REF"),
            near(
                "ls_not_halted_p0_cyc.p0_freq_cyc",
                "at the rate of state P0",
            ),
        ],
    ),
    (
        Branches,
        &[same("BR_INST_RETIRED.ALL_BRANCHES"), same("ex_ret_brn")],
    ),
    (
        Mispredictions,
        &[
            same("BR_MISP_RETIRED.ALL_BRANCHES"),
            same("ex_ret_brn_misp"),
        ],
    ),
    (
        MissesInFlight,
        &[
            same("L1D_PEND_MISS.PENDING"),
            near("ls_alloc_mab_count", MAB),
        ],
    ),
    (
        CyclesWithMisses,
        &[
            same("L1D_PEND_MISS.PENDING_CYCLES"),
            Candidate {
                name: "ls_alloc_mab_count",
                cmask: 1,
                differs: MAB,
            },
        ],
    ),
    (FillBuffersFull, &[same("L1D_PEND_MISS.FB_FULL")]),
    (
        L1dLoadHits,
        &[
            same("MEM_LOAD_RETIRED.L1_HIT"),
            same("MEM_LOAD_UOPS_RETIRED.L1_HIT"),
            same("MEM_LOAD_RETIRED.L1D_HIT"),
        ],
    ),
    (
        L1dLoadMisses,
        &[
            same("MEM_LOAD_RETIRED.L1_MISS"),
            same("MEM_LOAD_UOPS_RETIRED.L1_MISS"),
            same("MEM_UOPS_RETIRED.L1_MISS_LOADS"),
            near("L1D.REPLACEMENT", FILLS),
            near("L1D.REPL", FILLS),
            near("ls_mab_alloc.loads", MAB_ALLOCATED),
            near(
                "ls_mab_alloc.load_store_allocations",
                "lines asked for, by speculative loads and stores too",
            ),
        ],
    ),
    (
        L1dFills,
        &[
            near("L1D.REPLACEMENT", "those that replaced another"),
            near("L1D.REPL", "those that replaced another"),
            same("ls_any_fills_from_sys.all"),
            near(
                "ls_mab_alloc.all_allocations",
                "fills asked for, whether or not they came",
            ),
        ],
    ),
    (
        L2LoadHits,
        &[
            same("MEM_LOAD_RETIRED.L2_HIT"),
            same("MEM_LOAD_UOPS_RETIRED.L2_HIT"),
            same("MEM_UOPS_RETIRED.L2_HIT_LOADS"),
            near(
                "l2_cache_req_stat.dc_hit_in_l2",
                "requests of lines by L1d, stores and its prefetches too",
            ),
            near("l2_cache_req_stat.ic_dc_hit_in_l2", HITS_OF_FETCHES),
        ],
    ),
    (
        L2LoadMisses,
        &[
            same("MEM_LOAD_RETIRED.L2_MISS"),
            same("MEM_LOAD_UOPS_RETIRED.L2_MISS"),
            same("MEM_UOPS_RETIRED.L2_MISS_LOADS"),
            near(
                "l2_cache_req_stat.ls_rd_blk_c",
                "requests of lines by L1d, stores and its prefetches too",
            ),
        ],
    ),
    (
        L2Requests,
        &[
            same("L2_RQSTS.REFERENCES"),
            same("L2_REQUEST.ALL"),
            same("l2_request_g1.all"),
            near("l2_request_g1.all_no_prefetch", "no prefetches"),
            near("L2_RQSTS.ALL_DEMAND_DATA_RD", "loads alone"),
        ],
    ),
    (
        LastLevelMisses,
        &[
            same("LONGEST_LAT_CACHE.MISS"),
            near(
                "ls_any_fills_from_sys.all_dram_io",
                "fills of L1d from memory or I/O",
            ),
            near("ls_dmnd_fills_from_sys.mem_io_local", LOCAL),
            near("ls_refills_from_sys.ls_mabresp_lcl_dram", LOCAL),
        ],
    ),
    (
        StlbHits,
        &[
            same("DTLB_LOAD_MISSES.STLB_HIT"),
            near("ls_l1_d_tlb_miss.tlb_reload_4k_l2_hit", ONLY_4K),
        ],
    ),
    (
        LoadWalks,
        &[
            same("DTLB_LOAD_MISSES.WALK_COMPLETED"),
            same("DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK"),
            near("DTLB_LOAD_MISSES.WALK_COMPLETED_4K", "4 KiB pages alone"),
            near("PAGE_WALKS.D_SIDE_WALKS", STORES_TOO),
            near("ls_l1_d_tlb_miss.all_l2_miss", STORES_TOO),
            near("ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss", ONLY_4K),
        ],
    ),
    (
        LoadWalkCycles,
        &[
            same("DTLB_LOAD_MISSES.WALK_ACTIVE"),
            same("DTLB_LOAD_MISSES.WALK_DURATION"),
            same("DTLB_LOAD_MISSES.WALK_CYCLES"),
            near(
                "DTLB_LOAD_MISSES.WALK_PENDING",
                "walks at once count each for itself",
            ),
            near("PAGE_WALKS.D_SIDE_CYCLES", STORES_TOO),
        ],
    ),
    (
        StoreWalks,
        &[
            same("DTLB_STORE_MISSES.WALK_COMPLETED"),
            near("DTLB_STORE_MISSES.WALK_COMPLETED_4K", "4 KiB pages alone"),
        ],
    ),
    (
        FetchWalks,
        &[
            same("ITLB_MISSES.WALK_COMPLETED"),
            near("ITLB_MISSES.WALK_COMPLETED_4K", "4 KiB pages alone"),
            same("PAGE_WALKS.I_SIDE_WALKS"),
            same("bp_l1_tlb_miss_l2_tlb_miss.all"),
            same("bp_l1_tlb_miss_l2_tlb_miss"),
            same("bp_l1_tlb_miss_l2_miss"),
        ],
    ),
    (
        LoopBufferOps,
        &[
            near(
                "LSD.UOPS",
                "0 where microcode has switched the loop buffer off, as on most Skylakes",
            ),
            same("de_src_op_disp.loop_buffer"),
        ],
    ),
    (
        OpCacheOps,
        &[
            same("IDQ.DSB_UOPS"),
            same("de_src_op_disp.op_cache"),
            same("de_dis_uops_from_decoder.opcache_dispatched"),
            near(
                "op_cache_hit_miss.op_cache_hit",
                "hits of the cache, not operations",
            ),
        ],
    ),
    (
        DecoderOps,
        &[
            same("IDQ.MITE_UOPS"),
            same("de_src_op_disp.decoder"),
            same("de_src_op_disp.x86_decoder"),
            same("de_dis_uops_from_decoder.decoder_dispatched"),
        ],
    ),
    (
        SelfModifiedCode,
        &[
            same("MACHINE_CLEARS.SMC"),
            near("l2_request_g2.smc_inval", "invalidations by L2"),
            near(
                "resyncs_or_nc_redirects",
                "all restarts that no branch caused",
            ),
            near("bp_redirects.resync", "all restarts that no branch caused"),
        ],
    ),
    (
        MemoryOrderClears,
        &[
            same("MACHINE_CLEARS.MEMORY_ORDERING"),
            same("MACHINE_CLEARS.MEM_ORDER"),
            near(
                "resyncs_or_nc_redirects",
                "all restarts that no branch caused",
            ),
            near("bp_redirects.resync", "all restarts that no branch caused"),
        ],
    ),
    (
        ForwardsBlocked,
        &[
            same("LD_BLOCKS.STORE_FORWARD"),
            same("REHABQ.LD_BLOCK_ST_FORWARD"),
            same("ls_bad_status2.stli_other"),
        ],
    ),
    (
        AddressAliases,
        &[
            same("LD_BLOCKS.ADDRESS_ALIAS"),
            same("LD_BLOCKS_PARTIAL.ADDRESS_ALIAS"),
            same("LD_BLOCKS.4K_ALIAS"),
            same("PARTIAL_ADDRESS_ALIAS"),
        ],
    ),
    (
        SplitLoads,
        &[
            same("MEM_INST_RETIRED.SPLIT_LOADS"),
            same("MEM_UOPS_RETIRED.SPLIT_LOADS"),
            same("REHABQ.LD_SPLITS"),
            near("ls_misal_loads.ma64", SPECULATIVE),
            near("ls_misal_accesses", "misaligned ones, speculative ones too"),
        ],
    ),
    (
        SplitStores,
        &[
            same("MEM_INST_RETIRED.SPLIT_STORES"),
            same("MEM_UOPS_RETIRED.SPLIT_STORES"),
            same("REHABQ.ST_SPLITS"),
        ],
    ),
    (
        OwnershipRequests,
        &[
            near("L2_RQSTS.ALL_RFO", "as L2 sees them"),
            near("L2_RQSTS.RFOS", "as L2 sees them"),
            near(
                "l2_request_g1.rd_blk_x",
                "as L2 sees them; lines that are there and become writable left out",
            ),
        ],
    ),
    (
        ReadsOutstanding,
        &[
            same("OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD"),
            same("OFFCORE_REQUESTS_OUTSTANDING.DATA_RD"),
            near(
                "OFFCORE_REQUESTS_OUTSTANDING.ANY.READ",
                "instruction fetches too",
            ),
            near(
                "l2_latency.l2_cycles_waiting_on_fills",
                "a quarter of them, of both threads of the core",
            ),
        ],
    ),
    (
        SoftwarePrefetches,
        &[
            same("SW_PREFETCH_ACCESS.ANY"),
            near("ls_pref_instr_disp.all", SPECULATIVE),
            near("ls_pref_instr_disp", SPECULATIVE),
        ],
    ),
    (
        NonTemporalPrefetches,
        &[
            same("SW_PREFETCH_ACCESS.NTA"),
            near("ls_pref_instr_disp.prefetch_nta", SPECULATIVE),
        ],
    ),
    (
        LatePrefetches,
        &[
            same("LOAD_HIT_PRE.SW_PF"),
            same("LOAD_HIT_PREFETCH.SWPF"),
            same("LOAD_HIT_PRE"),
        ],
    ),
    (
        NeedlessPrefetches,
        &[
            same("ls_inef_sw_pref.all"),
            near(
                "ls_inef_sw_pref.data_pipe_sw_pf_dc_hit",
                "those alone whose line was there",
            ),
        ],
    ),
    (
        StoreBufferFull,
        &[
            near("RESOURCE_STALLS.SB", "cycles without allocation"),
            near("RESOURCE_STALLS.STORE", "cycles without allocation"),
            near(
                "EXE_ACTIVITY.BOUND_ON_STORES",
                "cycles without a load waiting",
            ),
            near(
                "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall",
                "cycles without dispatch",
            ),
            near(
                "de_dispatch_stall_cycle_dynamic_tokens_part1.store_queue_rsrc_stall",
                "cycles without dispatch",
            ),
        ],
    ),
    (
        LoadStalls,
        &[
            same("CYCLE_ACTIVITY.STALLS_MEM_ANY"),
            near("CYCLE_ACTIVITY.STALLS_LDM_PENDING", "demand loads alone"),
            near("MEMORY_ACTIVITY.STALLS_L1D_MISS", "loads that missed L1d"),
            near("CYCLE_ACTIVITY.STALLS_L1D_MISS", "loads that missed L1d"),
            near("CYCLE_ACTIVITY.STALLS_L1D_PENDING", "loads that missed L1d"),
            near(
                "ex_no_retire.load_not_complete",
                "cycles without retirement",
            ),
        ],
    ),
];
