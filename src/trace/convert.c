/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a thread's records and writes OTF2 events. */
#include "trace/convert.h"

#include "trace/convert_collectives.h"
#include "trace/convert_files.h"
#include "trace/convert_windows.h"

#include "tracer/ops.h"
#include "tracer/record.h"

#include <ictus/text.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A call that is open, or whose leave is not written yet because its post records follow. OTF2's
 * end record of a collective needs the operation and its bytes, so they are kept until the leave.
 */
struct call {
    unsigned region;
    enum { PLAIN, COLLECTIVE, FENCE } kind;
    unsigned op; /* or the window */
    uint32_t root, comm, operands;
    uint64_t sent, received;
    const uint64_t *senders; /* the record of the ranks that data came from, or NULL */
};

/*
 * The state of converting one thread's records, in the order in which they were written. The leave
 * of the last call is held back (pending), because its post records follow the record of the call
 * itself.
 */
struct walk {
    struct conversion *c;
    OTF2_EvtWriter *w;
    OTF2_AttributeList *attributes; /* of the next event; otherwise empty */
    struct call *stack;
    size_t depth, room;
    bool pending; /* the call at the top of the stack ended at leave_time */
    uint64_t enter_time, leave_time;
    bool refused;            /* MPI refused the call, so its operation did not take place */
    const uint64_t *senders; /* of the next recorded collective */
    uint64_t last;           /* time of the last event; no event may be earlier */
    uint64_t last_ticks;
    OTF2_ErrorCode failed;
};

/*
 * The archive's time of a tick:
 *
 *     time = timeline(local ns of the ticks) + shift
 *
 * OTF2 requires that times within a thread do not decrease. A decrease of the ticks themselves is
 * corrected and counted. A decrease due to the mapping alone, where pieces of the timeline meet
 * with a step of a few ns, is corrected without being counted.
 */
static uint64_t time_of(struct walk *k, uint64_t ticks)
{
    struct conversion *c = k->c;
    const int64_t local = ticks_to_ns(&c->log->scale, ticks);
    const int64_t at =
        time_add(c->local ? local : ictusi_timeline_map(&c->timeline, local), c->shift_ns);
    c->first_local = local < c->first_local ? local : c->first_local;
    c->last_local = local > c->last_local ? local : c->last_local;
    uint64_t time = at < 0 ? 0 : (uint64_t)at;
    if (time < k->last) {
        c->clamped += ticks < k->last_ticks;
        time = k->last;
    }
    k->last = time;
    k->last_ticks = ticks;
    return time;
}

static void walk_wrote(struct walk *k, OTF2_ErrorCode code)
{
    k->c->events++;
    if (code != OTF2_SUCCESS) {
        k->failed = code;
    }
}

static uint32_t convert_comm_of(struct walk *k, uint32_t number)
{
    return ictusi_unify_map_get(k->c->map, MAP_COMM, number);
}

static uint32_t window_of(struct walk *k, unsigned number)
{
    return ictusi_unify_map_get(k->c->map, MAP_WINDOW, number);
}

/* The archive's number of a region. */
static uint32_t region_of(struct walk *k, unsigned region)
{
    if (region < REGION_USER) {
        return ictusi_unify_map_get(k->c->map, MAP_FUNCTION, region);
    }
    return ictusi_unify_map_get(k->c->map, MAP_REGION, region - REGION_USER);
}

static OTF2_AttributeList *convert_collective(struct walk *k, const uint64_t *senders,
                                              uint32_t operands)
{
    if (!ictusi_convert_senders(k->attributes, senders) ||
        !ictusi_convert_operands(k->attributes, operands)) {
        k->failed = OTF2_ERROR_MEM_ALLOC_FAILED;
    }
    return k->attributes;
}

