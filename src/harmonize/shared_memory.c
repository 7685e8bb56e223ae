/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory with a POSIX name, which exists only until all processes have opened it. */
#include "harmonize/shared_memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NAME_MAX_LENGTH = 64, NAME_TRIES = 8 };

/* What the first process sends to the others. */
struct invitation {
    char name[NAME_MAX_LENGTH]; /* empty: there is no page */
    int64_t token; /* in the first word until all have looked; a page of this name elsewhere has
                      another token */
};

/* Differs between two processes at one instant, and between two instants in one process. */
static int64_t token_of(const void *place)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + (int64_t)(uintptr_t)place;
}

static void *memory_map_and_close(int fd, size_t size)
{
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return page == MAP_FAILED ? NULL : page;
}

/* Reserve the memory now. Otherwise a lack of space would show as SIGBUS at the first access. */
static void *shared_memory_fill(int fd, size_t size)
{
    if (posix_fallocate(fd, 0, (off_t)size)) {
        (void)close(fd);
        return NULL;
    }
    return memory_map_and_close(fd, size);
}

/* O_EXCL, because an existing name belongs to another job or was left by one that was killed. */
static void *shared_memory_invite(struct invitation *invitation, size_t size)
{
    int fd = -1;
    for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
        invitation->token = token_of(invitation) + i;
        (void)snprintf(invitation->name, sizeof(invitation->name), "/ictus-%ld-%llx",
                       (long)getpid(), (unsigned long long)invitation->token);
        fd = shm_open(invitation->name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }
    void *page = fd < 0 ? NULL : shared_memory_fill(fd, size);
    if (page) {
        *(int64_t *)page = invitation->token;
    } else {
        if (fd >= 0) {
            (void)shm_unlink(invitation->name);
        }
        invitation->name[0] = '\0';
    }
    return page;
}

/* A container with its own /dev/shm may have a different page of that name. The token reveals
 * this. */
static void *shared_accept_invitation(const struct invitation *invitation, size_t size)
{
    const int fd = invitation->name[0] ? shm_open(invitation->name, O_RDWR | O_CLOEXEC, 0) : -1;
    void *page = fd < 0 ? NULL : memory_map_and_close(fd, size);
    if (page && *(const int64_t *)page != invitation->token) {
        ictusi_shared_memory_close(page, size);
        page = NULL;
    }
    return page;
}

/* The name is removed as soon as all processes have opened the page, so that a job which is
 * killed later leaves nothing in /dev/shm. */
void *ictusi_shared_memory_open(MPI_Comm node, size_t size)
{
    struct invitation invitation = {.name = ""};
    void *page = NULL;
    int rank = 0;
    int have = 0;
    int all = 0;
    PMPI_Comm_rank(node, &rank);
    if (rank == 0) {
        page = shared_memory_invite(&invitation, size);
    }
    if (PMPI_Bcast(&invitation, (int)sizeof(invitation), MPI_BYTE, 0, node) == MPI_SUCCESS) {
        page = rank == 0 ? page : shared_accept_invitation(&invitation, size);
        have = page != NULL;
    }
    const int err = PMPI_Allreduce(&have, &all, 1, MPI_INT, MPI_MIN, node);
    if (rank == 0 && invitation.name[0]) {
        (void)shm_unlink(invitation.name);
    }
    if (err != MPI_SUCCESS || !all || !page) {
        ictusi_shared_memory_close(page, size);
        return NULL;
    }
    if (rank == 0) {
        *(int64_t *)page = 0;
    }
    return page;
}

void ictusi_shared_memory_close(void *page, size_t size)
{
    if (page) {
        (void)munmap(page, size);
    }
}
