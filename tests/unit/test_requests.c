/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What requests, matched messages, persistent operations and windows leave in a thread's records,
 * as MPI defines it. The tracer's own code runs without MPI, whose answers are simulated here.
 */
#include "../check.h"

#include "tracer/real.h"
#include "tracer/requests.h"
#include "tracer/rma.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum { INT_BYTES = 4, WORLD_ID = 3, THREAD = 2, ROOM = 8, FIRST = 7 };

struct tracer ictusi_tracer;

static bool is_cancelled, is_complete;

/* Ranks of group members in the window's communicator; a handle is its index plus one. */
static const struct {
    int count, ranks[4];
} groups[] = {{4, {0, 1, 2, 3}}, {2, {3, 1}}, {3, {2, MPI_UNDEFINED, 0}}};

static MPI_Group group_handle(int group)
{
    return (MPI_Group)(uintptr_t)(16 * (group + 1));
}

static int group_of(MPI_Group handle)
{
    return (int)((uintptr_t)handle / 16) - 1;
}

static int model_elements(const MPI_Status *status, MPI_Datatype type, MPI_Count *bytes)
{
    CHECK(type == MPI_BYTE);
    *bytes = 100 + status->MPI_TAG;
    return MPI_SUCCESS;
}

static int model_cancelled(const MPI_Status *status, int *flag)
{
    (void)status;
    *flag = is_cancelled;
    return MPI_SUCCESS;
}

static int model_request_status(MPI_Request request, int *flag, MPI_Status *status)
{
    (void)request;
    (void)status;
    *flag = is_complete;
    return MPI_SUCCESS;
}

static int model_group_size(MPI_Group group, int *size)
{
    *size = groups[group_of(group)].count;
    return MPI_SUCCESS;
}

static int model_translate(MPI_Group from, int count, const int *ranks, MPI_Group to, int *found)
{
    CHECK(group_of(to) == 0);
    for (int i = 0; i < count; i++) {
        found[i] = groups[group_of(from)].ranks[ranks[i]];
    }
    return MPI_SUCCESS;
}

static int model_window_group(MPI_Win win, MPI_Group *group)
{
    (void)win;
    *group = group_handle(0);
    return MPI_SUCCESS;
}

static int model_group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

struct real_mpi ictusi_real = {.P_Get_elements_x = model_elements,
                               .P_Test_cancelled = model_cancelled,
                               .P_Request_get_status = model_request_status,
                               .P_Group_size = model_group_size,
                               .P_Group_translate_ranks = model_translate,
                               .P_Group_free = model_group_free,
                               .P_Win_get_group = model_window_group};

static struct trace_comm world = {.id = WORLD_ID, .rank = 0, .size = 4, .remote = -1};
static struct trace_comm persistent = {.id = 20, .rank = 0, .size = 4, .remote = -1};
static struct trace_window window = {.id = 9, .comm = &world};
static int sent, posted, ended, counted; /* neighborhood collectives, and counted ones */

struct trace_comm *ictusi_comm_find(struct recorder *r, MPI_Comm comm)
{
    (void)r;
    (void)comm;
    CHECK_ABORT();
}

const struct trace_comm *ictusi_comm_persistent(MPI_Comm comm)
{
    CHECK(comm == MPI_COMM_WORLD);
    return &persistent;
}

static MPI_Win window_handle(int i)
{
    return (MPI_Win)(uintptr_t)(16 * (i + 1));
}

struct trace_window *ictusi_tracer_window_new(struct recorder *r, MPI_Comm comm, MPI_Win win)
{
    (void)r;
    (void)comm;
    return win == window_handle(0) ? &window : NULL;
}

struct trace_window *ictusi_tracer_window_find(MPI_Win win)
{
    return win == window_handle(0) ? &window : NULL;
}

static int windows_gone;

void ictusi_tracer_window_gone(MPI_Win win)
{
    windows_gone += win == window_handle(0);
}

void ictusi_tracer_exchange_send(struct recorder *r, struct trace_request *request)
{
    (void)r;
    (void)request;
    sent++;
}