/* A fence ends like a barrier on the window that also orders its memory. */
static void convert_write_end(struct walk *k, const struct call *call)
{
    if (call->kind == COLLECTIVE) {
        walk_wrote(k, OTF2_EvtWriter_MpiCollectiveEnd(
                          k->w, convert_collective(k, call->senders, call->operands), k->leave_time,
                          (OTF2_CollectiveOp)call->op, convert_comm_of(k, call->comm), call->root,
                          call->sent, call->received));
    } else if (call->kind == FENCE) {
        walk_wrote(k, OTF2_EvtWriter_RmaCollectiveEnd(
                          k->w, NULL, k->leave_time, OTF2_COLLECTIVE_OP_BARRIER,
                          OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY,
                          window_of(k, call->op), OTF2_UNDEFINED_UINT32, 0, 0));
    }
}

/*
 * Write the leave that was held back, now that everything that happened at it is known. OTF2
 * requires the end of a collective within the region, so it is written before the leave, at the
 * same time.
 */
static void walk_settle(struct walk *k)
{
    if (k->pending) {
        const struct call *call = &k->stack[--k->depth];
        convert_write_end(k, call);
        walk_wrote(k, OTF2_EvtWriter_Leave(k->w, NULL, k->leave_time, region_of(k, call->region)));
        k->pending = false;
    }
}

/* Begins with room for 64 open regions; recursion in user regions may need any number. */
static bool walk_push(struct walk *k, unsigned region)
{
    if (k->depth == k->room) {
        const size_t room = k->room ? k->room * 2 : 64;
        struct call *stack = realloc(k->stack, room * sizeof(*stack));
        if (!stack) {
            k->failed = OTF2_ERROR_MEM_ALLOC_FAILED;
            return false;
        }
        k->stack = stack;
        k->room = room;
    }
    k->stack[k->depth++] = (struct call){.region = region, .kind = PLAIN};
    return true;
}

/*
 * The attributes of an enter: the call site, if it is known. A site without a number in the archive
 * adds no attribute.
 */
static OTF2_AttributeList *convert_with_site(struct walk *k, uint64_t number)
{
    OTF2_AttributeValue value;
    value.callingContextRef = number <= UINT32_MAX
                                  ? ictusi_unify_map_get(k->c->map, MAP_SITE, (uint32_t)number)
                                  : KEYMAP_NONE;
    if (value.callingContextRef == KEYMAP_NONE ||
        OTF2_AttributeList_AddAttribute(k->attributes, ATTRIBUTE_CALL_SITE,
                                        OTF2_TYPE_CALLING_CONTEXT, value) != OTF2_SUCCESS) {
        return NULL;
    }
    return k->attributes;
}

/*
 * A region was entered. Calls have a third word, the number of their call site. A region without a
 * number in the archive, because its log line is lost, is left out with its leave and counted.
 */
static void walk_enter(struct walk *k, const uint64_t *p, uint64_t head)
{
    const unsigned region = record_small(head);
    k->enter_time = time_of(k, p[1]);
    if (region_of(k, region) == KEYMAP_NONE) {
        k->c->unnamed++;
    } else if (walk_push(k, region)) {
        OTF2_AttributeList *attributes = record_words(head) > 2 ? convert_with_site(k, p[2]) : NULL;
        walk_wrote(k, OTF2_EvtWriter_Enter(k->w, attributes, k->enter_time, region_of(k, region)));
    }
}

/*
 * A region was left. It is on the stack, below others if those were never left. The leave itself is
 * held back until it is known what else happened at it: see walk_settle(). Inner regions that were
 * never left (longjmp, an exception) are closed at the same instant, so that regions stay properly
 * nested.
 */
static void walk_leave(struct walk *k, unsigned region, uint64_t ticks)
{
    const uint64_t time = time_of(k, ticks);
    size_t at = k->depth;
    while (at > 0 && k->stack[at - 1].region != region) {
        at--;
    }
    if (at == 0) {
        return; /* entered before recording was switched on */
    }
    while (k->depth > at) {
        const struct call *inner = &k->stack[--k->depth];
        walk_wrote(k, OTF2_EvtWriter_Leave(k->w, NULL, time, region_of(k, inner->region)));
    }
    k->pending = true;
    k->leave_time = time;
}

