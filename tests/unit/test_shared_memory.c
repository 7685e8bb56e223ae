/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that processes share, between the ranks of a simulated job: all have the same page or none
 * has one, whatever one of them lacks, and no name, file or mapping is left.
 */
#include "harmonize/shared_memory.h"

#include "../check.h"
#include "../sim/job.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 4, BYTES = 10000, NAMES = 16, NOBODY = -1 };

static char other_name[40]; /* of a page that is not the job's */

/* What goes wrong on a rank, and what happened. */
static struct {
    int ranks;
    int no_file, no_map, other_page; /* on this rank; NOBODY: on none */
    int names_taken;                 /* by others */
    bool no_space, no_broadcast, no_reduction;
    /* what happened */
    char names[NAMES][80];
    int name_count, maps, files;
    bool had_page[RANKS];
} world;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __real_shm_open(const char *name, int flags, mode_t mode);
int __wrap_shm_open(const char *name, int flags, mode_t mode);
void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_posix_fallocate(int fd, off_t from, off_t size);
int __wrap_posix_fallocate(int fd, off_t from, off_t size);
int __real_PMPI_Bcast(void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_PMPI_Bcast(void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __real_PMPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm);
int __wrap_PMPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm);

int __wrap_shm_open(const char *name, int flags, mode_t mode)
{
    const bool makes = flags & O_CREAT;
    errno = EEXIST;
    if (makes) {
        REQUIRE(world.name_count < NAMES && (flags & O_EXCL) && mode == 0600);
        (void)snprintf(world.names[world.name_count++], sizeof(world.names[0]), "%s", name);
    }
    if (makes ? world.names_taken-- > 0 : job_rank() == world.no_file) {
        return -1;
    }
    if (makes && world.no_file == 0) {
        errno = EACCES;
        return -1;
    }
    world.files++;
    return __real_shm_open(!makes && job_rank() == world.other_page ? other_name : name, flags,
                           mode);
}

void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t from)
{
    if (job_rank() < 0) {
        return __real_mmap(at, size, access, flags, fd, from);
    }
    CHECK(size == BYTES && (flags & MAP_SHARED));
    if (job_rank() == world.no_map) {
        return MAP_FAILED;
    }
    world.maps++;
    return __real_mmap(at, size, access, flags, fd, from);
}

int __wrap_munmap(void *at, size_t size)
{
    world.maps -= job_rank() >= 0;
    CHECK(job_rank() < 0 || size == BYTES);
    return __real_munmap(at, size);
}

int __wrap_close(int fd)
{
    world.files--;
    return __real_close(fd);
}

int __wrap_posix_fallocate(int fd, off_t from, off_t size)
{
    CHECK(from == 0 && size == BYTES);
    return world.no_space ? ENOSPC : __real_posix_fallocate(fd, from, size);
}

int __wrap_PMPI_Bcast(void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const int err = __real_PMPI_Bcast(bytes, count, type, root, comm);
    return world.no_broadcast && job_rank() == 1 ? MPI_ERR_OTHER : err;
}

