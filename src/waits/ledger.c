/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates are integers in units of 2^-32, so that opening and closing one leaves no rounding error.
 */
#include "waits/ledger.h"

#include "core/array.h"

#include <ictus/error.h>
#include <stdlib.h>

int ictusi_ledger_init(struct ledger *l, const struct analysis *a)
{
    const enum sigma_source source = a->histories.source;
    const bool lanes = source == SIGMA_ARCHIVE || source == SIGMA_MESSAGES;
    *l = (struct ledger){.analysis = a, .slots = lanes ? LEDGER_SLOTS : LEDGER_LANE};
    l->open = calloc(a->session.trace->layout.location_count + 1, sizeof *l->open);
    return l->open ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_ledger_free(struct ledger *l)
{
    free(l->open);
    free(l->rates);
    l->open = NULL;
    l->rates = NULL;
}

/* Pages are emptied and filled again, so they never become smaller. */
static void *page_widen(void *list, uint64_t count, uint64_t *room, size_t size)
{
    if (count < *room) {
        return list;
    }
    const uint64_t wanted = *room ? 2 * *room : 1024;
    void *wide = realloc(list, wanted * size);
    *room = wide ? wanted : *room;
    return wide;
}

struct ledger_entry *ictusi_ledger_add(struct ledger_page *page)
{
    void *list = page_widen(page->entries, page->count, &page->room, sizeof *page->entries);
    page->entries = list ? list : page->entries;
    return list ? &page->entries[page->count++] : NULL;
}

struct ledger_part *ictusi_ledger_add_part(struct ledger_page *page)
{
    void *list = page_widen(page->parts, page->part_count, &page->part_room, sizeof *page->parts);
    page->parts = list ? list : page->parts;
    return list ? &page->parts[page->part_count++] : NULL;
}

void ictusi_ledger_page_free(struct ledger_page *page)
{
    free(page->entries);
    free(page->parts);
    *page = (struct ledger_page){.entries = NULL};
}

/* One wait being charged. */
struct charged {
    double direct, later;     /* w and k as recorded */
    double all[LEDGER_SLOTS]; /* w + k */
};

/*
 * The wait under each history, for the cause found by the estimate, and the sum of the open rates.
 * Rates are in units of 2^-32 up to here.
 */
static void ledger_weigh(struct ledger *l, const struct ledger_entry *e, struct charged *c)
{
    const struct ledger_open *open = &l->open[e->location];
    const double wait = (double)analysis_wait(l->analysis, e->call);
    double *const lanes = c->all + LEDGER_LANE;
    c->all[LEDGER_ESTIMATE] = c->direct = wait;
    if (l->slots > LEDGER_LANE) {
        const bool spread = ictusi_wait_lanes(l->analysis, e->call, lanes);
        for (int k = 0; k < LANES; k++) {
            lanes[k] = spread ? lanes[k] + wait : wait;
            l->total_lanes[k] += lanes[k];
        }
    }
    c->later = wait * (double)open->sum[LEDGER_ESTIMATE] * 0x1p-32;
    for (int k = 0; k < l->slots && open->count > 0; k++) {
        c->all[k] += wait * (double)open->sum[k] * 0x1p-32;
    }
}

/* The row of a part, which is made when it is first charged; NULL: no memory. */
static struct blame_row *ledger_row(struct ledger *l, const struct ledger_part *part)
{
    if (part->row == l->row_count) {
        struct blame_row *row = array_append((void **)&l->rows, &l->row_count, sizeof *row);
        if (!row) {
            return NULL;
        }
        row->location = part->location;
        row->path = part->path;
    }
    return &l->rows[part->row];
}

/*
 * Direct blame is what the delay of q cost p. Indirect blame is what it cost those that in turn
 * waited for p.
 */
static int ledger_blame(struct ledger *l, const struct ledger_entry *e, const struct charged *c,
                        const struct ledger_part *parts)
{
    const double sum = e->delay + e->waits;
    for (uint32_t i = 0; i < e->parts; i++) {
        struct blame_row *row = ledger_row(l, &parts[i]);
        if (!row) {
            return ICTUS_ERR_NOMEM;
        }
        const double part = parts[i].delay / sum;
        row->direct += c->direct * part;
        row->indirect += c->later * part;
        for (int k = LEDGER_LANE; k < l->slots; k++) {
            row->lanes[k - LEDGER_LANE] += c->all[k] * part;
        }
    }
    return ICTUS_OK;
}

/*
 * The rate at which the causer's own waits are charged. Rates are limited to 2^26, so that sums of
 * many fit into 64 bits.
 */
static int ledger_make_rate(struct ledger *l, const struct ledger_entry *e, const struct charged *c)
{
    const double sum = e->delay + e->waits;
    if (e->rate >= l->rate_room) {
        const uint32_t room = e->rate < 128 ? 256 : 2 * e->rate;
        struct ledger_rate *wide = realloc(l->rates, room * sizeof *wide);
        if (!wide) {
            return ICTUS_ERR_NOMEM;
        }
        l->rates = wide;
        l->rate_room = room;
    }
    double scaled[LEDGER_SLOTS];
    for (int k = 0; k < l->slots; k++) {
        const double x = c->all[k] / sum * 0x1p32;
        scaled[k] = x < 0x1p58 ? x : 0x1p58;
    }
    for (int k = 0; k < l->slots; k++) {
        l->rates[e->rate].slots[k] = (int64_t)scaled[k];
    }
    return ICTUS_OK;
}

static int ledger_charge(struct ledger *l, const struct ledger_entry *e,
                         const struct ledger_part *parts)
{
    struct charged c; /* not all members are used */
    ledger_weigh(l, e, &c);
    l->total += c.direct;
    if (e->delay + e->waits <= 0) {
        l->unattributed += c.all[LEDGER_ESTIMATE];
        return ICTUS_OK;
    }
    const int err = ledger_blame(l, e, &c, parts);
    return err || e->rate == RATE_NONE ? err : ledger_make_rate(l, e, &c);
}

static void ledger_open(struct ledger *l, const struct ledger_entry *e)
{
    struct ledger_open *open = &l->open[e->location];
    open->count++;
    for (int k = 0; k < l->slots; k++) {
        open->sum[k] += l->rates[e->rate].slots[k];
    }
}

static void ledger_close(struct ledger *l, const struct ledger_entry *e)
{
    struct ledger_open *open = &l->open[e->location];
    open->count--;
    for (int k = 0; k < l->slots; k++) {
        open->sum[k] -= l->rates[e->rate].slots[k];
    }
}

int ictusi_ledger_do(struct ledger *l, struct ledger_page *page)
{
    const struct ledger_part *parts = page->parts;
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < page->count && !err; i++) {
        const struct ledger_entry *e = &page->entries[i];
        if (e->act == LEDGER_CHARGE) {
            err = ledger_charge(l, e, parts);
            parts += e->parts;
        } else if (e->act == LEDGER_OPEN) {
            ledger_open(l, e);
        } else {
            ledger_close(l, e);
        }
    }
    page->count = page->part_count = 0;
    return err;
}
