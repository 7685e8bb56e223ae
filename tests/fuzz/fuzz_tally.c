/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that `ictus trace --statistics` keeps while a job runs, by the way of `ictus arrivals`.
 * Parts: l and t the next process's log and tally. A tally's file has 2 MB, most of them 0: a part
 * has the file's head, then pieces of it, each after the byte's offset. What ties files to this
 * version is put in here, so that seeds live on.
 */
#include "fuzz_log.h"
#include "tracer/functions.h"
#include "tracer/tally.h"

#include <ictus/tallies.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The pieces are words, as all that the file has after its head. */
enum { HEAD = offsetof(struct tally_image, site), OFFSET = 4, PIECE = 32 };

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned seed)
{
    return fuzz_mutate_parts(bytes, length, room, seed);
}

static void put_tally(const char *directory, int process, const struct fuzz_part *part)
{
    static struct tally_image image;
    char name[32];
    memset(&image, 0, sizeof(image));
    memcpy(&image, part->bytes, part->length < HEAD ? part->length : HEAD);
    memcpy(image.magic, TALLY_MAGIC, sizeof(image.magic));
    image.table_hash = TRACE_TABLE_HASH;
    image.bytes = sizeof(image);
    for (size_t at = HEAD; at + OFFSET + PIECE <= part->length; at += OFFSET + PIECE) {
        uint32_t offset = 0;
        memcpy(&offset, part->bytes + at, OFFSET);
        const size_t place = HEAD + 8 * (offset % ((sizeof(image) - HEAD - PIECE) / 8));
        memcpy((char *)&image + place, part->bytes + at + OFFSET, PIECE);
    }
    (void)snprintf(name, sizeof(name), "raw/%d.tally", process);
    /* Less than the whole is what a full disk leaves. */
    fuzz_put(directory, name, &image, part->length < HEAD ? part->length : sizeof(image));
}

/* What is written can be read. */
static void require_readable(const struct ictus_arrivals *a)
{
    struct ictus_arrivals again;
    struct ictus_why why;
    json_t *object = ictus_arrivals_json(a);
    fuzz_require(object && ictus_arrivals_parse(object, &again, &why) == ICTUS_OK);
    fuzz_require(again.recorded == a->recorded && again.ranks == a->ranks);
    ictus_arrivals_free(&again);
    json_decref(object);
}

static void read_once(struct ictus_tallies *tallies, int recent, int64_t rows)
{
    struct ictus_arrivals_list list = {.at = NULL};
    struct ictus_tallies_state state;
    struct ictus_why why;
    if (ictus_tallies_read(tallies, recent, rows, &list, &state, &why) == ICTUS_OK) {
        fuzz_require(state.missing <= state.processes);
        for (size_t i = 0; i < list.count; i++) {
            const struct ictus_arrivals *a = &list.at[i];
            fuzz_require(a->recorded <= a->instances && (rows == 0 || a->recorded <= rows));
            require_readable(a);
        }
        ictus_arrivals_list_free(&list);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    struct ictus_tallies *tallies = NULL;
    struct ictus_why why;
    char raw[128];
    int logs = 0;
    int files = 0;
    const char *directory = fuzz_directory();
    const size_t count = fuzz_parts(bytes, length, parts);
    fuzz_empty(directory);
    (void)snprintf(raw, sizeof(raw), "%s/raw", directory);
    fuzz_require(mkdir(raw, 0700) == 0);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].letter == 'l') {
            fuzz_put_log(directory, logs++, &parts[i]);
        } else {
            put_tally(directory, files++, &parts[i]);
        }
    }
    if (ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK) {
        read_once(tallies, 0, length % 3 ? 0 : 2);
        read_once(tallies, 1, 0);
        ictus_tallies_close(tallies);
    }
    return 0;
}
