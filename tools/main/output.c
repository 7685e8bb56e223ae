/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files. */
#include "main/output.h"

#include <ictus/text.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_cannot(const char *name, struct ictus_why *why)
{
    return ictus_because(why, ICTUS_ERR_IO, "cannot write '%.200s': %s", name,
                         strerror(errno ? errno : EIO));
}

/* The directory of a path, with its slash; empty for one without. */
static void directory_of(const char *path, char *directory)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    memcpy(directory, path, length);
    directory[length] = '\0';
}

/*
 * A file without a name yet, in the directory of its own; -1 where it has to be written in place:
 * what is there is no plain file or has other names or another owner, or the directory or its file
 * system does not allow it.
 */
static int output_open_nameless(struct output *o, const char *path)
{
    struct stat old;
    char real[PATH_MAX];
    char directory[OUTPUT_PATH_BYTES];
    o->fresh = lstat(path, &old) != 0;
    if (o->fresh && strlen(path) < sizeof(real)) {
        memcpy(real, path, strlen(path) + 1);
    } else if (o->fresh || !realpath(path, real) || stat(real, &old) || !S_ISREG(old.st_mode) ||
               old.st_nlink != 1 || old.st_uid != geteuid() || access(real, W_OK)) {
        return -1;
    }
    directory_of(real, directory);
    const int fd =
        open(directory[0] ? directory : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, (mode_t)0666);
    if (fd >= 0 && !o->fresh) {
        (void)fchmod(fd, old.st_mode & (mode_t)07777);
    }
    if (fd >= 0) {
        (void)snprintf(o->target, sizeof(o->target), "%s", real);
    }
    return fd;
}

static bool file_is(const char *path, const struct stat *wanted)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_dev == wanted->st_dev &&
           status.st_ino == wanted->st_ino;
}

/*
 * Whether a file is an input: the word's own, or one of the archive or the arrivals that the word
 * names by their directory or the anchor file.
 */
static bool output_is_input(const char *path, const struct stat *out, const char *word)
{
    static const char suffix[] = ".otf2";
    char stem[PATH_MAX];
    char part[PATH_MAX + 16];
    char directory[OUTPUT_PATH_BYTES];
    const size_t length = strlen(word);
    const size_t rest = length - (length < strlen(suffix) ? length : strlen(suffix));
    const bool anchor = strcmp(word + rest, suffix) == 0;
    (void)snprintf(stem, sizeof(stem), "%.*s%s", (int)(anchor ? rest : length), word,
                   anchor ? "" : "/traces");
    const char *const parts[][2] = {
        {word, ""}, {stem, suffix}, {stem, ".def"}, {word, "/arrivals.jsonl"}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        (void)snprintf(part, sizeof(part), "%s%s", parts[i][0], parts[i][1]);
        if (file_is(part, out)) {
            return true;
        }
    }
    struct stat events;
    directory_of(path, directory);
    return stat(stem, &events) == 0 && file_is(directory[0] ? directory : ".", &events);
}

int output_allowed(const char *path, bool replace, int word_count, char **words,
                   struct ictus_why *why)
{
    struct stat out;
    if (!path || strlen(path) >= OUTPUT_PATH_BYTES || stat(path, &out)) {
        return ICTUS_OK;
    }
    for (int i = 0; i < word_count; i++) {
        if (output_is_input(path, &out, words[i])) {
            return ictus_because(
                why, ICTUS_ERR_EXISTS,
                "'%.200s' is an input and would be overwritten; name another output", path);
        }
    }
    return S_ISREG(out.st_mode) && out.st_size > 0 && !replace
               ? ictus_because(why, ICTUS_ERR_EXISTS, "'%.200s' exists; use --force to replace it",
                               path)
               : ICTUS_OK;
}

/* Whether a place, the output itself or its directory, may be used in this mode. */
static int output_permitted(const char *place, int mode, const char *path, struct ictus_why *why)
{
    return access(place, mode) ? ictus_because(why, ICTUS_ERR_ARG, "cannot write '%.200s': %s",
                                               path, strerror(errno))
                               : ICTUS_OK;
}

