/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An OTF2 archive that is open for reading, and what its definitions say: locations, processes,
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

/* Names by the number of what bears them: rows in the order of their definitions. */
struct name_row {
    uint64_t ref;
    uint32_t string; /* reference */
};

struct name_table {
    struct name_row *rows;
    uint64_t count;
    struct idmap index; /* number -> row */
};

/*
 * Places in the source from which calls were made: the attribute ICTUS::CALL_SITE of an enter names
 * a calling context. Values are references; lines are keyed as their files are.
 */
struct trace_places {
    struct idmap attribute; /* 0 -> that attribute, where it is defined */
    struct idmap region;    /* context -> region that calls */
    struct idmap source;    /* context -> source code location */
    struct idmap file;      /* source code location -> string */
    struct idmap line;
};

/* One quantity that metric events tell: strings, and what a value is to be multiplied by. */
struct trace_metric {
    uint32_t name, unit;
    double scale;
};

/* Metrics by their references; see metric_names.h. */
struct trace_metrics {
    struct trace_metric *members;
    uint64_t member_count;
    struct idmap member_index;  /* member -> row */
    struct idmap class_members; /* class, place in it -> member */
    struct idmap class_of;      /* instance -> class */
};

/* What definitions refer to by number, until all are read. */
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
    struct idmap tree_parent, tree_class; /* system tree: node -> parent, is a "node" */
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
    struct idmap region_traits;    /* region -> OTF2_RegionRole, and OTF2_Paradigm from bit 8 on */
    struct idmap window_index;     /* RMA window -> its place among the layout's communicators */
    struct name_table regions, parameters, locations, processes, comms;
    struct trace_links links;
    struct trace_places places;
    struct idmap team_region; /* 0 -> attribute that tells a team's regions apart */
    struct idmap senders;     /* attributes that tell from whom a process received */
    struct trace_metrics metrics;
    uint64_t definitions;
    struct ictus_why *why; /* first complaint of the OTF2 library goes here */
    pthread_t thread;      /* that opened it: complaints in others are not kept */
    bool said;
    const char *output; /* what is written meanwhile: a full disk is its trouble */
};

/* The index of a location or communicator by its reference; LAYOUT_NONE where there is none. */
uint32_t ictusi_archive_location(const struct trace *trace, uint64_t ref);
uint32_t ictusi_archive_comm(const struct trace *trace, uint32_t ref);

/*
 * The place of a window among the layout's communicators: it has its communicator's reference and
 * members, but calls of its own, which threads make in another order than those on other windows.
 */
uint32_t ictusi_archive_window(const struct trace *trace, uint32_t ref);

/* Say that a location has stamps of more than STAMP_BITS bits. Gives ICTUS_ERR_CORRUPT. */
int ictusi_archive_beyond(const struct trace *trace, uint32_t location);

/* A name, or "" where there is none. */
const char *ictusi_archive_string(const struct trace *trace, uint32_t ref);
const char *ictusi_archive_name(const struct trace *trace, const struct name_table *table,
                                uint64_t ref);

/*
 * The property of a corrected archive that names the threads whose clocks were not their process's:
 * references of locations, apart by spaces.
 */
#define THREAD_CLOCKS "ICTUS::THREAD_CLOCKS"

/* A property of the archive, to be freed; NULL: it has none of this name. */
char *ictusi_archive_property(const struct trace *trace, const char *name);

/* Nanoseconds from the beginning of the trace to a stamp. */
uint64_t ictusi_archive_ns(const struct trace *trace, uint64_t stamp);

#endif
