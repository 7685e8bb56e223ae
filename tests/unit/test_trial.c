/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trial of a forced algorithm: with which arguments a collective is called, how large a message
 * may be, and that all processes leave together where one has no memory.
 */
#include "select/trial.h"

#include "../check.h"

#include <ictus/error.h>
#include <ictus/select.h>
#include <limits.h>

static struct {
    int size;
    bool others_have; /* memory */
    int asked;        /* for memory, so often */
    /* the collective that was called */
    const char *called;
    int count, root, gives;
    int displs[4], counts[4];
    MPI_Datatype type;
} world;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);
int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_MPI_Alltoallw(const void *out, const int out_counts[], const int out_displs[],
                         const MPI_Datatype out_types[], void *in, const int counts[],
                         const int displs[], const MPI_Datatype types[], MPI_Comm comm);
int __wrap_MPI_Gatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[],
                       const int displs[], MPI_Datatype to_type, int root, MPI_Comm comm);

/* Memory of more than 64 MiB is refused. */
void *__wrap_calloc(size_t n, size_t size)
{
    return n * size > (size_t)1 << 26 ? NULL : __real_calloc(n, size);
}

int __wrap_MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = world.size;
    return MPI_SUCCESS;
}

int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    (void)comm;
    REQUIRE(count == 1 && type == MPI_INT && op == MPI_MIN);
    *(int *)to = *(const int *)from && world.others_have;
    world.asked++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)comm;
    memset(buffer, 1, 1);
    world.called = "bcast";
    world.count = count;
    world.type = type;
    world.root = root;
    return world.gives;
}

int __wrap_MPI_Alltoallw(const void *out, const int out_counts[], const int out_displs[],
                         const MPI_Datatype out_types[], void *in, const int counts[],
                         const int displs[], const MPI_Datatype types[], MPI_Comm comm)
{
    (void)comm;
    CHECK(out != in && out_counts == counts && out_displs == displs && out_types == types);
    world.called = "alltoallw";
    for (int i = 0; i < 4; i++) {
        world.counts[i] = counts[i];
        world.displs[i] = displs[i];
        CHECK(types[i] == types[0]);
    }
    world.type = types[0];
    return world.gives;
}

int __wrap_MPI_Gatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[],
                       const int displs[], MPI_Datatype to_type, int root, MPI_Comm comm)
{
    (void)comm;
    CHECK(from != to && type == to_type);
    world.called = "gatherv";
    world.count = count;
    world.root = root;
    for (int i = 0; i < 4; i++) {
        world.counts[i] = counts[i];
        world.displs[i] = displs[i];
    }
    return world.gives;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void world_begin(int size)
{
    memset(&world, 0, sizeof(world));
    world.size = size;
    world.others_have = true;
    world.gives = MPI_SUCCESS;
}

static struct trial *prepared(const char *operation, size_t bytes, size_t element)
{
    struct trial *trial = NULL;
    const struct message message = {bytes, element};
    REQUIRE(!ictusi_trial_prepare(MPI_COMM_WORLD, operation, message, &trial) && trial);
    CHECK(world.asked == 1);
    return trial;
}

static void arguments_follow_from_the_message(void)
{
    world_begin(4);
    struct trial *trial = prepared("gatherv", 24, 8);
    CHECK(!ictusi_trial_run(trial, MPI_COMM_WORLD, "gatherv"));
    CHECK_STR(world.called, "gatherv");
    CHECK(world.count == 3 && world.root == 0);
    CHECK(!ictusi_trial_run(trial, MPI_COMM_WORLD, "alltoallw") && world.type == MPI_INT64_T);
    for (int i = 0; i < 4; i++) {
        CHECK(world.counts[i] == 3 && world.displs[i] == i * 24); /* in bytes */
    }
    CHECK(!ictusi_trial_run(trial, MPI_COMM_WORLD, "gatherv"));
    for (int i = 0; i < 4; i++) {
        CHECK(world.counts[i] == 3 && world.displs[i] == i * 3);
    }
    world.gives = MPI_ERR_OTHER;
    CHECK(ictusi_trial_run(trial, MPI_COMM_WORLD, "bcast") == ICTUS_ERR_UNSUPPORTED);
    CHECK(!ictusi_trial_run(trial, MPI_COMM_WORLD, "something else"));
    ictusi_trial_free(trial);
    ictusi_trial_free(NULL);
    CHECK(ictusi_trial_knows("alltoallw") && !ictusi_trial_knows("reduce_local"));
    CHECK(!ictusi_trial_knows("something else") && !ictusi_trial_knows("neighbor_alltoall"));
}

/* The element's, or the next smaller one. */
static void types_fit_the_element(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 15, 16, 40};
    const MPI_Datatype types[] = {MPI_SIGNED_CHAR,
                                  MPI_SHORT,
                                  MPI_SHORT,
                                  MPI_INT,
                                  MPI_INT,
                                  MPI_INT64_T,
                                  MPI_INT64_T,
                                  MPI_C_DOUBLE_COMPLEX,
                                  MPI_C_DOUBLE_COMPLEX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        world_begin(2);
        struct trial *trial = prepared("bcast", 5 * sizes[i] + sizes[i] - 1, sizes[i]);
        CHECK(!ictusi_trial_run(trial, MPI_COMM_WORLD, "bcast"));
        CHECK(world.type == types[i] && world.count == 5);
        ictusi_trial_free(trial);
    }
}

