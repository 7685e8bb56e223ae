/* SPDX-License-Identifier: BSD-3-Clause */
/* The files and directories around an archive that is being written. */
#include "archive/output.h"

#include "archive/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <ictus/text.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *text_join(const char *a, const char *b, const char *c)
{
    const size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(size);
    if (text) {
        (void)snprintf(text, size, "%s%s%s", a, b, c);
    }
    return text;
}

char *ictusi_output_base(const char *anchor)
{
    const char *slash = strrchr(anchor, '/');
    char *base = text_join(slash ? slash + 1 : anchor, "", "");
    char *dot = base ? strrchr(base, '.') : NULL;
    if (dot && dot != base) {
        *dot = '\0';
    }
    return base;
}

/* Remove trailing slashes from the name of the output. */
static char *path_trimmed(const char *out)
{
    char *text = text_join(out, "", "");
    size_t n = text ? strlen(text) : 0;
    while (n > 1 && text[n - 1] == '/') {
        text[--n] = '\0';
    }
    return text;
}

char *ictusi_output_partial(const char *out)
{
    char *clean = path_trimmed(out);
    char *partial = clean ? text_join(clean, ".incomplete", "") : NULL;
    free(clean);
    return partial;
}

/* The directory part of a path, or "." if there is none. */
static char *path_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = text_join(slash ? path : ".", "", "");
    if (dir && slash) {
        dir[slash == path ? 1 : slash - path] = '\0';
    }
    return dir;
}

bool ictusi_output_sibling(const char *anchor, const char *suffix)
{
    struct stat st;
    char *base = ictusi_output_base(anchor);
    char *dir = path_directory(anchor);
    char *stem = base && dir ? text_join(dir, "/", base) : NULL;
    char *path = stem ? text_join(stem, suffix, "") : NULL;
    const bool there = path && stat(path, &st) == 0;
    free(base);
    free(dir);
    free(stem);
    free(path);
    return there;
}

static int output_exists(const char *partial, struct ictus_why *why)
{
    return ictus_because(why, ICTUS_ERR_EXISTS,
                         "%s exists: another run is writing it or left it behind; remove it if "
                         "none is",
                         partial);
}

/* Whether a directory that does not exist yet can be made: what would fail only after all work. */
static int output_may_start(const char *out, struct ictus_why *why)
{
    struct stat status;
    char *partial = ictusi_output_partial(out);
    char *parent = partial ? path_directory(partial) : NULL;
    int err = parent ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err && (stat(parent, &status) || !S_ISDIR(status.st_mode))) {
        err = ictus_because(why, ICTUS_ERR_ARG, "cannot write %s: there is no directory %s", out,
                            parent);
    } else if (!err && access(parent, W_OK | X_OK)) {
        err = ictus_because(why, ICTUS_ERR_ARG, "cannot write %s: %s: %s", out, parent,
                            strerror(errno));
    } else if (!err && lstat(partial, &status) == 0) {
        err = output_exists(partial, why);
    }
    free(partial);
    free(parent);
    return err;
}

int ictusi_output_copy_check(const char *in, const char *out, struct ictus_why *why)
{
    struct stat a;
    struct stat b;
    if (!out || !*out) {
        return ictus_because(why, ICTUS_ERR_ARG, "name the output directory with -o DIR");
    }
    if (lstat(out, &b)) {
        return output_may_start(out, why);
    }
    char *dir = path_directory(in);
    const bool is_dir = stat(in, &a) == 0 && S_ISDIR(a.st_mode);
    const bool known = is_dir || (dir && stat(dir, &a) == 0);
    free(dir);
    if (known && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
        return ictus_because(why, ICTUS_ERR_ARG, "%s: the output must not be the input", out);
    }
    return ictus_because(why, ICTUS_ERR_EXISTS, "%s exists already; name another output directory",
                         out);
}

/* Of two runs that start at the same time, only one can make the directory. */
int ictusi_output_start(const char *partial, struct ictus_why *why)
{
    if (mkdir(partial, 0777) == 0) {
        return ICTUS_OK;
    }
    if (errno == EEXIST) {
        return output_exists(partial, why);
    }
    const bool wrong = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    return ictus_because(why, wrong ? ICTUS_ERR_ARG : ICTUS_ERR_IO,
                         "cannot make the directory %s: %s", partial, strerror(errno));
}

static int output_copy_bytes(int from, int to)
{
    char buffer[65536];
    for (;;) {
        const ssize_t got = read(from, buffer, sizeof buffer);
        if (got <= 0) {
            return got < 0 ? ICTUS_ERR_IO : ICTUS_OK;
        }
        for (ssize_t done = 0; done < got;) {
            const ssize_t put = write(to, buffer + done, (size_t)(got - done));
            if (put < 0) {
                return ICTUS_ERR_IO;
            }
            done += put;
        }
    }
}

static int output_copy_file(const char *dir, const char *name, const char *partial)
{
    char *source = text_join(dir, "/", name);
    char *target = text_join(partial, "/", name);
    int err = source && target ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        const int from = open(source, O_RDONLY | O_CLOEXEC);
        const int to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        err = from >= 0 && to >= 0 ? output_copy_bytes(from, to) : ICTUS_ERR_IO;
        if (from >= 0) {
            (void)close(from);
        }
        if (to >= 0 && close(to) && !err) {
            err = ICTUS_ERR_IO;
        }
    }
    free(source);
    free(target);
    return err;
}

/*
 * Whether a file belongs to the archive: what Score-P writes next to its archives, and thumbnails.
 */
static bool name_belongs(const char *name, const char *base)
{
    const size_t stem = strlen(base);
    const char *dot = strrchr(name, '.');
    const bool thumbnail =
        dot && strcmp(dot, ".thumb") == 0 && strncmp(name, base, stem) == 0 && name[stem] == '.';
    return thumbnail || strncmp(name, "scorep", 6) == 0 || strcmp(name, "MANIFEST.md") == 0;
}

static int output_copy_companions(const char *anchor, const char *partial, struct ictus_why *why)
{
    char *dir = path_directory(anchor);
    char *base = ictusi_output_base(anchor);
    DIR *list = dir && base ? opendir(dir) : NULL;
    int err = dir && base ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (const struct dirent *entry = NULL; list && !err && (entry = readdir(list)) != NULL;) {
        if (name_belongs(entry->d_name, base) && entry->d_type != DT_DIR) {
            err = output_copy_file(dir, entry->d_name, partial);
            if (err) {
                err = ictus_because(why, err, "%s/%s: %s", partial, entry->d_name, strerror(errno));
            }
        }
    }
    if (list) {
        (void)closedir(list);
    }
    free(base);
    free(dir);
    return err;
}

/* Renaming is the last step, so an output with its final name is complete. */
int ictusi_output_finish(const char *anchor, const char *partial, const char *out,
                         struct ictus_why *why)
{
    int err = output_copy_companions(anchor, partial, why);
    char *clean = path_trimmed(out);
    err = err || clean ? err : ICTUS_ERR_NOMEM;
    if (!err && rename(partial, clean)) {
        err = ictus_because(why, ICTUS_ERR_IO, "%s: %s", out, strerror(errno));
    }
    free(clean);
    return err;
}

static int output_remove_entry(const char *path, const struct stat *st, int type, struct FTW *state)
{
    (void)st;
    (void)type;
    (void)state;
    return remove(path);
}

void ictusi_output_remove(const char *partial)
{
    (void)nftw(partial, output_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
