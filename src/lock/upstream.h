/* SPDX-License-Identifier: BSD-3-Clause */
/* One source of time: a server or a reference, with its own discipline, bound and schedule. */
#ifndef ICTUS_LOCK_UPSTREAM_H
#define ICTUS_LOCK_UPSTREAM_H

#include "bound.h"
#include "discipline.h"
#include "interval.h"
#include "peer.h"
#include "reference.h"

enum upstream_event {
    UPSTREAM_FIRST,
    UPSTREAM_ACCEPTED,
    UPSTREAM_GLITCH,
    UPSTREAM_STEPPED,
    UPSTREAM_LOST,    /* no reply, or nothing new from a reference */
    UPSTREAM_REFUSED, /* a reply that does not count: unsynchronised, too distant, ... */
    UPSTREAM_KISS,
    UPSTREAM_CLOCK /* the system's clock was set during the exchanges */
};

struct upstream {
    char name[64];
    struct peer peer;
    struct reference *reference; /* NULL: a server */
    struct interval_options plan;
    double spacing_s;
    bool drop_first;
    struct discipline discipline;
    struct bound bound;
    struct delays delays;
    struct measurement last;
    double expected_ns;
    double interval_s;
    int exchanges;   /* of the next group */
    int polls;       /* so far */
    int missed;      /* in a row */
    int since_start; /* polls since the start or the last step */
    int64_t due;     /* raw */
    int64_t last_good;
    uint8_t reach;
    uint8_t leap;
    uint8_t stratum;
    bool denied;
    bool dead; /* told to go away */
    double root_delay_ns, root_dispersion_ns;
    uint32_t reference_id;
    uint64_t lost, refused;
    enum ictus_lock_selection selection;
};

struct upstream_options {
    const struct ictus_lock_options *lock;
    const struct key *key;
};

int ictusi_upstream_server(struct upstream *source, const char *text,
                           const struct upstream_options *options, struct ictus_why *why);
int ictusi_upstream_reference(struct upstream *source, const char *text,
                              const struct upstream_options *options, struct ictus_why *why);
void ictusi_upstream_close(struct upstream *source);

/* Poll once, and set when to poll next. Waits for replies. utc_ns: what the clock shows, or 0. */
enum upstream_event ictusi_upstream_poll(struct upstream *source, struct timebase *base,
                                         int64_t utc_ns);

/* All clocks were suspended or set: keep only what is known of the noise. */
void ictusi_upstream_restart(struct upstream *source);

/* The next interval is known only now: apply it. */
const char *ictusi_upstream_event_name(enum upstream_event event);

#endif