/*
 * Counters are integers; user metrics and those of the clock are doubles. A record whose length
 * does not match its class is damaged and skipped.
 */
static void convert_write_metric(struct walk *k, const uint64_t *p, uint64_t head, uint64_t time)
{
    const unsigned class = record_small(head);
    const unsigned count = record_words(head) - 2;
    OTF2_Type types[RECORD_WORDS_MAX];
    OTF2_MetricValue values[RECORD_WORDS_MAX];
    uint32_t metric = METRIC_REF_CLOCK;
    if (class == METRIC_CLASS_COUNTERS) {
        metric = METRIC_REF_COUNTERS;
    } else if (class >= METRIC_CLASS_USER) {
        metric = ictusi_unify_map_get(k->c->map, MAP_METRIC, class - METRIC_CLASS_USER);
        metric += metric == KEYMAP_NONE ? 0 : metric_ref_user(k->c->counters);
    }
    if (metric == KEYMAP_NONE || count == 0 || count > RECORD_WORDS_MAX ||
        (class == METRIC_CLASS_COUNTERS && (int)count != k->c->counters)) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        types[i] = class == METRIC_CLASS_COUNTERS ? OTF2_TYPE_UINT64 : OTF2_TYPE_DOUBLE;
        memcpy(&values[i], &p[2 + i], sizeof(values[i]));
    }
    walk_wrote(k, OTF2_EvtWriter_Metric(k->w, NULL, time, metric, (uint8_t)count, types, values));
}

/*
 * A timed record begins something new, so whatever is held back for the last call is written first.
 * k->refused applies until the next timed record: the operations of a refused call did not take
 * place.
 */
static void walk_timed(struct walk *k, const uint64_t *p, uint64_t head)
{
    const unsigned small = record_small(head);
    walk_settle(k);
    k->senders = NULL;
    k->refused = record_kind(head) == RECORD_REFUSED;
    switch (record_kind(head)) {
    case RECORD_OPEN:
        walk_enter(k, p, head);
        break;
    case RECORD_CALL:
    case RECORD_REFUSED:
        walk_enter(k, p, head);
        walk_leave(k, small, p[1] + record_value(head));
        break;
    case RECORD_LEAVE:
        walk_leave(k, small, p[1]);
        break;
    case RECORD_EVENT: {
        const uint32_t name = ictusi_unify_map_get(k->c->map, MAP_EVENT, small);
        const uint64_t time = time_of(k, p[1]);
        if (name != KEYMAP_NONE) {
            walk_wrote(k, OTF2_EvtWriter_ParameterUnsignedInt(k->w, NULL, time, name, p[2]));
        }
        break;
    }
    case RECORD_METRIC:
        convert_write_metric(k, p, head, time_of(k, p[1]));
        break;
    case RECORD_FLUSH: {
        const uint64_t from = time_of(k, p[1]);
        const uint64_t to = time_of(k, p[1] + p[2]);
        k->last = from; /* the end of a flush is not a separate event */
        walk_wrote(k, OTF2_EvtWriter_BufferFlush(k->w, NULL, from, to));
        break;
    }
    default:
        walk_wrote(k, OTF2_EvtWriter_MeasurementOnOff(k->w, NULL, time_of(k, p[1]),
                                                      record_kind(head) == RECORD_ON
                                                          ? OTF2_MEASUREMENT_ON
                                                          : OTF2_MEASUREMENT_OFF));
        break;
    }
}

/*
 * What was done to a window when the call was entered. A fence is a collective and is written at
 * the end of the call.
 */
