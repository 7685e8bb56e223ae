/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The half of the backward replay that depends on the error histories. blame.c decides in which
 * order waits are charged and to what. Its decisions are the same for all histories. They are
 * written to pages, which are then carried out, for the estimate and for each history. So one
 * thread can decide while another one carries out what was decided before.
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
    uint32_t location; /* whose rates open and close; of a charge: that of the call */
    uint32_t rate;
    /* of a charge: */
    uint32_t call, parts;
    double delay, waits; /* D and O in blame.c */
};

/* What a charge attributes to a row. */
struct ledger_part {
    uint32_t row, location, path; /* rows are numbered in the order of their first charge */
    double delay;
};

/* The parts are in the order of the charges that they belong to. */
struct ledger_page {
    struct ledger_entry *entries;
    struct ledger_part *parts;
    uint64_t count, part_count;
    uint64_t room, part_room;
};

/*
 * Slot 0 is the estimate; the others are one lane per history. With a single clock there is only
 * the estimate.
 */
enum { LEDGER_ESTIMATE, LEDGER_LANE, LEDGER_SLOTS = LEDGER_LANE + LANES };

/* The rates that are open on a location: how many, and their sums in units of 2^-32. */
struct ledger_open {
    uint32_t count;
    int64_t sum[LEDGER_SLOTS];
};

struct ledger_rate {
    int64_t slots[LEDGER_SLOTS]; /* in units of 2^-32 */
};

struct ledger {
    const struct analysis *analysis;
    int slots;                /* in use */
    struct ledger_open *open; /* by location */
    struct ledger_rate *rates;
    uint32_t rate_room;
    struct blame_row *rows;
    uint64_t row_count;
    double total, unattributed;
    double total_lanes[LANES];
};

/* Call ictusi_ledger_free() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_ledger_init(struct ledger *ledger, const struct analysis *analysis);

/* Does not free the rows. */
void ictusi_ledger_free(struct ledger *ledger);

/* Carry out a page, and empty it. Errors: ICTUS_ERR_NOMEM. */
int ictusi_ledger_do(struct ledger *ledger, struct ledger_page *page);

/* Append an entry, or a part of the next charge, that is not set; NULL: no memory. */
struct ledger_entry *ictusi_ledger_add(struct ledger_page *page);
struct ledger_part *ictusi_ledger_add_part(struct ledger_page *page);
void ictusi_ledger_page_free(struct ledger_page *page);

#endif
