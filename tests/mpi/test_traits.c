/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between processes is found, whichever rank it is on, and named alike on all ranks.
 */
#include <ictus/traits.h>
#include <string.h>

#include "check_mpi.h"

static const struct ictus_trait same[] = {{"--sizes", "8,4K"}, {"--force", NULL}, {"--label", ""}};
enum { SAME = sizeof(same) / sizeof(*same) };

static void check_agree(const struct ictus_trait *traits, size_t count)
{
    struct ictus_why why = {"untouched"};
    CHECK(ictus_traits_agree(MPI_COMM_WORLD, traits, count, &why) == ICTUS_OK);
    CHECK(strcmp(why.text, "untouched") == 0);
    CHECK(ictus_traits_agree(MPI_COMM_WORLD, traits, count, NULL) == ICTUS_OK);
}

/* wanted: how the reason begins, on every rank; a process that is alone has nothing to differ from
 */
static void check_refused(const struct ictus_trait *traits, size_t count, const char *wanted)
{
    struct ictus_why why = {""};
    const int err = ictus_traits_agree(MPI_COMM_WORLD, traits, count, &why);
    CHECK(err == (check_size > 1 ? ICTUS_ERR_SPEC : ICTUS_OK));
    CHECK(check_size == 1 || strncmp(why.text, wanted, strlen(wanted)) == 0);
    CHECK(ictus_traits_agree(MPI_COMM_WORLD, traits, count, NULL) == err);
}

/* Only the last rank differs, in one trait. */
static void one_differs(size_t which, const char *value, const char *wanted)
{
    struct ictus_trait traits[SAME];
    memcpy(traits, same, sizeof(traits));
    if (check_rank == check_size - 1 && check_size > 1) {
        traits[which].value = value;
    }
    char text[160];
    (void)snprintf(text, sizeof(text), wanted, check_size - 1);
    check_refused(traits, SAME, text);
}

/* All others have less than rank 0, or more. */
static void counts_differ(void)
{
    check_refused(same, check_rank > 0 ? 0 : 1,
                  "--sizes: rank 1 was given none, but rank 0 was given '8,4K'; all ranks must");
    check_refused(same, check_rank > 0 ? 3 : 2,
                  "--label: rank 1 was given '', but rank 0 was given none; all ranks must");
}

/* A difference far beyond what a message can show is one nevertheless. */
static void long_texts(void)
{
    static char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    const struct ictus_trait traits[] = {{"--label", text}};
    check_agree(traits, 1);
    text[sizeof(text) - 2] = check_rank > 0 ? 'y' : 'x';
    check_refused(traits, 1, "--label: rank 1 was given 'xxx");
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    check_agree(same, SAME);
    check_agree(same, 0);
    one_differs(0, "8", "--sizes: rank %d was given '8', but rank 0 was given '8,4K'; all ranks");
    one_differs(1, "", "--force: rank %d was given '', but rank 0 was given none; all ranks");
    one_differs(2, NULL, "--label: rank %d was given none, but rank 0 was given ''; all ranks");
    counts_differ();
    long_texts();
    return check_mpi_finish();
}
