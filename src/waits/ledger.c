/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates are integers in units of 2^-32, so that opening and closing one leaves no rounding error.
 */
#include "waits/ledger.h"

#include "core/array.h"
#include "core/wide.h"

#include <ictus/error.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_DIRECT, ROW_INDIRECT, ROW_LANE };
enum { RATE_ESTIMATE, RATE_LANE };

/* How many histories, and how many slots a rate or a row has. */
static inline size_t ledger_width(const struct ledger *l)
{
    const int width = l->range.to - l->range.from;
    return (size_t)width;
}

static inline size_t ledger_rate_slots(const struct ledger *l)
{
    return RATE_LANE + 2 * ledger_width(l);
}

static inline size_t ledger_row_slots(const struct ledger *l)
{
    return ROW_LANE + 2 * ledger_width(l);
}

int ictusi_ledger_init(struct ledger *l, const struct analysis *a, struct history_range range)
{
    const enum sigma_source source = a->histories.source;
    const bool lanes = source == SIGMA_ARCHIVE || source == SIGMA_MESSAGES;
    *l = (struct ledger){.analysis = a, .range = lanes ? range : (struct history_range){0, 0}};
    l->open = calloc((a->session.trace->layout.location_count + 1) * ledger_rate_slots(l),
                     sizeof *l->open);
    return l->open ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_ledger_free(struct ledger *l)
{
    free(l->open);
    free(l->rates);
    free(l->rows);
    *l = (struct ledger){.open = NULL};
}

int ictusi_ledger_make(struct ledger *l, uint64_t rates, uint64_t rows)
{
    const size_t slots = ledger_row_slots(l);
    if (!array_widen((void **)&l->rates, rates, &l->rate_room,
                     ledger_rate_slots(l) * sizeof *l->rates) ||
        !array_widen((void **)&l->rows, rows, &l->row_room, slots * sizeof *l->rows)) {
        return ICTUS_ERR_NOMEM;
    }
    if (rows > l->row_count) {
        memset(l->rows + l->row_count * slots, 0, (rows - l->row_count) * slots * sizeof *l->rows);
        l->row_count = rows;
    }
    return ICTUS_OK;
}

struct ledger_entry *ictusi_ledger_add(struct ledger_page *page)
{
    const bool room =
        array_widen((void **)&page->entries, page->count + 1, &page->room, sizeof *page->entries);
    return room ? &page->entries[page->count++] : NULL;
}

struct ledger_part *ictusi_ledger_add_part(struct ledger_page *page)
{
    const bool room = array_widen((void **)&page->parts, page->part_count + 1, &page->part_room,
                                  sizeof *page->parts);
    return room ? &page->parts[page->part_count++] : NULL;
}

void ictusi_ledger_page_clear(struct ledger_page *page)
{
    page->count = page->part_count = 0;
}

void ictusi_ledger_page_free(struct ledger_page *page)
{
    free(page->entries);
    free(page->parts);
    *page = (struct ledger_page){.entries = NULL};
}

/* One wait being charged: w and k as recorded, and w + k in each lane, in the order of slots. */
struct charged {
    double direct, later;
    double lanes[LANES];
};

/*
 * The wait under each history, for the cause found by the estimate, and the sum of the open rates.
 * Rates are in units of 2^-32 up to here.
 */
WIDE_REGISTERS static void ledger_weigh(struct ledger *l, const struct ledger_entry *e,
                                        struct charged *c)
{
    const size_t width = ledger_width(l);
    const int64_t *const open = l->open + e->location * ledger_rate_slots(l);
    const double wait = (double)analysis_wait(l->analysis, e->call);
    double lanes[LANES];
    const bool spread = width > 0 && ictusi_wait_lanes(l->analysis, e->call, l->range, lanes);
    const double *const plus = lanes + l->range.from;
    const double *const minus = plus + HISTORIES;
    c->direct = wait;
    c->later = wait * (double)open[RATE_ESTIMATE] * 0x1p-32;
    for (size_t k = 0; k < width; k++) {
        c->lanes[k] = spread ? plus[k] + wait : wait;
        c->lanes[width + k] = spread ? minus[k] + wait : wait;
    }
    for (size_t k = 0; k < 2 * width; k++) {
        l->total_lanes[k] += c->lanes[k];
    }
    for (size_t k = 0; k < 2 * width && e->rated; k++) {
        c->lanes[k] += wait * (double)open[RATE_LANE + k] * 0x1p-32;
    }
}

/*
 * Direct blame is what the delay of q cost p. Indirect blame is what it cost those that in turn
 * waited for p.
 */
WIDE_REGISTERS static void ledger_blame(struct ledger *l, const struct ledger_entry *e,
                                        const struct charged *c, const struct ledger_part *parts)
{
    const double sum = e->delay + e->waits;
    const size_t lanes = 2 * ledger_width(l);
    for (uint32_t i = 0; i < e->parts; i++) {
        double *const row = l->rows + parts[i].row * ledger_row_slots(l);
        const double part = parts[i].delay / sum;
        row[ROW_DIRECT] += c->direct * part;
        row[ROW_INDIRECT] += c->later * part;
        for (size_t k = 0; k < lanes; k++) {
            row[ROW_LANE + k] += c->lanes[k] * part;
        }
    }
}

/*
 * The rate at which the causer's own waits are charged. Rates are limited to 2^26, so that sums of
 * many fit into 64 bits.
 */
WIDE_REGISTERS static void ledger_make_rate(struct ledger *l, const struct ledger_entry *e,
                                            const struct charged *c)
{
    const double sum = e->delay + e->waits;
    const size_t lanes = 2 * ledger_width(l);
    int64_t *const rate = l->rates + e->rate * ledger_rate_slots(l);
    double scaled[RATE_LANE + LANES];
    scaled[RATE_ESTIMATE] = (c->direct + c->later) / sum * 0x1p32;
    for (size_t k = 0; k < lanes; k++) {
        scaled[RATE_LANE + k] = c->lanes[k] / sum * 0x1p32;
    }
    for (size_t k = 0; k < RATE_LANE + lanes; k++) {
        rate[k] = (int64_t)(scaled[k] < 0x1p58 ? scaled[k] : 0x1p58);
    }
}

static void ledger_charge(struct ledger *l, const struct ledger_entry *e,
                          const struct ledger_part *parts)
{
    struct charged c; /* not all members are used */
    ledger_weigh(l, e, &c);
    l->total += c.direct;
    if (e->delay + e->waits > 0) {
        ledger_blame(l, e, &c, parts);
    } else {
        l->unattributed += c.direct + c.later;
    }
    if (e->rate != RATE_NONE) {
        ledger_make_rate(l, e, &c);
    }
}

/* Add a rate to the sums of a location, or subtract it. */
WIDE_REGISTERS static void ledger_turn(struct ledger *l, const struct ledger_entry *e, int sign)
{
    const size_t slots = ledger_rate_slots(l);
    int64_t *const open = l->open + e->location * slots;
    const int64_t *const rate = l->rates + e->rate * slots;
    for (size_t k = 0; k < slots; k++) {
        open[k] += sign * rate[k];
    }
}

void ictusi_ledger_do(struct ledger *l, const struct ledger_page *page)
{
    const struct ledger_part *parts = page->parts;
    for (uint64_t i = 0; i < page->count; i++) {
        const struct ledger_entry *e = &page->entries[i];
        if (e->act == LEDGER_CHARGE) {
            ledger_charge(l, e, parts);
            if (e->parts) { /* a page without any has no list */
                parts += e->parts;
            }
        } else {
            ledger_turn(l, e, e->act == LEDGER_OPEN ? 1 : -1);
        }
    }
}

/* Put the lanes of a ledger, which are in the order of slots, to where they belong. */
static void ledger_spread(const struct ledger *l, const double *slots, double lanes[LANES])
{
    const size_t width = ledger_width(l);
    const size_t from = (size_t)l->range.from;
    for (size_t k = 0; k < width; k++) {
        lanes[from + k] = slots[k];
        lanes[HISTORIES + from + k] = slots[width + k];
    }
}

void ictusi_ledger_read(const struct ledger *l, uint64_t index, struct blame_row *row)
{
    const double *const slots = l->rows + index * ledger_row_slots(l);
    row->direct = slots[ROW_DIRECT];
    row->indirect = slots[ROW_INDIRECT];
    ledger_spread(l, slots + ROW_LANE, row->lanes);
}

void ictusi_ledger_total(const struct ledger *l, double lanes[LANES])
{
    ledger_spread(l, l->total_lanes, lanes);
}
