/* SPDX-License-Identifier: BSD-3-Clause */
/* The NTP packet's codec and checks. */
#include "packet.h"

#include <string.h>

/* Seconds from 1900, where NTP's time begins, to 1970. */
static const int64_t era_offset_s = INT64_C(2208988800);
static const int64_t ns_per_s = INT64_C(1000000000);

enum { MAC_MIN = 20, MAC_MAX = 24, EXTENSION_MIN = 16, KEY_ID_BYTES = 4 };

static uint32_t packet_get32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint64_t packet_get64(const uint8_t *bytes)
{
    return (uint64_t)packet_get32(bytes) << 32 | packet_get32(bytes + 4);
}

static void packet_put32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

static void packet_put64(uint8_t *bytes, uint64_t value)
{
    packet_put32(bytes, (uint32_t)(value >> 32));
    packet_put32(bytes + 4, (uint32_t)value);
}

/* The 16.16 short format counts unsigned seconds. */
static double short_to_ns(uint32_t value)
{
    return (double)value / 65536.0 * 1e9;
}

/* Rounded up, because a root distance must not shrink. */
static uint32_t short_from_ns(double ns)
{
    const double units = ns / 1e9 * 65536.0;
    if (!(units > 0.0)) {
        return 0;
    }
    if (units >= 4294967294.0) {
        return UINT32_MAX;
    }
    return (uint32_t)units + 1U;
}

/*
 * RFC 5905, section 7.3 (figure 8), in network order. Leap, version and mode share the first byte,
 * with 2, 3 and 3 bits. Poll and precision are powers of two of a second. Any 48 bytes can be
 * decoded. The checks below judge the values.
 */
bool ictusi_packet_decode(const uint8_t *bytes, size_t length, struct packet *packet)
{
    if (length < PACKET_BYTES) {
        return false;
    }
    packet->leap = bytes[0] >> 6;
    packet->version = (bytes[0] >> 3) & 7;
    packet->mode = bytes[0] & 7;
    packet->stratum = bytes[1];
    packet->poll = (int8_t)bytes[2];
    packet->precision = (int8_t)bytes[3];
    packet->root_delay_ns = short_to_ns(packet_get32(bytes + 4));
    packet->root_dispersion_ns = short_to_ns(packet_get32(bytes + 8));
    packet->reference_id = packet_get32(bytes + 12);
    packet->reference = packet_get64(bytes + 16);
    packet->origin = packet_get64(bytes + 24);
    packet->receive = packet_get64(bytes + 32);
    packet->transmit = packet_get64(bytes + 40);
    return true;
}

void ictusi_packet_encode(const struct packet *packet, uint8_t bytes[PACKET_BYTES])
{
    bytes[0] = (uint8_t)((packet->leap & 3) << 6 | (packet->version & 7) << 3 | (packet->mode & 7));
    bytes[1] = packet->stratum;
    bytes[2] = (uint8_t)packet->poll;
    bytes[3] = (uint8_t)packet->precision;
    packet_put32(bytes + 4, short_from_ns(packet->root_delay_ns));
    packet_put32(bytes + 8, short_from_ns(packet->root_dispersion_ns));
    packet_put32(bytes + 12, packet->reference_id);
    packet_put64(bytes + 16, packet->reference);
    packet_put64(bytes + 24, packet->origin);
    packet_put64(bytes + 32, packet->receive);
    packet_put64(bytes + 40, packet->transmit);
}

/*
 * What follows the header is a number of extension fields (RFC 5905, section 7.5; RFC 7822), each
 * with a type, its own length and at least 16 bytes. An authenticator may follow, which is a key id
 * and 16 or 20 bytes. Nothing marks the end of the fields, so a rest of at most 24 bytes is taken
 * as the authenticator. Lengths come from the network, so each is checked before the bytes that it
 * promises are read.
 */
