/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges with one server whose clock, path and misbehaviour are known. */
#include "peer_scene.h"

#include "core/random.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

/* The sample is that of RFC 5905, and the parts of its way are those that were made up. */
static void exchanges_are_measured(void)
{
    struct sample s;
    for (int mode = STAMP_USER; mode <= STAMP_KERNEL; mode++) {
        const bool kernel = mode == STAMP_KERNEL;
        const int64_t more = kernel ? 0 : SEND_NS + RECEIVE_NS;
        peer_begin((enum stamp_mode)mode, false);
        if (!kernel) {
            peer.options.stamps = STAMP_USER;
        }
        REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
        const int64_t t1 = sent.at + SEND_NS;
        const struct packet reply = reply_made(t1 + 40000, t1 + 50000, false);
        struct arrival *a = reply_arrives(&reply, t1 + 110000);
        if (kernel) {
            stamp_leaves(0, t1 + real_minus_raw, 0);
        } else {
            a->stamps.kernel = 0;
        }
        now = t1 + 110000 + RECEIVE_NS;
        REQUIRE(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK);
        const int64_t middle = kernel ? t1 + 55000 : (sent.at + now) / 2;
        CHECK(s.local == middle && !s.interleaved && s.kernel == kernel);
        CHECK_NEAR(s.offset_ns - real_minus_raw - ahead_ns, t1 + 45000 - middle, 2);
        CHECK_NEAR(s.delay_ns, 100000 + more, 2);
        CHECK(s.network_ns == s.delay_ns && s.sigma_ns == 0);
        CHECK_NEAR(s.bound_ns, s.delay_ns / 2 + 50 + 5e-4 * 10000, 1e-3);
        CHECK_NEAR(s.root_ns, 4e6, 2e4); /* packets have units of 15 us */
        CHECK(s.send_ns == (kernel ? SEND_NS : 0) && s.receive_ns == (kernel ? RECEIVE_NS : 0));
        CHECK(peer.sent == 1 && peer.received == 1 && peer.missing == 0);
        CHECK(peer.faults[PACKET_GOOD] == 1 && peer.reply.stratum == 2);
    }
}

/* Whatever the way there and back, the hold and its clock: the truth is within the bound. */
static void truth_is_within_the_bound(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 25, 1);
    for (int i = 0; i < 2000; i++) {
        const double rate = 5e-4 * (2 * ictusi_random_uniform(&rng) - 1);
        const int64_t there = (int64_t)(1e6 * ictusi_random_exponential(&rng));
        const int64_t back = (int64_t)(1e3 * ictusi_random_exponential(&rng));
        const int64_t hold = (int64_t)(5e8 * ictusi_random_uniform(&rng));
        const int64_t t1 = second + (int64_t)(1e9 * ictusi_random_uniform(&rng));
        const struct peer_exchange x = {.t1 = t1,
                                        .t2 = t1 + there + ahead_ns,
                                        .t3 = t1 + there + ahead_ns + hold +
                                              (int64_t)((double)hold * rate),
                                        .t4 = t1 + there + hold + back,
                                        .user1 = t1 - 7,
                                        .user4 = t1 + there + hold + back + 11,
                                        .root_ns = 5,
                                        .kernel = i % 2 == 0};
        struct sample s;
        REQUIRE(ictusi_peer_sample(&x, &s));
        const double middle = ((double)(x.t3 - x.t2) - (double)hold) / 2; /* of its clock's error */
        CHECK(fabs((double)(s.offset_ns - ahead_ns) - middle) <= s.bound_ns);
        CHECK(s.bound_ns <= (double)(there + back) / 2 + 51 + 1e-3 * (double)hold);
        CHECK(s.local == t1 + (x.t4 - t1) / 2 && s.root_ns == 5 && s.delay_ns >= 0);
        CHECK(s.send_ns == (x.kernel ? 7 : 0) && s.receive_ns == (x.kernel ? 11 : 0));
    }
}

