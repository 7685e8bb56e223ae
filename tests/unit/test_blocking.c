/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a send was blocked, and what messages tell about how large ones are sent. */
#include "partner_scene.h"

#include "waits/blocking.h"

#include <math.h>

/* A message: whose calls, how long, and how large. */
struct transfer_case {
    int64_t sent[2], done[2], posted[2], got[2]; /* enter and leave */
    uint32_t path, to;
    int64_t size;
    bool apart; /* the call that completes the send is another one */
};

/* The points of the last message that was added. */
struct ends {
    uint32_t send, receive;
};

static struct ends transfer_add(struct world *w, const struct transfer_case *t)
{
    struct ends e;
    const uint32_t sent = call_add(w, 0, t->sent[0], t->sent[1], t->path);
    const uint32_t done = t->apart ? call_add(w, 0, t->done[0], t->done[1], PLAIN) : sent;
    e.send = point_add(w, sent, POINT_P2P | POINT_OUT, t->sent[0]);
    w->other[e.send] = done;
    w->peer[e.send] = t->to;
    w->note[e.send].bytes = t->size;
    const uint32_t posted = call_add(w, t->to, t->posted[0], t->posted[1], PLAIN);
    const uint32_t got = call_add(w, t->to, t->got[0], t->got[1], PLAIN);
    e.receive = point_add(w, got, POINT_P2P | POINT_IN, t->got[1]);
    w->other[e.receive] = posted;
    w->peer[e.receive] = 0;
    w->link[e.receive] = e.send;
    return e;
}

static enum block transfer_judged(const struct transfer_case *t, int64_t eager_near,
                                  int64_t eager_far, int64_t longest)
{
    struct world *w = world_open();
    struct blocking b;
    const struct ends e = transfer_add(w, t);
    REQUIRE(!ictusi_blocking_init(&b, &w->s.a));
    b.eager[0] = eager_far;
    b.eager[1] = eager_near;
    for (int i = 0; i < BLOCK_SIZES; i++) {
        b.longest[i] = i == 3 ? longest : 0; /* of 8 to 15 bytes */
    }
    const enum block block = ictusi_blocking_judge(&b, e.send, e.receive);
    ictusi_blocking_free(&b);
    world_close(w);
    return block;
}

/* A send from 100 on, whose receive is posted at 300, and which returns at 400. */
static const struct transfer_case blocked = {
    .sent = {100, 400}, .posted = {300, 310}, .got = {320, 420}, .to = 1, .size = 8};

static void sends_are_judged(void)
{
    struct transfer_case t = blocked;
    /* that only sends, where no message shows what is sent at once */
    CHECK(transfer_judged(&t, -1, -1, 100) == BLOCK_CERTAIN);
    CHECK(transfer_judged(&t, -1, -1, 99) == BLOCK_POSSIBLE); /* unusually long */
    CHECK(transfer_judged(&t, 7, 90, 100) == BLOCK_CERTAIN);  /* larger than those within a node */
    CHECK(transfer_judged(&t, 8, -1, 100) == BLOCK_NOT);
    t.to = 2; /* on another node */
    CHECK(transfer_judged(&t, 90, 7, 100) == BLOCK_CERTAIN);
    CHECK(transfer_judged(&t, -1, 8, 100) == BLOCK_NOT);
    t.path = BUFFERED;
    CHECK(transfer_judged(&t, -1, -1, 100) == BLOCK_NOT);
    t.path = BOTH; /* it may have waited for what it received */
    CHECK(transfer_judged(&t, -1, -1, 100) == BLOCK_POSSIBLE);
    CHECK(transfer_judged(&t, 7, 7, 100) == BLOCK_CERTAIN);
    t.path = SYNC;
    CHECK(transfer_judged(&t, 90, 90, 100) == BLOCK_CERTAIN);
    CHECK(transfer_judged(&t, 90, 90, 99) == BLOCK_POSSIBLE);
    t = blocked;
    t.size = 15;
    CHECK(transfer_judged(&t, -1, -1, 100) == BLOCK_CERTAIN);
    t.size = 16;
    CHECK(transfer_judged(&t, -1, -1, 100) == BLOCK_POSSIBLE);
    t.size = 7;
    CHECK(transfer_judged(&t, -1, -1, 100) == BLOCK_POSSIBLE);
    t = blocked;
    t.sent[1] = 110; /* a call that began it, and one that completes it */
    t.apart = true;
    t.done[0] = 200;
    t.done[1] = 400;
    CHECK(transfer_judged(&t, -1, -1, 100) == BLOCK_POSSIBLE);
    CHECK(transfer_judged(&t, 7, -1, 100) == BLOCK_CERTAIN);
    for (int64_t enter = 299; enter <= 301; enter++) { /* the receive is posted during it */
        t.done[0] = enter;
        CHECK(transfer_judged(&t, 7, -1, 100) == (enter < 300 ? BLOCK_CERTAIN : BLOCK_NOT));
    }
    t.done[0] = 200;
    for (int64_t leave = 299; leave <= 301; leave++) {
        t.done[1] = leave;
        CHECK(transfer_judged(&t, 7, -1, 100) == (leave > 300 ? BLOCK_CERTAIN : BLOCK_NOT));
    }
}

