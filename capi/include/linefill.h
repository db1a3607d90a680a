/* linefill for C: list walks, streams, a fenced clock, steady timing, and what CPUID says.
 *
 * Link with what `pkg-config --libs linefill` prints, or load liblinefill_c.so. x86-64 Linux.
 *
 * Structs and functions stay as they are within versions 0.MINOR, and from 1.0 within a major version. The shared
 * library's name has these numbers (liblinefill_c.so.0.1), so that no program loads one that it was not compiled for.
 *
 * Functions that can fail return a code: LF_OK or an error. lf_message names a code. lf_detail gives the
 * reason why the last call of this thread failed, with the values. A call that fails sets the handle that it
 * would make to null. No call unwinds. Handles share nothing: several threads may each use one. */

#ifndef LINEFILL_H
#define LINEFILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lf_code {
    LF_OK = 0,
    LF_NULL = 1,        /* a pointer is null */
    LF_CHOICE = 2,      /* a number names no order, step or motion */
    LF_MEMORY = 3,      /* the memory is too small, or not a multiple of the block size */
    LF_LAYOUT = 4,      /* no list fits, or the step needs padding */
    LF_UNSUPPORTED = 5, /* the CPU lacks the vector registers */
    LF_TIME = 6,        /* the time budget is invalid, or a clock does not advance */
    LF_INTERNAL = 7     /* a bug in the library */
};

enum lf_order { LF_SEQUENTIAL = 0, LF_RANDOM = 1, LF_BACKWARD = 2 };

/* What a walk does per element: 1 load; 2 loads and 1 store to the padding; 3 loads and 1 store. */
enum lf_step { LF_FOLLOW = 0, LF_INC = 1, LF_ADDNEXT = 2 };

enum lf_motion {
    LF_READ = 0,
    LF_WRITE = 1,
    LF_WRITE_NON_TEMPORAL = 2,
    LF_UPDATE = 3, /* loads and stores in place */
    LF_COPY = 4    /* loads of the first half, stores to the second */
};

enum lf_cache_kind { LF_DATA = 1, LF_INSTRUCTION = 2, LF_UNIFIED = 3 };

/* A ring of elements in memory: one cycle through all of them. */
typedef struct lf_ring lf_ring;
/* Work that can be repeated. Each run continues where the previous run stopped. */
typedef struct lf_kernel lf_kernel;

/* A steady measurement. Times are per operation: a step of a walk, a block of 512 bytes of a stream. */
typedef struct lf_timing {
    double ticks;          /* median, ticks of the time-stamp counter */
    double ticks_low;      /* 95 % interval of the median */
    double ticks_high;
    double nanoseconds;    /* median */
    double core_cycles;    /* median; NaN if the yardstick gave nothing */
    uint64_t operations;   /* operations per sample */
    uint64_t samples;
    uint64_t checksum;     /* what the kernel returned last */
    int32_t precise;       /* 1: to 1 %. 0: the time or the samples ended first */
} lf_timing;

/* A cache. 0 means that CPUID does not report the value. */
typedef struct lf_cache {
    uint64_t bytes;
    uint32_t level;
    uint32_t kind; /* enum lf_cache_kind */
    uint32_t line; /* bytes */
    uint32_t ways;
    uint32_t shared_by; /* hardware threads at most */
} lf_cache;

/* What CPUID reports about the CPU that runs the call. Strings are null-terminated, and empty if unknown. */
typedef struct lf_machine {
    char vendor[16];
    char brand[64];
    char core[64];       /* such as "Zen 4" */
    char hypervisor[32]; /* empty on the bare machine */
    uint32_t family, model, stepping;
    uint32_t caches; /* entries of cache */
    lf_cache cache[8];
} lf_machine;

/* The name of a code, and the reason with values why the last call of this thread failed. Both functions
 * always return a valid string. The reason is valid until the next call of this thread. */
const char *lf_message(int32_t code);
const char *lf_detail(void);

/* Fills `machine`. Pin the thread first if cores differ. */
int32_t lf_describe(lf_machine *machine);

/* Fenced readings of the time-stamp counter: lf_start before the code to time, lf_stop after it. */
uint64_t lf_start(void);
uint64_t lf_stop(void);
/* The counter's rate, in ticks per second, measured once over 0.2 s. */
int32_t lf_tick_hz(double *hz);

/* Makes a ring of as many elements as fit into `bytes` of `memory`. An element is a pointer and `npad` words
 * of 8 bytes. The ring uses only whole lines of the memory. Nothing else may access the memory until the
 * ring, or the walk made from it, is freed. `seed` selects a random order. */
int32_t lf_ring_new(void *memory, size_t bytes, size_t npad, int32_t order, uint64_t seed, lf_ring **ring);
/* The number of elements, or 0 for null. */
size_t lf_ring_count(const lf_ring *ring);
/* Frees a ring that was not passed to lf_walk_new. Null is allowed. */
void lf_ring_free(lf_ring *ring);

/* Makes a walk of a ring, and takes ownership of the ring, even after an error: do not use or free it
 * afterwards. */
int32_t lf_walk_new(lf_ring *ring, int32_t step, lf_kernel **kernel);
/* Makes a stream over memory, in blocks of 512 bytes, with registers of 16, 32 or 64 bytes. The memory starts
 * on a line of 64 bytes and is a whole number of blocks (for a copy: in each half). Nothing else may access
 * it until the kernel is freed. Write to it once before a stream of loads. */
int32_t lf_stream_new(void *memory, size_t bytes, int32_t motion, size_t vector, lf_kernel **kernel);
/* Runs `operations` operations. `checksum`, which may be null, receives a value that depends on them: for a
 * walk, the byte offset at which it stopped. */
int32_t lf_run(lf_kernel *kernel, uint64_t operations, uint64_t *checksum);
/* The number of operations in one lap of the memory, or 0 for null. */
uint64_t lf_lap(const lf_kernel *kernel);
/* Measures a kernel in its steady state, N against 2N operations: one lap to warm up, then samples until the
 * precision is 1 %, there are 1000 samples, or `seconds` (above 0, at most 3600) are over. The lap ends after
 * `seconds` too. Samples take up to twice the time until there are 15. Pin the thread first. Samples that
 * another process disturbed are kept: they widen the interval. */
int32_t lf_time(lf_kernel *kernel, double seconds, lf_timing *timing);
/* Frees a kernel. Null is allowed. */
void lf_kernel_free(lf_kernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