/* Stamps that no exchange can have: time that runs backwards, a hold that is too long. */
static void impossible_stamps_are_refused(void)
{
    static const struct {
        int64_t trip, hold;
        bool possible;
    } cases[] = {{1, 0, true},
                 {0, 0, false},
                 {-1, 0, false},
                 {1000, -1, false},
                 {1000, 0, true},
                 {INT64_C(1000000001), INT64_C(1000000000), true},
                 {INT64_C(1000000002), INT64_C(1000000001), false},
                 /* The hold is by another clock: up to 50 ns and 500 ppm longer than the trip. */
                 {1000000, 1000550, true},
                 {99900, 100000, true},
                 {1000000, 1000552, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample s;
        const struct peer_exchange x = {
            .t1 = 500, .t4 = 500 + cases[i].trip, .t2 = 9000, .t3 = 9000 + cases[i].hold};
        CHECK(ictusi_peer_sample(&x, &s) == cases[i].possible);
        CHECK(!cases[i].possible || s.delay_ns == fmax(0, (double)(cases[i].trip - cases[i].hold)));
    }
    struct sample s;
    peer_begin(STAMP_KERNEL, false);
    CHECK(exchange(1000, -5000, 6000, &s) == ICTUS_ERR_FORMAT);
    CHECK(peer.fault == PACKET_TIMES && peer.faults[PACKET_TIMES] == 1);
}

/* A request reveals nothing, and its random stamp is never 0 and never the same. */
static void requests_reveal_nothing(void)
{
    const struct key key = {.id = 77};
    uint64_t last = 0;
    struct sample s;
    for (int i = 0; i < 4; i++) {
        peer_begin(STAMP_KERNEL, i % 2 == 1);
        peer.options.key = i == 3 ? &key : NULL;
        REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
        const struct packet request = request_sent();
        CHECK(sent.length == (i == 3 ? PACKET_BYTES + KEY_MAC_BYTES : PACKET_BYTES));
        CHECK(request.version == 4 && request.mode == PACKET_CLIENT && request.leap == 0);
        CHECK(request.stratum == 0 && request.precision == 32 && request.poll == 6);
        CHECK(!request.reference && !request.origin && !request.receive);
        CHECK(request.transmit && request.transmit != last);
        CHECK(peer.wait.request.transmit == request.transmit && !peer.wait.request.receive);
        last = request.transmit;
    }
    /* Interleaved: the server finds its last answer by the receive stamp that it gave. */
    peer_begin(STAMP_KERNEL, true);
    CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_ERR_SAMPLES);
    REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
    const struct packet request = request_sent();
    CHECK(request.origin == peer.last.wire2 && request.origin);
    CHECK(request.receive && request.receive != request.transmit);
}

/*
 * An interleaved reply tells when the one before it really left: the sample is that of the exchange
 * before, with the larger root distance of the two.
 */
static void interleaved_replies_complete_the_last(void)
{
    for (int i = 0; i < 2; i++) {
        struct sample s;
        peer_begin(STAMP_KERNEL, true);
        CHECK(exchange(30000, 10000, 30000, &s) == ICTUS_ERR_SAMPLES && peer.last.valid);
        const int64_t t1 = sent.at + SEND_NS;
        const int64_t late = 5000; /* the first answer left so long after its own stamp */
        now += second;
        REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
        const int64_t next = sent.at + SEND_NS;
        struct packet reply = reply_made(next + 30000, t1 + 40000 + late, true);
        reply.root_dispersion_ns = i ? 9e6 : 1e6;
        stamp_leaves(peer.socket.sent - 1, next + real_minus_raw, 0);
        (void)reply_arrives(&reply, next + 90000);
        now = next + 100000;
        CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK && s.interleaved);
        CHECK(s.local == t1 + 35000);
        CHECK_NEAR(s.delay_ns, 60000 - late, 2);
        CHECK_NEAR(s.offset_ns - real_minus_raw - ahead_ns, late / 2, 2);
        CHECK_NEAR(s.root_ns, i ? 10e6 : 4e6, 2e4);
        /* A server that does not know the mode answers as it can, and that is a sample, too. */
        CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_OK && !s.interleaved);
        /* After a lost exchange the next one begins anew. */
        REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
        now = peer.wait.deadline;
        CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_ERR_TIMEOUT && !peer.last.valid);
        CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_ERR_SAMPLES);
    }
}