void ictusi_tracer_exchange_post(struct recorder *r, const struct trace_request *request)
{
    (void)r;
    (void)request;
    posted++;
}

void ictusi_tracer_exchange_done(struct recorder *r, const struct trace_request *request)
{
    (void)r;
    (void)request;
    ended++;
}

void ictusi_tracer_count_icoll(struct recorder *r, const struct trace_request *made)
{
    (void)r;
    (void)made;
    counted++;
}

static MPI_Request kept[ROOM];
static struct trace_request held[ROOM];

bool ictusi_recorder_room(struct recorder *r, int count)
{
    r->handles = kept;
    r->held = held;
    r->room = ROOM;
    return count <= ROOM;
}

void ictusi_recorder_switch(struct recorder *r)
{
    (void)r;
    CHECK_ABORT();
}

void ictusi_recorder_flush(struct recorder *r)
{
    (void)r;
    CHECK_ABORT();
}

static uint64_t words[256];
static uint64_t *looked_at; /* records up to here have been checked */

static struct recorder recorder_here(bool multiple)
{
    memset(words, 0, sizeof(words));
    memset(held, 0, sizeof(held));
    looked_at = words;
    is_cancelled = is_complete = false;
    ictusi_tracer.multiple = multiple;
    ictusi_table_fini(&ictusi_tracer.requests);
    REQUIRE(!ictusi_table_init(&ictusi_tracer.requests, 64, sizeof(struct trace_request)));
    struct recorder r = {.pos = words,
                         .soft = words + 200,
                         .comm = MPI_COMM_WORLD,
                         .comm_info = &world,
                         .type = MPI_INT,
                         .type_bytes = INT_BYTES,
                         .next_request = FIRST,
                         .thread = THREAD};
    (void)ictusi_recorder_room(&r, 1);
    return r;
}

/* Whether the next record is this one, with this many further words. */
static bool recorded(const struct recorder *r, enum record_kind kind, unsigned small,
                     uint32_t value, int count, ...)
{
    const uint64_t *record = looked_at;
    bool same = record < r->pos && *record == record_head(kind, 1 + (unsigned)count, small, value);
    va_list rest;
    va_start(rest, count);
    for (int i = 1; i <= count; i++) {
        const uint64_t wanted = va_arg(rest, uint64_t);
        same = same && record[i] == wanted;
    }
    va_end(rest);
    looked_at += record < r->pos ? record_words(*record) : 0;
    return same;
}

static bool nothing_more(const struct recorder *r)
{
    return looked_at == r->pos;
}

static MPI_Request request_handle(int i)
{
    return (MPI_Request)(uintptr_t)(16 * (i + 1));
}

static MPI_Message message_handle(int i)
{
    return (MPI_Message)(uintptr_t)(16 * (i + 1));
}

/* MPI completes a request in a call for it alone. */
static void completes(struct recorder *r, int i, int source, int tag)
{
    const MPI_Request handle = request_handle(i);
    MPI_Status status = {.MPI_SOURCE = source, .MPI_TAG = tag};
    REQUIRE(ictusi_tracer_keep_handles(r, 1, &handle) == 1);
    ictusi_tracer_note_all_done(r, 1, &status, MPI_SUCCESS);
}

#define CHANNEL(tag) ((uint64_t)WORLD_ID << 32 | (tag))

static void messages_leave_both_ends(bool multiple)
{
    struct recorder r = recorder_here(multiple);
    ictusi_tracer_track_isend(&r, request_handle(0), recorder_request(&r));
    ictusi_tracer_track_irecv(&r, request_handle(1), 2, MPI_COMM_WORLD);
    CHECK(recorded(&r, RECORD_IRECV, 0, 0, 1, (uint64_t)FIRST + 1));
    completes(&r, 1, 2, 5);
    CHECK(recorded(&r, RECORD_IRECV_DONE, 0, 2, 3, CHANNEL(5), (uint64_t)105, (uint64_t)FIRST + 1));
    completes(&r, 0, 0, 0);
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)FIRST));
    completes(&r, 0, 0, 0); /* they are gone */
    completes(&r, 1, 2, 5);
    /* From MPI_PROC_NULL: nothing is posted, and nothing received. */
    ictusi_tracer_track_irecv(&r, request_handle(1), MPI_PROC_NULL, MPI_COMM_WORLD);
    completes(&r, 1, MPI_PROC_NULL, MPI_ANY_TAG);
    CHECK(nothing_more(&r));
    ictusi_tracer_track_irecv(&r, request_handle(1), MPI_ANY_SOURCE, MPI_COMM_WORLD);
    completes(&r, 1, MPI_PROC_NULL, MPI_ANY_TAG); /* the status says nothing of it */
    CHECK(recorded(&r, RECORD_IRECV, 0, 0, 1, (uint64_t)FIRST + 2));
    CHECK(nothing_more(&r));
}