/* All elements of all processes are counted by an int, and so are bytes where those are placed. */
static void messages_have_bounds(void)
{
    static const struct {
        const char *operation;
        size_t bytes, element;
        int err;
    } cases[] = {{"gather", INT_MAX / 4, 1, ICTUS_ERR_NOMEM},
                 {"gather", INT_MAX / 4 + 1, 1, ICTUS_ERR_ARG},
                 {"gather", 8, 0, ICTUS_ERR_ARG},
                 {"gather", (size_t)INT_MAX / 4 * 8, 8, ICTUS_ERR_NOMEM},
                 {"alltoallw", INT_MAX / 4, 8, ICTUS_ERR_NOMEM},
                 {"alltoallw", INT_MAX / 4 + 1, 8, ICTUS_ERR_UNSUPPORTED},
                 {"gatherv", INT_MAX / 4 + 1, 8, ICTUS_ERR_UNSUPPORTED},
                 {"allreduce", INT_MAX / 4 + 1, 8, ICTUS_ERR_NOMEM},
                 {"something else", INT_MAX / 4 + 1, 8, ICTUS_ERR_NOMEM}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct message message = {cases[i].bytes, cases[i].element};
        struct trial *trial = NULL;
        world_begin(4);
        world.others_have = false; /* so that none of it is kept */
        const int err = ictusi_trial_prepare(MPI_COMM_WORLD, cases[i].operation, message, &trial);
        CHECK(err == cases[i].err && !trial);
        CHECK(world.asked == (err == ICTUS_ERR_NOMEM));
    }
}

static void all_have_memory_or_none(void)
{
    world_begin(2);
    unsigned char *memory = ictusi_trial_allocate(MPI_COMM_WORLD, 100);
    REQUIRE(memory);
    CHECK(memory[0] == 0 && memory[99] == 0);
    free(memory);
    world.others_have = false;
    CHECK(!ictusi_trial_allocate(MPI_COMM_WORLD, 100) && world.asked == 2);
}

/* A selector's lists are not asked for without it, an operation, or a place for them. */
static void nothing_is_no_argument(void)
{
    int place = 0;
    const struct ictus_selector *some = (const struct ictus_selector *)(const void *)&place;
    const char *const *names = NULL;
    CHECK(ictus_selector_algorithms(NULL, "bcast", &names, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_selector_algorithms(NULL, NULL, &names, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_selector_algorithms(some, NULL, &names, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_selector_algorithms(some, "bcast", NULL, NULL) == ICTUS_ERR_ARG);
    CHECK(!names);
    CHECK(ictus_selector_create(NULL, NULL) == ICTUS_ERR_ARG);
}

int main(void)
{
    arguments_follow_from_the_message();
    types_fit_the_element();
    messages_have_bounds();
    all_have_memory_or_none();
    nothing_is_no_argument();
    return check_result();
}
