/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbering call sites, and saying in the log where they are. */
#include "tracer/sites.h"

#include "tracer/tracer.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* File and offset, as addr2line and its like want them. */
static void site_log(uint64_t number, uint64_t address)
{
    Dl_info info = {0};
    struct link_map *map = NULL;
    char program[4096];
    /* The address may be the first after its function, if that never returns: look one before. */
    const uint64_t inside = address - 1;
    if (!dladdr1((const void *)(uintptr_t)inside, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) {
        return;
    }
    const char *name = map->l_name;
    if (!name || !name[0]) { /* the program itself */
        const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
        program[length > 0 ? length : 0] = '\0';
        name = program;
    }
    struct stat file = {0};
    (void)stat(name, &file);
    ictusi_tracer_log("Q\t%llu\t%llx\t%lld\t%s", (unsigned long long)number,
                      (unsigned long long)(inside - map->l_addr),
                      (long long)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec, name);
}

uint64_t ictusi_sites_find(struct sites *sites, uint64_t address)
{
    const uint64_t mask = (1 << SITE_SLOT_BITS) - 1;
    uint64_t number = 0;
    if (address == 0 || address >> (64 - SITE_NUMBER_BITS)) {
        return 0;
    }
    for (uint64_t at = sites_slot(address);; at = (at + 1) & mask) {
        uint64_t there = atomic_load_explicit(&sites->slots[at], memory_order_relaxed);
        if (there == 0) {
            if (number == 0) {
                number = atomic_fetch_add(&sites->last, 1) + 1;
            }
            if (number >= SITE_NUMBERS) {
                atomic_store(&sites->last, SITE_NUMBERS);
                return 0;
            }
            if (atomic_compare_exchange_strong(&sites->slots[at], &there,
                                               address << SITE_NUMBER_BITS | number)) {
                site_log(number, address);
                return number;
            }
        }
        if (there >> SITE_NUMBER_BITS == address) {
            return there & ((1 << SITE_NUMBER_BITS) - 1); /* another thread's number */
        }
    }
}