/* An exchange receives what was asked for; with a wildcard, what the status says. */
static void exchanges_are_asked_for(void)
{
    struct recorder r = recorder_here(false);
    ictusi_tracer_track_isendrecv(&r, request_handle(0), 2, 9, MPI_COMM_WORLD);
    completes(&r, 0, 0, 0);
    CHECK(recorded(&r, RECORD_IRECV, 0, 0, 1, (uint64_t)FIRST));
    CHECK(recorded(&r, RECORD_IRECV_DONE, 0, 2, 3, CHANNEL(9), (uint64_t)100, (uint64_t)FIRST));
    ictusi_tracer_track_isendrecv(&r, request_handle(0), MPI_ANY_SOURCE, MPI_ANY_TAG,
                                  MPI_COMM_WORLD);
    completes(&r, 0, 3, 6);
    CHECK(recorded(&r, RECORD_IRECV, 0, 0, 1, (uint64_t)FIRST + 1));
    CHECK(recorded(&r, RECORD_IRECV_DONE, 0, 3, 3, CHANNEL(6), (uint64_t)106, (uint64_t)FIRST + 1));
    CHECK(nothing_more(&r));
}

static void cancelled_ones_are_told(void)
{
    struct recorder r = recorder_here(false);
    is_cancelled = true;
    ictusi_tracer_track_isend(&r, request_handle(0), 71);
    ictusi_tracer_track_isend(&r, request_handle(1), 72);
    ictusi_tracer_note_cancel(request_handle(1));
    ictusi_tracer_note_cancel(request_handle(5)); /* an unknown request */
    completes(&r, 0, 0, 0);                       /* it was not cancelled, so MPI is not asked */
    completes(&r, 1, 0, 0);
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)71));
    CHECK(recorded(&r, RECORD_CANCELLED, 0, 0, 1, (uint64_t)72));
    is_cancelled = false; /* it was, but too late */
    ictusi_tracer_track_isend(&r, request_handle(1), 73);
    ictusi_tracer_note_cancel(request_handle(1));
    completes(&r, 1, 0, 0);
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)73));
    CHECK(nothing_more(&r));
}

static void starts(struct recorder *r, int count, const MPI_Request *handles)
{
    CHECK(ictusi_tracer_note_start(r, count, handles) == count);
    ictusi_tracer_note_started(r, count, handles);
}

