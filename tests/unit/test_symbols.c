/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source locations, as a stand-in for addr2line answers: each site gets its own answer, a failure
 * leaves sites unknown, and one that never answers is ended when time is up.
 */
#define CHECK_OWN_INPUT
#include "../check.h"

#include "trace/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SITES = 3, ROOM = 160 };

static char directory[CHECK_PATH];
static char asked[ROOM], stand_in[ROOM], other[ROOM];
static long now_s;

/* Time stands still until addr2line has been started, and then runs out at a few looks. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's name */
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    CHECK(id == CLOCK_MONOTONIC);
    now_s += access(asked, F_OK) == 0 ? 10 : 0;
    *now = (struct timespec){now_s, 0};
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    REQUIRE(file && fputs(text, file) >= 0);
    REQUIRE(fchmod(fileno(file), 0700) == 0 && fclose(file) == 0);
}

static int64_t time_of(const char *path)
{
    struct stat status;
    REQUIRE(stat(path, &status) == 0);
    return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

/* Two sites of one file and one of another, whose locations are what addr2line says by `script`. */
static struct symbols resolve(const char *script)
{
    struct symbols s = {.sites = calloc(SITES, sizeof(*s.sites)), .count = SITES};
    REQUIRE(s.sites);
    file_write(stand_in, script);
    for (uint32_t i = 0; i < SITES; i++) {
        const char *path = i == 1 ? other : stand_in;
        s.sites[i] =
            (struct symbol_site){.path = path, .offset = 0x10 + i, .mtime_ns = time_of(path)};
    }
    ictusi_symbols_resolve(&s);
    return s;
}

static void site_is(const struct symbol_site *site, const char *function, const char *file,
                    uint32_t line)
{
    CHECK_STR(site->function, function);
    CHECK_STR(site->file ? site->file : "none", file);
    CHECK(site->line == line);
}

static void nothing_is_known(struct symbols *s)
{
    site_is(&s->sites[0], "addr2line+0x10", "none", 0);
    site_is(&s->sites[1], "other+0x11", "none", 0);
    site_is(&s->sites[2], "addr2line+0x12", "none", 0);
    ictusi_symbols_free(s);
}

static void answers_go_to_their_sites(void)
{
    struct symbols s = resolve("#!/bin/sh\nwhile read at; do echo f$at; echo $4:${at#0x}; done\n");
    site_is(&s.sites[0], "f0x10", stand_in, 10);
    site_is(&s.sites[1], "f0x11", other, 11);
    site_is(&s.sites[2], "f0x12", stand_in, 12);
    ictusi_symbols_free(&s);
}

/* Files take the lowest number that is free; that of standard input is as good as any. */
static void standard_input_is_not_needed(void)
{
    const int before = dup(STDIN_FILENO);
    REQUIRE(before >= 0 && close(STDIN_FILENO) == 0);
    answers_go_to_their_sites();
    CHECK(fcntl(STDIN_FILENO, F_GETFD) < 0 && errno == EBADF);
    REQUIRE(dup2(before, STDIN_FILENO) == STDIN_FILENO && close(before) == 0);
}

static void failures_leave_sites_unknown(void)
{
    struct symbols s = resolve("#!/bin/sh\necho f; echo file.c:3; exit 1\n");
    nothing_is_known(&s);
}

/* It waits for the other end of a pipe, which is closed with this process at the latest. */
static void time_runs_out(void)
{
    char script[4 * ROOM];
    int ends[2];
    int pid = 0;
    int count = 0;
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFD, 0) == 0);
    (void)snprintf(script, sizeof(script), "#!/bin/sh\necho $$ >> %s\nexec cat <&%d\n", asked,
                   ends[0]);
    struct symbols s = resolve(script);
    nothing_is_known(&s);
    FILE *file = fopen(asked, "re");
    REQUIRE(file);
    while (fscanf(file, "%d", &pid) == 1) {
        count++;
    }
    (void)fclose(file);
    CHECK(count == 1); /* it was not asked about the other file */
    CHECK(kill(pid, 0) != 0 && errno == ESRCH);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    char path[4096];
    const char *before = getenv("PATH");
    REQUIRE(mkdtemp(check_scratch(directory, "symbols")));
    (void)snprintf(asked, sizeof(asked), "%s/asked", directory);
    (void)snprintf(stand_in, sizeof(stand_in), "%s/addr2line", directory);
    (void)snprintf(other, sizeof(other), "%s/other", directory);
    (void)snprintf(path, sizeof(path), "%s:%s", directory, before ? before : "/usr/bin:/bin");
    REQUIRE(setenv("PATH", path, 1) == 0);
    file_write(other, "");
    answers_go_to_their_sites();
    standard_input_is_not_needed();
    failures_leave_sites_unknown();
    time_runs_out();
    CHECK(remove(asked) == 0 && remove(stand_in) == 0 && remove(other) == 0);
    CHECK(rmdir(directory) == 0);
    return check_result();
}
