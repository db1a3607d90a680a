//! The bytes of the assembled kernels, for those who want to see what really runs.

// Reads machine code between two symbols.
#![allow(unsafe_code)]

use core::arch::asm;

/// A kernel's symbol and its machine code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The symbol.
    pub name: &'static str,
    /// Its bytes, from the symbol to the end of the function.
    pub bytes: &'static [u8],
}

/// The address of a symbol, by its name. It is named in assembly alone: a static of the same name
/// as a function that is declared elsewhere would be another symbol where the compiler puts both
/// into one unit.
macro_rules! address {
    ($name:expr) => {{
        let address: *const u8;
        // SAFETY: computes an address, and touches nothing.
        unsafe {
            asm!(
                concat!("lea {}, [rip + ", $name, "]"),
                out(reg) address,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        address
    }};
}

macro_rules! code {
    ($($name:ident)*) => {
        [$({
            let from = address!(stringify!($name));
            let to = address!(concat!(stringify!($name), "_end"));
            let len = to.addr() - from.addr();
            // SAFETY: both labels enclose one function of the text section, which is readable and
            // never written.
            let bytes = unsafe { core::slice::from_raw_parts(from, len) };
            Code { name: stringify!($name), bytes }
        }),*]
    };
}

/// Every kernel of `asm/`, in the order of their names.
pub fn all() -> impl Iterator<Item = Code> {
    code! {
        linefill_alias
        linefill_bandwidth_copy16
        linefill_bandwidth_copy32
        linefill_bandwidth_copy64
        linefill_bandwidth_copy_stream16
        linefill_bandwidth_copy_stream32
        linefill_bandwidth_copy_stream64
        linefill_bandwidth_read16
        linefill_bandwidth_read32
        linefill_bandwidth_read64
        linefill_bandwidth_read_halves16
        linefill_bandwidth_read_halves32
        linefill_bandwidth_read_halves64
        linefill_bandwidth_rep_movsb
        linefill_bandwidth_rep_stosb
        linefill_bandwidth_stream16
        linefill_bandwidth_stream32
        linefill_bandwidth_stream64
        linefill_bandwidth_update16
        linefill_bandwidth_update32
        linefill_bandwidth_update64
        linefill_bandwidth_write16
        linefill_bandwidth_write32
        linefill_bandwidth_write64
        linefill_burst_load16
        linefill_burst_load16_aligned
        linefill_burst_load32
        linefill_burst_load4
        linefill_burst_load64
        linefill_burst_load8
        linefill_burst_store16
        linefill_burst_store16_aligned
        linefill_burst_store32
        linefill_burst_store4
        linefill_burst_store64
        linefill_burst_store8
        linefill_chains1
        linefill_chains2
        linefill_chains4
        linefill_chains8
        linefill_chase_base
        linefill_chase_disp32
        linefill_chase_disp8
        linefill_chase_index
        linefill_chase_load32
        linefill_chase_movsx16
        linefill_chase_movsxd
        linefill_chase_movzx16
        linefill_chase_scaled
        linefill_chase_xmm16
        linefill_chase_xmm8
        linefill_chase_ymm32
        linefill_chase_zmm64
        linefill_codealign_loop24
        linefill_codealign_loop48
        linefill_codealign_target
        linefill_fields_first_ascending
        linefill_fields_first_descending
        linefill_fields_last_ascending
        linefill_fields_last_descending
        linefill_fill_cached
        linefill_fill_half
        linefill_fill_interleaved
        linefill_fill_quarter
        linefill_fill_rep_stosb
        linefill_fill_stream
        linefill_fill_three_quarters
        linefill_flush
        linefill_flush_back
        linefill_flush_opt
        linefill_forward16_16
        linefill_forward16_32
        linefill_forward16_32_two
        linefill_forward16_64
        linefill_forward16_8
        linefill_forward16_8_general
        linefill_forward1_1
        linefill_forward1_2
        linefill_forward1_4
        linefill_forward1_8
        linefill_forward2_1
        linefill_forward2_2
        linefill_forward2_4
        linefill_forward2_8
        linefill_forward32_16
        linefill_forward32_32
        linefill_forward32_64
        linefill_forward32_64_two
        linefill_forward32_8
        linefill_forward4_1
        linefill_forward4_2
        linefill_forward4_4
        linefill_forward4_8
        linefill_forward4_8_two
        linefill_forward64_16
        linefill_forward64_32
        linefill_forward64_64
        linefill_forward64_8
        linefill_forward8_1
        linefill_forward8_16
        linefill_forward8_16_two
        linefill_forward8_2
        linefill_forward8_32
        linefill_forward8_4
        linefill_forward8_64
        linefill_forward8_8
        linefill_forward8_8_renamed
        linefill_increment_compare
        linefill_increment_plain
        linefill_increment_spin
        linefill_jump
        linefill_jump_checked
        linefill_lanes
        linefill_load_cached
        linefill_load_cached32
        linefill_load_cached64
        linefill_load_stream
        linefill_load_stream32
        linefill_load_stream64
        linefill_lock_add
        linefill_matmul_copy
        linefill_matmul_dot
        linefill_matmul_submatrix
        linefill_matmul_submatrix_sse2
        linefill_orders_apart
        linefill_orders_split
        linefill_orders_whole
        linefill_pair
        linefill_pending
        linefill_pick
        linefill_prefetch_none
        linefill_prefetch_none_serial
        linefill_prefetch_nta
        linefill_prefetch_nta_serial
        linefill_prefetch_t0
        linefill_prefetch_t0_serial
        linefill_prefetch_t1
        linefill_prefetch_t1_serial
        linefill_prefetch_t2
        linefill_prefetch_t2_serial
        linefill_prefetch_w
        linefill_prefetch_w_serial
        linefill_register
        linefill_rewrite
        linefill_rewrite_stream
        linefill_rewrite_through
        linefill_roundtrip_compare
        linefill_roundtrip_store
        linefill_shuffle_random
        linefill_shuffle_table
        linefill_shuffle_unrolled
        linefill_speculate
        linefill_speculate_miss
        linefill_speculate_miss_ordered
        linefill_speculate_ordered
        linefill_staged_random
        linefill_staged_table
        linefill_store16
        linefill_store32
        linefill_store4
        linefill_store64
        linefill_store8
        linefill_straddle16
        linefill_straddle32
        linefill_straddle4
        linefill_straddle64
        linefill_stream16
        linefill_stream32
        linefill_stream4
        linefill_stream64
        linefill_stream8
        linefill_take_add
        linefill_take_add_t0
        linefill_take_add_w
        linefill_take_store
        linefill_take_store_t0
        linefill_take_store_w
        linefill_tensor_array
        linefill_tensor_boxes
        linefill_tensor_boxes_unchecked
        linefill_tensor_called
        linefill_tensor_divided
        linefill_tensor_masks
        linefill_tensor_primes
        linefill_tensor_strides
        linefill_tensor_vectors
        linefill_tile_avx2
        linefill_tile_avx512
        linefill_translate_load
        linefill_translate_prefetch
        linefill_walk_addnext
        linefill_walk_follow
        linefill_walk_inc
        linefill_walk_lines
    }
    .into_iter()
}
