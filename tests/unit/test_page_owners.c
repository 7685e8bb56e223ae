/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose pages are believed, and how far: one's own and root's are mapped, others' are refused. */
#include "page/page.h"

#include "../check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char directory[] = "/tmp/ictus-owners-XXXXXX";
static char path[200];

/* What another user put there is named as such, whoever reads it; a lock of ours is nobody else's.
 */
static void others_are_not_trusted(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    char guard[200];
    struct stat info;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    (void)snprintf(guard, sizeof(guard), "%s/ictus-guard.t", directory);
    REQUIRE(stat(guard, &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    /* A lock on the page, by whoever can read it, hides nothing and stops nobody. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(flock(fd, LOCK_EX) == 0);
    ictusi_page_close(&writer);
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    (void)close(fd);
    ictusi_page_close(&writer);
    if (geteuid() != 0) {
        return; /* only root can give files away */
    }
    REQUIRE(chown(path, 65534, 65534) == 0);
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_PERMISSION);
    CHECK(strstr(why.text, "belongs to user nobody") != NULL);
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "another user") != NULL);
    REQUIRE(unlink(path) == 0 && chown(guard, 65534, 65534) == 0);
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_ERR_PERMISSION);
    REQUIRE(unlink(guard) == 0);
}

/* Whether this process has the page in its memory. */
static bool page_is_mapped(void)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps);
    while (fgets(line, sizeof(line), maps)) {
        found = found || strstr(line, path);
    }
    (void)fclose(maps);
    return found;
}

/*
 * One's own page and root's are read where they are, which costs no system call; a guarded reader
 * copies even those.
 */
static void trusted_pages_are_mapped(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    const struct page_clock clock = {.anchor = 1, .value = 1, .state = ICTUS_LOCK_LOCKED};
    ictusi_page_publish(&writer, &clock);
    ictusi_page_close(&writer);
    CHECK(!page_is_mapped());
    for (int user = 0; user < (geteuid() == 0 ? 2 : 1); user++) { /* the second one is not root */
        REQUIRE(user == 0 || (chmod(directory, 0755) == 0 && seteuid(NOBODY) == 0));
        REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
        CHECK(page_is_mapped());
        ictus_lock_close(lock);
        CHECK(!page_is_mapped());
        REQUIRE(ictus_lock_open_guarded("t", directory, &lock, &why) == ICTUS_OK);
        CHECK(!page_is_mapped());
        ictus_lock_close(lock);
        REQUIRE(user == 0 || seteuid(0) == 0);
    }
}

/* A daemon that was started without standard input is told the same. */
static void descriptor_zero_is_one_too(void)
{
    struct ictus_why why;
    struct page_writer writer;
    char guard[200];
    if (geteuid() != 0) {
        return;
    }
    (void)snprintf(guard, sizeof(guard), "%s/ictus-guard.t", directory);
    REQUIRE(chown(guard, NOBODY, NOBODY) == 0);
    const int kept = dup(STDIN_FILENO);
    REQUIRE(close(STDIN_FILENO) == 0);
    errno = 0;
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_ERR_PERMISSION);
    CHECK(strstr(why.text, "belongs to another user"));
    CHECK(open("/dev/null", O_RDONLY) == STDIN_FILENO); /* which was closed again */
    REQUIRE(dup2(kept, STDIN_FILENO) == STDIN_FILENO && close(kept) == 0);
    REQUIRE(unlink(guard) == 0);
}

int main(void)
{
    REQUIRE(mkdtemp(directory) != NULL);
    (void)snprintf(path, sizeof(path), "%s/ictus-lock.t", directory);
    trusted_pages_are_mapped();
    descriptor_zero_is_one_too();
    REQUIRE(unlink(path) == 0);
    others_are_not_trusted();
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/ictus-guard.t", directory);
    (void)unlink(path);
    CHECK(rmdir(directory) == 0);
    return check_result();
}
