//! The events that count each quantity, core by core.
//!
//! The descriptions in the lists that [`Microarch::source`] names say what each event counts.
//!
//! [`Microarch::source`]: crate::pmu::Microarch::source

use super::Quantity;

/// An event, and how it differs from the quantity; empty if it does not.
type Candidate = (&'static str, &'static str);

const SPECULATIVE: &str = "speculative ones too";
const LINES: &str =
    "lines asked for: loads that wait for the same line count once; speculative ones too";
const REPLACED: &str = "lines that replaced another, whoever asked for them";
const OF_L1D: &str = "lines asked for by L1d, stores and its prefetches too";
const ALLOCATED: &str = "allocated miss address buffers: those of stores and prefetches too";
const LOCAL: &str = "lines on demand, from memory of the own node";
const STORES_TOO: &str = "stores too";
const RESTARTS: &str = "all restarts that no branch caused";

impl Quantity {
    /// Returns the vendors' events for the quantity, the closest in meaning first. A core uses the first
    /// event that its table has.
    ///
    /// AMD's list of Zen 4, as AMD contributed it to Linux, says that `ls_alloc_mab_count` counts the
    /// L1d misses in flight in each cycle, as allocated miss address buffers. With a count mask of 1 it
    /// counts the cycles with any.
    pub(super) const fn candidates(self) -> &'static [Candidate] {
        match self {
            Quantity::Cycles => &[
                ("CPU_CLK_UNHALTED.THREAD", ""),
                ("CPU_CLK_UNHALTED.CORE", ""),
                ("ls_not_halted_cyc", ""),
            ],
            Quantity::Instructions => &[("INST_RETIRED.ANY", ""), ("ex_ret_instr", "")],
            Quantity::ReferenceCycles => &[
                ("CPU_CLK_UNHALTED.REF_TSC", ""),
                ("CPU_CLK_UNHALTED.REF", ""),
                ("ls_not_halted_p0_cyc.p0_freq_cyc", "at the rate of state P0"),
            ],
            Quantity::Branches => &[("BR_INST_RETIRED.ALL_BRANCHES", ""), ("ex_ret_brn", "")],
            Quantity::BranchMisses => {
                &[("BR_MISP_RETIRED.ALL_BRANCHES", ""), ("ex_ret_brn_misp", "")]
            }
            Quantity::Loads => &[
                ("MEM_INST_RETIRED.ALL_LOADS", ""),
                ("MEM_UOPS_RETIRED.ALL_LOADS", "micro-operations"),
                ("MEM_INST_RETIRED.LOADS", ""),
                ("ls_dispatch.ld_dispatch", "dispatched micro-operations, speculative ones too"),
            ],
            Quantity::Stores => &[
                ("MEM_INST_RETIRED.ALL_STORES", ""),
                ("MEM_UOPS_RETIRED.ALL_STORES", "micro-operations"),
                ("MEM_INST_RETIRED.STORES", ""),
                ("ls_dispatch.store_dispatch", "dispatched micro-operations, speculative ones too"),
            ],
            Quantity::L1dMisses => &[
                ("MEM_LOAD_RETIRED.L1_MISS", ""),
                ("MEM_LOAD_UOPS_RETIRED.L1_MISS", ""),
                ("MEM_UOPS_RETIRED.L1_MISS_LOADS", ""),
                ("ls_dmnd_fills_from_sys.all", LINES),
                ("ls_mab_alloc.loads", LINES),
                ("L1D.REPLACEMENT", REPLACED),
                ("L1D.REPL", REPLACED),
            ],
            Quantity::L1dFills => &[
                ("L1D.REPLACEMENT", "those that replaced another"),
                ("L1D.REPL", "those that replaced another"),
                ("ls_any_fills_from_sys.all", ""),
                ("ls_mab_alloc.all_allocations", "fills asked for, whether or not they came"),
            ],
            Quantity::L1dPending => {
                &[("L1D_PEND_MISS.PENDING", ""), ("ls_alloc_mab_count", ALLOCATED)]
            }
            Quantity::L1dPendingCycles => {
                &[("L1D_PEND_MISS.PENDING_CYCLES", ""), ("ls_alloc_mab_count:c=1", ALLOCATED)]
            }
            Quantity::FillBufferFull => &[(
                "L1D_PEND_MISS.FB_FULL",
                "stores and software prefetches too; on Skylake times, not cycles",
            )],
            Quantity::L2Hits => &[
                ("MEM_LOAD_RETIRED.L2_HIT", ""),
                ("MEM_LOAD_UOPS_RETIRED.L2_HIT", ""),
                ("MEM_UOPS_RETIRED.L2_HIT_LOADS", ""),
                ("l2_cache_req_stat.dc_hit_in_l2", OF_L1D),
                ("l2_cache_req_stat.ic_dc_hit_in_l2", "lines asked for by L1d and L1i"),
            ],
            Quantity::L2Accesses => &[
                ("L2_RQSTS.ALL_DEMAND_DATA_RD", "demand loads alone"),
                ("L2_RQSTS.LOADS", "loads alone"),
                ("L2_REQUEST.ALL", ""),
                ("l2_cache_req_stat.dc_access_in_l2", OF_L1D),
                ("l2_request_g1.all_no_prefetch", "no prefetches"),
            ],
            Quantity::L2Misses => &[
                ("L2_RQSTS.DEMAND_DATA_RD_MISS", "demand loads alone"),
                ("L2_RQSTS.LD_MISS", "loads alone"),
                ("L2_REQUEST.MISS", ""),
                ("l2_cache_req_stat.ls_rd_blk_c", OF_L1D),
            ],
            Quantity::MemoryLoads => &[
                ("MEM_LOAD_RETIRED.L3_MISS", ""),
                ("MEM_LOAD_UOPS_RETIRED.L3_MISS", ""),
                ("MEM_LOAD_UOPS_RETIRED.LLC_MISS", ""),
                ("MEM_LOAD_UOPS_MISC_RETIRED.LLC_MISS", ""),
                ("MEM_LOAD_RETIRED.LLC_MISS", ""),
                ("MEM_LOAD_UOPS_RETIRED.DRAM_HIT", ""),
                ("ls_dmnd_fills_from_sys.dram_io_near", LOCAL),
                ("ls_dmnd_fills_from_sys.mem_io_local", LOCAL),
                ("ls_refills_from_sys.ls_mabresp_lcl_dram", LOCAL),
            ],
            Quantity::Rfos => &[
                ("L2_RQSTS.ALL_RFO", "as L2 sees them"),
                ("L2_RQSTS.RFOS", "as L2 sees them"),
                (
                    "l2_request_g1.rd_blk_x",
                    "as L2 sees them, without lines that are there and become writable",
                ),
            ],
            Quantity::ReadsPending => &[
                ("OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD", ""),
                ("OFFCORE_REQUESTS_OUTSTANDING.DATA_RD", ""),
                ("OFFCORE_REQUESTS_OUTSTANDING.ANY.READ", "instruction fetches too"),
                (
                    "l2_latency.l2_cycles_waiting_on_fills",
                    "a quarter of them, of both threads of the core",
                ),
            ],
            Quantity::DtlbMisses => {
                &[("DTLB_LOAD_MISSES.ANY", ""), ("ls_l1_d_tlb_miss.all", STORES_TOO)]
            }
            Quantity::StlbHits => &[
                ("DTLB_LOAD_MISSES.STLB_HIT", ""),
                ("ls_l1_d_tlb_miss.tlb_reload_4k_l2_hit", "4 KiB pages alone, stores too"),
            ],
            Quantity::DtlbWalks => &[
                ("DTLB_LOAD_MISSES.WALK_COMPLETED", ""),
                ("DTLB_LOAD_MISSES.WALK_COMPLETED_4K", "4 KiB pages alone"),
                ("PAGE_WALKS.D_SIDE_WALKS", STORES_TOO),
                ("MEM_UOPS_RETIRED.DTLB_MISS_LOADS", "loads, not walks"),
                ("ls_l1_d_tlb_miss.all_l2_miss", STORES_TOO),
                ("ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss", "4 KiB pages alone, stores too"),
            ],
            Quantity::DtlbWalkCycles => &[
                ("DTLB_LOAD_MISSES.WALK_ACTIVE", ""),
                ("DTLB_LOAD_MISSES.WALK_DURATION", ""),
                ("DTLB_LOAD_MISSES.WALK_CYCLES", ""),
                ("DTLB_LOAD_MISSES.WALK_PENDING", "walks at the same time count each"),
                ("PAGE_WALKS.D_SIDE_CYCLES", STORES_TOO),
            ],
            Quantity::StoreWalks => &[
                ("DTLB_STORE_MISSES.WALK_COMPLETED", ""),
                ("DTLB_STORE_MISSES.WALK_COMPLETED_4K", "4 KiB pages alone"),
                ("MEM_UOPS_RETIRED.DTLB_MISS_STORES", "stores, not walks"),
            ],
            Quantity::ItlbWalks => &[
                ("ITLB_MISSES.WALK_COMPLETED", ""),
                ("ITLB_MISSES.WALK_COMPLETED_4K", "4 KiB pages alone"),
                ("PAGE_WALKS.I_SIDE_WALKS", ""),
                ("ITLB.MISS", "misses, not walks"),
                ("bp_l1_tlb_miss_l2_tlb_miss.all", ""),
                ("bp_l1_tlb_miss_l2_tlb_miss", ""),
                ("bp_l1_tlb_miss_l2_miss", ""),
            ],
            Quantity::L1iMisses => &[
                ("ICACHE.MISSES", ""),
                ("ICACHE_64B.IFTAG_MISS", ""),
                ("L1I.MISSES", ""),
                ("L2_RQSTS.ALL_CODE_RD", "requests to L2, prefetches too"),
                ("ic_tag_hit_miss.instruction_cache_miss", ""),
                ("ic_fw32_miss", "fetches of 32 bytes"),
            ],
            Quantity::DecodedOps => &[
                ("IDQ.DSB_UOPS", ""),
                ("de_src_op_disp.op_cache", ""),
                ("de_dis_uops_from_decoder.opcache_dispatched", ""),
                ("op_cache_hit_miss.op_cache_hit", "hits, not operations"),
            ],
            Quantity::LegacyOps => &[
                ("IDQ.MITE_UOPS", ""),
                ("de_src_op_disp.decoder", ""),
                ("de_src_op_disp.x86_decoder", ""),
                ("de_dis_uops_from_decoder.decoder_dispatched", ""),
            ],
            Quantity::LoopOps => &[
                ("LSD.UOPS", "0 where microcode has switched the buffer off, as on most Skylakes"),
                ("de_src_op_disp.loop_buffer", ""),
            ],
            Quantity::SelfModifying => &[
                ("MACHINE_CLEARS.SMC", ""),
                ("l2_request_g2.smc_inval", "invalidations by L2"),
                ("resyncs_or_nc_redirects", RESTARTS),
                ("bp_redirects.resync", RESTARTS),
            ],
            Quantity::OrderClears => &[
                ("MACHINE_CLEARS.MEMORY_ORDERING", ""),
                ("MACHINE_CLEARS.MEM_ORDER", ""),
                ("resyncs_or_nc_redirects", RESTARTS),
                ("bp_redirects.resync", RESTARTS),
            ],
            Quantity::ForwardingBlocks => &[
                ("LD_BLOCKS.STORE_FORWARD", ""),
                ("LOAD_BLOCK.OVERLAP_STORE", ""),
                ("REHABQ.LD_BLOCK_ST_FORWARD", ""),
                ("ls_bad_status2.stli_other", ""),
            ],
            Quantity::AddressAliases => &[
                ("LD_BLOCKS_PARTIAL.ADDRESS_ALIAS", ""),
                ("LD_BLOCKS.ADDRESS_ALIAS", ""),
                ("LD_BLOCKS.4K_ALIAS", ""),
                ("PARTIAL_ADDRESS_ALIAS", ""),
            ],
            Quantity::SplitLoads => &[
                ("MEM_INST_RETIRED.SPLIT_LOADS", ""),
                ("MEM_UOPS_RETIRED.SPLIT_LOADS", ""),
                ("REHABQ.LD_SPLITS", ""),
                ("ls_misal_loads.ma64", SPECULATIVE),
                ("ls_misal_accesses", "misaligned ones, speculative ones too"),
            ],
            Quantity::SplitStores => &[
                ("MEM_INST_RETIRED.SPLIT_STORES", ""),
                ("MEM_UOPS_RETIRED.SPLIT_STORES", ""),
                ("REHABQ.ST_SPLITS", ""),
            ],
            Quantity::StoreBufferFull => &[
                ("RESOURCE_STALLS.SB", "cycles without allocation"),
                ("RESOURCE_STALLS.STORE", "cycles without allocation"),
                ("EXE_ACTIVITY.BOUND_ON_STORES", "those in which no load was waited for"),
                ("de_dis_dispatch_token_stalls1.store_queue_rsrc_stall", "cycles without dispatch"),
                (
                    "de_dispatch_stall_cycle_dynamic_tokens_part1.store_queue_rsrc_stall",
                    "cycles without dispatch",
                ),
            ],
            Quantity::LoadStalls => &[
                ("CYCLE_ACTIVITY.STALLS_MEM_ANY", ""),
                ("CYCLE_ACTIVITY.STALLS_LDM_PENDING", "demand loads alone"),
                ("MEMORY_ACTIVITY.STALLS_L1D_MISS", "loads that missed L1d"),
                ("CYCLE_ACTIVITY.STALLS_L1D_PENDING", "loads that missed L1d"),
                ("ex_no_retire.load_not_complete", ""),
            ],
            Quantity::SoftwarePrefetches => &[
                ("SW_PREFETCH_ACCESS.ANY", ""),
                ("ls_pref_instr_disp.all", SPECULATIVE),
                ("ls_pref_instr_disp", SPECULATIVE),
            ],
            Quantity::NonTemporalPrefetches => {
                &[("SW_PREFETCH_ACCESS.NTA", ""), ("ls_pref_instr_disp.prefetch_nta", SPECULATIVE)]
            }
            Quantity::LatePrefetches => {
                &[("LOAD_HIT_PREFETCH.SWPF", ""), ("LOAD_HIT_PRE.SW_PF", ""), ("LOAD_HIT_PRE", "")]
            }
            Quantity::UsefulPrefetches => {
                &[("L2_RQSTS.SWPF_MISS", ""), ("ls_sw_pf_dc_fills.all", "")]
            }
            Quantity::IdlePrefetches => &[
                ("ls_inef_sw_pref.all", ""),
                ("ls_inef_sw_pref.data_pipe_sw_pf_dc_hit", "those whose line was in L1d"),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmu::{Encoding, Flavour, Microarch, event};
    extern crate std;
    use std::vec::Vec;

    fn core(name: &str) -> Microarch {
        Microarch::named(name).expect("a core with events")
    }

    #[test]
    fn every_name_is_that_of_an_event_and_the_first_choice_of_some_core() {
        for quantity in Quantity::ALL {
            let chosen: Vec<&str> =
                Microarch::all().filter_map(|core| Some(quantity.event_of(core)?.name)).collect();
            for (name, _) in quantity.candidates() {
                let same = |chosen: &&str| chosen.eq_ignore_ascii_case(name);
                assert!(chosen.iter().any(same), "{quantity}: nobody uses {name}");
            }
        }
    }

    #[test]
    fn every_core_counts_what_every_report_asks_for() {
        for core in Microarch::all() {
            for quantity in [
                Quantity::Cycles,
                Quantity::Instructions,
                Quantity::Branches,
                Quantity::Loads,
                Quantity::DtlbWalks,
            ] {
                let found = quantity.event_of(core);
                assert!(found.is_some(), "{}: {quantity}", core.name());
            }
        }
    }

    #[test]
    fn the_documents_events_are_those_of_the_documents_machines() {
        let name = |quantity: Quantity, core| quantity.event_of(core).map(|event| event.name);
        let pending = name(Quantity::L1dPending, core("Skylake client"));
        assert_eq!(pending, Some("L1D_PEND_MISS.PENDING"));
        let pending = name(Quantity::L1dPending, core("Zen 4"));
        assert_eq!(pending, Some("ls_alloc_mab_count"));
        let any = Quantity::L1dPendingCycles.event_of(core("Zen 5")).unwrap();
        assert_eq!(any.encoding, Encoding::new(0x5F, 0).cmask(1));
        let pending = name(Quantity::L1dPending, core("Zen 2"));
        assert_eq!(pending, None, "its list has no such event");
        let late = name(Quantity::LatePrefetches, core("Skylake client"));
        assert_eq!(late, Some("LOAD_HIT_PRE.SW_PF"));
    }

    #[test]
    fn what_differs_between_the_makers_is_said() {
        let exact = Quantity::L1dMisses.answer(core("Sapphire Rapids")).unwrap();
        let named = event("MEM_LOAD_RETIRED.L1_MISS", core("Sapphire Rapids"));
        assert_eq!((Ok(exact.event), exact.differs), (named, None));
        let near = Quantity::L1dMisses.answer(core("Zen 2")).unwrap();
        assert_eq!(near.event.name, "ls_mab_alloc.loads");
        assert_eq!(near.differs, Some(LINES));
    }

    #[test]
    fn amd_answers_all_but_a_few() {
        let silent = |quantity: &Quantity| {
            let mut cores = Microarch::all().filter(|core| core.flavour() == Flavour::Amd);
            cores.all(|core| quantity.answer(core).is_none())
        };
        let silent: Vec<Quantity> = Quantity::ALL.into_iter().filter(silent).collect();
        assert_eq!(
            silent,
            [
                Quantity::FillBufferFull,
                Quantity::DtlbWalkCycles,
                Quantity::StoreWalks,
                Quantity::AddressAliases,
                Quantity::SplitStores,
                Quantity::LatePrefetches,
            ]
        );
    }
}