/* How long the peer waits for a reply that does not come, in s. */
static double patience(void)
{
    struct sample s;
    REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
    const int64_t began = now;
    now = peer.wait.deadline - 1;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING);
    now++;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_ERR_TIMEOUT);
    return (double)(now - began) / 1e9;
}

/*
 * The peer waits as long as it may, less from reply to reply, and never less than eight round trips
 * or 50 ms; more at once when the path has become slower.
 */
static void patience_is_learned(void)
{
    struct sample s;
    peer_begin(STAMP_KERNEL, false);
    CHECK_NEAR(patience(), 1.0, 1e-8); /* before any reply: all of the timeout, and again */
    CHECK_NEAR(patience(), 1.0, 1e-8);
    for (int i = 1; i <= 20; i++) {
        CHECK(exchange(ms, ms, ms, &s) == ICTUS_OK);
        CHECK_NEAR(peer.patience_s, fmax(0.05, pow(0.8, i)), 1e-6);
    }
    CHECK_NEAR(patience(), 0.05, 1e-8);
    CHECK_NEAR(patience(), 0.1, 1e-8); /* twice as long after each reply that did not come */
    CHECK_NEAR(patience(), 0.2, 1e-8);
    for (int i = 0; i < 20; i++) {
        CHECK(exchange(ms, ms, ms, &s) == ICTUS_OK);
    }
    CHECK(exchange(7 * ms, 8 * ms, 10 * ms, &s) == ICTUS_OK);
    CHECK_NEAR(peer.patience_s, 8 * (0.025 + (SEND_NS + RECEIVE_NS) * 1e-9), 1e-8);
    CHECK(exchange(70 * ms, 80 * ms, 10 * ms, &s) == ICTUS_OK);
    CHECK_NEAR(peer.patience_s, 1.0, 1e-9); /* never more than the timeout */
}

/* Begin an exchange whose reply is there 1 ms later. */
static void reply_waits(int64_t hardware)
{
    REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
    const struct packet reply = reply_made(sent.at + ms / 4, sent.at + ms / 2, false);
    reply_arrives(&reply, sent.at + ms)->stamps.hardware = hardware;
    now = sent.at + ms + RECEIVE_NS;
}

/*
 * If the reply comes before the stamp of its request, the peer waits for the stamp, 2 ms at most
 * and not beyond the deadline; stamps of other requests do not count.
 */
static void stamps_are_waited_for(void)
{
    struct sample s;
    peer_begin(STAMP_KERNEL, false);
    reply_waits(0);
    const int64_t seen = now;
    stamp_leaves(peer.socket.sent - 2, sent.at + real_minus_raw - second, 0);
    CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING && peer.wait.answered);
    CHECK(peer.wait.deadline == seen + 2 * ms);
    now = seen + 2 * ms - 1;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING);
    CHECK(peer.wait.deadline == seen + 2 * ms); /* once */
    now++;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK && !s.kernel && peer.missing == 1);
    CHECK_NEAR(s.delay_ns, ms + RECEIVE_NS - ms / 4, 2);
    reply_waits(0);
    CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING);
    stamp_leaves(peer.socket.sent - 1, sent.at + SEND_NS + real_minus_raw, 0);
    now += ms;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK && s.kernel && peer.missing == 1);
    CHECK_NEAR(s.delay_ns, ms - SEND_NS - ms / 4, 2);
    reply_waits(0);
    peer.wait.deadline = now + ms;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING && peer.wait.deadline == now + ms);
    now += ms;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK && peer.missing == 2);
    /* Without a stamp of the reply, both are the application's. */
    reply_waits(0);
    inbox[0].stamps.kernel = 0;
    stamp_leaves(peer.socket.sent - 1, sent.at + SEND_NS + real_minus_raw, 0);
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK && !s.kernel && peer.missing == 3);
    CHECK_NEAR(s.delay_ns, ms + RECEIVE_NS - ms / 4, 2);
}

