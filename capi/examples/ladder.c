/* What a step of a random walk costs in 16 KiB and in 4 MiB, and how fast 16 KiB are read. */

#include <linefill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int32_t code)
{
    if (code != LF_OK) {
        fprintf(stderr, "%s: %s\n", lf_message(code), lf_detail());
        exit(2);
    }
}

int main(void)
{
    lf_machine machine;
    need(lf_describe(&machine));
    printf("%s %s\n", machine.vendor, machine.core[0] ? machine.core : "(unlisted core)");
    for (uint32_t i = 0; i < machine.caches; i++)
        printf("L%u: %llu KiB\n", machine.cache[i].level,
               (unsigned long long)machine.cache[i].bytes / 1024);

    for (size_t bytes = 16 << 10; bytes <= 4 << 20; bytes <<= 8) {
        void *memory = aligned_alloc(64, bytes);
        lf_ring *ring;
        lf_kernel *walk;
        lf_timing step;
        need(memory ? LF_OK : LF_MEMORY);
        need(lf_ring_new(memory, bytes, 7, LF_RANDOM, 1, &ring));
        need(lf_walk_new(ring, LF_FOLLOW, &walk));
        need(lf_time(walk, 0.1, &step));
        printf("%zu KiB: %.2f ns, %.2f core cycles per step\n", bytes >> 10, step.nanoseconds,
               step.core_cycles);
        lf_kernel_free(walk);
        free(memory);
    }

    size_t bytes = 16 << 10;
    void *memory = aligned_alloc(64, bytes);
    lf_kernel *stream;
    lf_timing block;
    need(memory ? LF_OK : LF_MEMORY);
    memset(memory, 1, bytes);
    need(lf_stream_new(memory, bytes, LF_READ, 16, &stream));
    need(lf_time(stream, 0.1, &block));
    printf("reads: %.1f GB/s\n", 512 / block.nanoseconds);
    lf_kernel_free(stream);
    free(memory);
    return 0;
}
