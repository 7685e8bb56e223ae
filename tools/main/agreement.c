/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing the command lines of all processes. */
#include "main/agreement.h"

#include <ictus/text.h>
#include <ictus/traits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the name of a trait, "--name" or "argument N", and for a value that is a number. */
enum { TRAIT_ROOM = 64 };

struct trait_text {
    char name[TRAIT_ROOM];
    char value[TRAIT_ROOM];
};

/* All ranks get the error and the reason of the lowest rank whose options could not be read. */
static int agreement_share_error(int err, struct ictus_why *why)
{
    const int size = command_size();
    const int rank = command_rank();
    int first = err ? rank : size;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size) {
        return ICTUS_OK;
    }
    if (first == rank && rank > 0) {
        const struct ictus_why own = *why;
        (void)ictus_because(why, err, "rank %d: %.200s", rank, own.text);
    }
    MPI_Bcast(&err, 1, MPI_INT, first, MPI_COMM_WORLD);
    MPI_Bcast(why->text, (int)sizeof(why->text), MPI_CHAR, first, MPI_COMM_WORLD);
    return err;
}

static size_t agreement_count_options(const struct option_row *rows)
{
    size_t count = 0;
    while (rows[count].name) {
        count++;
    }
    return count;
}

/* The command, its options, and the words after them; texts gives them room. */
static void agreement_fill(const struct command *command, const void *options, int count,
                           char *const *words, struct trait_text *texts, struct ictus_trait *traits)
{
    *traits++ = (struct ictus_trait){"command", command->name};
    for (const struct option_row *row = command->options; row->name; row++, texts++) {
        (void)snprintf(texts->name, sizeof(texts->name), "--%s", row->name);
        *traits++ = (struct ictus_trait){
            texts->name, options_value(row, options, texts->value, sizeof(texts->value))};
    }
    for (int i = 0; i < count; i++, texts++) {
        (void)snprintf(texts->name, sizeof(texts->name), "argument %d", i + 1);
        *traits++ = (struct ictus_trait){texts->name, words[i]};
    }
}

int agreement_reach(const struct command *command, const void *options, int count,
                    char *const *words, int err, struct ictus_why *why)
{
    if (command_size() == 1) {
        return err;
    }
    err = agreement_share_error(err, why);
    if (err) {
        return err;
    }
    const size_t parts = agreement_count_options(command->options) + (size_t)count;
    struct trait_text *texts = calloc(parts + 1, sizeof(*texts));
    struct ictus_trait *traits = calloc(parts + 1, sizeof(*traits));
    err = agreement_share_error(texts && traits ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    if (!err && texts && traits) {
        agreement_fill(command, options, count, words, texts, traits);
        err = ictus_traits_agree(MPI_COMM_WORLD, traits, parts + 1, why);
    }
    free(traits);
    free(texts);
    return err;
}
