/* SPDX-License-Identifier: BSD-3-Clause */
/* Inspects a program before it is traced. */
#include "traces/trace_target.h"

#include <ictus/text.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where execvp() would find the program. */
static bool trace_target_find_program(const char *name, char *path, size_t size)
{
    if (strchr(name, '/')) {
        (void)snprintf(path, size, "%s", name);
        return access(path, X_OK) == 0;
    }
    const char *place = getenv("PATH");
    while (place && *place) {
        const size_t length = strcspn(place, ":");
        (void)snprintf(path, size, "%.*s/%s", (int)length, place, name);
        if (access(path, X_OK) == 0) {
            return true;
        }
        place += length + (place[length] == ':');
    }
    return false;
}

enum target_kind { TARGET_SCRIPT, TARGET_STATIC, TARGET_DYNAMIC };

/* A dynamic program names its loader; a static one (position-independent or not) has none. */
static enum target_kind trace_target_kind_of(const char *path)
{
    Elf64_Ehdr header;
    Elf64_Phdr part;
    enum target_kind kind = TARGET_SCRIPT;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return kind;
    }
    if (read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64) {
        kind = TARGET_STATIC;
        for (int i = 0; i < header.e_phnum; i++) {
            const off_t at = (off_t)header.e_phoff + (off_t)i * header.e_phentsize;
            if (pread(fd, &part, sizeof(part), at) == (ssize_t)sizeof(part) &&
                part.p_type == PT_INTERP) {
                kind = TARGET_DYNAMIC;
            }
        }
    }
    (void)close(fd);
    return kind;
}

static bool trace_target_is_mpi(const char *name)
{
    return strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpich.so", 11) == 0 ||
           strncmp(name, "libmpi_cray.so", 14) == 0;
}

/* Ask the loader, as ldd does: "libmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)". */
static bool trace_target_find_mpi(const char *program, char *library, size_t size)
{
    int ends[2];
    char line[PATH_MAX + 256];
    bool found = false;
    if (pipe(ends) != 0) {
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        (void)unsetenv("LD_PRELOAD");
        (void)execl(program, program, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *list = fdopen(ends[0], "r");
    while (list && fgets(line, sizeof(line), list)) {
        char *name = line + strspn(line, " \t");
        char *path = strstr(name, " => ");
        if (path && trace_target_is_mpi(name)) {
            path += 4;
            path[strcspn(path, " \n")] = '\0';
            (void)snprintf(library, size, "%s", path);
            found = true;
        }
    }
    if (list) {
        (void)fclose(list);
    }
    (void)waitpid(child, NULL, 0);
    return found;
}

/* The MPI library that this program, and with it the tracer, is linked with. */
static bool trace_target_own_mpi(char *path, size_t size)
{
    Dl_info info;
    char resolved[PATH_MAX];
    void *symbol = dlsym(RTLD_DEFAULT, "PMPI_Init");
    if (!symbol || !dladdr(symbol, &info) || !realpath(info.dli_fname, resolved)) {
        return false;
    }
    (void)snprintf(path, size, "%s", resolved);
    return true;
}

static bool trace_target_is_launcher(const char *path)
{
    static const char *const launchers[] = {"mpirun",  "mpiexec", "srun", "orterun",
                                            "prterun", "aprun",   NULL};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (int i = 0; launchers[i]; i++) {
        const size_t length = strlen(launchers[i]);
        if (strncmp(name, launchers[i], length) == 0 && (!name[length] || name[length] == '.')) {
            return true;
        }
    }
    return false;
}

int trace_target_check(const char *program, struct ictus_why *why)
{
    char path[PATH_MAX];
    char theirs[PATH_MAX];
    char resolved[PATH_MAX];
    char ours[PATH_MAX];
    why->text[0] = '\0';
    if (!trace_target_find_program(program, path, sizeof(path))) {
        return ictus_because(why, ICTUS_ERR_ARG, "cannot run '%.200s': %s", program,
                             strerror(ENOENT));
    }
    if (trace_target_is_launcher(path)) {
        return ictus_because(
            why, ICTUS_ERR_ARG,
            "%.100s is a launcher; put it first: mpirun -n N ictus trace -o DIR -- "
            "./app",
            program);
    }
    const enum target_kind kind = trace_target_kind_of(path);
    if (kind == TARGET_SCRIPT) {
        return ICTUS_OK;
    }
    if (kind == TARGET_STATIC) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "%.200s is statically linked: no library can be preloaded into it",
                             program);
    }
    if (!trace_target_find_mpi(path, theirs, sizeof(theirs))) {
        (void)ictus_because(
            why, ICTUS_OK, "%.200s is not linked with MPI; it is traced only if it loads MPI later",
            program);
        return ICTUS_OK;
    }
    if (trace_target_own_mpi(ours, sizeof(ours)) && realpath(theirs, resolved) &&
        strcmp(ours, resolved) != 0) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "%.80s uses %.80s, but this ictus was built with %.80s; use an ictus "
                             "built with the same MPI library",
                             program, resolved, ours);
    }
    return ICTUS_OK;
}

static int trace_target_find_library(char *path, unsigned long size, struct ictus_why *why)
{
    static const char *const places[] = {"../" ICTUS_LIBDIR, "../lib", "../preload", NULL};
    const char *given = getenv("ICTUS_TRACE_LIBRARY");
    char own[PATH_MAX];
    char candidate[PATH_MAX + 64];
    if (given && given[0]) {
        (void)snprintf(path, size, "%s", given);
        return access(path, R_OK) == 0
                   ? ICTUS_OK
                   : ictus_because(why, ICTUS_ERR_IO, "ICTUS_TRACE_LIBRARY=%.200s: %s", given,
                                   strerror(errno));
    }
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash) {
        *slash = '\0';
    }
    for (int i = 0; places[i]; i++) {
        (void)snprintf(candidate, sizeof(candidate), "%s/%s/libictus-trace.so", own, places[i]);
        char resolved[PATH_MAX];
        if (realpath(candidate, resolved)) {
            (void)snprintf(path, size, "%s", resolved);
            return ICTUS_OK;
        }
    }
    return ictus_because(why, ICTUS_ERR_IO,
                         "libictus-trace.so was not found next to this program; set "
                         "ICTUS_TRACE_LIBRARY to its path");
}

int trace_target_library(char *path, unsigned long size, struct ictus_why *why)
{
    const int err = trace_target_find_library(path, size, why);
    if (!err && strchr(path, ':')) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "%.200s cannot be preloaded because its path contains a colon", path);
    }
    return err;
}