/* Each start is a message of its own; requests that are not started leave nothing. */
static void persistent_ones_start_again(bool multiple)
{
    const MPI_Request handles[] = {request_handle(0), request_handle(1), request_handle(2)};
    struct recorder r = recorder_here(multiple);
    struct trace_request coll = {
        .kind = REQUEST_COLL, .comm = &world, .peer = COLL_REDUCE, .root = 1, .sent = 8};
    ictusi_tracer_track_send_init(&r, handles[0], 10, MPI_INT, 1, 4, MPI_COMM_WORLD);
    ictusi_tracer_track_recv_init(&r, handles[1], 2, MPI_COMM_WORLD);
    ictusi_tracer_track_coll_init(&r, handles[2], MPI_COMM_WORLD, &coll);
    completes(&r, 0, 0, 0);
    ictusi_tracer_note_tested(&r, handles[0]);
    CHECK(nothing_more(&r));
    for (uint64_t id = FIRST; id < FIRST + 6; id += 3) {
        starts(&r, 3, handles);
        CHECK(recorded(&r, RECORD_ISEND, 0, 1, 3, CHANNEL(4), (uint64_t)10 * INT_BYTES, id));
        CHECK(recorded(&r, RECORD_ICOLL, 0, 0, 1, id + 1));
        CHECK(recorded(&r, RECORD_IRECV, 0, 0, 1, id + 2)); /* posted when the call was left */
        ictusi_tracer_note_tested(&r, handles[0]);
        CHECK(recorded(&r, RECORD_TESTED, 0, 0, 1, id));
        completes(&r, 0, 0, 0);
        CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, id));
        completes(&r, 1, 2, 3);
        CHECK(recorded(&r, RECORD_IRECV_DONE, 0, 2, 3, CHANNEL(3), (uint64_t)103, id + 2));
        completes(&r, 2, 0, 0);
        /* On a communicator of its own, its starts only match each other. */
        CHECK(recorded(&r, RECORD_ICOLL_DONE, COLL_REDUCE, 1, 4, (uint64_t)persistent.id,
                       (uint64_t)8, (uint64_t)0, id + 1));
        completes(&r, 0, 0, 0); /* it was complete */
        CHECK(nothing_more(&r));
    }
    ictusi_tracer_note_request_free(handles[0]);
    starts(&r, 1, handles);
    ictusi_tracer_track_send_init(&r, handles[0], 10, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    ictusi_tracer_track_recv_init(&r, handles[1], MPI_PROC_NULL, MPI_COMM_WORLD);
    starts(&r, 2, handles);
    completes(&r, 0, 0, 0);
    completes(&r, 1, 0, 0);
    CHECK(nothing_more(&r));
    CHECK(ictusi_tracer_note_start(&r, 0, handles) == 0);
}

static void neighbors_exchange(void)
{
    struct recorder r = recorder_here(false);
    const MPI_Request handle = request_handle(0);
    struct trace_request made = {.kind = REQUEST_NEIGHBORS, .comm = &world, .exchange = malloc(1)};
    ictusi_tracer_track_coll_init(&r, handle, MPI_COMM_WORLD, &made);
    sent = posted = ended = 0;
    starts(&r, 1, &handle);
    CHECK(sent == 1 && posted == 1 && nothing_more(&r));
    ictusi_tracer_note_request_free(handle); /* with what it owned */
    r.after = AFTER_TALLY;
    struct trace_request other = {.id = 5, .kind = REQUEST_COLL, .comm = &world};
    ictusi_tracer_track_icoll(&r, handle, &other);
    CHECK(counted == 1);
    completes(&r, 0, 0, 0);
    CHECK(recorded(&r, RECORD_ICOLL_DONE, 0, 0, 4, (uint64_t)WORLD_ID, (uint64_t)0, (uint64_t)0,
                   (uint64_t)5));
    made = (struct trace_request){.kind = REQUEST_COLL, .comm = &world};
    r = recorder_here(false);
    ictusi_tracer_note_icoll(&r, &made);
    CHECK(made.id == FIRST && recorded(&r, RECORD_ICOLL, 0, 0, 1, (uint64_t)FIRST));
    ictusi_tracer_track_icoll(&r, handle, &made);
    CHECK(counted == 1);
    made = (struct trace_request){.kind = REQUEST_COLL}; /* between two worlds */
    ictusi_tracer_note_icoll(&r, &made);
    CHECK(made.id == 0 && nothing_more(&r));
}

