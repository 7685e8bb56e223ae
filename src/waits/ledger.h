/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the backward replay that depends on the error histories. blame.c decides in which
 * order waits are charged and to what. Its decisions are the same for all histories. They are
 * written to pages, which are then carried out, for the estimate and for each history. Several
 * threads may carry out one page, each for some of the histories.
 */
#ifndef ICTUS_WAITS_LEDGER_H
#define ICTUS_WAITS_LEDGER_H

#include "waits/sums.h"

/* The waiting that a call path on a location caused, in ticks. */
struct blame_row {
    uint32_t location, path;
    double direct, indirect;
    double lanes[LANES]; /* direct plus indirect, under each error history */
};

/* Index 0 means no rate. */
enum { RATE_NONE = 0 };

enum ledger_act {
    LEDGER_CHARGE, /* a wait is divided among delays; the rest becomes a rate, unless it is NONE */
    LEDGER_OPEN,   /* a rate begins to apply to the waits of a location */
    LEDGER_CLOSE   /* it ends */
};

struct ledger_entry {
    uint8_t act;       /* enum ledger_act */
    bool rated;        /* of a charge: rates are open on its location */
    uint32_t location; /* whose rates open and close; of a charge: that of the call */
    uint32_t rate;
    /* of a charge: */
    uint32_t call, parts;
    double delay, waits; /* D and O in blame.c */
};

/* What a charge attributes to a row. */
struct ledger_part {
    uint32_t row;
    double delay;
};

/* The parts are in the order of the charges that they belong to. */
struct ledger_page {
    struct ledger_entry *entries;
    struct ledger_part *parts;
    uint64_t count, part_count;
    uint64_t room, part_room;
};

/* The location and call path that a row is about. */
struct ledger_key {
    uint32_t location, path;
};

/*
 * The estimate, and what some of the histories make of the entries. Ledgers of several threads
 * share no memory that changes: a line of the cache that two processors write would cost more than
 * the threads gain.
 */
struct ledger {
    _Alignas(CACHE_LINE) const struct analysis *analysis;
    struct history_range range; /* empty if there are no histories */
    /*
     * Each with one slot for the estimate, or two in rows, and one for each lane: lanes k, then
     * lanes HISTORIES + k. Rates are in units of 2^-32.
     */
    int64_t *open; /* by location: the sum of the rates that are open */
    int64_t *rates;
    double *rows; /* direct and indirect, then both together by lane */
    uint64_t rate_room, row_count, row_room;
    double total, unattributed;
    double total_lanes[LANES]; /* as in rows */
};

/* Call ictusi_ledger_free() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_ledger_init(struct ledger *ledger, const struct analysis *analysis,
                       struct history_range range);
void ictusi_ledger_free(struct ledger *ledger);

/*
 * Make room for this many rates and rows. To be called before the first page that mentions them is
 * carried out. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_ledger_make(struct ledger *ledger, uint64_t rates, uint64_t rows);

/* Carry out a page. */
void ictusi_ledger_do(struct ledger *ledger, const struct ledger_page *page);

/* Set what a ledger knows of a row, and of the total by lane. */
void ictusi_ledger_read(const struct ledger *ledger, uint64_t index, struct blame_row *row);
void ictusi_ledger_total(const struct ledger *ledger, double lanes[LANES]);

/* Append an entry, or a part of the next charge, that is not set; NULL: no memory. */
struct ledger_entry *ictusi_ledger_add(struct ledger_page *page);
struct ledger_part *ictusi_ledger_add_part(struct ledger_page *page);

/* Pages are emptied and filled again. */
void ictusi_ledger_page_clear(struct ledger_page *page);
void ictusi_ledger_page_free(struct ledger_page *page);

#endif