int output_possible(const char *path, struct ictus_why *why)
{
    struct stat status;
    char directory[OUTPUT_PATH_BYTES];
    if (!path || strcmp(path, "-") == 0 || strlen(path) >= OUTPUT_PATH_BYTES) {
        return ICTUS_OK;
    }
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            return ictus_because(why, ICTUS_ERR_ARG,
                                 "cannot write '%.200s': it is a directory; name a file in it",
                                 path);
        }
        return output_permitted(path, W_OK, path, why);
    }
    directory_of(path, directory);
    const char *where = directory[0] ? directory : ".";
    if (access(where, F_OK)) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "cannot write '%.200s': there is no directory '%.*s'", path,
                             (int)strlen(where) - 1, where);
    }
    return output_permitted(where, W_OK | X_OK, path, why);
}

int output_possible_directory(const char *path, struct ictus_why *why)
{
    char part[OUTPUT_PATH_BYTES];
    if (!path || !path[0] || strlen(path) >= sizeof(part)) {
        return ICTUS_OK;
    }
    (void)snprintf(part, sizeof(part), "%s", path);
    while (access(part, F_OK)) {
        char *slash = strrchr(part, '/');
        if (!slash) {
            part[0] = '.';
            part[1] = '\0';
            break;
        }
        slash[slash == part] = '\0'; /* the root keeps its slash */
    }
    struct stat status;
    if (stat(part, &status) || !S_ISDIR(status.st_mode)) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "cannot make '%.200s': '%.200s' is not a directory", path, part);
    }
    return access(part, W_OK | X_OK)
               ? ictus_because(why, ICTUS_ERR_ARG, "cannot write to '%.200s': %s", part,
                               strerror(errno))
               : ICTUS_OK;
}

int output_open(struct output *o, const char *path, struct ictus_why *why)
{
    memset(o, 0, sizeof(*o));
    if (!path || strcmp(path, "-") == 0) {
        o->name = "standard output";
        o->stream = stdout;
        return ICTUS_OK;
    }
    o->name = path;
    const int fd = output_open_nameless(o, path);
    o->stream = fd >= 0 ? fdopen(fd, "w") : fopen(path, "we");
    if (!o->stream) {
        const int err = file_cannot(path, why);
        if (fd >= 0) {
            (void)close(fd);
        }
        return err;
    }
    return ICTUS_OK;
}

/*
 * Give the file its name: directly if nothing has it, else by renaming from a temporary name. If a
 * pipe or a device has taken the name meanwhile, it keeps it.
 */
static bool output_name(const struct output *o)
{
    char self[40];
    struct stat now;
    char passing[OUTPUT_PATH_BYTES + 32];
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(o->stream));
    if (o->fresh && linkat(AT_FDCWD, self, AT_FDCWD, o->target, AT_SYMLINK_FOLLOW) == 0) {
        return true;
    }
    if (lstat(o->target, &now) == 0 && !S_ISREG(now.st_mode)) {
        errno = EEXIST;
        return false;
    }
    directory_of(o->target, passing);
    const size_t length = strlen(passing);
    (void)snprintf(passing + length, sizeof(passing) - length, ".ictus-%ld", (long)getpid());
    (void)unlink(passing);
    if (linkat(AT_FDCWD, self, AT_FDCWD, passing, AT_SYMLINK_FOLLOW)) {
        return false;
    }
    if (rename(passing, o->target)) {
        const int reason = errno;
        (void)unlink(passing);
        errno = reason;
        return false;
    }
    return true;
}

/* Remove a file that was written in place and is incomplete. */
static void output_remove_part(const struct output *o)
{
    struct stat status;
    if (stat(o->name, &status) == 0 && S_ISREG(status.st_mode)) {
        (void)unlink(o->name);
    }
}

int output_close(struct output *o, int err, struct ictus_why *why)
{
    const bool nameless = o->target[0] != '\0';
    const bool told = err && why->text[0];
    errno = 0;
    if (!err && (fflush(o->stream) || ferror(o->stream) || (nameless && !output_name(o)))) {
        err = ICTUS_ERR_IO;
    }
    const int reason = errno;
    if (o->stream != stdout && fclose(o->stream) && !err) {
        err = ICTUS_ERR_IO;
    } else {
        errno = reason;
    }
    if (err == ICTUS_ERR_IO && !told) {
        (void)file_cannot(o->name, why);
    }
    if (err && o->stream != stdout && !nameless) {
        output_remove_part(o);
    }
    return err;
}
