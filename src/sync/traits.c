/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing what the processes of a communicator were given. */
#include "core/spec.h"
#include "sync/sync.h"

#include <ictus/text.h>
#include <ictus/traits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Control characters, which nobody types, separate traits and their parts, so that all of them are
 * one string. */
#define TRAIT_END "\x1e"
#define TRAIT_VALUE "\x1f"

/* Join all traits to one text, which the caller frees; NULL: no memory. */
static char *traits_join(const struct ictus_trait *traits, size_t count)
{
    size_t room = 1;
    for (size_t i = 0; i < count; i++) {
        room += strlen(traits[i].name) + (traits[i].value ? strlen(traits[i].value) : 0) + 2;
    }
    char *text = calloc(room, 1);
    char *end = text;
    for (size_t i = 0; i < count && text; i++) {
        const char *value = traits[i].value;
        end += snprintf(end, room - (size_t)(end - text), "%s%s%s" TRAIT_END, traits[i].name,
                        value ? TRAIT_VALUE : "", value ? value : "");
    }
    return text;
}

/* Take the next trait from a joined text, which is modified. An empty name means that there are no
 * more. */
static struct ictus_trait trait_take(char **text)
{
    char *name = strsep(text, TRAIT_END);
    if (!*text) {
        return (struct ictus_trait){"", NULL};
    }
    char *value = strchr(name, TRAIT_VALUE[0]);
    if (value) {
        *value++ = '\0';
    }
    return (struct ictus_trait){name, value};
}

static bool trait_equals(const struct ictus_trait *a, const struct ictus_trait *b)
{
    const bool alike =
        a->value && b->value ? strcmp(a->value, b->value) == 0 : a->value == b->value;
    return alike && strcmp(a->name, b->name) == 0;
}

/* Write how a value is shown in a sentence. */
static void trait_show(const struct ictus_trait *trait, char *text, size_t size)
{
    if (trait->value) {
        (void)snprintf(text, size, "'%.100s'", trait->value);
    } else {
        (void)snprintf(text, size, "none");
    }
}

/* Name the first trait that differs between rank 0 and this rank. Returns ICTUS_OK if none does. */
static int traits_compare(const struct ictus_trait *traits, size_t count, char *first, int rank,
                          struct ictus_why *why)
{
    static const struct ictus_trait nothing = {"", NULL};
    struct ictus_trait theirs = trait_take(&first);
    for (size_t i = 0; i < count || theirs.name[0]; i++) {
        struct ictus_trait mine = i < count ? traits[i] : nothing;
        if (!trait_equals(&mine, &theirs)) {
            char here[112];
            char there[112];
            if (strcmp(mine.name, theirs.name) != 0 && mine.name[0]) {
                theirs = nothing;
            }
            trait_show(&mine, here, sizeof(here));
            trait_show(&theirs, there, sizeof(there));
            return ictus_because(
                why, ICTUS_ERR_SPEC,
                "%s: rank %d was given %s, but rank 0 was given %s; all ranks must "
                "be given the same",
                mine.name[0] ? mine.name : theirs.name, rank, here, there);
        }
        theirs = trait_take(&first);
    }
    return ICTUS_OK;
}

/* Return rank 0's text on every rank, to be freed; NULL: no memory somewhere, or MPI failed. */
static char *traits_share(MPI_Comm comm, int rank, const char *text, int *err)
{
    int length = text ? (int)strlen(text) : 0;
    if (PMPI_Bcast(&length, 1, MPI_INT, 0, comm) != MPI_SUCCESS) {
        *err = ICTUS_ERR_MPI;
        return NULL;
    }
    char *first = calloc((size_t)length + 1, 1);
    if (first && rank == 0) {
        memcpy(first, text, (size_t)length);
    }
    *err = ictusi_sync_agree(comm, first ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
    if (!*err && PMPI_Bcast(first, length, MPI_CHAR, 0, comm) != MPI_SUCCESS) {
        *err = ICTUS_ERR_MPI;
    }
    return first;
}

/* Say what differs, now that something does. */
static int traits_refuse(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                         const char *text, struct ictus_why *why)
{
    int rank = 0;
    int err = ICTUS_OK;
    PMPI_Comm_rank(comm, &rank);
    char *first = traits_share(comm, rank, text, &err);
    if (!err && first) {
        err = traits_compare(traits, count, first, rank, why);
        err = ictusi_sync_agree(comm, err, why);
    }
    free(first);
    return err;
}

int ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                       struct ictus_why *why)
{
    struct ictus_why unheard = {""};
    char *text = traits_join(traits, count);
    /*
     * One reduction shows whether all hashes are equal, and whether all ranks had memory: it yields
     * the smallest hash, the complement of the largest one, and 0 if a rank has no text. Two
     * different texts have equal hashes with a probability of 2^-64.
     */
    const uint64_t mine = text ? ictusi_spec_hash(text) : 0;
    uint64_t least[] = {mine, ~mine, text != NULL};
    int err = ICTUS_OK;
    if (PMPI_Allreduce(MPI_IN_PLACE, least, 3, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    } else if (!least[2]) {
        err = ICTUS_ERR_NOMEM;
    } else if (least[0] != ~least[1]) {
        err = traits_refuse(comm, traits, count, text, why ? why : &unheard);
    }
    free(text);
    return err;
}
