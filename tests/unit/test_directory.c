/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directories of traces: what is made, what another run may not touch, what is deleted when the
 * user asks for it, and that nothing else ever is.
 */
#include "../check.h"

#include "tracer/directory.h"

#include <fcntl.h>
#include <ftw.h>
#include <ictus/text.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[CHECK_PATH];

/* A file below the root, with the directories that lead to it. */
static void put(const char *name, const char *text)
{
    char path[CHECK_PATH + 128];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static bool is_there(const char *name)
{
    char path[CHECK_PATH + 128];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    return access(path, F_OK) == 0;
}

static unsigned mode_of(const char *name)
{
    char path[CHECK_PATH + 128];
    struct stat st = {.st_mode = 0};
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    CHECK(stat(path, &st) == 0);
    return st.st_mode & 0777;
}

static bool all_there(const char *const *names)
{
    bool all = true;
    for (; *names; names++) {
        if (!is_there(*names)) {
            (void)fprintf(stderr, "%s is not there\n", *names);
            all = false;
        }
    }
    return all;
}

static bool none_there(const char *const *names)
{
    bool none = true;
    for (; *names; names++) {
        if (is_there(*names)) {
            (void)fprintf(stderr, "%s is there\n", *names);
            none = false;
        }
    }
    return none;
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void root_begin(void)
{
    REQUIRE(mkdtemp(check_scratch(root, "directory")));
}

static void root_end(void)
{
    CHECK(nftw(root, entry_remove, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static struct trace_settings settings_for(const char *name, bool force)
{
    struct trace_settings s = {.force = force};
    (void)snprintf(s.directory, sizeof(s.directory), "%s/%s", root, name);
    return s;
}

/* Whoever comes second is refused, whatever the first one has left: files of events, or results. */
static void directories_have_one_owner(void)
{
    struct ictus_why why = {""};
    root_begin();
    (void)umask(0027);
    const struct trace_settings first = settings_for("a/b/trace", false);
    CHECK(ictusi_directory_make(&first, &why) == ICTUS_OK);
    CHECK(mode_of("a") == 0750 && mode_of("a/b/trace") == 0750 && mode_of("a/b/trace/raw") == 0750);
    CHECK(ictusi_directory_make(&first, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "raw files of another run"));
    const struct trace_settings second = settings_for("second", false);
    put("second/traces.otf2", "");
    CHECK(ictusi_directory_make(&second, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "already holds an archive"));
    const struct trace_settings third = settings_for("third", false);
    put("third/" ARRIVALS_FILE, "");
    CHECK(ictusi_directory_make(&third, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "already holds " ARRIVALS_FILE));
    CHECK(!is_there("second/raw") && !is_there("third/raw"));
    const struct trace_settings fourth = settings_for("fourth", false);
    put("fourth", "a file");
    CHECK(ictusi_directory_make(&fourth, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "fourth"));
    const struct trace_settings fifth = settings_for("fourth/fifth", false);
    CHECK(ictusi_directory_make(&fifth, &why) == ICTUS_ERR_IO);
    root_end();
}

/* What ictus has made goes if the user says so; what anybody else put there stays. */
static void only_own_files_are_deleted(void)
{
    static const char *const own[] = {"t/traces.otf2",
                                      "t/traces.def",
                                      "t/traces.marker",
                                      "t/" ARRIVALS_FILE,
                                      "t/traces/0.evt",
                                      "t/traces/0.def",
                                      "t/traces/0.snap",
                                      "t/raw/0.0.events",
                                      "t/raw/0.log",
                                      "t/raw/0.tally",
                                      "t/raw/scratch",
                                      "t/raw/ended",
                                      "t/spawned/traces.otf2",
                                      "t/spawned-2/traces/1.evt",
                                      NULL};
    static const char *const foreign[] = {"t/input.txt",
                                          "t/traces.txt",
                                          "t/other.otf2",
                                          "t/traces/notes",
                                          "t/spawned-by-me/traces.otf2",
                                          "t/spawned-3/notes",
                                          "t/elsewhere/0.log",
                                          "t/raw-data/0.log",
                                          NULL};
    static const char *const gone[] = {"t/spawned", "t/spawned-2", "t/raw/0.0.events", NULL};
    struct ictus_why why = {""};
    root_begin();
    for (int i = 0; own[i]; i++) {
        put(own[i], "");
    }
    for (int i = 0; foreign[i]; i++) {
        put(foreign[i], "");
    }
    const struct trace_settings careful = settings_for("t", false), force = settings_for("t", true);
    CHECK(ictusi_directory_make(&careful, &why) == ICTUS_ERR_EXISTS);
    CHECK(all_there(own) && all_there(foreign));
    CHECK(ictusi_directory_make(&force, &why) == ICTUS_OK);
    CHECK(none_there(own) && none_there(gone) && all_there(foreign));
    CHECK(is_there("t/raw") && is_there("t/spawned-3"));
    root_end();
}

/* Raw files beside which something else lies: the directory is another's, so the run is refused. */
static void strange_raw_directories_stay(void)
{
    struct ictus_why why = {""};
    root_begin();
    const struct trace_settings force = settings_for("t", true);
    put("t/raw/0.log", "");
    put("t/raw/notes", "");
    CHECK(ictusi_directory_make(&force, &why) == ICTUS_ERR_EXISTS);
    CHECK(is_there("t/raw/notes") && !is_there("t/raw/0.log"));
    root_end();
}

/* An archive is dropped whole, with its directory, and the raw files stay. */
static void archives_are_dropped(void)
{
    char path[CHECK_PATH + 16];
    struct ictus_why why = {""};
    root_begin();
    put("t/traces.otf2", "");
    put("t/traces/0.evt", "");
    put("t/raw/0.log", "");
    (void)snprintf(path, sizeof(path), "%s/t", root);
    CHECK(ictusi_directory_drop_archive(path, &why) == ICTUS_OK);
    CHECK(!is_there("t/traces") && !is_there("t/traces.otf2") && is_there("t/raw/0.log"));
    CHECK(ictusi_directory_drop_archive(path, &why) == ICTUS_OK);
    root_end();
}

/* A job that writes its raw files elsewhere leaves a pointer to them. Who collects such files from
 * several machines says where they are, with or without the directory of the job. */
static void scratch_is_pointed_to(void)
{
    char path[CHECK_PATH + 4096], wanted[CHECK_PATH + 4096], trace[CHECK_PATH + 16];
    char collected[CHECK_PATH + 16];
    struct ictus_why why = {""};
    root_begin();
    struct trace_settings s = settings_for("t", false);
    (void)snprintf(trace, sizeof(trace), "%s/t", root);
    (void)snprintf(collected, sizeof(collected), "%s/collected", root);
    ictusi_directory_raw_find(trace, NULL, path, sizeof(path));
    (void)snprintf(wanted, sizeof(wanted), "%s/raw", trace);
    CHECK_STR(path, wanted);
    path[0] = '\0';
    CHECK(ictusi_directory_raw(&s, path, sizeof(path), &why) == ICTUS_OK);
    CHECK_STR(path, wanted);
    CHECK(rmdir(path) == 0);
    ictusi_directory_raw_find(trace, collected, path, sizeof(path));
    CHECK_STR(path, collected);
    (void)snprintf(s.scratch, sizeof(s.scratch), "%s/scratch", root);
    ictusi_directory_scratch_own(&s);
    CHECK(strncmp(s.scratch, root, strlen(root)) == 0 && strstr(s.scratch, "/scratch/ictus-"));
    struct trace_settings other = settings_for("u", false);
    (void)snprintf(other.scratch, sizeof(other.scratch), "%s/scratch", root);
    ictusi_directory_scratch_own(&other);
    CHECK(strcmp(s.scratch, other.scratch) != 0);
    CHECK(ictusi_directory_make(&s, &why) == ICTUS_OK);
    CHECK(ictusi_directory_raw(&s, path, sizeof(path), &why) == ICTUS_OK);
    CHECK_STR(path, s.scratch);
    CHECK(access(s.scratch, F_OK) == 0);
    ictusi_directory_raw_find(trace, NULL, path, sizeof(path));
    CHECK_STR(path, s.scratch);
    put("collected/file", "");
    ictusi_directory_raw_find(trace, collected, path, sizeof(path)); /* files alone */
    CHECK_STR(path, collected);
    (void)snprintf(wanted, sizeof(wanted), "%s%s", collected, strrchr(s.scratch, '/'));
    REQUIRE(mkdir(wanted, 0777) == 0);
    ictusi_directory_raw_find(trace, collected, path, sizeof(path)); /* in their directory */
    CHECK_STR(path, wanted);
    /* Their job's files go with the trace, where they are. */
    (void)snprintf(path, sizeof(path), "%s/0.log", s.scratch);
    put(path + strlen(root) + 1, "");
    s.force = true;
    CHECK(ictusi_directory_make(&s, &why) == ICTUS_OK);
    CHECK(access(s.scratch, F_OK) != 0);
    root_end();
}

/* Worlds that a job spawns get the next free name within its directory, and never delete anything.
 */
static void spawned_worlds_are_numbered(void)
{
    static const char *const made[] = {"t/spawned/raw", "t/spawned-2/raw", "t/spawned-4/raw", NULL};
    struct ictus_why why = {""};
    root_begin();
    put("t/spawned-3/traces.otf2", "of another job");
    for (int i = 0; i < 3; i++) {
        struct trace_settings s = settings_for("t", true);
        CHECK(ictusi_directory_make_spawned(&s, &why) == ICTUS_OK);
    }
    CHECK(all_there(made) && is_there("t/spawned-3/traces.otf2") && !is_there("t/spawned-5"));
    struct trace_settings longest = settings_for("t", false);
    memset(longest.directory, 'x', sizeof(longest.directory) - 16);
    longest.directory[sizeof(longest.directory) - 15] = '\0';
    CHECK(ictusi_directory_make_spawned(&longest, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "too long"));
    root_end();
}

/* Each process removes its files, and with the last of them the directory goes. The last process to
 * end knows that it is. */
static void processes_clean_up(void)
{
    char raw[CHECK_PATH + 16], trace[CHECK_PATH + 16];
    root_begin();
    (void)snprintf(raw, sizeof(raw), "%s/t/raw", root);
    (void)snprintf(trace, sizeof(trace), "%s/t", root);
    put("t/raw/1.0.events", "");
    put("t/raw/1.12.events", "");
    put("t/raw/1.log", "");
    put("t/raw/1.tally", "");
    put("t/raw/11.0.events", "");
    put("t/raw/11.log", "");
    ictusi_directory_clean(raw, 1);
    CHECK(is_there("t/raw/11.0.events") && is_there("t/raw/11.log"));
    CHECK(!is_there("t/raw/1.0.events") && !is_there("t/raw/1.12.events"));
    CHECK(!is_there("t/raw/1.log") && !is_there("t/raw/1.tally"));
    ictusi_directory_clean(raw, 11);
    CHECK(!is_there("t/raw"));
    REQUIRE(mkdir(raw, 0777) == 0);
    for (int process = 1; process <= 3; process++) {
        CHECK(ictusi_directory_ended(trace, 3) == (process == 3));
    }
    put("t/raw/scratch", "");
    ictusi_directory_release(trace);
    CHECK(!is_there("t/raw"));
    CHECK(!ictusi_directory_ended(trace, 1)); /* there is nowhere to say so */
    root_end();
}

int main(void)
{
    directories_have_one_owner();
    only_own_files_are_deleted();
    strange_raw_directories_stay();
    archives_are_dropped();
    scratch_is_pointed_to();
    spawned_worlds_are_numbered();
    processes_clean_up();
    return check_result();
}
