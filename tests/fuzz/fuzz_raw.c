/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw files of a tracer that was killed, by the way of recovery. Parts: l and e the next
 * process's log and events in turn. The number that ties them to this version is put in here, so
 * that seeds live on.
 */
#include "fuzz_log.h"
#include "tracer/functions.h"
#include "tracer/record.h"

#include <ictus/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned seed)
{
    return fuzz_mutate_parts(bytes, length, room, seed);
}

static void put_events(const char *directory, int process, const struct fuzz_part *part)
{
    char name[32];
    struct raw_header header;
    uint8_t *copy = malloc(part->length + sizeof(header));
    fuzz_require(copy);
    memcpy(copy, part->bytes, part->length);
    if (part->length >= sizeof(header)) {
        memcpy(&header, copy, sizeof(header));
        header.table_hash = TRACE_TABLE_HASH;
        memcpy(copy, &header, sizeof(header));
    }
    (void)snprintf(name, sizeof(name), "raw/%d.0.events", process);
    fuzz_put(directory, name, copy, part->length);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    struct ictus_trace_summary summary;
    struct ictus_why why;
    char raw[128];
    int logs = 0;
    int events = 0;
    const char *directory = fuzz_directory();
    const size_t count = fuzz_parts(bytes, length, parts);
    const struct ictus_trace_recover_opts opts = {
        .size = sizeof(opts), .local = length % 2, .force = 1, .keep = 1};
    fuzz_empty(directory);
    (void)snprintf(raw, sizeof(raw), "%s/raw", directory);
    fuzz_require(mkdir(raw, 0700) == 0);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].letter == 'l') {
            fuzz_put_log(directory, logs++, &parts[i]);
        } else {
            put_events(directory, events++, &parts[i]);
        }
    }
    (void)ictus_trace_recover(directory, &opts, &summary, &why);
    return 0;
}