/* The card's stamps are used if there are two, and its clock could be compared. */
static void cards_come_first(void)
{
    static const int64_t device = INT64_C(123000000000);
    struct sample s;
    for (int i = 0; i < 4; i++) {
        const bool both = i == 0;
        peer_begin(STAMP_HARDWARE, false);
        peer.card.fd = i == 3 ? -1 : 0;
        card.device_minus_raw = device;
        card.fails = i == 1 ? 1 : 0;
        reply_waits(i == 2 ? 0 : now + ms - 500 + device);
        /* The kernel's stamp alone does not end the wait for the card's. */
        stamp_leaves(0, sent.at + SEND_NS + real_minus_raw, 0);
        CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING);
        stamp_leaves(0, 0, sent.at + SEND_NS + 700 + device);
        REQUIRE(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK);
        CHECK(s.kernel && peer.missing == 0);
        CHECK_NEAR(s.delay_ns, ms - ms / 4 - SEND_NS - (both ? 1200 : 0), 2);
    }
}

/* While CLOCK_REALTIME is set, or the machine sleeps, no exchange is worth anything. */
static void disturbed_exchanges_are_dropped(void)
{
    struct sample s;
    peer_begin(STAMP_KERNEL, true);
    CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_ERR_SAMPLES && peer.last.valid);
    steps++;
    CHECK(ictusi_peer_ask(&peer, &base) == ICTUS_ERR_CLOCK);
    CHECK(sent.count == 1 && !peer.last.valid);
    CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_ERR_SAMPLES && peer.last.valid);
    reply_waits(0);
    stamp_leaves(peer.socket.sent - 1, sent.at + real_minus_raw, 0);
    steps++;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_ERR_CLOCK && !peer.last.valid);
    base.suspended++;
    CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_ERR_SAMPLES);
    REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
    base.suspended++;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING); /* it was not looked at yet */
    now = peer.wait.deadline;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_ERR_CLOCK);
    REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
    steps++;
    base.suspended++; /* both at once */
    now = peer.wait.deadline;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_ERR_CLOCK);
    /* What cannot be sent is no exchange either. */
    CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_ERR_SAMPLES && peer.last.valid);
    sent.code = ICTUS_ERR_IO;
    CHECK(ictusi_peer_ask(&peer, &base) == ICTUS_ERR_IO && !peer.last.valid);
}

/* What others send is counted and passed over. */
static void replies_are_sorted(void)
{
    struct sample s;
    peer_begin(STAMP_KERNEL, false);
    reply_waits(0);
    const struct arrival good = inbox[0];
    inbox_count = 0;
    struct packet forged = reply_made(now, now, false);
    forged.origin++;
    (void)reply_arrives(&forged, now);
    inbox[inbox_count] = good;
    inbox[inbox_count++].length = PACKET_MAX + 4; /* cut off */
    inbox[inbox_count] = good;
    inbox[inbox_count++].length = PACKET_BYTES - 4;
    CHECK(ictusi_peer_hear(&peer, &base, &s) == PEER_PENDING);
    CHECK(peer.faults[PACKET_ORIGIN] == 1 && peer.faults[PACKET_SHORT] == 2);
    CHECK(peer.fault == PACKET_SHORT && peer.reply.stratum == 0 && !peer.wait.answered);
    inbox[inbox_count++] = good;
    inbox[inbox_count++] = good; /* a duplicate, after what was asked for */
    stamp_leaves(0, sent.at + real_minus_raw, 0);
    CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_OK && inbox_count == 1);
    CHECK(peer.faults[PACKET_GOOD] == 1 && peer.reply.stratum == 2 && peer.received == 1);
}

