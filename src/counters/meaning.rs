//! Which event counts what, core by core.

use super::Quantity;
use crate::pmu::{EventCode, Microarch, event};

impl Quantity {
    /// The event by which `core` counts it; `None` if the tables have none.
    pub fn event_of(self, core: Microarch) -> Option<EventCode> {
        let names = self.names().iter();
        names.filter_map(|name| event(name, core).ok()).next()
    }

    /// What the vendors call it, the closest to its meaning first.
    ///
    /// Loads that find their line on its way are misses to some of these and not to others, and so
    /// are hardware prefetches: the event's own name belongs beside every count.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Quantity::Cycles => &[
                "CPU_CLK_UNHALTED.THREAD",
                "CPU_CLK_UNHALTED.CORE",
                "ls_not_halted_cyc",
            ],
            Quantity::Instructions => &["INST_RETIRED.ANY", "ex_ret_instr"],
            Quantity::Branches => &["BR_INST_RETIRED.ALL_BRANCHES", "ex_ret_brn"],
            Quantity::BranchMisses => &["BR_MISP_RETIRED.ALL_BRANCHES", "ex_ret_brn_misp"],
            Quantity::Loads => &[
                "MEM_INST_RETIRED.ALL_LOADS",
                "MEM_UOPS_RETIRED.ALL_LOADS",
                "MEM_INST_RETIRED.LOADS",
                "ls_dispatch.ld_dispatch",
            ],
            Quantity::Stores => &[
                "MEM_INST_RETIRED.ALL_STORES",
                "MEM_UOPS_RETIRED.ALL_STORES",
                "MEM_INST_RETIRED.STORES",
                "ls_dispatch.store_dispatch",
            ],
            Quantity::L1dMisses => &[
                "MEM_LOAD_RETIRED.L1_MISS",
                "MEM_LOAD_UOPS_RETIRED.L1_MISS",
                "MEM_UOPS_RETIRED.L1_MISS_LOADS",
                "ls_dmnd_fills_from_sys.all",
                "ls_mab_alloc.loads",
                "L1D.REPLACEMENT",
                "L1D.REPL",
            ],
            Quantity::L1dPending => &["L1D_PEND_MISS.PENDING"],
            Quantity::L1dPendingCycles => &["L1D_PEND_MISS.PENDING_CYCLES"],
            Quantity::FillBufferFull => &["L1D_PEND_MISS.FB_FULL"],
            Quantity::L2Accesses => &[
                "L2_RQSTS.ALL_DEMAND_DATA_RD",
                "L2_RQSTS.LOADS",
                "L2_REQUEST.ALL",
                "l2_cache_req_stat.dc_access_in_l2",
                "l2_request_g1.all_no_prefetch",
            ],
            Quantity::L2Misses => &[
                "L2_RQSTS.DEMAND_DATA_RD_MISS",
                "L2_RQSTS.LD_MISS",
                "L2_REQUEST.MISS",
                "l2_cache_req_stat.ls_rd_blk_c",
            ],
            Quantity::MemoryLoads => &[
                "MEM_LOAD_RETIRED.L3_MISS",
                "MEM_LOAD_UOPS_RETIRED.L3_MISS",
                "MEM_LOAD_UOPS_RETIRED.LLC_MISS",
                "MEM_LOAD_UOPS_MISC_RETIRED.LLC_MISS",
                "MEM_LOAD_RETIRED.LLC_MISS",
                "MEM_LOAD_UOPS_RETIRED.DRAM_HIT",
                "ls_dmnd_fills_from_sys.dram_io_near",
                "ls_dmnd_fills_from_sys.mem_io_local",
                "ls_refills_from_sys.ls_mabresp_lcl_dram",
            ],
            Quantity::Rfos => &[
                "L2_RQSTS.ALL_RFO",
                "L2_RQSTS.RFOS",
                "l2_request_g1.rd_blk_x",
            ],
            Quantity::DtlbMisses => &["DTLB_LOAD_MISSES.ANY", "ls_l1_d_tlb_miss.all"],
            Quantity::StlbHits => &["DTLB_LOAD_MISSES.STLB_HIT"],
            Quantity::DtlbWalks => &[
                "DTLB_LOAD_MISSES.WALK_COMPLETED",
                "PAGE_WALKS.D_SIDE_WALKS",
                "MEM_UOPS_RETIRED.DTLB_MISS_LOADS",
                "ls_l1_d_tlb_miss.all_l2_miss",
                "ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss",
            ],
            Quantity::DtlbWalkCycles => &[
                "DTLB_LOAD_MISSES.WALK_PENDING",
                "DTLB_LOAD_MISSES.WALK_DURATION",
                "DTLB_LOAD_MISSES.WALK_CYCLES",
                "PAGE_WALKS.D_SIDE_CYCLES",
            ],
            Quantity::ItlbWalks => &[
                "ITLB_MISSES.WALK_COMPLETED",
                "PAGE_WALKS.I_SIDE_WALKS",
                "ITLB.MISS",
                "bp_l1_tlb_miss_l2_tlb_miss.all",
                "bp_l1_tlb_miss_l2_tlb_miss",
                "bp_l1_tlb_miss_l2_miss",
            ],
            Quantity::L1iMisses => &[
                "ICACHE.MISSES",
                "ICACHE_64B.IFTAG_MISS",
                "L1I.MISSES",
                "L2_RQSTS.ALL_CODE_RD",
                "ic_tag_hit_miss.instruction_cache_miss",
                "ic_fw32_miss",
            ],
            Quantity::DecodedOps => &[
                "IDQ.DSB_UOPS",
                "de_src_op_disp.op_cache",
                "de_dis_uops_from_decoder.opcache_dispatched",
            ],
            Quantity::LegacyOps => &[
                "IDQ.MITE_UOPS",
                "de_src_op_disp.decoder",
                "de_src_op_disp.x86_decoder",
                "de_dis_uops_from_decoder.decoder_dispatched",
            ],
            Quantity::LoopOps => &["LSD.UOPS", "de_src_op_disp.loop_buffer"],
            Quantity::SelfModifying => &["MACHINE_CLEARS.SMC", "l2_request_g2.smc_inval"],
            Quantity::ForwardingBlocks => &[
                "LD_BLOCKS.STORE_FORWARD",
                "LOAD_BLOCK.OVERLAP_STORE",
                "REHABQ.LD_BLOCK_ST_FORWARD",
                "ls_bad_status2.stli_other",
            ],
            Quantity::AddressAliases => &[
                "LD_BLOCKS_PARTIAL.ADDRESS_ALIAS",
                "LD_BLOCKS.ADDRESS_ALIAS",
                "LD_BLOCKS.4K_ALIAS",
                "PARTIAL_ADDRESS_ALIAS",
            ],
            Quantity::SplitLoads => &[
                "MEM_INST_RETIRED.SPLIT_LOADS",
                "MEM_UOPS_RETIRED.SPLIT_LOADS",
                "REHABQ.LD_SPLITS",
                "ls_misal_loads.ma64",
                "ls_misal_accesses",
            ],
            Quantity::SplitStores => &[
                "MEM_INST_RETIRED.SPLIT_STORES",
                "MEM_UOPS_RETIRED.SPLIT_STORES",
                "REHABQ.ST_SPLITS",
            ],
            Quantity::SoftwarePrefetches => &[
                "SW_PREFETCH_ACCESS.ANY",
                "ls_pref_instr_disp.all",
                "ls_pref_instr_disp",
            ],
            Quantity::LatePrefetches => &[
                "LOAD_HIT_PREFETCH.SWPF",
                "LOAD_HIT_PRE.SW_PF",
                "LOAD_HIT_PRE",
            ],
            Quantity::UsefulPrefetches => &["L2_RQSTS.SWPF_MISS", "ls_sw_pf_dc_fills.all"],
            Quantity::IdlePrefetches => &["ls_inef_sw_pref.all"],
        }
    }

    /// perf's own name for it, for cores without a table.
    pub(super) const fn general(self) -> Option<&'static str> {
        match self {
            Quantity::Cycles => Some("cycles"),
            Quantity::Instructions => Some("instructions"),
            Quantity::Branches => Some("branches"),
            Quantity::BranchMisses => Some("branch-misses"),
            Quantity::L1dMisses => Some("L1-dcache-load-misses"),
            Quantity::DtlbMisses => Some("dTLB-load-misses"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_an_event_and_the_first_choice_of_some_core() {
        for quantity in Quantity::ALL {
            let chosen: Vec<&str> = Microarch::ALL
                .into_iter()
                .filter_map(|core| Some(quantity.event_of(core)?.name))
                .collect();
            for name in quantity.names() {
                let same = |chosen: &&str| chosen.eq_ignore_ascii_case(name);
                assert!(chosen.iter().any(same), "{quantity}: nobody uses {name}");
            }
        }
    }

    #[test]
    fn every_core_counts_what_every_report_asks_for() {
        for core in Microarch::ALL {
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
        let pending = name(Quantity::L1dPending, Microarch::Skylake);
        assert_eq!(pending, Some("L1D_PEND_MISS.PENDING"));
        let pending = name(Quantity::L1dPending, Microarch::Zen4);
        assert_eq!(pending, None, "MABs are counted in quarters");
        let late = name(Quantity::LatePrefetches, Microarch::Skylake);
        assert_eq!(late, Some("LOAD_HIT_PRE.SW_PF"));
    }
}