static void walk_pre_window(struct walk *k, const uint64_t *p, uint64_t head)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    if (record_kind(head) != RECORD_RMA_FENCE) {
        ictusi_convert_window(k->w, window_of(k, record_small(head)), p, k->enter_time, &code);
        walk_wrote(k, code);
    } else if (k->depth > 0) {
        k->stack[k->depth - 1].kind = FENCE;
        k->stack[k->depth - 1].op = record_small(head);
        walk_wrote(k, OTF2_EvtWriter_RmaCollectiveBegin(k->w, NULL, k->enter_time));
    }
}

/* Kinds below RECORD_PRE happened when the call was entered, the others when it was left. */
static void walk_file(struct walk *k, const uint64_t *p, unsigned kind)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    const uint64_t after = k->pending ? k->leave_time : k->last;
    const uint64_t at = kind < RECORD_PRE ? k->enter_time : after;
    if (!k->refused && ictusi_convert_file(k->w, k->c->map, p, at, k->attributes, &code)) {
        walk_wrote(k, code);
    }
}

/*
 * What happened when the call was entered, so its time is that of the enter. Nothing happened if
 * the call was refused. comm and tag share a word.
 */
static void walk_pre(struct walk *k, const uint64_t *p, uint64_t head)
{
    const uint64_t at = k->enter_time;
    const uint32_t comm = convert_comm_of(k, (uint32_t)(p[1] >> 32));
    const uint32_t tag = (uint32_t)p[1];
    if (k->refused) {
        return;
    }
    switch (record_kind(head)) {
    case RECORD_SEND:
        walk_wrote(k, OTF2_EvtWriter_MpiSend(k->w, NULL, at, record_value(head), comm, tag, p[2]));
        break;
    case RECORD_ISEND:
        walk_wrote(
            k, OTF2_EvtWriter_MpiIsend(k->w, NULL, at, record_value(head), comm, tag, p[2], p[3]));
        break;
    case RECORD_SENDERS:
        k->senders = p;
        break;
    case RECORD_ICOLL:
        walk_wrote(k, OTF2_EvtWriter_NonBlockingCollectiveRequest(
                          k->w, convert_collective(k, k->senders, 0), at, p[1]));
        break;
    case RECORD_COLL:
        if (k->depth > 0) {
            struct call *call = &k->stack[k->depth - 1];
            *call = (struct call){.region = call->region,
                                  .kind = COLLECTIVE,
                                  .op = record_small(head),
                                  .root = record_value(head),
                                  .comm = (uint32_t)p[1],
                                  .operands = (uint32_t)(p[1] >> 32),
                                  .sent = p[2],
                                  .received = p[3],
                                  .senders = k->senders};
            walk_wrote(k, OTF2_EvtWriter_MpiCollectiveBegin(k->w, NULL, at));
        }
        break;
    default:
        walk_pre_window(k, p, head);
        break;
    }
}

static void walk_post_window(struct walk *k, const uint64_t *p, uint64_t head, uint64_t at)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    ictusi_convert_window(k->w, window_of(k, record_small(head)), p, at, &code);
    walk_wrote(k, code);
}

/*
 * What happened when the call was left. The leave is not written yet. Without an open call (in a
 * callback, or if its leave was lost), the time of the last event is the best approximation.
 */