/* A matched probe is the posted receive; its handle differs from that of a request. */
static void matched_messages(void)
{
    struct recorder r = recorder_here(false);
    MPI_Status status = {.MPI_SOURCE = 3, .MPI_TAG = 8};
    ictusi_tracer_track_isend(&r, request_handle(0), 55);
    ictusi_tracer_track_message(&r, message_handle(0), MPI_COMM_WORLD);
    CHECK(recorded(&r, RECORD_IRECV, 0, 0, 1, (uint64_t)FIRST));
    const struct trace_request matched = ictusi_tracer_take_message(message_handle(0));
    CHECK(matched.kind == REQUEST_RECV && matched.id == FIRST);
    CHECK(ictusi_tracer_take_message(message_handle(0)).kind == REQUEST_NONE);
    ictusi_tracer_note_mrecv(&r, &matched, &status);
    CHECK(recorded(&r, RECORD_IRECV_DONE, 0, 3, 3, CHANNEL(8), (uint64_t)108, (uint64_t)FIRST));
    ictusi_tracer_track_imrecv(&r, request_handle(1), &matched);
    completes(&r, 1, 3, 8);
    CHECK(recorded(&r, RECORD_IRECV_DONE, 0, 3, 3, CHANNEL(8), (uint64_t)108, (uint64_t)FIRST));
    completes(&r, 0, 0, 0);
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)55));
    ictusi_tracer_track_message(&r, MPI_MESSAGE_NO_PROC, MPI_COMM_WORLD);
    ictusi_tracer_track_message(&r, MPI_MESSAGE_NULL, MPI_COMM_WORLD);
    CHECK(nothing_more(&r));
}

/* Calls for many requests: those that are complete, by index, but not those still pending. */
static void many_are_completed(bool multiple)
{
    enum { MANY = 4 };
    struct recorder r = recorder_here(multiple);
    MPI_Request handles[MANY];
    MPI_Status statuses[MANY] = {{.MPI_SOURCE = 0}};
    for (int i = 0; i < MANY; i++) {
        handles[i] = request_handle(i);
        ictusi_tracer_track_isend(&r, handles[i], 60 + (uint64_t)i);
    }
    CHECK(ictusi_tracer_keep_handles(&r, MANY, handles) == MANY);
    CHECK(ictusi_tracer_keep_handles(&r, 0, handles) == 0);
    ictusi_tracer_note_any_done(&r, MPI_UNDEFINED, &statuses[0]);
    ictusi_tracer_note_any_done(&r, 2, &statuses[0]);
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)62));
    trace_return_handles(&r, MANY);
    const int indices[] = {3, 0};
    CHECK(ictusi_tracer_keep_handles(&r, MANY, handles) == MANY);
    ictusi_tracer_note_some_done(&r, 2, indices, statuses);
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)63));
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)60));
    trace_return_handles(&r, MANY);
    ictusi_tracer_track_isend(&r, handles[0], 80);
    statuses[1].MPI_ERROR = MPI_ERR_PENDING;
    CHECK(ictusi_tracer_keep_handles(&r, MANY, handles) == MANY);
    ictusi_tracer_note_all_done(&r, MANY, statuses, MPI_ERR_IN_STATUS);
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)80));
    CHECK(nothing_more(&r));
    trace_return_handles(&r, MANY);
    CHECK(ictusi_tracer_keep_handles(&r, MANY, handles) == MANY);
    ictusi_tracer_note_all_done(&r, MANY, statuses, MPI_SUCCESS); /* then nothing is pending */
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)61));
    CHECK(nothing_more(&r));
}

/* If threads call MPI at once, a handle may be reused before its call has returned. */
static void handles_are_given_out_again(void)
{
    struct recorder r = recorder_here(true);
    const MPI_Request handle = request_handle(0);
    const MPI_Status status = {.MPI_SOURCE = 0};
    for (uint64_t id = 31; id < 35; id += 2) {
        /* One handle stands for all that completed at once, and says so immediately. */
        is_complete = id > 31;
        ictusi_tracer_track_isend(&r, handle, id);
        CHECK(!is_complete || recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, id));
        CHECK(ictusi_tracer_keep_handles(&r, 1, &handle) == 1);
        ictusi_tracer_note_tested(&r, handle);
        CHECK(is_complete || recorded(&r, RECORD_TESTED, 0, 0, 1, id));
        is_complete = false;
        ictusi_tracer_track_isend(&r, handle, id + 1); /* by another thread */
        ictusi_tracer_note_any_done(&r, 0, &status);
        CHECK(id > 31 || recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, id));
        completes(&r, 0, 0, 0);
        CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, id + 1));
    }
    is_complete = true;
    ictusi_tracer_track_irecv(&r, handle, 1, MPI_COMM_WORLD); /* but its status comes later */
    CHECK(recorded(&r, RECORD_IRECV, 0, 0, 1, (uint64_t)FIRST));
    ictusi_tracer_track_isend(&r, handle, 36); /* the same handle again */
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 0, 1, (uint64_t)36));
    completes(&r, 0, 1, 2);
    CHECK(recorded(&r, RECORD_IRECV_DONE, 0, 1, 3, CHANNEL(2), (uint64_t)102, (uint64_t)FIRST));
    CHECK(nothing_more(&r));
}

