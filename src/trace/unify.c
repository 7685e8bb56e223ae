/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives everything in all processes' logs one number. */
#include "trace/unify.h"

#include "trace/unify_groups.h"

#include "tracer/record.h"

#include <ictus/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_WORLD = 1, KEY_SELF = 2 };

/* More than a process can number, and little enough that a damaged log cannot exhaust memory. */
enum { MAP_NUMBERS = 1 << 22, TEAM_MAX = 1 << 12 };

/*
 * flat holds MAP_KINDS counts, then the numbers of kind 0, kind 1, and so on. KEYMAP_NONE: the log
 * does not define that number.
 */
uint32_t ictusi_unify_map_get(const struct trace_map *map, enum map_kind kind, uint32_t number)
{
    size_t at = MAP_KINDS;
    for (int i = 0; i < (int)kind; i++) {
        at += map->flat[i];
    }
    return number < map->flat[kind] ? map->flat[at + number] : KEYMAP_NONE;
}

/*
 * The kind of number that a line defines. Other letters describe something that has a number, or
 * the process as a whole.
 */
static enum map_kind unify_kind_of(char letter)
{
    switch (letter) {
    case 'C':
        return MAP_COMM;
    case 'W':
        return MAP_WINDOW;
    case 'F':
        return MAP_FUNCTION;
    case 'R':
        return MAP_REGION;
    case 'P':
        return MAP_EVENT;
    case 'U':
        return MAP_METRIC;
    case 'Q':
        return MAP_SITE;
    case 'Y':
        return MAP_FILE;
    case 'Z':
        return MAP_DELETED;
    case 'J':
        return MAP_TEAM;
    default:
        return MAP_KINDS;
    }
}

/*
 * The index of a number in its table. User regions and metrics are numbered after those that all
 * processes share. A smaller number, from a damaged log, wraps to a large one, which is beyond
 * MAP_NUMBERS.
 */
static uint32_t index_of(const struct raw_item *item)
{
    if (item->kind == 'R') {
        return item->number - REGION_USER;
    }
    return item->kind == 'U' ? item->number - METRIC_CLASS_USER : item->number;
}

/*
 * Make an empty map, in a single allocation so that it can be sent as a whole: the count of each
 * kind, then the numbers of one kind after the other, all KEYMAP_NONE. This is the first pass over
 * the log; the caller makes a second one to fill in the numbers.
 */
static int unify_make_map(const struct rawlog *log, struct trace_map *map)
{
    uint32_t counts[MAP_KINDS] = {0};
    for (size_t i = 0; i < log->item_count; i++) {
        const enum map_kind kind = unify_kind_of(log->items[i].kind);
        if (kind != MAP_KINDS && index_of(&log->items[i]) < MAP_NUMBERS &&
            index_of(&log->items[i]) >= counts[kind]) {
            counts[kind] = index_of(&log->items[i]) + 1;
        }
    }
    map->words = MAP_KINDS;
    for (int i = 0; i < MAP_KINDS; i++) {
        map->words += counts[i];
    }
    map->flat = malloc(map->words * sizeof(uint32_t));
    if (!map->flat) {
        return ICTUS_ERR_NOMEM;
    }
    memset(map->flat, 0xff, map->words * sizeof(uint32_t));
    memcpy(map->flat, counts, sizeof(counts));
    return ICTUS_OK;
}

/* Numbers beyond the counts, which only a damaged log has, are ignored. */
static void map_set(struct trace_map *map, enum map_kind kind, uint32_t number, uint32_t value)
{
    size_t at = MAP_KINDS;
    for (int i = 0; i < (int)kind; i++) {
        at += map->flat[i];
    }
    if (number < map->flat[kind]) {
        map->flat[at + number] = value;
    }
}

/*
 * The communicator of a key, which is made when first used. Numbers follow the order of first use
 * over all processes in the order of ranks, so that the same logs always give the same archive.
 */
static struct unified_comm *unify_comm_of(struct unified *u, uint64_t key, uint32_t *number)
{
    bool fresh = false;
    *number = ictusi_keymap_put(&u->comm_keys, key, &fresh);
    if (*number != KEYMAP_NONE && fresh) {
        struct unified_comm *comms = unify_more(u->comms, *number, sizeof(*comms));
        if (!comms) {
            return NULL;
        }
        u->comms = comms;
        comms[*number] = (struct unified_comm){
            .key = key, .name = "", .group = KEYMAP_NONE, .other = KEYMAP_NONE};
    }
    return *number == KEYMAP_NONE ? NULL : &u->comms[*number];
}

