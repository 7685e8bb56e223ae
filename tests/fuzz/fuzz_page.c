/* SPDX-License-Identifier: BSD-3-Clause */
/* A page of the network clock whose header is right and whose words are anything. */
#include "fuzz.h"
#include "page/page.h"

#include <ictus/lock.h>
#include <stdlib.h>
#include <string.h>

static void read_all(const struct ictus_lock *lock)
{
    struct ictus_lock_reading reading;
    struct ictus_lock_status status;
    struct ictus_time time = {0};
    double sigma_rate = 0.0;
    (void)ictus_lock_now(lock, &reading);
    (void)ictus_lock_time(lock);
    (void)ictus_lock_elapsed(lock, &time, &sigma_rate);
    if (ictus_lock_map(lock, (struct ictus_time){INT64_C(7000000000)}, &reading) == ICTUS_OK) {
        (void)ictus_lock_unmap(lock, reading.time, &time);
    }
    if (ictus_lock_status(lock, &status) == ICTUS_OK) {
        (void)ictus_lock_state_name(status.now.state);
        fuzz_require(strlen(status.reference) < sizeof(status.reference));
        for (int i = 0; i < status.source_count; i++) {
            const struct ictus_lock_source_status *source = &status.sources[i];
            fuzz_require(strlen(source->name) < sizeof(source->name));
            (void)ictus_lock_selection_name((enum ictus_lock_selection)source->selection);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const size_t header = offsetof(struct page, clock_turn);
    struct page *page = calloc(1, sizeof(*page));
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    fuzz_require(page);
    page->header.magic = PAGE_MAGIC;
    page->header.version = PAGE_VERSION;
    page->header.bytes = sizeof(*page);
    if (ictusi_page_identity(page->header.boot, &page->header.timens) == ICTUS_OK) {
        const size_t room = sizeof(*page) - header;
        memcpy((char *)page + header, bytes, length < room ? length : room);
        fuzz_put(fuzz_directory(), "ictus-lock.fuzz", page, sizeof(*page));
        if (ictus_lock_open("fuzz", fuzz_directory(), &lock, &why) == ICTUS_OK) {
            read_all(lock);
            ictus_lock_close(lock);
        }
    }
    free(page);
    return 0;
}