static void walk_post(struct walk *k, const uint64_t *p, uint64_t head)
{
    const uint64_t at = k->pending ? k->leave_time : k->last;
    const uint32_t comm = convert_comm_of(k, (uint32_t)(p[1] >> 32));
    const uint32_t tag = (uint32_t)p[1];
    switch (record_kind(head)) {
    case RECORD_RECV:
        walk_wrote(k, OTF2_EvtWriter_MpiRecv(k->w, NULL, at, record_value(head), comm, tag, p[2]));
        break;
    case RECORD_IRECV:
        walk_wrote(k, OTF2_EvtWriter_MpiIrecvRequest(k->w, NULL, at, p[1]));
        break;
    case RECORD_IRECV_DONE:
        walk_wrote(
            k, OTF2_EvtWriter_MpiIrecv(k->w, NULL, at, record_value(head), comm, tag, p[2], p[3]));
        break;
    case RECORD_ISEND_DONE:
        walk_wrote(k, OTF2_EvtWriter_MpiIsendComplete(k->w, NULL, at, p[1]));
        break;
    case RECORD_TESTED:
        walk_wrote(k, OTF2_EvtWriter_MpiRequestTest(k->w, NULL, at, p[1]));
        break;
    case RECORD_CANCELLED:
        walk_wrote(k, OTF2_EvtWriter_MpiRequestCancelled(k->w, NULL, at, p[1]));
        break;
    case RECORD_ICOLL_DONE:
        walk_wrote(k, OTF2_EvtWriter_NonBlockingCollectiveComplete(
                          k->w, convert_collective(k, NULL, (uint32_t)(p[1] >> 32)), at,
                          (OTF2_CollectiveOp)record_small(head), convert_comm_of(k, (uint32_t)p[1]),
                          record_value(head), p[2], p[3], p[4]));
        break;
    default:
        walk_post_window(k, p, head, at);
        break;
    }
}

/*
 * A change of thread teams. The region number in the key determines the present members of the team
 * (team_of).
 */
static void walk_team(struct walk *k, const uint64_t *p)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    walk_settle(k);
    const uint64_t at = time_of(k, p[1]);
    if (ictusi_convert_team(k->w, &k->c->teams, p, at, k->attributes, &code)) {
        walk_wrote(k, code);
    }
}

/*
 * The least number of words in a record of each kind, which is what the conversion reads. A shorter
 * one is not a record, whatever its head says. So a record that was cut short by a kill is never
 * read beyond its end.
 */
static unsigned least_words(unsigned kind)
{
    static const unsigned char words[RECORD_KINDS] = {
        [RECORD_EVENT] = 3,      [RECORD_FLUSH] = 3,      [RECORD_SEND] = 3,
        [RECORD_ISEND] = 4,      [RECORD_COLL] = 4,       [RECORD_RMA_PUT] = 3,
        [RECORD_RMA_GET] = 3,    [RECORD_RMA_ATOMIC] = 5, [RECORD_RECV] = 3,
        [RECORD_IRECV_DONE] = 4, [RECORD_ICOLL_DONE] = 5, [RECORD_IO_BEGIN] = 4,
        [RECORD_FILE_SEEK] = 3,  [RECORD_IO_DONE] = 3,    [RECORD_FORK] = 3,
        [RECORD_TEAM_BEGIN] = 4, [RECORD_TEAM_END] = 4,
    };
    return words[kind] ? words[kind] : 2;
}

/*
 * Release the memory behind what has been read, so that not even a window is held. The pages are
 * dropped from this process; the kernel may keep them in its cache.
 */
static void convert_release_read(char **from, const uint64_t *to)
{
    enum { STEP_BYTES = 1 << 16 }; /* whole pages; windows are page-aligned */
    while ((const char *)to - *from >= STEP_BYTES) {
        (void)madvise(*from, STEP_BYTES, MADV_DONTNEED);
        *from += STEP_BYTES;
    }
}

/*
 * Convert the records of one window. The first words that are not a record end it: the unused part
 * of a window is zero, and so is the head of a record that a killed process was still writing.
 * Kinds are numbered in ranges: timed ones, those before a call's work, and those after it. @return
 * whether the window had any record
 */
