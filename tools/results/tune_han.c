/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules file of Open MPI's hierarchical collectives (coll_han_dynamic_rules_filename), by which
 * HAN hands sizes back to "tuned", whose own rules then choose the algorithm. Nested counts as
 * there, but of names: collective, level, communicator size, "bytes component". Each line holds up
 * to the next one's; the first must be of 1 process and 0 bytes, and there must be a collective, or
 * HAN refuses the whole file.
 */
#include "results/tune.h"

#include <string.h>

/* HAN's number of a communicator as a whole: 0 and 1 are those within and between nodes. */
enum { HAN_WHOLE = 2 };

/*
 * allreduce is not among them: HAN 4.1 calls its own function with the module of "tuned", and
 * crashes (mca_coll_han_allreduce_intra_dynamic() of 4.1.0 to 4.1.8). Sizes are those of a block.
 */
static const char *const han_operations[] = {"allgather", "barrier", "bcast",
                                             "gather",    "reduce",  "scatter"};

enum { HAN_OPERATIONS = sizeof(han_operations) / sizeof(han_operations[0]) };

static bool han_hands_back(const struct winner *w)
{
    for (int i = 0; i < HAN_OPERATIONS && strcmp(w->component, HAN_COMPONENT) == 0; i++) {
        if (strcmp(w->operation, han_operations[i]) == 0) {
            return true;
        }
    }
    return false;
}

int tune_hand_back(struct winners *winners)
{
    int count = 0;
    for (size_t i = 0; i < winners->count; i++) {
        struct winner *w = &winners->list[i];
        if (w->verdict == TUNE_NO_COMPONENT && han_hands_back(w)) {
            w->verdict = TUNE_RULE;
            count++;
        }
    }
    return count;
}

static bool tune_han_is_handed_back(const struct winner *w)
{
    return w->verdict == TUNE_RULE && han_hands_back(w);
}

static bool tune_han_any_handed_back(const struct winners *winners, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (tune_han_is_handed_back(&winners->list[i])) {
            return true;
        }
    }
    return false;
}

static void han_put(FILE *file, json_int_t bytes, bool back)
{
    if (file) {
        (void)fprintf(file, "%lld %s\n", (long long)bytes, back ? RULED_COMPONENT : HAN_COMPONENT);
    }
}

/* The lines of one process count; with a NULL file they are only counted. */
static int han_put_sizes(const struct winner *list, size_t count, FILE *file)
{
    int lines = 1;
    bool back = list[0].bytes == 0 && tune_han_is_handed_back(&list[0]);
    han_put(file, 0, back);
    for (size_t i = 0; i < count; i++) {
        if (tune_han_is_handed_back(&list[i]) != back) {
            back = !back;
            lines++;
            han_put(file, list[i].bytes, back);
        }
    }
    if (back && list[count - 1].bytes > 0) {
        lines++;
        han_put(file, list[count - 1].bytes * TUNE_REACH, false);
    }
    return lines;
}

static void han_put_none(json_int_t processes, FILE *file)
{
    (void)fprintf(file, "%lld # processes and more\n1 # sizes\n", (long long)processes);
    han_put(file, 0, false);
}

/* Process counts between those that hand back: each ends below the next. With a NULL file they are
 * only counted. */
static int han_put_counts(const struct winners *winners, size_t first, FILE *file)
{
    const size_t end = tune_end(winners, first, false);
    int counts = 0;
    json_int_t open = 1; /* first process count of which nothing is said yet */
    for (size_t i = first; i < end; i = tune_end(winners, i, true)) {
        const size_t next = tune_end(winners, i, true);
        const struct winner *list = &winners->list[i];
        if (!tune_han_any_handed_back(winners, i, next)) {
            continue;
        }
        counts += open < list->processes ? 2 : 1;
        if (file && open < list->processes) {
            han_put_none(open, file);
        }
        if (file) {
            (void)fprintf(file, "%lld # processes\n%d # sizes\n", (long long)list->processes,
                          han_put_sizes(list, next - i, NULL));
            (void)han_put_sizes(list, next - i, file);
        }
        open = list->processes + 1;
    }
    if (file) {
        han_put_none(open, file);
    }
    return counts + 1;
}

static void han_put_operation(const struct winners *winners, size_t first, FILE *file)
{
    (void)fprintf(file,
                  "%s # collective\n1 # levels\n%d # the whole communicator\n%d # process counts\n",
                  winners->list[first].operation, HAN_WHOLE, han_put_counts(winners, first, NULL));
    (void)han_put_counts(winners, first, file);
}

int tune_write_han(const struct winners *winners, FILE *file)
{
    int operations = 0;
    for (size_t i = 0; i < winners->count; i = tune_end(winners, i, false)) {
        operations += tune_han_any_handed_back(winners, i, tune_end(winners, i, false));
    }
    (void)fprintf(file,
                  "# Open MPI: coll_han_use_dynamic_file_rules=1, "
                  "coll_han_dynamic_rules_filename=this file\n%d # collectives\n",
                  operations > 0 ? operations : 1);
    for (size_t i = 0; i < winners->count; i = tune_end(winners, i, false)) {
        if (tune_han_any_handed_back(winners, i, tune_end(winners, i, false))) {
            han_put_operation(winners, i, file);
        }
    }
    if (operations == 0) {
        (void)fprintf(file, "bcast # nothing is handed back\n1\n%d\n1\n", HAN_WHOLE);
        han_put_none(1, file);
    }
    return ferror(file) ? ICTUS_ERR_IO : ICTUS_OK;
}