/* Clocks that differ by 10 ns: what is within two standard deviations does not show anything. */
static void clocks_are_doubted(void)
{
    for (int64_t after = 19; after <= 20; after++) {
        for (int back = 0; back < 2; back++) {
            struct world *w = world_open();
            struct transfer_case t = blocked;
            struct blocking b;
            t.sent[1] = t.posted[0] + (back ? -after : after);
            const struct ends e = transfer_add(w, &t);
            scene_errs(&w->s, 0, 6, NULL);
            scene_errs(&w->s, 1, 8, NULL);
            REQUIRE(!ictusi_blocking_init(&b, &w->s.a));
            CHECK(ictusi_blocking_learn(&b, e.send, e.receive) == !back);
            CHECK(b.eager[1] == (back && after > 19 ? 8 : -1) && b.eager[0] == -1);
            ictusi_blocking_end(&b);
            const enum block wanted = after > 19 ? BLOCK_CERTAIN : BLOCK_POSSIBLE;
            CHECK(ictusi_blocking_judge(&b, e.send, e.receive) == (back ? BLOCK_NOT : wanted));
            ictusi_blocking_free(&b);
            world_close(w);
        }
    }
}

/*
 * Transfers are counted by size and time, from when both sides have come; two threads' add up. Of a
 * size, the upper edge of the class that 99 of 100 reach is the longest usual time.
 */
static void transfers_are_counted(void)
{
    static const int64_t times[] = {1, 2, 3, 5, 11, 100, 1000, 12345, 999999, 1 << 30};
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 1000, 1023, 1024, INT64_MAX};
    for (size_t i = 0; i < 4 * (sizeof times / sizeof *times) * (sizeof sizes / sizeof *sizes);
         i++) {
        const int64_t took = times[i / 4 % (sizeof times / sizeof *times)];
        const int64_t size = sizes[i / 4 / (sizeof times / sizeof *times)];
        struct world *w = world_open();
        struct transfer_case t = blocked;
        struct blocking b, other;
        t.size = size;
        t.got[1] = (i % 2 ? 300 : 350) + took;
        t.sent[0] = i % 2 ? 100 : 350;
        const struct ends e = transfer_add(w, &t);
        REQUIRE(!ictusi_blocking_init(&b, &w->s.a) && !ictusi_blocking_init(&other, &w->s.a));
        (void)ictusi_blocking_learn(&b, e.send, e.receive);
        (void)ictusi_blocking_learn(&other, e.send, e.receive);
        ictusi_blocking_join(&b, &other);
        const int class = size > 0 ? (int)floor(log2((double)size / 1.0000001)) : 0;
        const int sized = size > 1 && (size & (size - 1)) == 0 ? class + 1 : class > 0 ? class : 0;
        const int timed = (int)floor(8 * log2((double)took) + 1e-9);
        uint64_t all = 0;
        for (int k = 0; k < BLOCK_SIZES * BLOCK_TIMES; k++) {
            all += b.transfers[k];
        }
        CHECK(all == 2 && b.transfers[sized * BLOCK_TIMES + timed] == 2);
        ictusi_blocking_end(&b);
        for (int k = 0; k < BLOCK_SIZES; k++) {
            CHECK(b.longest[k] == (k == sized ? (int64_t)exp2((timed + 1) / 8.0) : 0));
        }
        ictusi_blocking_free(&b);
        ictusi_blocking_free(&other);
        world_close(w);
    }
}

static void few_take_longer(void)
{
    for (uint32_t long_ones = 1; long_ones <= 2; long_ones++) {
        struct blocking b;
        REQUIRE(!ictusi_blocking_init(&b, NULL));
        b.transfers[5 * BLOCK_TIMES + 16] = 100 - long_ones;
        b.transfers[5 * BLOCK_TIMES + 80] = long_ones;
        ictusi_blocking_end(&b);
        CHECK(b.longest[5] == (int64_t)exp2(long_ones > 1 ? 81 / 8.0 : 17 / 8.0));
        ictusi_blocking_free(&b);
    }
}

int main(void)
{
    sends_are_judged();
    clocks_are_doubted();
    transfers_are_counted();
    few_take_longer();
    return check_result();
}