/* It fails although it has done its work. */
int __wrap_PMPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm)
{
    const int err = __real_PMPI_Allreduce(mine, all, count, type, op, comm);
    return world.no_reduction ? MPI_ERR_OTHER : err;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static bool is_zero(const unsigned char *bytes)
{
    int i = 0;
    while (i < BYTES && bytes[i] == 0) {
        i++;
    }
    return i == BYTES;
}

static void world_rank(int rank, void *context)
{
    const MPI_Comm comm = job_world();
    (void)context;
    unsigned char *page = ictusi_shared_memory_open(comm, BYTES);
    world.had_page[rank] = page != NULL;
    for (int i = 0; i < world.name_count; i++) {
        errno = 0; /* nobody finds it any more */
        CHECK(rank > 0 || (__real_shm_open(world.names[i], O_RDWR, 0) < 0 && errno == ENOENT));
    }
    (void)__real_PMPI_Allreduce(MPI_IN_PLACE, &(int){0}, 1, MPI_INT, MPI_MIN, comm);
    if (page) {
        CHECK(is_zero(page));
        (void)__real_PMPI_Allreduce(MPI_IN_PLACE, &(int){0}, 1, MPI_INT, MPI_MIN, comm);
        page[BYTES - 1 - rank] = (unsigned char)(rank + 1);
        (void)__real_PMPI_Allreduce(MPI_IN_PLACE, &(int){0}, 1, MPI_INT, MPI_MIN, comm);
        for (int r = 0; r < world.ranks; r++) {
            CHECK(page[BYTES - 1 - r] == r + 1);
        }
    }
    ictusi_shared_memory_close(page, BYTES);
}

static void world_begin(int ranks)
{
    memset(&world, 0, sizeof(world));
    world.ranks = ranks;
    world.no_file = world.no_map = world.other_page = NOBODY;
}

/* Play, and see that all have a page or none, and that nothing is left. */
static void world_play(bool wanted)
{
    char said[512];
    const struct job_options options = {.seed = 1,
                                        .ranks = world.ranks,
                                        .nodes = 1,
                                        .cores = world.ranks,
                                        .latency_ns = 1000.0,
                                        .inside_ns = 300.0,
                                        .slow = -1,
                                        .slow_factor = 1.0};
    REQUIRE(job_run(&options, world_rank, NULL, said, sizeof(said)) == JOB_DONE);
    for (int r = 0; r < world.ranks; r++) {
        CHECK(world.had_page[r] == wanted);
    }
    CHECK(world.maps == 0 && world.files == 0);
}

static void all_share_a_page(void)
{
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        world_begin(ranks);
        world_play(true);
        CHECK(world.name_count == 1 && strncmp(world.names[0], "/ictus-", 7) == 0);
    }
}

/* Without standard input the first file that is opened has its number. */
static void no_number_is_special(void)
{
    const int input = dup(STDIN_FILENO);
    (void)__real_close(STDIN_FILENO);
    world_begin(2);
    world_play(true);
    CHECK(world.name_count == 1 && fcntl(STDIN_FILENO, F_GETFD) < 0);
    CHECK(input < 0 || dup2(input, STDIN_FILENO) == STDIN_FILENO);
    (void)__real_close(input);
}

static void all_have_one_or_none(void)
{
    for (int r = 0; r < RANKS; r++) {
        world_begin(RANKS);
        world.no_file = r;
        world_play(false);
        world_begin(RANKS);
        world.no_map = r;
        world_play(false);
    }
    world_begin(RANKS);
    world.no_space = true;
    world_play(false);
    world_begin(RANKS);
    world.no_broadcast = true;
    world_play(false);
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        world_begin(ranks);
        world.no_reduction = true;
        world_play(false);
    }
}

/* A name that another job has is not used, and another one is tried, some times. */
static void names_of_others_are_left(void)
{
    for (int taken = 7; taken <= 8; taken++) {
        world_begin(2);
        world.names_taken = taken;
        world_play(taken < 8);
        CHECK(world.name_count == 8);
        for (int i = 1; i < world.name_count; i++) {
            CHECK(strcmp(world.names[i], world.names[i - 1]) != 0);
        }
    }
}

/* In another container there may be another page of that name. */
static void another_page_is_refused(void)
{
    const int fd = __real_shm_open(other_name, O_CREAT | O_RDWR, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, BYTES) == 0);
    (void)__real_close(fd);
    world_begin(3);
    world.other_page = 2;
    world_play(false);
    CHECK(shm_unlink(other_name) == 0);
}

int main(void)
{
    (void)snprintf(other_name, sizeof(other_name), "/ictus-test-%ld", (long)getpid());
    all_share_a_page();
    no_number_is_special();
    all_have_one_or_none();
    names_of_others_are_left();
    another_page_is_refused();
    ictusi_shared_memory_close(NULL, BYTES);
    return check_result();
}
