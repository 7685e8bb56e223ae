/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An OTF2 archive that is open for reading, and what its definitions state: locations, processes,
 * nodes, communicators with their members, names, the clock and its offsets. There is no other
 * reader of definitions.
 */
#ifndef ICTUS_ARCHIVE_TRACE_H
#define ICTUS_ARCHIVE_TRACE_H

#include "causality/layout.h"

#include <ictus/error.h>
#include <otf2/otf2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_group {
    uint32_t ref;
    uint8_t type, paradigm;
    bool global_members;
    uint32_t count;
    uint64_t *members;
};

/* Names by reference; the rows are in the order of the definitions. */
struct name_row {
    uint64_t ref;
    uint32_t string; /* reference */
};

struct name_table {
    struct name_row *rows;
    uint64_t count;
    struct idmap index; /* reference -> row */
};

/*
 * Call sites in the source. The attribute ICTUS::CALL_SITE of an enter refers to a calling context.
 * Values are references; lines have the same keys as files.
 */
struct trace_places {
    struct idmap attribute; /* 0 -> that attribute, if it is defined */
    struct idmap region;    /* context -> calling region */
    struct idmap source;    /* context -> source code location */
    struct idmap file;      /* source code location -> string */
    struct idmap line;
};

/* One quantity in metric events: references of strings, and the factor for its values. */
struct trace_metric {
    uint32_t name, unit;
    double scale;
};

/* Metrics by their references; see metric_names.h. */
struct trace_metrics {
    struct trace_metric *members;
    uint64_t member_count;
    struct idmap member_index;  /* member -> row */
    struct idmap class_members; /* class, position in it -> member */
    struct idmap class_of;      /* instance -> class */
};

/* References that are resolved once all definitions are read. */
struct process_link {
    uint32_t parent;  /* system tree node */
    uint32_t creator; /* of an accelerator: location group */
};

struct comm_link {
    uint32_t group_a, group_b; /* group_b is undefined unless inter */
    bool window;               /* the groups are those of the communicator that it refers to */
};

struct trace_links {
    struct process_link *processes;
    struct comm_link *comms;
    uint64_t process_count, comm_count;
    /* system tree: node -> its parent; whether it is a "node" */
    struct idmap tree_parent, tree_class;
};

struct trace {
    OTF2_Reader *reader;
    char *path; /* of the anchor */
    struct layout layout;
    uint64_t global_offset, realtime;
    uint64_t group_count, string_count;
    struct trace_group *groups;
    char **strings;
    struct idmap location_index, process_index, group_index, comm_index, string_index;
    struct idmap region_barrier;
    struct idmap region_neighbors; /* MPI's neighbourhood collectives */
    struct idmap region_traits;    /* region -> OTF2_RegionRole, with OTF2_Paradigm from bit 8 on */
    struct idmap window_index;     /* RMA window -> index among the layout's communicators */
    struct name_table regions, parameters, locations, processes, comms;
    struct trace_links links;
    struct trace_places places;
    struct idmap team_region; /* 0 -> attribute that numbers a team's regions */
    struct idmap senders;     /* attributes that record from whom a process received */
    struct idmap operands;    /* 0 -> attribute that records what a collective was given */
    struct trace_metrics metrics;
    uint64_t definitions;
    struct ictus_why *why; /* receives the first error of the OTF2 library */
    pthread_t thread;      /* that opened the archive; errors in other threads are not kept */
    bool said;
    const char *output; /* the output being written, to which a full disk is attributed */
};

/* The index of a location or communicator by its reference, or LAYOUT_NONE. */
uint32_t ictusi_archive_location(const struct trace *trace, uint64_t ref);
uint32_t ictusi_archive_comm(const struct trace *trace, uint32_t ref);

/*
 * The index of a window among the layout's communicators. It has its communicator's reference and
 * members, but calls of its own, because threads may call on different windows in any order.
 */
uint32_t ictusi_archive_window(const struct trace *trace, uint32_t ref);

/* Report that a location has stamps of more than STAMP_BITS bits. Returns ICTUS_ERR_CORRUPT. */
int ictusi_archive_beyond(const struct trace *trace, uint32_t location);

/* A name, or "" if there is none. */
const char *ictusi_archive_string(const struct trace *trace, uint32_t ref);
const char *ictusi_archive_name(const struct trace *trace, const struct name_table *table,
                                uint64_t ref);

/*
 * The property of a corrected archive that lists the threads with clocks other than their
 * process's: references of locations, separated by spaces.
 */
#define THREAD_CLOCKS "ICTUS::THREAD_CLOCKS"

/* The property of an archive in which each process of a node has a clock of its own. */
#define PROCESS_CLOCKS "ICTUS::PROCESS_CLOCKS"

/* A property of the archive, which the caller frees. NULL: there is none of this name. */
char *ictusi_archive_property(const struct trace *trace, const char *name);

/* Nanoseconds from the beginning of the trace to a stamp. */
uint64_t ictusi_archive_ns(const struct trace *trace, uint64_t stamp);

#endif
