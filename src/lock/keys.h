/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric keys: AES-CMAC authenticators of NTP packets (RFC 8573) by means of libnettle. The key
 * file has chrony's format: "ID AES128|AES256 HEX:0123..." on each line, and # for comments. If
 * built without libnettle, all keys are refused.
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
 * (names file and line), ... */
int ictusi_keys_read(const char *path, struct keys *keys, struct ictus_why *why);

/* Wipe and release the keys. */
void ictusi_keys_free(struct keys *keys);

/* Find a key by its id, or return NULL. */
const struct key *ictusi_keys_find(const struct keys *keys, uint32_t id);

/* Append the authenticator, KEY_MAC_BYTES, to a packet of this length. @return the new length */
size_t ictusi_key_sign(const struct key *key, uint8_t *bytes, size_t length);

/* Return, in constant time, whether the authenticator at mac_offset is this key's. */
bool ictusi_key_verify(const struct key *key, const uint8_t *bytes, size_t mac_offset,
                       size_t digest_length);

#endif
