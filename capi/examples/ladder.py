"""What a step of a random walk costs in 16 KiB and in 4 MiB: python3 ladder.py liblinefill_c.so"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_size_t, c_uint64, c_void_p

RANDOM, FOLLOW = 1, 0


class Timing(ctypes.Structure):
    _fields_ = [(name, c_double) for name in
                ("ticks", "ticks_low", "ticks_high", "nanoseconds", "core_cycles")]
    _fields_ += [(name, c_uint64) for name in ("operations", "samples", "checksum")]
    _fields_ += [("precise", c_int32)]


library = ctypes.CDLL(sys.argv[1])
library.lf_message.restype = library.lf_detail.restype = c_char_p
library.lf_ring_new.argtypes = [c_void_p, c_size_t, c_size_t, c_int32, c_uint64, POINTER(c_void_p)]
library.lf_walk_new.argtypes = [c_void_p, c_int32, POINTER(c_void_p)]
library.lf_time.argtypes = [c_void_p, c_double, POINTER(Timing)]
library.lf_kernel_free.argtypes = [c_void_p]


def need(code):
    if code:
        sys.exit(f"{library.lf_message(code).decode()}: {library.lf_detail().decode()}")


for size in 16 << 10, 4 << 20:
    # The library uses this memory until the walk is freed.
    memory = ctypes.create_string_buffer(size)
    ring, walk, step = c_void_p(), c_void_p(), Timing()
    need(library.lf_ring_new(ctypes.addressof(memory), size, 7, RANDOM, 1, byref(ring)))
    need(library.lf_walk_new(ring, FOLLOW, byref(walk)))
    need(library.lf_time(walk, 0.1, byref(step)))
    print(f"{size >> 10} KiB: {step.nanoseconds:.2f} ns, {step.core_cycles:.2f} core cycles per step")
    library.lf_kernel_free(walk)