static bool walk_window(struct walk *k, char *base, size_t bytes)
{
    const uint64_t *p = (const uint64_t *)(const void *)base;
    const uint64_t *const begin = p;
    const uint64_t *const end = p + bytes / sizeof(*p);
    while (p + 2 <= end && k->failed == OTF2_SUCCESS) {
        const uint64_t head = *p;
        const unsigned kind = record_kind(head);
        const unsigned words = record_words(head);
        if (kind == RECORD_END || kind >= RECORD_KINDS || words < least_words(kind) ||
            words > (size_t)(end - p)) {
            break;
        }
        if (record_is_file(kind)) {
            walk_file(k, p, kind);
        } else if (record_is_team(kind)) {
            walk_team(k, p);
        } else if (kind < RECORD_TIMED) {
            walk_timed(k, p, head);
        } else if (kind < RECORD_PRE) {
            walk_pre(k, p, head);
        } else {
            walk_post(k, p, head);
        }
        k->c->raw_bytes += words * sizeof(*p);
        p += words;
        convert_release_read(&base, p);
    }
    return p > begin;
}

/*
 * The window size comes from the file, so it is checked: it must be a multiple of the page size,
 * and small enough that at + window cannot overflow.
 */
static int convert_check_header(const char *path, const struct raw_header *header, size_t size,
                                struct ictus_why *why)
{
    if (size < RAW_HEADER_BYTES || memcmp(header->magic, RAW_MAGIC, sizeof(header->magic)) != 0 ||
        header->window_bytes < 4096 || header->window_bytes % 4096 != 0 ||
        header->window_bytes > UINT64_C(1) << 46) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%.200s is not a file of raw events", path);
    }
    if (header->table_hash != TRACE_TABLE_HASH) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%.200s was recorded by another version of ictus", path);
    }
    return ICTUS_OK;
}

/*
 * Windows are read in the order of the file, which is that of time. A window without a record is
 * the last one. Calls that are open at the end, of a process that was killed, are closed at the
 * last known instant.
 */
static void walk_all(struct walk *k, char *base, size_t size)
{
    const struct raw_header *header = (const void *)base;
    const size_t window = header->window_bytes;
    for (size_t at = RAW_HEADER_BYTES; at < size; at += window) {
        const size_t bytes = at + window <= size ? window : size - at;
        if (!walk_window(k, base + at, bytes)) {
            break;
        }
        (void)madvise(base + at, bytes, MADV_DONTNEED);
    }
    walk_settle(k);
    while (k->depth > 0) {
        const struct call *open = &k->stack[--k->depth];
        walk_wrote(k, OTF2_EvtWriter_Leave(k->w, NULL, k->last, region_of(k, open->region)));
    }
}

/*
 * The file may be larger than memory, so it is mapped, and its memory is released as it is read. If
 * another process truncated the file meanwhile, the access would cause a SIGBUS.
 */
int ictusi_convert(const char *path, struct conversion *c, OTF2_EvtWriter *writer,
                   struct ictus_why *why)
{
    struct stat what;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &what) != 0) {
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: %s", path, strerror(errno));
    }
    const size_t size = (size_t)what.st_size;
    void *base = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    (void)close(fd);
    if (base == MAP_FAILED) {
        return ictus_because(why, size ? ICTUS_ERR_NOMEM : ICTUS_ERR_FORMAT,
                             "%.200s cannot be mapped into memory", path);
    }
    int err = convert_check_header(path, base, size, why);
    if (!err) {
        struct walk walk = {
            .c = c, .w = writer, .attributes = OTF2_AttributeList_New(), .failed = OTF2_SUCCESS};
        (void)madvise(base, size, MADV_SEQUENTIAL);
        const uint64_t before = c->events;
        walk_all(&walk, base, size);
        free(walk.stack);
        (void)OTF2_AttributeList_Delete(walk.attributes);
        if (c->events > before) {
            c->last = walk.last > c->last ? walk.last : c->last;
        }
        if (walk.failed != OTF2_SUCCESS) {
            err = ictus_because(why, ICTUS_ERR_IO, "writing the archive: %s",
                                OTF2_Error_GetDescription(walk.failed));
        }
    }
    (void)munmap(base, size);
    return err;
}