/*
 * MPI functions are identified by number and user regions by name, in one table. The + 1 keeps key
 * 0 free. Hashes of names have 64 bits and are hardly ever as small as a function's number.
 */
static int unify_take_function(struct unified *u, const struct raw_item *item, uint32_t *number)
{
    bool fresh = false;
    *number = ictusi_keymap_put(&u->region_keys, (uint64_t)item->number + 1, &fresh);
    if (*number != KEYMAP_NONE && fresh) {
        struct unified_name *wider = unify_more(u->regions, *number, sizeof(*wider));
        if (!wider) {
            return ICTUS_ERR_NOMEM;
        }
        u->regions = wider;
        wider[*number] = (struct unified_name){"", "", item->number};
    }
    return *number == KEYMAP_NONE ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

/*
 * Names are equal if their 64-bit hashes are. Among 10^5 different names, the probability of a
 * collision is 3e-10.
 */
static int unify_take_name(struct keymap *keys, struct unified_name **names,
                           const struct raw_item *item, uint32_t *number)
{
    bool fresh = false;
    *number = ictusi_keymap_put(keys, ictusi_keymap_hash(item->text), &fresh);
    if (*number != KEYMAP_NONE && fresh) {
        struct unified_name *wider = unify_more(*names, *number, sizeof(*wider));
        if (!wider) {
            return ICTUS_ERR_NOMEM;
        }
        *names = wider;
        wider[*number] = (struct unified_name){item->text, item->more, KEYMAP_NONE};
    }
    return *number == KEYMAP_NONE ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

/* The first process that mentions a window states its communicator; all members agree on it. */
static int unify_take_window(struct unified *u, const struct raw_item *item, struct trace_map *map,
                             uint32_t *number)
{
    bool fresh = false;
    *number = ictusi_keymap_put(&u->window_keys, item->key, &fresh);
    if (*number != KEYMAP_NONE && fresh) {
        struct unified_window *windows = unify_more(u->windows, *number, sizeof(*windows));
        if (!windows) {
            return ICTUS_ERR_NOMEM;
        }
        u->windows = windows;
        windows[*number].name = "";
        windows[*number].comm = ictusi_unify_map_get(map, MAP_COMM, (uint32_t)item->a);
    }
    return *number == KEYMAP_NONE ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

/* A handle is one opening of a file on a communicator. A file may have several. */
static int unify_take_file(struct unified *u, const struct raw_item *item,
                           const struct trace_map *map, uint32_t *number)
{
    bool fresh = false;
    uint32_t file = KEYMAP_NONE;
    const int err = unify_take_name(&u->file_keys, &u->files, item, &file);
    *number = err ? KEYMAP_NONE : ictusi_keymap_put(&u->handle_keys, item->key, &fresh);
    if (*number != KEYMAP_NONE && fresh) {
        struct unified_file *wider = unify_more(u->handles, *number, sizeof(*wider));
        if (!wider) {
            return ICTUS_ERR_NOMEM;
        }
        u->handles = wider;
        wider[*number] =
            (struct unified_file){file, ictusi_unify_map_get(map, MAP_COMM, (uint32_t)item->a)};
    }
    return *number == KEYMAP_NONE ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

/*
 * A call site is identified by the file, the offset in it, and the file's modification time,
 * because two builds under one path are different.
 */
static int unify_take_site(struct unified *u, const struct raw_item *item, uint32_t *number)
{
    char key[64];
    bool fresh = false;
    (void)snprintf(key, sizeof(key), "%llx %llx %llx", (unsigned long long)item->key,
                   (unsigned long long)item->a, (unsigned long long)ictusi_keymap_hash(item->text));
    *number = ictusi_keymap_put(&u->site_keys, ictusi_keymap_hash(key), &fresh);
    if (*number != KEYMAP_NONE && fresh) {
        struct symbol_site *wider = unify_more(u->symbols.sites, *number, sizeof(*wider));
        if (!wider) {
            return ICTUS_ERR_NOMEM;
        }
        u->symbols.sites = wider;
        u->symbols.count = *number + 1;
        wider[*number] =
            (struct symbol_site){.path = item->text, .offset = item->key, .mtime_ns = item->a};
    }
    return *number == KEYMAP_NONE ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

/*
 * Threads of different processes are different, and are numbered separately in each process, so the
 * key includes the rank. A team without threads has unknown members, and a single thread is no
 * team.
 */
static int unify_take_team(struct unified *u, const struct raw_item *item, int rank,
                           uint32_t *number)
{
    char key[64];
    bool fresh = false;
    struct unified_group threads = {NULL, 0};
    int err = ictusi_unify_members(item->text, TEAM_MAX, &threads);
    if (err || threads.count < 2) {
        free(threads.members);
        return err;
    }
    (void)snprintf(key, sizeof(key), "%d %llx", rank,
                   (unsigned long long)ictusi_keymap_hash(item->text));
    *number = ictusi_keymap_put(&u->team_keys, ictusi_keymap_hash(key), &fresh);
    struct unified_team *wider =
        *number != KEYMAP_NONE && fresh ? unify_more(u->teams, *number, sizeof(*wider)) : NULL;
    if (wider) {
        u->teams = wider;
        wider[*number] = (struct unified_team){rank, threads.members, threads.count};
    } else {
        free(threads.members);
    }
    return *number == KEYMAP_NONE || (fresh && !wider) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

/*
 * Process a line that defines a number of a process; map translates it to the archive's: C
 * communicator, W window, F function, R region, P parameter, U metric, Q call site, Y file handle,
 * Z file, J team (as in the tracer's log).
 */
static int unify_take_numbered(struct unified *u, const struct raw_item *item, int rank,
                               struct trace_map *map)
{
    uint32_t number = KEYMAP_NONE;
    struct unified_comm *comm = NULL;
    int err = ICTUS_OK;
    switch (item->kind) {
    case 'C':
        comm = unify_comm_of(u, item->key, &number);
        if (comm) {
            comm->size = (int)item->b;
        }
        err = comm ? ICTUS_OK : ICTUS_ERR_NOMEM;
        break;
    case 'W':
        err = unify_take_window(u, item, map, &number);
        break;
    case 'F':
        err = unify_take_function(u, item, &number);
        break;
    case 'R':
        err = unify_take_name(&u->region_keys, &u->regions, item, &number);
        break;
    case 'P':
        err = unify_take_name(&u->event_keys, &u->events, item, &number);
        break;
    case 'U':
        err = unify_take_name(&u->metric_keys, &u->metrics, item, &number);
        break;
    case 'Q':
        err = unify_take_site(u, item, &number);
        break;
    case 'Y':
        err = unify_take_file(u, item, map, &number);
        break;
    case 'Z':
        err = unify_take_name(&u->file_keys, &u->files, item, &number);
        break;
    case 'J':
        err = unify_take_team(u, item, rank, &number);
        break;
    default:
        return ICTUS_OK;
    }
    if (!err) {
        map_set(map, unify_kind_of(item->kind), index_of(item), number);
    }
    return err;
}

/* Process a line that describes something with a number: names. Later lines win. */
static void unify_take_note(struct unified *u, const struct raw_item *item,
                            const struct trace_map *map)
{
    if (item->kind == 'N') {
        const uint32_t comm = ictusi_unify_map_get(map, MAP_COMM, item->number);
        if (comm != KEYMAP_NONE) {
            u->comms[comm].name = item->text; /* NOLINT(clang-analyzer-core*): numbered, so there */
        }
    } else if (item->kind == 'V') {
        const uint32_t window = ictusi_unify_map_get(map, MAP_WINDOW, item->number);
        if (window != KEYMAP_NONE) {
            u->windows[window].name = item->text;
        }
    }
}

/*
 * How far to move all times so that the first is not negative, because OTF2's times are unsigned.
 * In unsigned arithmetic, since the first instant of a damaged log may be INT64_MIN.
 */
static int64_t unify_find_shift(struct rawlog *logs, int count, bool local)
{
    int64_t first = INT64_MAX;
    for (int p = 0; p < count; p++) {
        if (!logs[p].text) {
            continue;
        }
        const int64_t ns = ticks_to_ns(&logs[p].scale, logs[p].init_ticks);
        const int64_t at = local ? ns : ictusi_timeline_map(&logs[p].timeline, ns);
        first = at < first ? at : first;
    }
    /* One second in reserve, because other threads may have slightly earlier timestamps. */
    return first < ICTUS_NS_PER_S ? time_add(ICTUS_NS_PER_S, (int64_t) - (uint64_t)first) : 0;
}

/*
 * Names are processed after all numbers, so that a name finds its number wherever that is in the
 * log.
 */
static int unify_take_process(struct unified *u, const struct rawlog *log, struct trace_map *map)
{
    int err = unify_make_map(log, map);
    for (size_t i = 0; i < log->item_count && !err; i++) {
        err = unify_take_numbered(u, &log->items[i], log->rank, map);
        u->counters = log->items[i].kind == 'M' && !u->counters ? log : u->counters;
    }
    for (size_t i = 0; i < log->item_count && !err; i++) {
        unify_take_note(u, &log->items[i], map);
    }
    return err;
}

/*
 * Number the teams after all communicators, once those are known, because OTF2 keeps both in one
 * list.
 */
static void unify_number_teams(const struct unified *u, const struct rawlog *logs, int count,
                               struct trace_map *maps)
{
    for (int p = 0; p < count; p++) {
        const uint32_t teams = logs[p].text ? maps[p].flat[MAP_TEAM] : 0;
        for (uint32_t i = 0; i < teams; i++) {
            const uint32_t team = ictusi_unify_map_get(&maps[p], MAP_TEAM, i);
            map_set(&maps[p], MAP_TEAM, i,
                    team == KEYMAP_NONE ? KEYMAP_NONE : u->comm_keys.count + team);
        }
    }
}

/*
 * Collect everything that the logs number, and give each thing one number; maps[p] translates
 * process p's numbers. World and self come first, so that they have the same numbers in every
 * archive. Memory is proportional to what is defined, not to the number of events.
 */
int ictusi_unify(struct rawlog *logs, int count, bool local, struct unified *u,
                 struct trace_map *maps)
{
    uint32_t number = 0;
    *u = (struct unified){.shift_ns = unify_find_shift(logs, count, local)};
    struct unified_comm *world = unify_comm_of(u, KEY_WORLD, &number);
    int err = world ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (world) {
        world->name = "MPI_COMM_WORLD";
        world->size = count;
    }
    struct unified_comm *self = err ? NULL : unify_comm_of(u, KEY_SELF, &number);
    if (self) {
        self->name = "MPI_COMM_SELF";
        self->self = true;
        self->size = 1;
    }
    for (int p = 0; p < count && !err; p++) {
        if (logs[p].text) {
            err = unify_take_process(u, &logs[p], &maps[p]);
        }
    }
    if (!err) {
        err = ictusi_unify_groups(u, logs, count);
    }
    if (!err) {
        ictusi_symbols_resolve(&u->symbols);
        err = ictusi_unify_groups_mend(u, logs, count);
        unify_number_teams(u, logs, count, maps);
    }
    return err;
}

void ictusi_unify_free(struct unified *u)
{
    for (uint32_t i = 0; i < u->group_count; i++) {
        free(u->groups[i].members);
    }
    free(u->groups);
    for (uint32_t i = 0; u->teams && i < u->team_keys.count; i++) {
        free(u->teams[i].threads);
    }
    free(u->teams);
    free(u->comms);
    free(u->windows);
    free(u->regions);
    free(u->events);
    free(u->metrics);
    free(u->files);
    free(u->handles);
    ictusi_symbols_free(&u->symbols);
    ictusi_keymap_free(&u->comm_keys);
    ictusi_keymap_free(&u->group_keys);
    ictusi_keymap_free(&u->window_keys);
    ictusi_keymap_free(&u->region_keys);
    ictusi_keymap_free(&u->event_keys);
    ictusi_keymap_free(&u->metric_keys);
    ictusi_keymap_free(&u->site_keys);
    ictusi_keymap_free(&u->handle_keys);
    ictusi_keymap_free(&u->file_keys);
    ictusi_keymap_free(&u->team_keys);
}
