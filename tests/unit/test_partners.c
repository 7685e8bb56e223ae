/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom calls wait for: members of collectives and of nodes that depend on others, messages, and
 * sends that may have been blocked.
 */
#include "partner_scene.h"

#include "core/collective_op.h"

/* Members of a collective; each has a call of its own, with its enter and its exit. */
struct meeting_case {
    uint8_t class;
    int op;
    uint32_t path;
    uint32_t members;
    int64_t enter[LOCATIONS], leave[LOCATIONS];
    bool backwards; /* the node lists the last one first */
};

static struct world *members_meet(const struct meeting_case *m)
{
    struct world *w = world_open();
    uint32_t in[LOCATIONS], out[LOCATIONS];
    for (uint32_t l = 0; l < m->members; l++) {
        const uint32_t call = call_add(w, l, m->enter[l], m->leave[l], m->path);
        const uint32_t at = m->backwards ? m->members - 1 - l : l;
        in[at] = point_add(w, call, m->class | POINT_OUT, m->enter[l]);
        out[at] = point_add(w, call, m->class | POINT_IN, m->leave[l]);
        w->note[out[at]].op = m->op;
    }
    (void)node_add(w, in, m->members, out, m->members);
    partners_find(w);
    return w;
}

/* What a wait is called follows from the operation, or from what its members share. */
static void states_follow_operations(void)
{
    static const struct {
        uint8_t class;
        int op;
        uint32_t path;
        enum wait_state state;
    } cases[] = {{POINT_COLLECTIVE, COLLECTIVE_BARRIER, PLAIN, WAIT_BARRIER},
                 {POINT_COLLECTIVE, COLLECTIVE_BCAST, PLAIN, WAIT_LATE_BROADCAST},
                 {POINT_COLLECTIVE, COLLECTIVE_SCATTER, PLAIN, WAIT_LATE_BROADCAST},
                 {POINT_COLLECTIVE, COLLECTIVE_SCATTERV, PLAIN, WAIT_LATE_BROADCAST},
                 {POINT_COLLECTIVE, COLLECTIVE_REDUCE, PLAIN, WAIT_EARLY_REDUCE},
                 {POINT_COLLECTIVE, COLLECTIVE_GATHER, PLAIN, WAIT_EARLY_REDUCE},
                 {POINT_COLLECTIVE, COLLECTIVE_GATHERV, PLAIN, WAIT_EARLY_REDUCE},
                 {POINT_COLLECTIVE, COLLECTIVE_SCAN, PLAIN, WAIT_EARLY_SCAN},
                 {POINT_COLLECTIVE, COLLECTIVE_EXSCAN, PLAIN, WAIT_EARLY_SCAN},
                 {POINT_COLLECTIVE, COLLECTIVE_ALLREDUCE, PLAIN, WAIT_NXN},
                 {POINT_COLLECTIVE, COLLECTIVE_BARRIER, FENCE, WAIT_BARRIER},
                 {POINT_COLLECTIVE, COLLECTIVE_BARRIER, FILES, WAIT_FILE},
                 {POINT_RMA, COLLECTIVE_BARRIER, FENCE, WAIT_FENCE},
                 {POINT_RMA, COLLECTIVE_BARRIER, PLAIN, WAIT_NXN},
                 {POINT_RMA, COLLECTIVE_BARRIER, FILES, WAIT_NXN},
                 {POINT_THREAD, OP_TEAM_BARRIER, PLAIN, WAIT_TEAM_BARRIER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct meeting_case m = {.class = cases[i].class,
                                       .op = cases[i].op,
                                       .path = cases[i].path,
                                       .members = 2,
                                       .enter = {100, 300},
                                       .leave = {500, 500}};
        const struct world *w = members_meet(&m);
        CHECK(partner_of(w, 0)->state == cases[i].state && partner_of(w, 0)->late == 200);
        CHECK(partner_of(w, 0)->call == 1 && partner_of(w, 0)->location == 1);
        CHECK(partner_of(w, 0)->until == WAIT_UNTIL_CAUSE && analysis_wait(&w->s.a, 0) == 200);
        CHECK(partner_of(w, 1)->call == 0 && partner_of(w, 1)->until == WAIT_NOT);
        world_close((struct world *)w);
    }
}

/* A fence or a file is not waited for if some member leaves before the last one has come. */
static void loose_ones_do_not_wait(void)
{
    static const struct {
        uint8_t class;
        uint32_t path;
        bool may_be_loose;
    } cases[] = {{POINT_RMA, FENCE, true},
                 {POINT_COLLECTIVE, FILES, true},
                 {POINT_RMA, PLAIN, false},
                 {POINT_COLLECTIVE, PLAIN, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int64_t leave = 299; leave <= 301; leave++) {
            for (uint32_t who = 0; who < 2; who++) {
                struct meeting_case m = {.class = cases[i].class,
                                         .path = cases[i].path,
                                         .members = 3,
                                         .enter = {100, 150, 300},
                                         .leave = {500, 500, 500}};
                m.leave[who] = leave;
                const struct world *w = members_meet(&m);
                const bool loose = cases[i].may_be_loose && leave <= 300;
                const bool to_the_end = leave <= 300;
                CHECK((partner_of(w, who)->state == WAIT_NONE) == loose);
                CHECK((partner_of(w, 1 - who)->state == WAIT_NONE) == loose);
                CHECK(loose || partner_of(w, who)->call == 2);
                CHECK(loose || partner_of(w, who)->until ==
                                   (to_the_end ? WAIT_UNTIL_LEAVE : WAIT_UNTIL_CAUSE));
                world_close((struct world *)w);
            }
        }
    }
}

/*
 * From when all have come and the first leaves, barriers and exchanges of all with all are
 * completed. Of other operations nobody waits for that.
 */
static void completion_is_no_wait(void)
{
    struct meeting_case m = {.class = POINT_COLLECTIVE,
                             .op = COLLECTIVE_BARRIER,
                             .members = 3,
                             .enter = {100, 300, 200},
                             .leave = {520, 500, 510}};
    struct world *w = members_meet(&m);
    CHECK(w->aside_count == 2 && aside_is(w, 0, WAIT_BARRIER_COMPLETION, 0, 20));
    CHECK(aside_is(w, 1, WAIT_BARRIER_COMPLETION, 2, 10));
    world_close(w);
    m.op = COLLECTIVE_ALLREDUCE;
    m.leave[2] = 250; /* before the last one came: then completion begins */
    w = members_meet(&m);
    CHECK(w->aside_count == 2 && aside_is(w, 0, WAIT_NXN_COMPLETION, 0, 220));
    CHECK(aside_is(w, 1, WAIT_NXN_COMPLETION, 1, 200));
    world_close(w);
    m.op = COLLECTIVE_BCAST;
    w = members_meet(&m);
    CHECK(w->aside_count == 0);
    world_close(w);
}

/* All wait for the last one, and that for the last of the others; of two at once, for the lower. */
static void the_last_one_is_waited_for(void)
{
    static const struct {
        int64_t enter[LOCATIONS];
        uint32_t last, next;
    } cases[] = {{{100, 400, 300, 200}, 1, 2}, {{100, 200, 300, 400}, 3, 2},
                 {{400, 300, 200, 100}, 0, 1}, {{100, 300, 300, 200}, 1, 2},
                 {{300, 100, 300, 300}, 0, 0}, {{200, 100, 400, 300}, 2, 3}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct meeting_case m = {.class = POINT_COLLECTIVE,
                                 .members = LOCATIONS,
                                 .leave = {500, 500, 500, 500},
                                 .backwards = i % 2};
        memcpy(m.enter, cases[i / 2].enter, sizeof m.enter);
        struct world *w = members_meet(&m);
        const uint32_t last = cases[i / 2].last;
        for (uint32_t l = 0; l < LOCATIONS; l++) {
            const struct partner *p = partner_of(w, l);
            CHECK(p->node == NODE_VIRTUAL);
            CHECK(l == last || (p->call == last && p->late == m.enter[last] - m.enter[l]));
            CHECK(l != last || cases[i / 2].next == last || p->call == cases[i / 2].next);
        }
        world_close(w);
    }
}

/*
 * A scan: each member depends on those before it, through a chain of nodes. Its last member is
 * searched for anew in each history, unless the chain is longer than 256 or no chain at all.
 */
static void chains_are_kept(uint32_t before, bool forked, bool kept)
{
    struct world *w = world_open();
    uint32_t calls[3], points[3], exits[3], list[EDGES];
    for (uint32_t l = 0; l < 3; l++) {
        calls[l] = call_add(w, l, l == 0 ? 300 : 100 + l, 600, PLAIN);
        points[l] = point_add(w, calls[l], POINT_COLLECTIVE | POINT_OUT, 100);
        exits[l] = point_add(w, calls[l], POINT_COLLECTIVE | POINT_IN, 600);
        w->note[exits[l]].op = COLLECTIVE_SCAN;
    }
    for (uint32_t i = 0; i < before; i++) {
        list[i] = points[0];
    }
    const uint32_t first = node_add(w, list, before, NULL, 0);
    const uint32_t ends[] = {points[1], first, first};
    const uint32_t second = node_add(w, ends, forked ? 3 : 2, &exits[1], 1);
    const uint32_t others[] = {second};
    (void)node_add(w, others, 1, &exits[2], 1);
    partners_find(w);
    for (uint32_t l = 1; l < 3; l++) {
        const struct partner *p = partner_of(w, calls[l]);
        CHECK(p->state == WAIT_EARLY_SCAN && p->call == calls[0] && p->late == 200 - (int64_t)l);
        CHECK(p->node == (kept ? NODE_VIRTUAL | l : NODE_NONE));
    }
    CHECK(partner_of(w, calls[0])->state == WAIT_NONE);
    world_close(w);
}

/* Two messages and a call that completes both: it waits for the later one, or for the lower call.
 */
static void two_are_received(const int64_t sent[2], uint32_t flags, uint32_t cause, uint64_t muted)
{
    for (int turned = 0; turned < 2; turned++) {
        struct world *w = world_open();
        uint32_t sends[2];
        for (uint32_t l = 0; l < 2; l++) {
            const uint32_t call = call_add(w, l, sent[l], sent[l] + 5, PLAIN);
            sends[l] = point_add(w, call, POINT_P2P | POINT_OUT, sent[l]);
            w->peer[sends[l]] = 2;
            call_at(&w->s.a.calls, call)->flags |= l == 1 ? flags : 0;
        }
        const uint32_t call = call_add(w, 2, 100, 900, PLAIN);
        for (uint32_t l = 0; l < 2; l++) {
            const uint32_t receive = point_add(w, call, POINT_P2P | POINT_IN, 890);
            w->peer[receive] = turned ? 1 - l : l;
            w->link[receive] = sends[w->peer[receive]];
        }
        partners_find(w);
        const struct partner *p = partner_of(w, call);
        CHECK(p->call == cause && p->late == sent[cause] - 100 && p->node == NODE_NONE);
        CHECK(p->state == WAIT_LATE_SENDER && w->s.a.partners.muted == muted);
        world_close(w);
    }
}

/*
 * One call completes two sends that may have been blocked, until 300 and until 400, and receives a
 * message. It may have waited for as long as the latest of them, less what it waited for certain.
 */
static void possible_waits_are_told(int64_t sent, uint32_t flags, int64_t possible)
{
    for (int turned = 0; turned < 2; turned++) {
        struct world *w = world_open();
        uint32_t sends[2];
        const uint32_t call[] = {call_add(w, 0, 100, 110, BOTH), call_add(w, 0, 120, 130, BOTH),
                                 call_add(w, 0, 200, 500, PLAIN)};
        for (uint32_t i = 0; i < 2; i++) {
            sends[i] = point_add(w, call[i], POINT_P2P | POINT_OUT, 105 + 20 * i);
            w->other[sends[i]] = call[2];
            w->peer[sends[i]] = 1;
        }
        const uint32_t got = point_add(w, call[2], POINT_P2P | POINT_IN, 490);
        call_at(&w->s.a.calls, call[2])->flags |= flags;
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t which = turned ? 1 - i : i;
            const uint32_t posted = call_add(w, 1, 300 + 100 * i, 305 + 100 * i, PLAIN);
            const uint32_t receive = point_add(w, posted, POINT_P2P | POINT_IN, 305 + 100 * i);
            w->link[receive] = sends[which];
        }
        const uint32_t last = call_add(w, 2, sent, sent + 5, PLAIN);
        w->link[got] = point_add(w, last, POINT_P2P | POINT_OUT, sent);
        w->peer[got] = 2;
        partners_find(w);
        CHECK(w->aside_count == (possible > 0));
        CHECK(possible == 0 || aside_is(w, 0, WAIT_POSSIBLE, call[2], possible));
        world_close(w);
    }
}

int main(void)
{
    states_follow_operations();
    loose_ones_do_not_wait();
    completion_is_no_wait();
    the_last_one_is_waited_for();
    chains_are_kept(1, false, true);
    chains_are_kept(255, false, true);
    chains_are_kept(256, false, false);
    chains_are_kept(1, true, false);
    two_are_received((const int64_t[]){300, 400}, 0, 1, 0);
    two_are_received((const int64_t[]){400, 300}, 0, 0, 0);
    two_are_received((const int64_t[]){400, 400}, 0, 0, 0);
    two_are_received((const int64_t[]){300, 400}, CALL_CUT, 0, 0);
    two_are_received((const int64_t[]){300, 400}, CALL_MUTED, 0, 1);
    possible_waits_are_told(150, 0, 200);
    possible_waits_are_told(260, 0, 140);
    possible_waits_are_told(399, 0, 1);
    possible_waits_are_told(400, 0, 0);
    possible_waits_are_told(150, CALL_CUT, 0);
    possible_waits_are_told(150, CALL_MUTED, 0);
    return check_result();
}
