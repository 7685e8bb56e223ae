/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks addr2line for the source locations of call sites. */
#include "trace/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* The time limit for all files together, because the job waits meanwhile. */
enum { PATIENCE_S = 30, PAUSE_NS = 2000000 };

static double symbols_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Keep a text as long as the list. @return NULL without memory, or if text is NULL */
static char *symbols_keep(struct symbols *s, char *text)
{
    char **texts = text ? realloc(s->texts, (s->text_count + 1) * sizeof(*texts)) : NULL;
    if (!texts) {
        free(text);
        return NULL;
    }
    s->texts = texts;
    texts[s->text_count++] = text;
    return text;
}

/*
 * The environment without the variables that would load the tracer into a child. The caller frees
 * the array.
 */
static char **plain_environment(void)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **plain = calloc(count + 1, sizeof(*plain));
    for (size_t i = 0, kept = 0; plain && i < count; i++) {
        if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0) {
            plain[kept++] = environ[i];
        }
    }
    return plain;
}

static pid_t symbols_start_addr2line(const char *path, int in, int out)
{
    char name[] = "addr2line";
    char functions[] = "-f";
    char demangle[] = "-C";
    char file[] = "-e";
    char *copy = strdup(path);
    char *words[] = {name, functions, demangle, file, copy, NULL};
    char **environment = plain_environment();
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    if (copy && environment && posix_spawn_file_actions_init(&actions) == 0) {
        (void)posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        if (posix_spawnp(&child, name, &actions, NULL, words, environment) != 0) {
            child = -1;
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    free(copy);
    free(environment);
    return child;
}

/*
 * Wait for the child until the deadline, because debug information can be huge. @return whether it
 * succeeded
 */
static bool symbols_await_child(pid_t child, double deadline_s)
{
    const struct timespec pause = {0, PAUSE_NS};
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 && symbols_now_s() < deadline_s) {
        (void)nanosleep(&pause, NULL);
    }
    if (ended == 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, &status, 0);
        return false;
    }
    /* If the program ignores SIGCHLD, the exit status is lost. */
    return ended < 0 ? errno == ECHILD : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The whole contents of a file, with a terminating null byte. */
static char *symbols_read_back(int fd)
{
    struct stat what;
    if (fstat(fd, &what) != 0) {
        return NULL;
    }
    char *text = malloc((size_t)what.st_size + 1);
    if (text) {
        const ssize_t got = pread(fd, text, (size_t)what.st_size, 0);
        text[got > 0 ? got : 0] = '\0';
    }
    return text;
}

/* Whether the file is still the one that was mapped. */
static bool symbols_is_same_file(const struct symbol_site *site)
{
    struct stat now;
    return stat(site->path, &now) == 0 && S_ISREG(now.st_mode) &&
           (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec == site->mtime_ns;
}

static bool symbols_in_file_of(const struct symbol_site *site, const struct symbol_site *first)
{
    return strcmp(site->path, first->path) == 0 && site->mtime_ns == first->mtime_ns;
}

/* The next line of the answer, terminated; NULL at the end. */
static char *symbols_next_line(char **rest)
{
    char *line = *rest;
    char *end = line ? strchr(line, '\n') : NULL;
    if (!end) {
        return NULL;
    }
    *end = '\0';
    *rest = end + 1;
    return line;
}

/* Parse "FILE:LINE" or "FILE:LINE (discriminator 3)", where ? means unknown. */
static void symbols_take_place(struct symbol_site *site, char *text)
{
    char *colon = strrchr(text, ':');
    if (!colon || text[0] == '?') {
        return;
    }
    *colon = '\0';
    const unsigned long line = strtoul(colon + 1, NULL, 10);
    site->file = text;
    site->line = line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* The answer has two lines per site: its function and its place. */
static void symbols_take_answers(struct symbols *s, const struct symbol_site *first, char *answers)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (!symbols_in_file_of(&s->sites[i], first)) {
            continue;
        }
        const char *function = symbols_next_line(&answers);
        char *place = symbols_next_line(&answers);
        if (!function || !place) {
            return;
        }
        if (function[0] != '?') {
            s->sites[i].function = function;
        }
        symbols_take_place(&s->sites[i], place);
    }
}

/*
 * Resolve all sites of one file. Memory files are used instead of pipes, so that neither side can
 * block on the other, whatever the amount of data, and the child can be killed at any time.
 */
static void symbols_resolve_file(struct symbols *s, const struct symbol_site *first,
                                 double deadline_s)
{
    const int in = memfd_create("ictus-addresses", MFD_CLOEXEC);
    const int out = memfd_create("ictus-lines", MFD_CLOEXEC);
    for (uint32_t i = 0; in >= 0 && i < s->count; i++) {
        if (symbols_in_file_of(&s->sites[i], first)) {
            s->sites[i].asked = true;
            (void)dprintf(in, "0x%llx\n", (unsigned long long)s->sites[i].offset);
        }
    }
    if (in >= 0 && out >= 0 && lseek(in, 0, SEEK_SET) == 0) {
        const pid_t child = symbols_start_addr2line(first->path, in, out);
        if (child > 0 && symbols_await_child(child, deadline_s)) {
            symbols_take_answers(s, first, symbols_keep(s, symbols_read_back(out)));
        }
    }
    if (in >= 0) {
        (void)close(in);
    }
    if (out >= 0) {
        (void)close(out);
    }
}

static void symbols_name_unknown(struct symbols *s, struct symbol_site *site)
{
    const char *slash = strrchr(site->path, '/');
    char *text = NULL;
    if (asprintf(&text, "%s+0x%llx", slash ? slash + 1 : site->path,
                 (unsigned long long)site->offset) < 0) {
        text = NULL;
    }
    site->function = symbols_keep(s, text);
    if (!site->function) {
        site->function = "?";
    }
}

void ictusi_symbols_resolve(struct symbols *s)
{
    const double deadline_s = symbols_now_s() + PATIENCE_S;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->sites[i].asked && symbols_is_same_file(&s->sites[i]) &&
            symbols_now_s() < deadline_s) {
            symbols_resolve_file(s, &s->sites[i], deadline_s);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->sites[i].function) {
            symbols_name_unknown(s, &s->sites[i]);
        }
    }
}

void ictusi_symbols_free(struct symbols *s)
{
    for (size_t i = 0; i < s->text_count; i++) {
        free(s->texts[i]);
    }
    free(s->texts);
    free(s->sites);
}
