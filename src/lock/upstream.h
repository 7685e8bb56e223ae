/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of time: a server or a reference, with its own discipline, bound and schedule. */
#ifndef ICTUS_LOCK_UPSTREAM_H
#define ICTUS_LOCK_UPSTREAM_H

#include "bound.h"
#include "discipline.h"
#include "interval.h"
#include "lookup.h"
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

/* The phase of a poll. */
enum upstream_phase {
    UPSTREAM_RESTING,
    UPSTREAM_NAMING,  /* waiting for an address */
    UPSTREAM_WAITING, /* waiting for a reply */
    UPSTREAM_PAUSING  /* between two exchanges */
};

/* The current poll. */
struct upstream_poll {
    enum upstream_phase phase;
    struct sample samples[GROUP_MAX];
    size_t count;
    int asked, wanted, lost;
    int64_t began, until; /* raw; until: give up waiting for an address */
    int failure;          /* of the last exchange that gave no sample */
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
    struct upstream_poll poll;
    struct lookup *lookup;           /* under way */
    const struct upstream *siblings; /* all sources: those of one pool differ in address */
    int sibling_count;
    bool pool;
    char trouble[160]; /* why there is no address, for display */
    int64_t due;       /* raw: of the next poll */
    int64_t wake;      /* raw: the latest time for the next step */
    int64_t last_good;
    uint8_t reach;
    uint8_t leap;
    uint8_t stratum;
    bool dead;   /* the server has told us to stop asking */
    bool locked; /* phase and frequency have been known well enough since the last start */
    int polite;  /* doublings of the interval that the server requested; they fade */
    int good_run;
    double root_delay_ns, root_dispersion_ns;
    uint32_t reference_id;
    uint64_t lost, refused, falseticks;
    enum ictus_lock_selection selection;
};

struct upstream_options {
    const struct ictus_lock_options *lock;
    const struct key *key; /* of servers that do not name their own */
    const struct keys *keys;
    bool pool;
};

/* text: "HOST[:PORT]", followed by the server's own options after slashes:
 * "ntp.site/key=3/tmin=64s". */
int ictusi_upstream_server(struct upstream *source, const char *text,
                           const struct upstream_options *options, struct ictus_why *why);
int ictusi_upstream_reference(struct upstream *source, const char *text,
                              const struct upstream_options *options, struct ictus_why *why);
void ictusi_upstream_close(struct upstream *source);

/* Return the socket to wait on, or -1. */
int ictusi_upstream_fd(const struct upstream *source);

/*
 * Do everything that can be done now without waiting: begin a poll that is due, send, process
 * replies. Call again at source->wake or when the socket has data. utc_ns: what the clock shows, or
 * 0. @return true if a poll ended; *event tells how, and source->due when the next one is
 */
bool ictusi_upstream_step(struct upstream *source, struct timebase *base, int64_t utc_ns,
                          enum upstream_event *event);

/* Cancel a poll, as if it had not begun. The next one is at an instant (raw). */
void ictusi_upstream_postpone(struct upstream *source, int64_t until);

/* All clocks were suspended or set: keep only what is known about the noise. */
void ictusi_upstream_restart(struct upstream *source);

/* Apply a leap second: local instants stay, and the origins move by this much, because true time
 * jumps. */
void ictusi_upstream_leap(struct upstream *source, int64_t leap_ns);

const char *ictusi_upstream_event_name(enum upstream_event event);

#endif
