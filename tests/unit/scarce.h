/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory runs out at one allocation of ictus itself, counted from 1; for ictus_wrap(malloc calloc
 * realloc).
 */
#ifndef ICTUS_TESTS_SCARCE_H
#define ICTUS_TESTS_SCARCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* The linker redirects the library's allocations here; they count from 1. */
static atomic_long asked, refused;
void *malloc_system(size_t size) __asm__("__real_malloc");
void *malloc_scarce(size_t size) __asm__("__wrap_malloc");
void *calloc_system(size_t n, size_t size) __asm__("__real_calloc");
void *calloc_scarce(size_t n, size_t size) __asm__("__wrap_calloc");
void *realloc_system(void *area, size_t size) __asm__("__real_realloc");
void *realloc_scarce(void *area, size_t size) __asm__("__wrap_realloc");

static bool memory_is_out(void)
{
    return atomic_fetch_add(&asked, 1) + 1 == refused;
}

void *malloc_scarce(size_t size)
{
    return memory_is_out() ? NULL : malloc_system(size);
}

void *calloc_scarce(size_t n, size_t size)
{
    return memory_is_out() ? NULL : calloc_system(n, size);
}

void *realloc_scarce(void *area, size_t size)
{
    return memory_is_out() ? NULL : realloc_system(area, size);
}

#endif
