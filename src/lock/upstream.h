/* SPDX-License-Identifier: BSD-3-Clause */
/* One source of time: a server or a reference, with its own discipline, bound and schedule. */
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

/* Where a poll stands. */
enum upstream_phase {
    UPSTREAM_RESTING,
    UPSTREAM_NAMING,  /* waits for the address */
    UPSTREAM_WAITING, /* for a reply */
    UPSTREAM_PAUSING  /* between two exchanges */
};

/* The poll that is going on. */
struct upstream_poll {
    enum upstream_phase phase;
    struct sample samples[GROUP_MAX];
    size_t count;
    int asked, wanted, lost;
    int64_t began, until; /* raw; until: no longer for an address */
    int failure;          /* of the last exchange that gave nothing */
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
    struct lookup *lookup;           /* going on */
    const struct upstream *siblings; /* all sources: those of one pool take different addresses */
    int sibling_count;
    bool pool;
    char trouble[160]; /* why there is no address, for people */
    int64_t due;       /* raw: of the next poll */
    int64_t wake;      /* raw: when to step again at the latest */
    int64_t last_good;
    uint8_t reach;
    uint8_t leap;
    uint8_t stratum;
    bool dead;   /* told to go away */
    bool locked; /* phase and frequency were known well enough once since the last start */
    int polite;  /* doublings of the interval that the server asked for, and that fade */
    int good_run;
    double root_delay_ns, root_dispersion_ns;
    uint32_t reference_id;
    uint64_t lost, refused, falseticks;
    enum ictus_lock_selection selection;
};

struct upstream_options {
    const struct ictus_lock_options *lock;
    const struct key *key; /* of servers that name none of their own */
    const struct keys *keys;
    bool pool;
};

/* text: "HOST[:PORT]", and after slashes what is this server's own: "ntp.site/key=3/tmin=64s" */
int ictusi_upstream_server(struct upstream *source, const char *text,
                           const struct upstream_options *options, struct ictus_why *why);
int ictusi_upstream_reference(struct upstream *source, const char *text,
                              const struct upstream_options *options, struct ictus_why *why);
void ictusi_upstream_close(struct upstream *source);

/* The socket to wait on, or -1. */
int ictusi_upstream_fd(const struct upstream *source);

/*
 * Do what can be done now without waiting: begin a poll that is due, send, take in replies. Call
 * again at source->wake or when the socket has something. utc_ns: what the clock shows, or 0.
 * @return true when a poll ended: event says how, and due when the next one is
 */
bool ictusi_upstream_step(struct upstream *source, struct timebase *base, int64_t utc_ns,
                          enum upstream_event *event);

/* Break a poll off, as if it had not begun; the next one is at an instant (raw). */
void ictusi_upstream_postpone(struct upstream *source, int64_t until);

/* All clocks were suspended or set: keep only what is known of the noise. */
void ictusi_upstream_restart(struct upstream *source);

/* Local instants and origins stay, true time is another by this much: a leap second. */
void ictusi_upstream_leap(struct upstream *source, int64_t leap_ns);

const char *ictusi_upstream_event_name(enum upstream_event event);

#endif
