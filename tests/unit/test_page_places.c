/* SPDX-License-Identifier: BSD-3-Clause */
/* Where pages are, in whose directories, and that nothing stays open. Users and directories of the
 * system are made up. */
#include "page/page.h"

#include "../check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ictus/lock.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ME = 4242 };

static char directory[CHECK_PATH];

/* The system's directory as its owner, and what making a directory and looking at it give. */
static struct {
    uid_t me, owner;
    bool is_there, made_up;
    int mkdir_errno, lstat_err;
    struct stat found;
    char made[200];
} world;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
int __real_stat(const char *name, struct stat *info);
int __wrap_stat(const char *name, struct stat *info);
int __wrap_lstat(const char *name, struct stat *info);
int __wrap_mkdir(const char *name, mode_t mode);

uid_t __wrap_geteuid(void)
{
    return world.made_up ? world.me : __real_geteuid();
}

int __wrap_stat(const char *name, struct stat *info)
{
    if (!world.made_up || strcmp(name, PAGE_SYSTEM_DIRECTORY) != 0) {
        return __real_stat(name, info);
    }
    memset(info, 0, sizeof *info);
    info->st_uid = world.owner;
    info->st_mode = S_IFDIR | 0755;
    return world.is_there ? 0 : -1;
}

int __wrap_lstat(const char *name, struct stat *info)
{
    CHECK_STR(name, world.made);
    *info = world.found;
    return world.lstat_err;
}

int __wrap_mkdir(const char *name, mode_t mode)
{
    CHECK(mode == 0755);
    (void)snprintf(world.made, sizeof world.made, "%s", name);
    errno = world.mkdir_errno;
    return world.mkdir_errno ? -1 : 0;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void begin(uid_t me, bool is_there, uid_t owner)
{
    memset(&world, 0, sizeof world);
    world.made_up = true;
    world.me = me;
    world.is_there = is_there;
    world.owner = owner;
    world.found.st_mode = S_IFDIR | 0755;
    world.found.st_uid = me;
}

static void directory_is(const char *given, const char *wanted)
{
    char path[PAGE_PATH_BYTES] = "";
    CHECK(ictusi_page_directory(given, path, sizeof path, NULL) == ICTUS_OK);
    CHECK_STR(path, wanted);
}

/* Root and the service's user have the system's directory, others one of their own. */
static void everybody_has_a_directory(void)
{
    char path[8], own[40];
    (void)snprintf(own, sizeof own, "/dev/shm/ictus-%d", ME);
    CHECK(unsetenv("ICTUS_LOCK_DIRECTORY") == 0);
    begin(0, false, 0);
    directory_is(NULL, "/run/ictus");
    directory_is("", "/run/ictus");
    begin(0, true, ME);
    directory_is(NULL, "/run/ictus");
    begin(ME, true, ME);
    directory_is(NULL, "/run/ictus");
    begin(ME, true, 0);
    directory_is(NULL, own);
    begin(ME, false, ME);
    directory_is(NULL, own);
    directory_is("/some/where", "/some/where");
    CHECK(setenv("ICTUS_LOCK_DIRECTORY", "/else/where", 1) == 0);
    directory_is(NULL, "/else/where");
    directory_is("/some/where", "/some/where");
    CHECK(setenv("ICTUS_LOCK_DIRECTORY", "", 1) == 0);
    directory_is(NULL, own);
    CHECK(unsetenv("ICTUS_LOCK_DIRECTORY") == 0);
    CHECK(ictusi_page_directory("/1234567", path, sizeof path, NULL) == ICTUS_ERR_SPEC);
    CHECK(ictusi_page_directory("/123456", path, sizeof path, NULL) == ICTUS_OK);
}

/* @return the error of making a page in the usual directory, which never exists here */
static int created(struct ictus_why *why)
{
    struct page_writer writer;
    const int err = ictusi_page_create("nobodys", NULL, &writer, why);
    CHECK(err && writer.fd == -1 && !writer.page && writer.guard < 0);
    return err;
}

/* The usual directory is made where it is not there, and trusted only if nobody else writes to it.
 */
static void directories_are_made_and_judged(void)
{
    struct ictus_why why = {""};
    begin(ME, false, 0);
    CHECK(created(&why) != ICTUS_ERR_PERMISSION &&
          strstr(why.text, "cannot lock")); /* it was good */
    CHECK_STR(world.made, "/dev/shm/ictus-4242");
    world.mkdir_errno = EEXIST;
    CHECK(created(&why) != ICTUS_ERR_PERMISSION && strstr(why.text, "cannot lock"));
    world.mkdir_errno = EACCES;
    CHECK(created(&why) == ICTUS_ERR_IO && strstr(why.text, "cannot create /dev/shm/ictus-4242"));
    world.mkdir_errno = 0;
    world.lstat_err = -1;
    CHECK(created(&why) == ICTUS_ERR_PERMISSION);
    CHECK(strstr(why.text, "not a directory that only you can write to") != NULL);
    static const mode_t modes[] = {S_IFDIR | 0775, S_IFDIR | 0757, S_IFREG | 0755, S_IFLNK | 0755};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        begin(ME, false, 0);
        world.found.st_mode = modes[i];
        CHECK(created(&why) == ICTUS_ERR_PERMISSION);
    }
    begin(ME, false, 0);
    world.found.st_uid = 1; /* another user's */
    CHECK(created(&why) == ICTUS_ERR_PERMISSION);
    world.found.st_uid = 0;
    CHECK(created(&why) == ICTUS_ERR_PERMISSION);
    begin(1, false, 0); /* a user like any other */
    world.found.st_uid = ME;
    CHECK(created(&why) == ICTUS_ERR_PERMISSION);
    if (access(PAGE_SYSTEM_DIRECTORY, F_OK) != 0) {
        begin(0, true, ME); /* root gave it away */
        world.found.st_uid = ME;
        CHECK(created(&why) != ICTUS_ERR_PERMISSION && strstr(why.text, "cannot lock"));
    }
}

