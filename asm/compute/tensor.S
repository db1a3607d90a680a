/* A million reads of a four-index tensor of floats (mmpataki, part 7). Read i is at
   (i % 64, i % 16, i % 28, i % 32), or at the remainders by 61, 17, 29 and 31. All elements are summed
   in order.

   rdi   the first element; the outermost array if arrays point to arrays
   esi   i of the first read
   edx   i after the last read, more than esi and at most 2^20
   rcx   the tensor's dimensions, 16 bits each, the first one lowest
   r8d   bits of the sum before the first read; the loop keeps the sum in xmm0
   eax   result: the bits of the sum

   An iteration is a read: 1 load of 4 bytes. If arrays point to arrays, also 3 references of 8 bytes
   and, if indices are checked, 3 lengths (of 4 bytes in boxes, 8 in vectors). No store. An index beyond
   its array ends in `ud2`. */

#include "linefill.h"

/* `i % n` for a power of two, as compilers translate it for a signed i. */
.macro remainder to, n
        mov     \to, esi
        and     \to, -\n
        neg     \to
        add     \to, esi
.endm

/* `i % n` for a power of two, as compilers translate it for an unsigned i, or as `i & (n - 1)`. */
.macro mask to, n
        mov     \to, esi
        and     \to, \n - 1
.endm

/* `i % n` for any constant: the quotient is a multiplication by ceil(2^(32 + shift) / n), which is
   exact for i below 2^20: all the factors here have 30 bits. */
.macro reciprocal to, to64, n, shift
        mov     \to, esi
        imul    \to64, \to64, ((1 << (32 + \shift)) + \n - 1) / \n
        shr     \to64, 32 + \shift
        imul    \to, \to, -\n
        add     \to, esi
.endm

/* Strides of the tensor in elements: ecx, r8d and r9d for the first three indices. r10d is the number of
   elements. */
.macro strides
        movzx   r10d, cx
        mov     r11d, edx
        mov     rax, rcx
        shr     rcx, 16
        movzx   ecx, cx
        mov     r8, rax
        shr     r8, 32
        movzx   r8d, r8w
        shr     rax, 48
        mov     r9d, eax
        imul    r8d, r9d
        imul    ecx, r8d
        imul    r10d, ecx
.endm

/* Adds the four indices, each times its stride, checks the sum, and reads the element. */
.macro flat name, first, second, third, fourth
kernel \name
        movd    xmm0, r8d
        strides
        .balign 32
1:      \first
        imul    eax, ecx
        \second
        imul    edx, r8d
        add     eax, edx
        \third
        imul    edx, r9d
        add     eax, edx
        \fourth
        add     eax, edx
        cmp     eax, r10d
        jae     2f
        addss   xmm0, [rdi + rax * 4]
        inc     esi
        cmp     esi, r11d
        jne     1b
        movd    eax, xmm0
        ret
2:      ud2
kernel_end \name
.endm

flat linefill_tensor_strides, "remainder eax, 64", "remainder edx, 16", "reciprocal edx, rdx, 28, 2", "remainder edx, 32"
flat linefill_tensor_masks, "mask eax, 64", "mask edx, 16", "reciprocal edx, rdx, 28, 2", "mask edx, 32"
flat linefill_tensor_primes, "reciprocal eax, rax, 61, 3", "reciprocal edx, rdx, 17, 2", "reciprocal edx, rdx, 29, 2", "reciprocal edx, rdx, 31, 2"

/* An array whose dimensions are part of its type: constant strides, and indices that need no check. */
kernel linefill_tensor_array
        movd    xmm0, r8d
        .balign 32
1:      mask    eax, 64
        imul    eax, eax, 16 * 28 * 32
        mask    r8d, 16
        imul    r8d, r8d, 28 * 32
        add     eax, r8d
        reciprocal r8d, r8, 28, 2
        shl     r8d, 5
        add     eax, r8d
        mask    r8d, 32
        add     eax, r8d
        addss   xmm0, [rdi + rax * 4]
        inc     esi
        cmp     esi, edx
        jne     1b
        movd    eax, xmm0
        ret
kernel_end linefill_tensor_array

/* Dimensions that are known only at run time: four divisions per read. The dimensions are in xmm1 to xmm4,
   because no general registers are free. */
.macro divided by
        movd    ecx, \by
        mov     eax, esi
        xor     edx, edx
        div     ecx
.endm

kernel linefill_tensor_divided
        movd    xmm0, r8d
        mov     r11d, edx
        movzx   eax, cx
        movd    xmm1, eax
        mov     r10d, eax
        shr     rcx, 16
        movzx   eax, cx
        movd    xmm2, eax
        imul    r10d, eax
        shr     rcx, 16
        movzx   eax, cx
        movd    xmm3, eax
        imul    r10d, eax
        shr     rcx, 16
        movd    xmm4, ecx
        imul    r10d, ecx
        .balign 32