/* What the server says of itself ends the exchange. */
static void refusals_end_exchanges(void)
{
    static const enum packet_fault faults[] = {PACKET_KISS, PACKET_UNSYNCHRONISED, PACKET_DISTANCE};
    struct sample s;
    for (int i = 0; i < 3; i++) {
        peer_begin(STAMP_KERNEL, true);
        CHECK(exchange(1000, 1000, 1000, &s) == ICTUS_ERR_SAMPLES && peer.last.valid);
        REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
        struct packet reply = reply_made(sent.at, sent.at, false);
        reply.stratum = i == 0 ? 0 : i == 1 ? 16 : 2;
        reply.reference_id = i == 0 ? 0x52415445 : 0;
        reply.root_dispersion_ns = i == 2 ? 2e9 : 0;
        (void)reply_arrives(&reply, now);
        CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_ERR_FORMAT && !peer.last.valid);
        CHECK(peer.fault == faults[i]);
        CHECK(peer.faults[peer.fault] == 1 && peer.reply.stratum == reply.stratum);
        /* The fault is that of the last exchange. */
        REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
        CHECK(peer.fault == PACKET_GOOD);
        receive_code = ICTUS_ERR_IO;
        CHECK(ictusi_peer_hear(&peer, &base, &s) == ICTUS_ERR_IO && !peer.last.valid);
    }
}

/* With a key, a reply counts only with the right authenticator of that key. */
static void keys_are_required(void)
{
    const struct key key = {.id = 77};
    struct sample s;
    for (int i = 0; i < 4; i++) {
        peer_begin(STAMP_KERNEL, false);
        peer.options.key = &key;
        reply_waits(0);
        stamp_leaves(0, sent.at + real_minus_raw, 0);
        digest_fits = i != 2;
        if (i > 0) {
            inbox[0].bytes[PACKET_BYTES + 3] = i == 1 ? 78 : 77;
            inbox[0].length += KEY_MAC_BYTES;
        }
        CHECK(ictusi_peer_hear(&peer, &base, &s) == (i == 3 ? ICTUS_OK : PEER_PENDING));
        CHECK(peer.faults[PACKET_AUTHENTICATION] == (i == 3 ? 0U : 1U));
    }
}

/* A connection has stamps of the kind that was asked for, or of the kernel if no card has them. */
static void connections_are_prepared(void)
{
    static const enum stamp_mode modes[] = {STAMP_USER, STAMP_KERNEL, STAMP_HARDWARE};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct addrinfo info = {
        .ai_family = AF_INET, .ai_addr = (struct sockaddr *)(void *)&at, .ai_addrlen = sizeof(at)};
    struct ictus_why why = {""};
    for (size_t i = 0; i < 4; i++) {
        peer_begin(STAMP_USER, false);
        REQUIRE(!ictusi_peer_name("127.0.0.1", &peer, &why));
        peer.options.stamps = i == 3 ? STAMP_HARDWARE : modes[i];
        card.missing = i == 3;
        enabled = -1;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        peer.patience_s = 3.0;
        CHECK(ictusi_peer_connect(&peer, &info, &why) == ICTUS_OK);
        CHECK(enabled == (i == 3 ? STAMP_KERNEL : (int)modes[i]) && card.opened == (i >= 2));
        CHECK_STR(peer.address, "127.0.0.1");
        CHECK(peer.reference_id == 0x7f000001 && peer.patience_s == 0);
        /* Another address: the old socket is closed. A broadcast is not permitted. */
        const int fd = peer.socket.fd;
        peer.last.valid = true;
        enabled = -1;
        at.sin_addr.s_addr = htonl(INADDR_BROADCAST);
        CHECK(ictusi_peer_connect(&peer, &info, &why) == ICTUS_ERR_IO);
        CHECK(strstr(why.text, "cannot reach 127.0.0.1: ") && enabled == -1);
        CHECK(peer.socket.fd < 0 && fcntl(fd, F_GETFD) < 0 && !peer.last.valid && card.closed == 3);
    }
}

int main(void)
{
    connections_are_prepared();
    exchanges_are_measured();
    truth_is_within_the_bound();
    impossible_stamps_are_refused();
    requests_reveal_nothing();
    interleaved_replies_complete_the_last();
    patience_is_learned();
    stamps_are_waited_for();
    cards_come_first();
    disturbed_exchanges_are_dropped();
    replies_are_sorted();
    refusals_end_exchanges();
    keys_are_required();
    return check_result();
}
