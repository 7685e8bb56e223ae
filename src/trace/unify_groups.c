/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the members of all communicators from all processes' logs together. */
#include "trace/unify_groups.h"

#include <stdio.h>
#include <stdlib.h>

/* More processes than any job has, and few enough that a damaged log cannot exhaust memory. */
enum { MEMBERS_MAX = 1 << 26 };

/*
 * Parse a list such as "0-15,32" of at most `most` numbers, so that a damaged log cannot cause a
 * larger allocation. All counting is by to - from, because nothing is larger than the largest
 * number, which `to` may be.
 */
int ictusi_unify_members(const char *text, uint32_t most, struct unified_group *group)
{
    uint32_t room = 0;
    while (*text >= '0' && *text <= '9') {
        char *end = NULL;
        const uint64_t from = strtoull(text, &end, 10);
        const uint64_t to = *end == '-' ? strtoull(end + 1, &end, 10) : from;
        if (to < from || to - from >= most - group->count) {
            return ICTUS_ERR_FORMAT;
        }
        const uint32_t needed = group->count + (uint32_t)(to - from) + 1;
        if (needed > room) {
            room = needed * 2;
            uint64_t *members = realloc(group->members, room * sizeof(*members));
            if (!members) {
                return ICTUS_ERR_NOMEM;
            }
            group->members = members;
        }
        for (uint64_t i = 0; i <= to - from; i++) {
            group->members[group->count++] = from + i;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return ICTUS_OK;
}

/*
 * A group is identified by the 64-bit hash of its text; a collision within a trace is practically
 * impossible.
 */
static uint32_t unify_groups_add(struct unified *u, const char *members)
{
    bool fresh = false;
    const uint32_t number = ictusi_keymap_put(&u->group_keys, ictusi_keymap_hash(members), &fresh);
    if (number == KEYMAP_NONE || !fresh) {
        return number;
    }
    struct unified_group *groups = unify_more(u->groups, number, sizeof(*groups));
    if (!groups) {
        return KEYMAP_NONE;
    }
    u->groups = groups;
    u->group_count = number + 1;
    groups[number] = (struct unified_group){NULL, 0};
    return ictusi_unify_members(members, MEMBERS_MAX, &groups[number]) ? KEYMAP_NONE : number;
}

/*
 * Record the members of communicators that some process's records refer to. 'a' is the group, or
 * the first side of an inter-communicator, and 'b' the other side. Communicators that no record
 * refers to have no number here and are left out of the archive.
 */
static int unify_groups_take(struct unified *u, const struct raw_item *item)
{
    const uint32_t number = ictusi_keymap_find(&u->comm_keys, item->key);
    if (item->kind != 'G' || number == KEYMAP_NONE) {
        return ICTUS_OK;
    }
    const uint32_t group = unify_groups_add(u, item->text);
    if (group == KEYMAP_NONE) {
        return ICTUS_ERR_NOMEM;
    }
    if (item->a == 'b') {
        u->comms[number].other = group;
    } else {
        u->comms[number].group =
            group; /* NOLINT(clang-analyzer-core.NullDereference): numbered, so there */
    }
    return ICTUS_OK;
}

static void unify_groups_duplicate(struct unified *u, const struct raw_item *item)
{
    const uint32_t number = ictusi_keymap_find(&u->comm_keys, item->key);
    const uint32_t model = ictusi_keymap_find(&u->comm_keys, (uint64_t)item->a);
    if (item->kind == 'D' && number != KEYMAP_NONE && model != KEYMAP_NONE) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): both are numbered, so there */
        u->comms[number].group = u->comms[model].group;
        u->comms[number].other = u->comms[model].other;
    }
}

/*
 * Reconstruct the members if the process that knew them left no log, from those processes that
 * state their own rank. Members that left no log either are set to rank 0. This takes quadratic
 * time, but is needed only for jobs that were killed. "?N" cannot be a list of members, so its hash
 * is not that of a real group.
 */
int ictusi_unify_groups_mend(struct unified *u, const struct rawlog *logs, int count)
{
    for (uint32_t c = 0; c < u->comm_keys.count; c++) {
        struct unified_comm *comm = &u->comms[c];
        /* NOLINTBEGIN(clang-analyzer-core.NullDereference): as many as there are keys */
        if (comm->group != KEYMAP_NONE || comm->self || comm->size <= 0 ||
            comm->size > MEMBERS_MAX) {
            continue;
        }
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
        char text[64];
        (void)snprintf(text, sizeof(text), "?%u", c); /* a group of its own */
        comm->group = unify_groups_add(u, text);
        if (comm->group == KEYMAP_NONE) {
            return ICTUS_ERR_NOMEM;
        }
        struct unified_group *group = &u->groups[comm->group];
        group->members = calloc((size_t)comm->size, sizeof(*group->members));
        if (!group->members) {
            return ICTUS_ERR_NOMEM;
        }
        group->count = (uint32_t)comm->size;
        for (int p = 0; p < count; p++) {
            for (size_t i = 0; logs[p].text && i < logs[p].item_count; i++) {
                const struct raw_item *item = &logs[p].items[i];
                if (item->kind == 'C' && item->key == comm->key && item->a >= 0 &&
                    item->a < comm->size) {
                    group->members[item->a] = (uint64_t)p;
                }
            }
        }
    }
    return ICTUS_OK;
}

/*
 * Duplicates are processed last, because the members of their model may be in another process's
 * log. The model of a duplicate may itself be a duplicate; it is complete only if it came before,
 * which the order of lines ensures within a process.
 */
int ictusi_unify_groups(struct unified *u, const struct rawlog *logs, int count)
{
    int err = ICTUS_OK;
    for (int p = 0; p < count && !err; p++) {
        for (size_t i = 0; logs[p].text && i < logs[p].item_count && !err; i++) {
            err = unify_groups_take(u, &logs[p].items[i]);
        }
    }
    for (int p = 0; p < count && !err; p++) {
        for (size_t i = 0; logs[p].text && i < logs[p].item_count; i++) {
            unify_groups_duplicate(u, &logs[p].items[i]);
        }
    }
    return err;
}