1:      divided xmm1
        mov     r8d, edx
        divided xmm2
        imul    r8d, ecx
        add     r8d, edx
        divided xmm3
        imul    r8d, ecx
        add     r8d, edx
        divided xmm4
        imul    r8d, ecx
        add     r8d, edx
        cmp     r8d, r10d
        jae     2f
        addss   xmm0, [rdi + r8 * 4]
        inc     esi
        cmp     esi, r11d
        jne     1b
        movd    eax, xmm0
        ret
2:      ud2
kernel_end linefill_tensor_divided

/* A function reads the element, and calls another function for its place. In addition, 2 return addresses
   per read are pushed and popped. */
kernel linefill_tensor_called
        movd    xmm0, r8d
        mov     r11d, edx
        movzx   r10d, cx
        mov     rax, rcx
        shr     rax, 16
        movzx   edx, ax
        movd    xmm2, edx
        imul    r10d, edx
        shr     rax, 16
        movzx   edx, ax
        movd    xmm3, edx
        imul    r10d, edx
        shr     rax, 16
        movd    xmm4, eax
        imul    r10d, eax
        .balign 32
1:      remainder eax, 64
        remainder edx, 16
        reciprocal r8d, r8, 28, 2
        remainder r9d, 32
        call    2f
        addss   xmm0, xmm1
        inc     esi
        cmp     esi, r11d
        jne     1b
        movd    eax, xmm0
        ret
        .balign 32
        pushed  8
2:      call    3f
        cmp     eax, r10d
        jae     4f
        movss   xmm1, [rdi + rax * 4]
        ret
        .balign 32
        pushed  8
3:      movd    ecx, xmm2
        imul    eax, ecx
        add     eax, edx
        movd    ecx, xmm3
        imul    eax, ecx
        add     eax, r8d
        movd    ecx, xmm4
        imul    eax, ecx
        add     eax, r9d
        ret
        pushed  -8
4:      ud2
kernel_end linefill_tensor_called

/* Arrays of references to arrays, as in Java: an object begins with 16 bytes, the last 4 of which are its
   length. */
kernel linefill_tensor_boxes
        movd    xmm0, r8d
        movzx   ecx, cx
        .balign 32
1:      remainder r8d, 64
        cmp     r8d, ecx
        jae     2f
        mov     rax, [rdi + r8 * 8 + 16]
        remainder r8d, 16
        cmp     r8d, [rax + 12]
        jae     2f
        mov     rax, [rax + r8 * 8 + 16]
        reciprocal r8d, r8, 28, 2
        cmp     r8d, [rax + 12]
        jae     2f
        mov     rax, [rax + r8 * 8 + 16]
        remainder r8d, 32
        cmp     r8d, [rax + 12]
        jae     2f
        addss   xmm0, [rax + r8 * 4 + 16]
        inc     esi
        cmp     esi, edx
        jne     1b
        movd    eax, xmm0
        ret
2:      ud2
kernel_end linefill_tensor_boxes

/* Like `linefill_tensor_boxes`, without checks. */
kernel linefill_tensor_boxes_unchecked
        movd    xmm0, r8d
        .balign 32
1:      remainder r8d, 64
        mov     rax, [rdi + r8 * 8 + 16]
        remainder r8d, 16
        mov     rax, [rax + r8 * 8 + 16]
        reciprocal r8d, r8, 28, 2
        mov     rax, [rax + r8 * 8 + 16]
        remainder r8d, 32
        addss   xmm0, [rax + r8 * 4 + 16]
        inc     esi
        cmp     esi, edx
        jne     1b
        movd    eax, xmm0
        ret
kernel_end linefill_tensor_boxes_unchecked

/* Vectors of vectors, as in Rust and C++. The first three dimensions have elements of 24 bytes: the
   address of the next vector's elements, their number, and the capacity. */
kernel linefill_tensor_vectors
        movd    xmm0, r8d
        movzx   ecx, cx
        .balign 32
1:      remainder r8d, 64
        cmp     r8, rcx
        jae     2f
        lea     r8, [r8 + r8 * 2]
        lea     rax, [rdi + r8 * 8]
        remainder r8d, 16
        cmp     r8, [rax + 8]
        jae     2f
        mov     rax, [rax]
        lea     r8, [r8 + r8 * 2]
        lea     rax, [rax + r8 * 8]
        reciprocal r8d, r8, 28, 2
        cmp     r8, [rax + 8]
        jae     2f
        mov     rax, [rax]
        lea     r8, [r8 + r8 * 2]
        lea     rax, [rax + r8 * 8]
        remainder r8d, 32
        cmp     r8, [rax + 8]
        jae     2f
        mov     rax, [rax]
        addss   xmm0, [rax + r8 * 4]
        inc     esi
        cmp     esi, edx
        jne     1b
        movd    eax, xmm0
        ret
2:      ud2
kernel_end linefill_tensor_vectors
