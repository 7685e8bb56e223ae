/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus serve: answer NTP clients from the locked clock. */
#include "main/command.h"
#include "main/shared_rows.h"

#include <ictus/lock_daemon.h>
#include <ictus/text.h>
#include <stdio.h>

struct serve_options {
    struct ictus_serve_options run;
    int stamps;
};

static const char *const stamps[] = {"user", "kernel", NULL};

#define AT(member) offsetof(struct serve_options, run.member)

static const struct option_row rows[] = {
    ROW_NAME(AT(name)),
    ROW_DIRECTORY(AT(directory)),
    {"address", 0, OPTION_TEXT, AT(address), NULL, 0, 0, NULL, "ADDRESS",
     "address to listen on [all, IPv4 and IPv6]"},
    {"port", 0, OPTION_INT, AT(port), "123", 1, 65535, NULL, "PORT", "UDP port to listen on"},
    {"stamps", 0, OPTION_CHOICE, offsetof(struct serve_options, stamps), "kernel", 0, 0, stamps,
     "KIND", "time stamps: user, kernel"},
    {"allow", 0, OPTION_TEXT, AT(allow), NULL, 0, 0, NULL, "NET,...",
     "networks that are answered: 10.0.0.0/8,fd00::/8 [everybody]"},
    {"deny", 0, OPTION_TEXT, AT(deny), NULL, 0, 0, NULL, "NET,...",
     "networks that are not answered; this takes precedence"},
    {"rate", 0, OPTION_REAL, AT(rate), "20", 0, 1e6, NULL, "N",
     "answers per second to each client; 0 means any number"},
    {"burst", 0, OPTION_INT, AT(burst), "64", 1, 1e6, NULL, "N",
     "answers to each client in a burst"},
    ROW_KEYS(AT(keys)),
    {"require-key", 0, OPTION_FLAG, AT(require_key), NULL, 0, 0, NULL, NULL,
     "answer only authenticated requests"},
    {"system-clock", 0, OPTION_FLAG, AT(system_clock), NULL, 0, 0, NULL, NULL,
     "serve CLOCK_REALTIME as it is instead of a locked clock"},
    {"stratum", 0, OPTION_INT, AT(stratum), "10", 1, 15, NULL, "N",
     "stratum claimed for the system clock"},
    ROW_USER(AT(user)),
    ROW_PROMETHEUS(AT(metrics)),
    ROW_END};

static void serve_on_message(const char *text, void *context)
{
    (void)context;
    (void)fprintf(stderr, "ictus serve: %s\n", text);
}

static int serve_run(const void *options, int word_count, char **words)
{
    struct ictus_serve_options o = ((const struct serve_options *)options)->run;
    struct ictus_why why = {""};
    if (word_count) {
        (void)ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.60s'; serve takes only options", words[0]);
        return command_fail("serve", ICTUS_ERR_SPEC, &why);
    }
    o.size = sizeof(o);
    o.stamps = (enum ictus_lock_stamps)((const struct serve_options *)options)->stamps;
    o.on_message = serve_on_message;
    const int err = ictus_serve_run(&o, &why);
    return err ? command_fail("serve", err, &why) : EXIT_OK;
}

const struct command command_serve = {
    .name = "serve",
    .summary = "answer NTP clients from the locked clock",
    .arguments = "",
    .details = "  ictus lock --server=ntp.site & ictus serve --allow=10.0.0.0/8",
    .options = rows,
    .flags = 0,
    .options_size = sizeof(struct serve_options),
    .run = serve_run,
};