static void tests_are_told(void)
{
    struct recorder r = recorder_here(false);
    const struct trace_request file = {.id = 90, .kind = REQUEST_FILE, .root = 6};
    ictusi_request_track(&r, request_handle(0), &file);
    ictusi_tracer_note_tested(&r, request_handle(0));
    ictusi_tracer_note_tested(&r, request_handle(1));
    ictusi_tracer_note_tested(&r, MPI_REQUEST_NULL);
    CHECK(recorded(&r, RECORD_IO_TESTED, 0, 6, 1, (uint64_t)90));
    completes(&r, 0, 0, 11);
    CHECK(recorded(&r, RECORD_IO_DONE, 0, 6, 2, (uint64_t)90, (uint64_t)111));
    r.after = AFTER_MUTED; /* recording is off: no number, and nothing is left later */
    ictusi_tracer_track_isend(&r, request_handle(2), recorder_request(&r));
    r.after = 0;
    completes(&r, 2, 0, 0);
    CHECK(nothing_more(&r));
}

static void one_sided_operations(void)
{
    struct recorder r = recorder_here(false);
    const MPI_Win win = window_handle(0);
    const uint64_t bytes = UINT64_C(12) * INT_BYTES;
    ictusi_tracer_note_window(&r, MPI_COMM_WORLD, win);
    CHECK(recorded(&r, RECORD_RMA_CREATE, 9, 0, 1, (uint64_t)0));
    ictusi_tracer_note_rma_done(&r, win);          /* there is none */
    for (uint64_t match = 0; match < 2; match++) { /* all up to a completion are one group */
        ictusi_tracer_note_put(&r, win, 2, 12, MPI_INT);
        ictusi_tracer_note_get(&r, win, 3, 12, MPI_INT);
        ictusi_tracer_note_atomic(&r, win, 1, RMA_ACCUMULATE, 12, MPI_INT);
        ictusi_tracer_note_atomic(&r, win, 1, RMA_ACCUMULATE + 1, 12, MPI_INT);
        ictusi_tracer_note_put(&r, win, MPI_PROC_NULL, 12, MPI_INT);
        ictusi_tracer_note_put(&r, window_handle(1), 2, 12, MPI_INT);
        CHECK(recorded(&r, RECORD_RMA_PUT, 9, 2, 2, bytes, match));
        CHECK(recorded(&r, RECORD_RMA_GET, 9, 3, 2, bytes, match));
        CHECK(recorded(&r, RECORD_RMA_ATOMIC, 9, 1, 4, (uint64_t)RMA_ACCUMULATE << 32, bytes,
                       (uint64_t)0, match)); /* nothing comes back */
        CHECK(recorded(&r, RECORD_RMA_ATOMIC, 9, 1, 4, (uint64_t)(RMA_ACCUMULATE + 1) << 32, bytes,
                       bytes, match));
        ictusi_tracer_note_rma_done(&r, win);
        CHECK(recorded(&r, RECORD_RMA_DONE, 9, 0, 1, match));
        ictusi_tracer_note_rma_done(&r, win);
        CHECK(nothing_more(&r));
    }
    ictusi_tracer_note_fence(&r, win);
    CHECK(recorded(&r, RECORD_RMA_FENCE, 9, 0, 1, (uint64_t)0));
    ictusi_tracer_note_window_free(&r, win);
    CHECK(recorded(&r, RECORD_RMA_FREE, 9, 0, 1, (uint64_t)0) && windows_gone == 1);
    ictusi_tracer_note_fence(&r, window_handle(1));
    ictusi_tracer_note_window_free(&r, window_handle(1));
    CHECK(nothing_more(&r) && windows_gone == 1);
}

