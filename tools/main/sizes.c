/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading lists and ranges of sizes. */
#include "main/sizes.h"

#include <ictus/text.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_MAX = 128 };

struct range {
    uint64_t low, high, factor, step;
};

static int sizes_split_range(char *piece, struct range *range)
{
    char *dots = strstr(piece, "..");
    if (!dots) {
        *range = (struct range){0, 0, 0, 1};
        const int err = ictus_parse_bytes(piece, &range->low);
        range->high = range->low;
        return err;
    }
    *dots = '\0';
    char *high = dots + 2;
    char *by = strpbrk(high, "*+");
    *range = (struct range){0, 0, 2, 0};
    if (by) {
        const int multiply = *by == '*';
        *by = '\0';
        if (ictus_parse_bytes(by + 1, multiply ? &range->factor : &range->step)) {
            return ICTUS_ERR_SPEC;
        }
        range->factor = multiply ? range->factor : 0;
        if (multiply ? range->factor < 2 : range->step < 1) {
            return ICTUS_ERR_SPEC;
        }
    }
    if (ictus_parse_bytes(piece, &range->low) || ictus_parse_bytes(high, &range->high)) {
        return ICTUS_ERR_SPEC;
    }
    return range->low <= range->high ? ICTUS_OK : ICTUS_ERR_SPEC;
}

/* The size after `size`, or a larger one than the range holds. */
static uint64_t size_next(const struct range *range, uint64_t size)
{
    if (!range->factor) {
        return size > UINT64_MAX - range->step ? UINT64_MAX : size + range->step;
    }
    if (size == 0) {
        return 1;
    }
    return size > UINT64_MAX / range->factor ? UINT64_MAX : size * range->factor;
}

static bool sizes_have(const uint64_t *sizes, size_t count, uint64_t size)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] == size) {
            return true;
        }
    }
    return false;
}

/* Ranges may overlap: a size that is there already is not added again. */
static int sizes_add_range(const struct range *range, uint64_t *sizes, size_t *count)
{
    const size_t before = *count;
    for (uint64_t size = range->low; size <= range->high; size = size_next(range, size)) {
        const bool known = sizes_have(sizes, before, size);
        if (!known && *count == SIZES_MAX) {
            return ICTUS_ERR_SPEC;
        }
        if (!known) {
            sizes[(*count)++] = size;
        }
        if (size == UINT64_MAX) {
            break;
        }
    }
    return ICTUS_OK;
}

static int sizes_read_piece(const char *piece, size_t length, uint64_t *sizes, size_t *count)
{
    char copy[PIECE_MAX];
    struct range range;
    if (length == 0 || length >= sizeof(copy)) {
        return ICTUS_ERR_SPEC;
    }
    memcpy(copy, piece, length);
    copy[length] = '\0';
    const int err = sizes_split_range(copy, &range);
    return err ? err : sizes_add_range(&range, sizes, count);
}

int sizes_read(const char *option, const char *text, uint64_t **out, size_t *count,
               struct ictus_why *why)
{
    uint64_t *sizes = calloc(SIZES_MAX, sizeof(*sizes));
    if (!sizes) {
        return ICTUS_ERR_NOMEM;
    }
    *count = 0;
    for (const char *p = text;; p++) {
        const size_t length = strcspn(p, ",");
        if (sizes_read_piece(p, length, sizes, count)) {
            free(sizes);
            return ictus_because(
                why, ICTUS_ERR_SPEC,
                "--%s: '%.*s' is not valid; write up to %d numbers as 8,1K or 8..64K "
                "or 8..1M*4 or 0..100+25",
                option, length > 60 ? 60 : (int)length, p, (int)SIZES_MAX);
        }
        p += length;
        if (!*p) {
            break;
        }
    }
    *out = sizes;
    return ICTUS_OK;
}
