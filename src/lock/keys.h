/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric keys: AES-CMAC authenticators of NTP packets (RFC 8573) through libnettle. The key
 * file is chrony's: "ID AES128|AES256 HEX:0123..." a line, # for comments. Built without libnettle,
 * every key is refused.
 */
#ifndef ICTUS_LOCK_KEYS_H
#define ICTUS_LOCK_KEYS_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_BYTES_MAX = 32, KEY_MAC_BYTES = 20 /* key id and 16 bytes of digest */ };

struct key {
    uint32_t id;
    size_t length; /* 16 or 32 */
    uint8_t bytes[KEY_BYTES_MAX];
};

struct keys {
    struct key *list;
    size_t count;
};

/* Read a key file. @return ICTUS_OK, ICTUS_ERR_ARG (no such file), ICTUS_ERR_IO, ICTUS_ERR_FORMAT
 * (file and line named) ... */
int ictusi_keys_read(const char *path, struct keys *keys, struct ictus_why *why);

/* Forget the keys, wiping them. */
void ictusi_keys_free(struct keys *keys);

/* NULL when there is none of that id. */
const struct key *ictusi_keys_find(const struct keys *keys, uint32_t id);

/* Append the authenticator to a packet: KEY_MAC_BYTES after length. @return the new length */
size_t ictusi_key_sign(const struct key *key, uint8_t *bytes, size_t length);

/* Whether the authenticator at mac_offset is this key's; in constant time. */
bool ictusi_key_verify(const struct key *key, const uint8_t *bytes, size_t mac_offset,
                       size_t digest_length);

#endif
