/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the compiler makes for wide registers as well. */
#ifndef ICTUS_CORE_WIDE_H
#define ICTUS_CORE_WIDE_H

/*
 * Before a function with loops over doubles: the widest variant that the processor has is chosen
 * when the library is loaded. All variants compute the same to the bit, because each operation is
 * rounded as C says: nothing is reordered, and standard C (-std=c11) fuses no product with a sum.
 * Sanitizers do not bear code that runs before they have begun.
 */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 &&      \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE_REGISTERS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE_REGISTERS
#endif

#endif
