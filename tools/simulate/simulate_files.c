/* SPDX-License-Identifier: BSD-3-Clause */
/* Files for SimGrid, in memory. */
#include "simulate/simulate_files.h"

#include "simulate/simulate_run.h"

#include <ictus/text.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

/* smpirun's shell and ours name lower descriptors. */
static const int first_descriptor = 20;

/* A file without a name elsewhere, open in all children. */
static int file_in_memory(const char *name, char *path, struct ictus_why *why)
{
    const int made = memfd_create(name, MFD_CLOEXEC);
    const int fd = made < 0 ? made : fcntl(made, F_DUPFD, first_descriptor);
    if (fd < 0) {
        (void)ictus_because(why, ICTUS_ERR_IO, "cannot create a file in memory: %s",
                            strerror(errno));
    }
    if (made >= 0) {
        (void)close(made);
    }
    (void)snprintf(path, SIMULATE_PATH_BYTES, "/dev/fd/%d", fd);
    return fd < 0 ? ICTUS_ERR_IO : ICTUS_OK;
}

static int files_make_all(struct simulate_files *files, struct ictus_why *why)
{
    int err = file_in_memory("ictus-platform", files->platform, why);
    if (!err) {
        err = file_in_memory("ictus-hosts", files->hosts, why);
    }
    if (!err) {
        err = file_in_memory("ictus-wrapper", files->wrapper, why);
    }
    return err;
}

/* For a shell: nothing but a quote means anything inside quotes. */
static void simulate_files_write_word(FILE *file, const char *word)
{
    (void)fputs(" '", file);
    for (; *word; word++) {
        (void)fputs(*word == '\'' ? "'\\" : "", file);
        (void)fputc(*word, file);
        (void)fputs(*word == '\'' ? "'" : "", file);
    }
    (void)fputc('\'', file);
}

static int simulate_files_write_wrapper(const char *path, char *const *words, struct ictus_why *why)
{
    FILE *file = fopen(path, "we");
    if (file) {
        (void)fprintf(file, "echo $$ >&%d\nexec \"$@\"", SIMULATE_NUMBER);
        while (*words) {
            simulate_files_write_word(file, *words++);
        }
        (void)fprintf(file, " >&%d %d>&- %d>&-\n", SIMULATE_RESULTS, SIMULATE_RESULTS,
                      SIMULATE_NUMBER);
    }
    const bool failed = !file || ferror(file);
    if (!file || fclose(file) || failed) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot write SimGrid's input files: %s",
                             strerror(errno));
    }
    return ICTUS_OK;
}

static int file_copy(const char *from, const char *directory, const char *name,
                     struct ictus_why *why)
{
    char path[PATH_BYTES + 16];
    char bytes[4096];
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *in = fopen(from, "re");
    FILE *out = fopen(path, "wxe");
    while (in && out && (n = fread(bytes, 1, sizeof(bytes), in)) > 0) {
        (void)fwrite(bytes, 1, n, out);
    }
    bool good = in && out && !ferror(in) && !ferror(out);
    if (in) {
        (void)fclose(in);
    }
    good = out && fclose(out) == 0 && good;
    return good ? ICTUS_OK : ictus_because(why, ICTUS_ERR_IO, "cannot write %.250s", path);
}

static int simulate_files_keep_copies(const struct simulate_files *files, struct ictus_why *why)
{
    const char *parent = getenv("TMPDIR");
    char directory[PATH_BYTES];
    if (!parent || !*parent) {
        parent = "/tmp";
    }
    const int n = snprintf(directory, sizeof(directory), "%s/ictus-simulate-XXXXXX", parent);
    if (n >= (int)sizeof(directory) || !mkdtemp(directory)) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot create a directory in %.200s: %s", parent,
                             strerror(n >= (int)sizeof(directory) ? ENAMETOOLONG : errno));
    }
    int err = file_copy(files->platform, directory, "platform.xml", why);
    if (!err) {
        err = file_copy(files->hosts, directory, "hosts", why);
    }
    if (!err) {
        (void)fprintf(stderr, "ictus simulate: kept %s/platform.xml and %s/hosts\n", directory,
                      directory);
    }
    return err;
}

int simulate_files_make(const struct simulate_cluster *cluster, char *const *words, bool keep,
                        struct simulate_files *files, struct ictus_why *why)
{
    int err = files_make_all(files, why);
    if (!err) {
        err = simulate_platform_write(cluster, files->platform, files->hosts, why);
    }
    if (!err) {
        err = simulate_files_write_wrapper(files->wrapper, words, why);
    }
    return err || !keep ? err : simulate_files_keep_copies(files, why);
}
