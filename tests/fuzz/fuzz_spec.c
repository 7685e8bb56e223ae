/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Specifications of clocks, algorithms, starts and arrivals, through the registries that read them.
 * The first letter says which.
 */
#include "arrival/arrival.h"
#include "clock/source.h"
#include "fuzz.h"
#include "sync/sync.h"

#include <ictus/bench.h>
#include <ictus/text.h>
#include <stdlib.h>
#include <string.h>

static void read_source(const char *text)
{
    /* Other devices than ours, MPI's clock without MPI, and a calibration of milliseconds. */
    static const char *const not_here[] = {"phc", "wtime", "tsc"};
    const struct source_place place = {.process = 3, .node = 1};
    struct source *source = NULL;
    struct ictus_why why;
    for (size_t i = 0; i < sizeof(not_here) / sizeof(not_here[0]); i++) {
        if (strstr(text, not_here[i])) {
            return;
        }
    }
    if (ictusi_source_open(text, &place, &source, &why) == ICTUS_OK) {
        char identity[SOURCE_IDENTITY_MAX];
        const int64_t now = ictusi_source_read(source);
        source->ops->identify(source, identity, sizeof(identity));
        if (source->ops->truth) {
            (void)source->ops->truth(source, now);
        }
        ictusi_source_free(source);
    }
}

static void read_sync(const char *text)
{
    struct sync *sync = NULL;
    struct ictus_why why;
    if (ictusi_sync_create(text, &sync, &why) == ICTUS_OK) {
        ictusi_sync_free(sync);
    }
}

static void read_arrival(const char *text)
{
    struct arrival arrival;
    struct ictus_why why;
    if (strncmp(text, "file", 4) != 0 &&
        ictusi_arrival_init(&arrival, text, 2, 3, &why) == ICTUS_OK) {
        (void)ictusi_arrival_turn(&arrival, 7);
        ictusi_arrival_fini(&arrival);
    }
}

static void read_list(const char *text)
{
    char piece[256];
    const char *rest = text;
    while (ictus_next_spec(&rest, piece, sizeof(piece)) == ICTUS_OK) {
        fuzz_require(strlen(piece) < sizeof(piece));
    }
}

static void read_numbers(const char *text)
{
    double number = 0.0;
    int64_t integer = 0;
    uint64_t bytes = 0;
    (void)ictus_parse_seconds(text, &number);
    (void)ictus_parse_ratio(text, &number);
    (void)ictus_parse_real(text, &number);
    (void)ictus_parse_int(text, &integer);
    (void)ictus_parse_bytes(text, &bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct ictus_why why;
    if (length == 0) {
        return 0;
    }
    char *text = fuzz_text(bytes + 1, length - 1);
    switch (bytes[0]) {
    case 'c':
        read_source(text);
        break;
    case 's':
        read_sync(text);
        break;
    case 'h':
        (void)ictus_scheme_check(text, &why);
        (void)ictus_scheme_reduction(text);
        break;
    case 'a':
        read_arrival(text);
        break;
    case 'l':
        read_list(text);
        break;
    default:
        read_numbers(text);
        break;
    }
    free(text);
    return 0;
}
