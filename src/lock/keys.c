/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files and AES-CMAC. */
#include "keys.h"

#include <ctype.h>
#include <errno.h>
#include <ictus/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DIGEST_BYTES = 16, LINE_BYTES = 512 };

#ifdef ICTUS_HAVE_NETTLE
#include <nettle/cmac.h>
#include <nettle/memops.h>

static void key_digest(const struct key *key, const uint8_t *bytes, size_t length,
                       uint8_t out[DIGEST_BYTES])
{
    /*
     * AES-CMAC (RFC 4493), with which RFC 8573 replaces NTP's MD5: keys of 16 or 32 bytes and a
     * digest of 16. The key schedule is computed for each packet and is gone with the stack of this
     * function.
     */
    if (key->length == 16) {
        struct cmac_aes128_ctx context;
        cmac_aes128_set_key(&context, key->bytes);
        cmac_aes128_update(&context, length, bytes);
        cmac_aes128_digest(&context, DIGEST_BYTES, out);
    } else {
        struct cmac_aes256_ctx context;
        cmac_aes256_set_key(&context, key->bytes);
        cmac_aes256_update(&context, length, bytes);
        cmac_aes256_digest(&context, DIGEST_BYTES, out);
    }
}

/* In constant time, so that the number of correct bytes of a forged digest cannot be measured. */
static bool digest_equal(const uint8_t *a, const uint8_t *b)
{
    return memeql_sec(a, b, DIGEST_BYTES) != 0;
}

static int keys_supported(struct ictus_why *why)
{
    (void)why;
    return ICTUS_OK;
}
#else
static void key_digest(const struct key *key, const uint8_t *bytes, size_t length,
                       uint8_t out[DIGEST_BYTES])
{
    (void)key;
    (void)bytes;
    (void)length;
    memset(out, 0, DIGEST_BYTES);
}

static bool digest_equal(const uint8_t *a, const uint8_t *b)
{
    (void)a;
    (void)b;
    return false;
}

static int keys_supported(struct ictus_why *why)
{
    /* Key files are refused, so that the digest of zeros above is never compared. Anybody could
     * forge it. */
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                         "symmetric keys need libnettle, and this program was built without it");
}
#endif

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const int lower = tolower((unsigned char)c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The number of digits must be exactly the key's. A short key is a mistake, not a weaker key. */
static bool keys_read_hex(const char *text, size_t wanted, uint8_t *bytes)
{
    if (strlen(text) != 2 * wanted) {
        return false;
    }
    for (size_t i = 0; i < wanted; i++) {
        const int high = hex_digit(text[2 * i]);
        const int low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/*
 * Parse a line "ID TYPE HEX:DIGITS" of chrony's key files. ID 0 is not a key, because a packet with
 * key 0 and no digest is a crypto-NAK. MD5 and SHA1, which those files may contain, are errors
 * here: ignoring a key would silently leave a server unprotected. @return 1: a key, 0: an empty
 * line, negative: malformed
 */
static int key_read_line(char *line, struct key *key)
{
    char *rest = NULL;
    line[strcspn(line, "#\r\n")] = '\0';
    const char *id = strtok_r(line, " \t", &rest);
    if (!id) {
        return 0;
    }
    const char *type = strtok_r(NULL, " \t", &rest);
    const char *secret = strtok_r(NULL, " \t", &rest);
    int64_t number = 0;
    if (!type || !secret || strtok_r(NULL, " \t", &rest) || ictus_parse_int(id, &number) ||
        number < 1 || number > UINT32_MAX) {
        return -1;
    }
    key->id = (uint32_t)number;
    key->length = strcmp(type, "AES128") == 0 ? 16 : strcmp(type, "AES256") == 0 ? 32 : 0;
    const bool hex = strncmp(secret, "HEX:", 4) == 0;
    return key->length && hex && keys_read_hex(secret + 4, key->length, key->bytes) ? 1 : -1;
}

/* Pointers into the list become invalid when it grows. Keys are therefore looked up
 * (ictusi_keys_find()) only after all of them have been read. */
static int keys_add(struct keys *keys, const struct key *key)
{
    struct key *grown = realloc(keys->list, (keys->count + 1) * sizeof(*grown));
    if (!grown) {
        return ICTUS_ERR_NOMEM;
    }
    keys->list = grown;
    keys->list[keys->count++] = *key;
    return ICTUS_OK;
}

int ictusi_keys_read(const char *path, struct keys *keys, struct ictus_why *why)
{
    char line[LINE_BYTES];
    int err = keys_supported(why);
    keys->list = NULL;
    keys->count = 0;
    if (err) {
        return err;
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        return ictus_because(why, ICTUS_ERR_ARG, "cannot read the keys in '%s': %s", path,
                             strerror(errno));
    }
    struct stat info;
    /* The file is checked after it was opened, so that it cannot be replaced in between. The
     * group may read the keys, so that a daemon that does not run as root can. */
    if (fstat(fileno(file), &info) < 0 || (info.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))) {
        err = ictus_because(why, ICTUS_ERR_PERMISSION,
                            "%s can be read or written by others; run 'chmod 600' on it and change "
                            "the keys",
                            path);
    }
    for (int number = 1; !err && fgets(line, sizeof(line), file); number++) {
        struct key key;
        const int kind = key_read_line(line, &key);
        if (kind < 0) {
            err = ictus_because(why, ICTUS_ERR_FORMAT,
                                "%s:%d: not a key; write 'ID AES128 HEX:<32 digits>' or 'ID AES256 "
                                "HEX:<64 digits>'",
                                path, number);
        } else if (kind > 0) {
            err = keys_add(keys, &key);
        }
    }
    (void)fclose(file);
    /* A compiler may omit a memset() of memory that is not read again. */
    explicit_bzero(line, sizeof(line));
    if (err) {
        ictusi_keys_free(keys);
    }
    return err;
}

void ictusi_keys_free(struct keys *keys)
{
    if (keys->list) {
        explicit_bzero(keys->list, keys->count * sizeof(*keys->list));
        free(keys->list);
    }
    keys->list = NULL;
    keys->count = 0;
}

const struct key *ictusi_keys_find(const struct keys *keys, uint32_t id)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->list[i].id == id) {
            return &keys->list[i];
        }
    }
    return NULL;
}

/* RFC 5905, 7.3: the key's id in network order, then the digest of everything before it. */
size_t ictusi_key_sign(const struct key *key, uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < 4; i++) {
        bytes[length + i] = (uint8_t)(key->id >> (24 - 8 * i));
    }
    key_digest(key, bytes, length, bytes + length + 4);
    return length + KEY_MAC_BYTES;
}

/* Everything before the key id was signed. A digest of another length belongs to another
 * algorithm. */
bool ictusi_key_verify(const struct key *key, const uint8_t *bytes, size_t mac_offset,
                       size_t digest_length)
{
    uint8_t wanted[DIGEST_BYTES];
    if (digest_length != DIGEST_BYTES) {
        return false;
    }
    key_digest(key, bytes, mac_offset, wanted);
    return digest_equal(wanted, bytes + mac_offset + 4);
}
