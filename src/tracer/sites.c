/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers call sites, and logs where they are. */
#include "tracer/sites.h"

#include "tracer/frames.h"
#include "tracer/tracer.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A place in the Fortran binding is stored with this bit, which no address of an x86-64 program
 * has, so that sites_number() never takes it for a place of the program. Its number is the distance
 * in words to the return address of the binding's own caller.
 */
#ifdef __x86_64__
#define SITE_PASSED (UINT64_C(1) << 47)
#else
#define SITE_PASSED UINT64_C(0)
#endif
#define SITE_NUMBER_MASK ((UINT64_C(1) << SITE_NUMBER_BITS) - 1)

/* How many functions of the binding may call each other before they call MPI. */
enum { SITE_DEPTH = 8 };

/*
 * Whether an object is an MPI library's Fortran binding: it has its own name for PMPI_Init, which
 * no tool has. Objects with unlikely names are not searched, because that would change what
 * dlerror() returns to the program.
 */
static bool site_in_binding(const struct link_map *map)
{
    static const char *const names[] = {"pmpi_init_", "pmpi_init_f08_"};
    const bool likely = map->l_name && strstr(map->l_name, "mpi");
    void *object = likely ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    bool found = false;
    if (!object) {
        return false;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++) {
        Dl_info info;
        struct link_map *holder = NULL;
        void *symbol = dlsym(object, names[i]);
        found =
            symbol && dladdr1(symbol, &info, (void **)&holder, RTLD_DL_LINKMAP) && holder == map;
    }
    (void)dlclose(object);
    return found;
}

/*
 * The object that contains the call returning to an address. If the call never returns, the return
 * address may already belong to the next function, so the address before it is looked up.
 */
static const struct link_map *site_object(uint64_t address)
{
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1((const void *)(uintptr_t)(address - 1), &info, (void **)&map, RTLD_DL_LINKMAP)
               ? map
               : NULL;
}

/*
 * The distance in words from a place in the binding to its caller's return address; -1: the place
 * is not in the binding, or the distance is unknown.
 */
static int64_t site_words(uint64_t address)
{
    const struct link_map *map = site_object(address);
    const int64_t words = map && site_in_binding(map) ? ictusi_frame_words(address) : -1;
    return words < 1 << SITE_NUMBER_BITS ? words : -1;
}

/* Log the file and offset, as addr2line and similar tools need them. */
static void site_log(uint64_t number, uint64_t address)
{
    char program[4096];
    const struct link_map *map = site_object(address);
    if (!map) {
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
                      (unsigned long long)(address - 1 - map->l_addr),
                      (long long)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec, name);
}

/*
 * The contents of a new place's slot; 0: no number is left. In that case `last` is kept at the end,
 * so that it does not overflow after 2^64 calls.
 */
static uint64_t site_value(struct sites *sites, uint64_t address)
{
    const int64_t words = site_words(address);
    if (words > 0) {
        return (address | SITE_PASSED) << SITE_NUMBER_BITS | (uint64_t)words;
    }
    const uint64_t number = atomic_fetch_add(&sites->last, 1) + 1;
    if (number >= SITE_NUMBERS) {
        atomic_store(&sites->last, SITE_NUMBERS);
        return 0;
    }
    return address << SITE_NUMBER_BITS | number;
}

/*
 * The slot of a place, which is made if there is none; 0: no number is left. A slot changes from 0
 * to its value once and never again, so a relaxed load is sufficient: the value is all there is. A
 * number drawn by a thread that loses the exchange remains unused.
 */
static uint64_t sites_entry(struct sites *sites, uint64_t address)
{
    const uint64_t mask = (1 << SITE_SLOT_BITS) - 1;
    uint64_t made = 0;
    for (uint64_t at = sites_slot(address);; at = (at + 1) & mask) {
        uint64_t there = atomic_load_explicit(&sites->slots[at], memory_order_relaxed);
        if (there == 0) {
            made = made ? made : site_value(sites, address);
            if (made == 0) {
                return 0;
            }
            if (atomic_compare_exchange_strong(&sites->slots[at], &there, made)) {
                if (made >> SITE_NUMBER_BITS == address) {
                    site_log(made & SITE_NUMBER_MASK, address);
                }
                return made;
            }
        }
        const uint64_t key = there >> SITE_NUMBER_BITS;
        if (key == address || key == (address | SITE_PASSED)) {
            return there; /* perhaps another thread's */
        }
    }
}

/*
 * address is the return address of MPI's function, and stack its caller's stack pointer at that
 * moment. Each round that ends in the binding moves up by one function, at most SITE_DEPTH times.
 */
uint64_t ictusi_sites_find(struct sites *sites, uint64_t address, const void *stack)
{
    const uint64_t *up = stack;
    for (int i = 0; i < SITE_DEPTH; i++) {
        if (address == 0 || address >> (64 - SITE_NUMBER_BITS)) {
            return 0;
        }
        const uint64_t entry = sites_entry(sites, address);
        if (entry >> SITE_NUMBER_BITS == address) {
            return entry & SITE_NUMBER_MASK;
        }
        if (entry == 0 || !up) {
            return 0;
        }
        up += entry & SITE_NUMBER_MASK;
        address = up[-1];
    }
    return 0;
}
