/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of one server. */
#include "server_options.h"

#include <ictus/text.h>
#include <string.h>

enum { OPTION_BYTES = 64, EXCHANGES_MOST = 32 };

static int option_refuse(struct ictus_why *why, const char *host, const char *option)
{
    return ictus_because(why, ICTUS_ERR_SPEC,
                         "%.60s: '%.40s' is not valid; write key=ID with an ID of the key file, "
                         "tmin=TIME, tmax=TIME, spacing=TIME, exchanges=N or basic",
                         host, option);
}

/* @return whether the time is in the range that the daemon accepts */
static bool server_options_read_time(const char *text, double least, double *out)
{
    double seconds = 0.0;
    if (ictus_parse_seconds(text, &seconds) || !(seconds >= least) || seconds > 1e6) {
        return false;
    }
    *out = seconds;
    return true;
}

static bool option_read(const char *name, const char *value, const struct keys *keys,
                        struct server_options *out)
{
    int64_t number = 0;
    if (strcmp(name, "basic") == 0) {
        out->interleaved = false;
        return value == NULL;
    }
    if (!value) {
        return false;
    }
    if (strcmp(name, "key") == 0) {
        const bool is_id =
            ictus_parse_int(value, &number) == 0 && number > 0 && number <= UINT32_MAX;
        out->key = is_id ? ictusi_keys_find(keys, (uint32_t)number) : NULL;
        return out->key != NULL;
    }
    if (strcmp(name, "exchanges") == 0) {
        const bool is_number = ictus_parse_int(value, &number) == 0;
        out->exchanges = number;
        return is_number && number >= 1 && number <= EXCHANGES_MOST;
    }
    return strcmp(name, "tmin") == 0      ? server_options_read_time(value, 0.05, &out->tmin_s)
           : strcmp(name, "tmax") == 0    ? server_options_read_time(value, 0.05, &out->tmax_s)
           : strcmp(name, "spacing") == 0 ? server_options_read_time(value, 0.0, &out->spacing_s)
                                          : false;
}

int ictusi_server_options(const char *text, const struct ictus_lock_options *all,
                          const struct key *key, const struct keys *keys,
                          struct server_options *out, struct ictus_why *why)
{
    const size_t length = strcspn(text, "/");
    memset(out, 0, sizeof(*out));
    if (length == 0 || length >= sizeof(out->host)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "'%.80s' is not a server; write HOST[:PORT][/OPTION]...", text);
    }
    memcpy(out->host, text, length);
    out->key = key;
    out->interleaved = all->interleaved;
    out->exchanges = all->exchanges;
    out->tmin_s = all->tmin_s;
    out->tmax_s = all->tmax_s;
    out->spacing_s = all->spacing_s;
    for (const char *at = text + length; *at == '/';) {
        char option[OPTION_BYTES];
        const size_t size = strcspn(at + 1, "/");
        if (size == 0 || size >= sizeof(option)) {
            return option_refuse(why, out->host, at + 1);
        }
        memcpy(option, at + 1, size);
        option[size] = '\0';
        char *value = strchr(option, '=');
        if (value) {
            *value++ = '\0';
        }
        if (!option_read(option, value, keys, out)) {
            return option_refuse(why, out->host, at + 1);
        }
        at += size + 1;
    }
    return out->tmin_s <= out->tmax_s
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_SPEC, "%.60s: tmin must not be larger than tmax",
                               out->host);
}