static void locks_of_windows(void)
{
    struct recorder r = recorder_here(false);
    const MPI_Win win = window_handle(0);
    const uint64_t match = window.match;
    ictusi_tracer_note_lock(&r, win, 2, true);
    ictusi_tracer_note_put(&r, win, 2, 1, MPI_INT);
    ictusi_tracer_note_unlock(&r, win, 2); /* everything is complete then */
    CHECK(recorded(&r, RECORD_RMA_LOCK, 9, 2, 1, (uint64_t)1));
    CHECK(recorded(&r, RECORD_RMA_PUT, 9, 2, 2, (uint64_t)INT_BYTES, match));
    CHECK(recorded(&r, RECORD_RMA_DONE, 9, 0, 1, match));
    CHECK(recorded(&r, RECORD_RMA_UNLOCK, 9, 2, 1, (uint64_t)0));
    ictusi_tracer_note_lock(&r, win, 0, false);
    ictusi_tracer_note_unlock(&r, win, 0);
    CHECK(recorded(&r, RECORD_RMA_LOCK, 9, 0, 1, (uint64_t)0));
    CHECK(recorded(&r, RECORD_RMA_UNLOCK, 9, 0, 1, (uint64_t)0));
    ictusi_tracer_note_lock_all(&r, win);
    ictusi_tracer_note_unlock_all(&r, win);
    CHECK(recorded(&r, RECORD_RMA_LOCK, 9, RMA_ALL, 1, (uint64_t)0));
    CHECK(recorded(&r, RECORD_RMA_UNLOCK, 9, RMA_ALL, 1, (uint64_t)0));
    ictusi_tracer_note_lock(&r, win, MPI_PROC_NULL, true);
    ictusi_tracer_note_unlock(&r, win, MPI_PROC_NULL);
    CHECK(nothing_more(&r));
}

/* Post and wait name the origins, and complete those that start named; each once. */
static void epochs_of_windows(void)
{
    struct recorder r = recorder_here(false);
    const MPI_Win win = window_handle(0);
    ictusi_tracer_note_post(&r, win, group_handle(1));
    CHECK(recorded(&r, RECORD_RMA_SYNC, 9, 3, 1, (uint64_t)SYNC_POSTED));
    CHECK(recorded(&r, RECORD_RMA_SYNC, 9, 1, 1, (uint64_t)SYNC_POSTED));
    ictusi_tracer_note_start_epoch(win, group_handle(2));
    CHECK(nothing_more(&r));
    ictusi_tracer_note_complete(&r, win); /* the notices come before the call */
    CHECK(recorded(&r, RECORD_RMA_GIVEN, 9, 2, 1, (uint64_t)0));
    CHECK(recorded(&r, RECORD_RMA_GIVEN, 9, 0, 1, (uint64_t)0));
    CHECK(nothing_more(&r));
    ictusi_tracer_note_completed(&r, win);
    ictusi_tracer_note_complete(&r, win);
    CHECK(nothing_more(&r));
    ictusi_tracer_note_waited(&r, win);
    CHECK(recorded(&r, RECORD_RMA_SYNC, 9, 3, 1, (uint64_t)SYNC_GOT));
    CHECK(recorded(&r, RECORD_RMA_SYNC, 9, 1, 1, (uint64_t)SYNC_GOT));
    ictusi_tracer_note_waited(&r, win);
    CHECK(nothing_more(&r));
}

int main(void)
{
    for (int multiple = 0; multiple < 2; multiple++) {
        messages_leave_both_ends(multiple);
        persistent_ones_start_again(multiple);
        many_are_completed(multiple);
    }
    exchanges_are_asked_for();
    cancelled_ones_are_told();
    neighbors_exchange();
    matched_messages();
    handles_are_given_out_again();
    tests_are_told();
    one_sided_operations();
    locks_of_windows();
    epochs_of_windows();
    ictusi_table_fini(&ictusi_tracer.requests);
    return check_result();
}
