/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops privileges by system calls, because three of them do not need a library. */
#include "privilege.h"

#include <errno.h>
#include <grp.h>
#include <ictus/text.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The user that the packages create for the network clock (contrib/ictus.sysusers). */
static const char own_user[] = "ictus";

/* CAP_SYS_TIME is below 32, so it is in the first of the two words of a version 3 header. It is
 * not inheritable, so a program that the daemon started would not have it. */
static int privilege_set_capabilities(bool keep_time)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[2];
    memset(data, 0, sizeof(data));
    if (keep_time) {
        data[0].permitted = 1U << CAP_SYS_TIME;
        data[0].effective = data[0].permitted;
    }
    return (int)syscall(SYS_capset, &head, data);
}

/*
 * The groups are dropped before the user, because after setresuid() the privilege to change them is
 * gone and the process would keep root's groups. KEEPCAPS lets the permitted set survive the change
 * of user. Everything but CAP_SYS_TIME is then dropped from it.
 */
static int privilege_become(const struct passwd *entry)
{
    if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgroups(0, NULL) < 0 ||
        setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) < 0 ||
        setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) < 0) {
        return -1;
    }
    return 0;
}

int ictusi_privilege_drop(const char *user, bool keep_time, struct ictus_why *why)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[4096];
    if (geteuid() != 0) {
        return user && strcmp(user, "root") == 0
                   ? ictus_because(why, ICTUS_ERR_PERMISSION,
                                   "--user=root: only root can run the daemon as root")
                   : ICTUS_OK;
    }
    /* getpwnam_r() also returns 0 for "no such user", with a null result. An error of the name
     * service is treated alike. Both lead to "nobody" and not to running as root. */
    const bool own =
        getpwnam_r(own_user, &entry, buffer, sizeof(buffer), &found) == 0 && found != NULL;
    const char *name = user ? user : own ? own_user : "nobody";
    if (strcmp(name, "root") == 0) {
        return ICTUS_OK;
    }
    if (getpwnam_r(name, &entry, buffer, sizeof(buffer), &found) || !found) {
        return ictus_because(why, ICTUS_ERR_SPEC, "there is no user '%.60s'", name);
    }
    if (privilege_become(found) < 0 || privilege_set_capabilities(keep_time) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return ictus_because(why, ICTUS_ERR_PERMISSION, "cannot become %.60s: %s", name,
                             strerror(errno));
    }
    return ICTUS_OK;
}