bool ictusi_packet_trailer(const uint8_t *bytes, size_t length, struct packet_mac *mac)
{
    memset(mac, 0, sizeof(*mac));
    if (length < PACKET_BYTES || length % 4 != 0) {
        return false;
    }
    size_t at = PACKET_BYTES;
    while (length - at > MAC_MAX) {
        const size_t field = (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (field < EXTENSION_MIN || field % 4 != 0 || field > length - at) {
            return false;
        }
        at += field;
    }
    const size_t rest = length - at;
    if (rest == 0) {
        return true;
    }
    /* A lone key id is a crypto-NAK. Other lengths below MAC_MIN are not an authenticator. */
    if (rest != KEY_ID_BYTES && rest < MAC_MIN) {
        return false;
    }
    mac->present = true;
    mac->key = packet_get32(bytes + at);
    mac->offset = at;
    mac->length = rest - KEY_ID_BYTES;
    return true;
}

/*
 * RFC 5905, section 6: 32 bits of seconds since 1900, modulo an era of 2^32 s (136 years), and 32
 * bits of fraction in units of 233 ps, rounded to the nearest. A stamp of 0 means "unknown", so the
 * one instant of each era that would be 0 is sent as the next one.
 */
uint64_t ictusi_packet_stamp(int64_t unix_ns)
{
    int64_t seconds = unix_ns / ns_per_s;
    int64_t rest = unix_ns % ns_per_s;
    if (rest < 0) {
        rest += ns_per_s;
        seconds--;
    }
    const uint64_t fraction =
        (((uint64_t)rest << 32) + (uint64_t)ns_per_s / 2) / (uint64_t)ns_per_s;
    const uint64_t whole = (uint64_t)(uint32_t)(uint64_t)(seconds + era_offset_s);
    const uint64_t stamp = (whole << 32) + fraction;
    return stamp ? stamp : 1;
}

/* A stamp does not contain its era. It is taken as the instant nearest to the pivot, which is
 * right as long as the pivot is wrong by less than 68 years. */
int64_t ictusi_packet_unix(uint64_t stamp, int64_t pivot_ns)
{
    /* The difference to the pivot in the packet's units, modulo an era, is the smallest one. */
    const uint64_t pivot = ictusi_packet_stamp(pivot_ns);
    const int64_t units = (int64_t)(stamp - pivot);
    const int64_t seconds = units >> 32;
    const uint64_t fraction = (uint64_t)units & UINT32_MAX;
    const int64_t rest = (int64_t)((fraction * (uint64_t)ns_per_s + (UINT64_C(1) << 31)) >> 32);
    return pivot_ns + seconds * ns_per_s + rest;
}

/*
 * RFC 5905, section 8, and RFC 9769: the origin of a reply must be one of the two random stamps
 * that were sent with this request, its transmit stamp in basic mode and its receive stamp in
 * interleaved mode. In interleaved mode the reply's transmit stamp is that of the previous reply.
 * The 64 random bits keep a sender who cannot see the request from answering it. They also keep an
 * answer to an earlier request from counting.
 */
enum packet_fault ictusi_packet_check_header(const struct packet *reply,
                                             const struct packet_request *request,
                                             bool *interleaved)
{
    if (reply->version != 3 && reply->version != 4) {
        return PACKET_VERSION;
    }
    if (reply->mode != PACKET_SERVER) {
        return PACKET_NOT_SERVER;
    }
    if (reply->origin == request->transmit) {
        *interleaved = false;
    } else if (request->receive && reply->origin == request->receive) {
        *interleaved = true;
    } else {
        return PACKET_ORIGIN;
    }
    return PACKET_GOOD;
}

/*
 * Check what a server says about itself. Stratum 0 with a reference id is a kiss code (RFC 5905,
 * section 7.4), which is an order and not a time. Root delay / 2 + root dispersion is the server's
 * own distance to the truth. All of it is added to the bound.
 */
enum packet_fault ictusi_packet_check_content(const struct packet *reply, double max_distance_ns)
{
    if (reply->stratum == 0 && reply->reference_id) {
        return PACKET_KISS;
    }
    if (reply->leap == PACKET_LEAP_UNSYNCHRONISED || reply->stratum == 0 ||
        reply->stratum > PACKET_STRATUM_MAX) {
        return PACKET_UNSYNCHRONISED;
    }
    if (!reply->receive || !reply->transmit) {
        return PACKET_TIMES;
    }
    if (reply->root_delay_ns / 2 + reply->root_dispersion_ns > max_distance_ns) {
        return PACKET_DISTANCE;
    }
    return PACKET_GOOD;
}

void ictusi_packet_refid_text(uint32_t reference_id, char text[5])
{
    for (int i = 0; i < 4; i++) {
        const uint8_t c = (uint8_t)(reference_id >> (24 - 8 * i));
        text[i] = '\0';
        if (c == 0) {
            break;
        }
        text[i] = (char)(c >= 32 && c < 127 ? c : '.');
    }
    text[4] = '\0';
}

const char *ictusi_packet_fault_name(enum packet_fault fault)
{
    static const char *const names[PACKET_FAULTS] = {
        [PACKET_GOOD] = "good",
        [PACKET_SHORT] = "malformed",
        [PACKET_VERSION] = "version",
        [PACKET_NOT_SERVER] = "not a reply",
        [PACKET_ORIGIN] = "origin",
        [PACKET_AUTHENTICATION] = "authentication",
        [PACKET_KISS] = "kiss-o'-death",
        [PACKET_UNSYNCHRONISED] = "unsynchronised",
        [PACKET_TIMES] = "impossible times",
        [PACKET_DISTANCE] = "too distant",
    };
    return fault < PACKET_FAULTS ? names[fault] : "unknown";
}
