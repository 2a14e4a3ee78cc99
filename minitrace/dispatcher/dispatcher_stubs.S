/*
 * The dispatcher's stubs and their table (dispatcher.h).
 *
 * A stub jumps to the address that its slot in the table gives, as a distance from the table.
 * At first the slot leads to the stub's second half, which passes the slot number to
 * ti_dispatch_resolve() and jumps to the address it returns, with all registers that a call may
 * use unchanged.  If the counter must be read before the shim, the slot leads to the second half
 * for good.
 *
 * Distances need no relocation.  So a process has copies only of those pages of the table whose
 * slots were set: those of the interfaces of MPI that it uses.
 */
#if defined __CET__
#include <cet.h>
#endif
#ifndef _CET_ENDBR
#define _CET_ENDBR
#endif

        .hidden ti_dispatch_slot, ti_dispatch_stubs_begin, ti_dispatch_stubs_end, ti_dispatch_resolve
        .hidden ti_dispatch_dlsym, ti_dispatch_system_dlsym, ti_dispatch_find_dlsym
        .hidden ti_dispatch_second_half
        .globl  ti_dispatch_slot, ti_dispatch_stubs_begin, ti_dispatch_stubs_end, ti_dispatch_second_half

#if defined __x86_64__

        .macro  stub name
        .globl  \name
        .type   \name, @function
        .p2align 3
\name:
        _CET_ENDBR
        leaq    ti_dispatch_slot(%rip), %r11
        addq    8 * slot(%r11), %r11
        jmp     *%r11
        .size   \name, . - \name
        .section .text.resolve, "ax", @progbits
        .p2align 4
.Lresolve_\name:
        _CET_ENDBR
        pushq   $slot
        jmp     resolve
        .section .data.slots, "aw", %progbits
        .quad   .Lresolve_\name - ti_dispatch_slot
        .text
        .set    slot, slot + 1
        .endm

        .section .text.resolve, "ax", @progbits
        .type   resolve, @function
resolve:                                          /* on the stack: slot, return address */
        .cfi_startproc
        .cfi_def_cfa_offset 16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rax                            /* %al: number of vector registers in a variadic
                                                 * call */
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %r10
        subq    $128, %rsp
        andq    $-16, %rsp
        movaps  %xmm0, (%rsp)
        movaps  %xmm1, 16(%rsp)
        movaps  %xmm2, 32(%rsp)
        movaps  %xmm3, 48(%rsp)
        movaps  %xmm4, 64(%rsp)
        movaps  %xmm5, 80(%rsp)
        movaps  %xmm6, 96(%rsp)
        movaps  %xmm7, 112(%rsp)
        movq    8(%rbp), %rdi
        movq    16(%rbp), %rsi
        call    ti_dispatch_resolve
        movq    %rax, %r11
        movaps  (%rsp), %xmm0
        movaps  16(%rsp), %xmm1
        movaps  32(%rsp), %xmm2
        movaps  48(%rsp), %xmm3
        movaps  64(%rsp), %xmm4
        movaps  80(%rsp), %xmm5
        movaps  96(%rsp), %xmm6
        movaps  112(%rsp), %xmm7
        movq    -8(%rbp), %rax
        movq    -16(%rbp), %rdi
        movq    -24(%rbp), %rsi
        movq    -32(%rbp), %rdx
        movq    -40(%rbp), %rcx
        movq    -48(%rbp), %r8
        movq    -56(%rbp), %r9
        movq    -64(%rbp), %r10
        leave
        .cfi_def_cfa %rsp, 16
        leaq    8(%rsp), %rsp                   /* drop the slot number */
        .cfi_def_cfa_offset 8
        jmp     *%r11
        .cfi_endproc
        .size   resolve, . - resolve

/* dlsym() of a given object goes to ti_dispatch_dlsym().  RTLD_DEFAULT (0) and RTLD_NEXT (-1)
 * depend on the caller, so they are jumps to the system's dlsym(), which sees the caller's return
 * address. */
        .text
        .globl  dlsym
        .type   dlsym, @function
        .p2align 3
dlsym:
        _CET_ENDBR
        leaq    1(%rdi), %rax
        cmpq    $1, %rax
        ja      ti_dispatch_dlsym
        movq    ti_dispatch_system_dlsym(%rip), %rax
        testq   %rax, %rax
        jz      1f
        jmp     *%rax
1:      pushq   %rdi
        pushq   %rsi
        subq    $8, %rsp
        call    ti_dispatch_find_dlsym
        addq    $8, %rsp
        popq    %rsi
        popq    %rdi
        jmp     *%rax
        .size   dlsym, . - dlsym

#elif defined __aarch64__

#if defined __ARM_FEATURE_BTI_DEFAULT
#define BTI bti c
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4, 16, 5                        /* property of AArch64: BTI */
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0
        .text
#else
#define BTI
#endif

        .macro  stub name
        .globl  \name
        .type   \name, %function
        .p2align 2
\name:
        BTI
        adr     x16, ti_dispatch_slot
        ldr     x17, [x16, #8 * slot]
        add     x16, x16, x17
        br      x16
        .size   \name, . - \name
        .section .text.resolve, "ax", %progbits
        .p2align 4
.Lresolve_\name:
        BTI
        mov     w17, #slot
        b       resolve
        .section .data.slots, "aw", %progbits
        .xword  .Lresolve_\name - ti_dispatch_slot
        .text
        .set    slot, slot + 1
        .endm

        .section .text.resolve, "ax", %progbits
        .type   resolve, %function
resolve:                                          /* slot number in w17 */
        .cfi_startproc
        stp     x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     w0, w17
        mov     x1, x30
        bl      ti_dispatch_resolve
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     q0, q1, [sp, #96]
        ldp     q2, q3, [sp, #128]
        ldp     q4, q5, [sp, #160]
        ldp     q6, q7, [sp, #192]
        ldp     x29, x30, [sp], #224
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   resolve, . - resolve

        .text
        .globl  dlsym                           /* as above */
        .type   dlsym, %function
        .p2align 2
dlsym:
        BTI
        add     x16, x0, #1
        cmp     x16, #1
        b.hi    ti_dispatch_dlsym
        adrp    x16, ti_dispatch_system_dlsym
        ldr     x16, [x16, #:lo12:ti_dispatch_system_dlsym]
        cbz     x16, 1f
        br      x16
1:      stp     x29, x30, [sp, #-32]!
        stp     x0, x1, [sp, #16]
        bl      ti_dispatch_find_dlsym
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        br      x16
        .size   dlsym, . - dlsym

#else
#error "the stubs are written for x86-64 and AArch64: tell them how this processor jumps"
#endif

        .set    slot, 0
        .section .data.slots, "aw", %progbits
        .p2align 6
        .type   ti_dispatch_slot, %object
ti_dispatch_slot:
        .text
        .p2align 4
        .cfi_startproc                          /* one frame description for all stubs */
ti_dispatch_stubs_begin:
        .section .text.resolve
        .p2align 4
ti_dispatch_second_half:                           /* second halves in order, 16 bytes each */
        .text
        .irp    way, 0, 1, 2, 3
        .hidden ti_dispatch_calibration_\way
        stub    ti_dispatch_calibration_\way
        .endr
#define NAME(mpi, pmpi)                                                                            \
        stub    mpi;                                                                               \
        stub    pmpi;
#include "minitrace/mpi_names.inc"
ti_dispatch_stubs_end:
        .cfi_endproc
        .section .data.slots, "aw", %progbits
        .size   ti_dispatch_slot, . - ti_dispatch_slot

        .section .note.GNU-stack, "", %progbits