static int open_files(void)
{
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    REQUIRE(list != NULL);
    while (readdir(list)) {
        count++;
    }
    (void)closedir(list);
    return count;
}

/* Whatever becomes of a page, no file stays open that was opened for it. */
static void nothing_stays_open(void)
{
    struct page_writer writer, second;
    struct ictus_lock *lock = NULL;
    struct page_header header;
    struct ictus_why why = {""};
    char path[PAGE_PATH_BYTES], guard[CHECK_PATH + 40], boot[PAGE_BOOT_BYTES];
    uint64_t number = 0, other = 0;
    memset(&world, 0, sizeof world);
    const int before = open_files();
    CHECK(ictusi_page_identity(boot, &number) == ICTUS_OK && boot[0] && number > 1);
    CHECK(ictusi_page_process(getpid(), &number, &other) && number > 0 && other > 1);
    CHECK(!ictusi_page_process(-1, &number, &other) && number == 0);
    CHECK(open_files() == before);
    REQUIRE(ictusi_page_create("one", directory, &writer, NULL) == ICTUS_OK);
    CHECK(open_files() == before + 2);
    CHECK(ictusi_page_create("one", directory, &second, &why) == ICTUS_ERR_EXISTS);
    CHECK(open_files() == before + 2 && second.page == NULL);
    (void)snprintf(guard, sizeof guard, "is already kept by process %ld", (long)getpid());
    CHECK(strstr(why.text, guard) != NULL);
    for (int guarded = 0; guarded < 2; guarded++) {
        CHECK((guarded ? ictus_lock_open_guarded : ictus_lock_open)("one", directory, &lock,
                                                                    NULL) == ICTUS_OK);
        CHECK(open_files() == before + 3);
        ictus_lock_close(lock);
    }
    CHECK(ictus_lock_open("one", directory, NULL, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_open("two", directory, &lock, NULL) != ICTUS_OK);
    ictusi_page_close(&writer);
    CHECK(open_files() == before);
    REQUIRE(ictusi_page_path("one", directory, path, sizeof path, NULL) == ICTUS_OK);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
            close(fd) == 0);
    CHECK(header.pid == 0 && header.magic == PAGE_MAGIC); /* no process keeps it */
    CHECK(unlink(path) == 0);
}

/* What cannot be a page leaves nothing open either. */
static void refusals_leave_nothing_open(void)
{
    struct page_writer writer;
    struct ictus_lock *lock = NULL;
    char path[PAGE_PATH_BYTES], guard[CHECK_PATH + 40];
    const int before = open_files();
    REQUIRE(ictusi_page_path("one", directory, path, sizeof path, NULL) == ICTUS_OK);
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(ictusi_page_create("one", directory, &writer, NULL) == ICTUS_ERR_IO);
    CHECK(open_files() == before && writer.fd == -1);
    CHECK(ictus_lock_open("one", directory, &lock, NULL) != ICTUS_OK && open_files() == before);
    (void)snprintf(guard, sizeof guard, "%s/ictus-guard.one", directory);
    CHECK(unlink(path) == 0 && unlink(guard) == 0);
    CHECK(ictusi_page_create("one", "/no/where", &writer, NULL) == ICTUS_ERR_ARG);
    CHECK(open_files() == before);
}

static void words_are_total(void)
{
    CHECK_STR(ictus_lock_selection_name((enum ictus_lock_selection) - 1), "unknown");
    CHECK_STR(ictus_lock_selection_name(ICTUS_SOURCE_SELECTED), "selected");
    CHECK_STR(ictus_lock_selection_name((enum ictus_lock_selection)(ICTUS_SOURCE_SELECTED + 1)),
              "unknown");
    CHECK_STR(ictus_lock_state_name((enum ictus_lock_state) - 1), "unknown");
    CHECK_STR(ictus_lock_state_name(ICTUS_LOCK_HOLDOVER), "holdover");
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "places")) != NULL);
    everybody_has_a_directory();
    directories_are_made_and_judged();
    nothing_stays_open();
    refusals_leave_nothing_open();
    words_are_total();
    CHECK(rmdir(directory) == 0);
    return check_result();
}
