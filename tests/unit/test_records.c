/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kind of record in an archive: raw files of two processes out of three, one of them with two
 * threads, and what otf2-print says of the archive that is made of them (records.txt). Each number
 * is a different one.
 */
#include "../check.h"

#include "tracer/functions.h"
#include "tracer/ops.h"
#include "tracer/record.h"

#include <ictus/trace.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { WINDOW = 4096, WORDS = WINDOW / 8, WINDOWS = 3, LINE = 512 };

/* A raw event file that grows. */
struct raw {
    uint64_t words[WINDOWS * WORDS];
    size_t at;
};

/* Appends a record. `more` are the words after its head. */
#define PUT(raw, kind, small, value, ...)                                                          \
    raw_put(raw, kind, small, value, (const uint64_t[]){__VA_ARGS__},                              \
            sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static size_t bytes_put;

static void raw_put(struct raw *raw, enum record_kind kind, unsigned small, uint32_t value,
                    const uint64_t *more, size_t count)
{
    REQUIRE(raw->at % WORDS + 1 + count < WORDS);
    raw->words[raw->at] = record_head(kind, (unsigned)count + 1, small, value);
    memcpy(&raw->words[raw->at + 1], more, count * sizeof(*more));
    raw->at += 1 + count;
    bytes_put += 8 * (1 + count);
}

static void raw_next_window(struct raw *raw)
{
    raw->at = (raw->at / WORDS + 1) * WORDS;
}

/* Ticks are nanoseconds here; the first instant of the job is at this one. */
enum { S = 1000000000 };

static uint64_t at(int ns)
{
    return UINT64_C(5) * S + (uint64_t)ns;
}

static void call(struct raw *raw, unsigned function, int ns, uint32_t lasts, uint64_t site)
{
    PUT(raw, RECORD_CALL, function, lasts, at(ns), site);
}

#define COMM(comm, tag) ((uint64_t)(comm) << 32 | (tag))

static void put_messages(struct raw *r)
{
    call(r, FUNCTION_MPI_Send, 100, 10, 0);
    PUT(r, RECORD_SEND, 0, 1, COMM(2, 21), 801);
    call(r, FUNCTION_MPI_Isend, 120, 10, 1);
    PUT(r, RECORD_ISEND, 0, 1, COMM(0, 22), 802, 91);
    call(r, FUNCTION_MPI_Irecv, 140, 10, 7);
    PUT(r, RECORD_IRECV, 0, 0, 92);
    PUT(r, RECORD_OPEN, FUNCTION_MPI_Waitall, 0, at(160), 0);
    PUT(r, RECORD_LEAVE, FUNCTION_MPI_Waitall, 0, at(170));
    PUT(r, RECORD_ISEND_DONE, 0, 0, 91);
    PUT(r, RECORD_IRECV_DONE, 0, 1, COMM(2, 23), 803, 92);
    PUT(r, RECORD_TESTED, 0, 0, 93);
    PUT(r, RECORD_CANCELLED, 0, 0, 94);
    PUT(r, RECORD_RECV, 0, 1, COMM(0, 24), 804);
    /* What was refused did not take place. */
    PUT(r, RECORD_REFUSED, FUNCTION_MPI_Send, 5, at(180), 0);
    PUT(r, RECORD_SEND, 0, 1, COMM(0, 25), 805);
    PUT(r, RECORD_IO_DONE, 0, 3, 54, 805);
}

static void put_collectives(struct raw *r)
{
    call(r, FUNCTION_MPI_Bcast, 200, 10, 0);
    PUT(r, RECORD_SENDERS, 0, 0, 5, 0, 6);
    PUT(r, RECORD_COLL, COLL_BCAST, 1, COMM(77, 2), 811, 812);
    call(r, FUNCTION_MPI_Barrier, 220, 10, 0);
    PUT(r, RECORD_COLL, COLL_BARRIER, ROOT_NONE, COMM(0, 0), 0, 0);
    call(r, FUNCTION_MPI_Ibarrier, 240, 10, 0);
    PUT(r, RECORD_SENDERS, 0, 0, 0, 9);
    PUT(r, RECORD_ICOLL, 0, 0, 95);
    call(r, FUNCTION_MPI_Waitall, 260, 10, 0);
    PUT(r, RECORD_ICOLL_DONE, COLL_SCAN, 1, COMM(78, 2), 813, 814, 95);
}

static void put_windows(struct raw *r)
{
    call(r, FUNCTION_MPI_Win_fence, 300, 10, 0);
    PUT(r, RECORD_RMA_FENCE, 4, 0, 0);
    call(r, FUNCTION_MPI_Put, 320, 10, 0);
    PUT(r, RECORD_RMA_PUT, 4, 1, 821, 61);
    PUT(r, RECORD_RMA_GET, 4, 1, 822, 62);
    PUT(r, RECORD_RMA_ATOMIC, 4, 1, UINT64_C(2) << 32, 823, 824, 63);
    PUT(r, RECORD_RMA_ATOMIC, 4, 1, UINT64_C(3) << 32, 825, 826, 64);
    PUT(r, RECORD_RMA_ATOMIC, 4, 1, UINT64_C(1) << 32, 827, 828, 65);
    PUT(r, RECORD_RMA_GIVEN, 4, 1, 0);
    call(r, FUNCTION_MPI_Win_lock, 340, 10, 0);
    PUT(r, RECORD_RMA_DONE, 4, 0, 61);
    PUT(r, RECORD_RMA_LOCK, 4, 1, 1);
    PUT(r, RECORD_RMA_LOCK, 4, 1, 0);
    PUT(r, RECORD_RMA_UNLOCK, 4, 1, 0);
    PUT(r, RECORD_RMA_CREATE, 4, 0, 0);
    PUT(r, RECORD_RMA_FREE, 4, 0, 0);
    PUT(r, RECORD_RMA_SYNC, 4, 1, SYNC_GOT);
    PUT(r, RECORD_RMA_SYNC, 4, 1, SYNC_POSTED);
    PUT(r, RECORD_RMA_SYNC, 4, 1, RECORD_SYNCS);
}

static void put_files(struct raw *r)
{
    static const unsigned opened[] = {FILE_READ, FILE_WRITE | FILE_CREATE | FILE_APPEND,
                                      FILE_READ | FILE_WRITE | FILE_EXCLUSIVE |
                                          FILE_DELETE_ON_CLOSE};
    static const unsigned begun[] = {IO_READ | IO_NONBLOCKING, IO_WRITE | IO_COLLECTIVE,
                                     IO_COLLECTIVE | IO_NONBLOCKING, 0};
    for (int i = 0; i < 3; i++) {
        call(r, FUNCTION_MPI_File_open, 400 + 20 * i, 10, 0);
        PUT(r, RECORD_FILE_OPEN, 0, 3, opened[i]);
    }
    for (int i = 0; i < 4; i++) {
        call(r, FUNCTION_MPI_File_read, 460 + 20 * i, 10, 0);
        PUT(r, RECORD_IO_BEGIN, begun[i], 3, 831 + (uint64_t)i, 51 + (uint64_t)i,
            i == 3 ? OFFSET_NONE : 700 + (uint64_t)i);
        PUT(r, RECORD_IO_ISSUED, 0, 3, 51 + (uint64_t)i);
        PUT(r, RECORD_IO_TESTED, 0, 3, 51 + (uint64_t)i);
        PUT(r, RECORD_IO_DONE, 0, 3, 51 + (uint64_t)i, 841 + (uint64_t)i);
        PUT(r, RECORD_FILE_SEEK, (unsigned)i, 3, 851 + (uint64_t)i, 861 + (uint64_t)i);
    }
    PUT(r, RECORD_FILE_CLOSE, 0, 3, 0);
    PUT(r, RECORD_FILE_DELETE, 0, 1, 0);
    PUT(r, RECORD_FILE_CLOSE, 0, 5, 0); /* a file that no line of the log names */
}

/* Regions of the program, of which the inner ones are never left, and what it says of itself. */
static void put_regions(struct raw *r)
{
    union {
        double value;
        uint64_t word;
    } a = {1.25}, b = {-2.5};
    PUT(r, RECORD_OPEN, REGION_USER + 1, 0, at(600));
    PUT(r, RECORD_OPEN, REGION_USER, 0, at(610));
    PUT(r, RECORD_OPEN, REGION_USER, 0, at(615));
    PUT(r, RECORD_LEAVE, REGION_USER + 1, 0, at(620));
    PUT(r, RECORD_LEAVE, REGION_USER + 1, 0, at(625)); /* entered before recording began */
    PUT(r, RECORD_OPEN, REGION_USER + 9, 0, at(630));  /* whose name is lost */
    PUT(r, RECORD_LEAVE, REGION_USER + 9, 0, at(635));
    PUT(r, RECORD_EVENT, 2, 0, at(640), 871);
    PUT(r, RECORD_EVENT, 3, 0, at(645), 872); /* whose name is lost */
    PUT(r, RECORD_METRIC, METRIC_CLASS_CLOCK, 0, at(650), a.word);
    PUT(r, RECORD_METRIC, METRIC_CLASS_COUNTERS, 0, at(660), 881, 882);
    PUT(r, RECORD_METRIC, METRIC_CLASS_COUNTERS, 0, at(662), 883); /* one of two: damaged */
    PUT(r, RECORD_METRIC, METRIC_CLASS_USER + 1, 0, at(670), b.word);
    PUT(r, RECORD_METRIC, METRIC_CLASS_USER + 5, 0, at(675), b.word); /* whose name is lost */
    PUT(r, RECORD_FLUSH, 0, 0, at(680), 15);
    PUT(r, RECORD_OFF, OFF_ASKED, 0, at(690));
    PUT(r, RECORD_ON, 0, 0, at(700));
}

static void put_teams(struct raw *r, bool main_thread)
{
    const uint64_t team = UINT64_C(0) << 32 | 2;
    if (main_thread) {
        PUT(r, RECORD_FORK, 0, 0, at(800), 2);
    }
    PUT(r, RECORD_TEAM_BEGIN, 0, 0, at(810), team, 1);
    PUT(r, RECORD_TEAM_END, 0, 0, at(820), team, 1);
    PUT(r, RECORD_TEAM_BEGIN, 0, 0, at(830), team, 4); /* the same: no line says otherwise */
    PUT(r, RECORD_TEAM_END, 0, 0, at(840), team, 4);
    PUT(r, RECORD_TEAM_BEGIN, 0, 0, at(850), team, 5);     /* of members that nobody knows */
    PUT(r, RECORD_TEAM_BEGIN, 0, 0, at(860), team + 1, 1); /* of another team, not yet known */
    PUT(r, RECORD_TEAM_BEGIN, 0, 0, at(862), team + 1, 2);
    PUT(r, RECORD_TEAM_END, 0, 0, at(864), team + 1, 3);
    PUT(r, RECORD_TEAM_BEGIN, 0, 0, at(866), team - 1, 9); /* of none */
    if (main_thread) {
        PUT(r, RECORD_JOIN, 0, 0, at(870));
    }
}

static void put_file(const char *directory, const char *name, const void *data, size_t bytes)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/raw/%s", directory, name);
    FILE *file = fopen(path, "wbe");
    REQUIRE(file);
    CHECK(fwrite(data, 1, bytes, file) == bytes);
    CHECK(fclose(file) == 0);
}

static void put_events(const char *directory, const char *name, int rank, int thread,
                       const struct raw *raw)
{
    static unsigned char bytes[RAW_HEADER_BYTES + sizeof(raw->words)];
    struct raw_header header = {.table_hash = TRACE_TABLE_HASH,
                                .window_bytes = WINDOW,
                                .rank = (uint32_t)rank,
                                .thread = (uint32_t)thread,
                                .pid = 1};
    memcpy(header.magic, RAW_MAGIC, sizeof(header.magic));
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + RAW_HEADER_BYTES, raw->words, sizeof(raw->words));
    put_file(directory, name, bytes, sizeof(bytes));
}

/* Rank 0 reached its end; rank 2, whose clock is behind, was killed soon.
 * Rank 1 left nothing. */
static void put_log(const char *directory, int rank)
{
    static const unsigned functions[] = {
        FUNCTION_MPI_Send,     FUNCTION_MPI_Isend,     FUNCTION_MPI_Irecv,
        FUNCTION_MPI_Waitall,  FUNCTION_MPI_Bcast,     FUNCTION_MPI_Barrier,
        FUNCTION_MPI_Ibarrier, FUNCTION_MPI_Win_fence, FUNCTION_MPI_Put,
        FUNCTION_MPI_Win_lock, FUNCTION_MPI_File_open, FUNCTION_MPI_File_read,
        FUNCTION_MPI_Gather,   FUNCTION_MPI_Scan,      FUNCTION_MPI_Comm_size,
        FUNCTION_OMP_parallel, FUNCTION_OMP_barrier,   FUNCTION_OMP_implicit_barrier};
    char name[32];
    char *text = NULL;
    size_t bytes = 0;
    FILE *log = open_memstream(&text, &bytes);
    REQUIRE(log);
    (void)fprintf(log,
                  "H\t3\t%llu\t%d\t3\t77\nK\t1\t0\t0\t0\nA\t5000000000\t1700000000000000000\n"
                  "O\tnode%d\nX\tapp %d\nL\tmesh@tsc\nI\t5000000000\n"
                  "S\t5000000000\t5000000%s\t%s\t5.5\t50\t6\n",
                  (unsigned long long)TRACE_TABLE_HASH, rank, rank, rank, rank ? "500" : "000",
                  rank ? "1e-6" : "0");
    if (rank == 0) {
        (void)fputs("S\t6000000000\t6000000000\t0\t7.25\t60\t8\n", log);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        (void)fprintf(log, "F\t%u\n", functions[i]);
    }
    (void)fprintf(log,
                  "R\t2048\tinner\nR\t2049\touter\nR\t2050\t" TRACE_REGION_SYNC "\nP\t2\tmark\n"
                  "M\t1\t0\tcycles\nM\t1\t1\tstall_ns\nU\t16\t0\tresidual\t1\n"
                  "U\t17\t0\ttemperature\tK\nC\t0\t1\t%d\t3\t-1\nC\t1\t2\t0\t1\t-1\n"
                  "C\t2\tabc\t%d\t2\t-1\nG\tabc\ta\t2,0\nN\t2\tturned\n"
                  "C\t3\tb0b\t0\t1\t2\nG\tb0b\ta\t0\nG\tb0b\tb\t1-2\nN\t3\tbridge\n"
                  "W\t4\tdef\t2\nV\t4\tmemory\nY\t3\tf11e\t2\t/data/shared\nZ\t1\t/data/gone\n"
                  "Q\t1\t4660\t12345\t/no/such/program\n%s",
                  rank, rank ? 0 : 1,
                  rank ? "" : "J\t0\t2\t1\t1,0\nJ\t1\t2\t5\t-\nJ\t2\t3\t2\t0,1\nE\t3\t4\n");
    REQUIRE(fclose(log) == 0);
    (void)snprintf(name, sizeof(name), "%d.log", rank);
    put_file(directory, name, text, bytes);
    free(text);
}

static void make_raw(const char *directory)
{
    static struct raw first, second, other;
    put_messages(&first);
    put_collectives(&first);
    raw_next_window(&first);
    put_windows(&first);
    put_files(&first);
    raw_next_window(&first);
    put_regions(&first);
    put_teams(&first, true);
    put_teams(&second, false);
    PUT(&other, RECORD_OPEN, FUNCTION_MPI_Barrier, 0, at(50), 0);
    PUT(&other, RECORD_COLL, COLL_BARRIER, ROOT_NONE, COMM(0, 0), 0, 0);
    PUT(&other, RECORD_OPEN, REGION_USER, 0, at(40)); /* ticks that go back are counted */
    put_events(directory, "0.0.events", 0, 0, &first);
    put_events(directory, "0.1.events", 0, 1, &second);
    put_events(directory, "2.0.events", 2, 0, &other);
    put_log(directory, 0);
    put_log(directory, 2);
}

/* Without the distances between columns, the numbers of texts, and what names this archive only. */
static bool line_counts(char *line)
{
    size_t used = 0;
    for (const char *from = line; *from && *from != '\n'; from++) {
        if (*from != ' ' || (used > 0 && line[used - 1] != ' ')) {
            line[used++] = *from;
        }
    }
    while (used > 0 && line[used - 1] == ' ') {
        used--;
    }
    line[used] = '\0';
    return used > 0 && strncmp(line, "STRING ", 7) != 0 &&
           strncmp(line, "Trace identifier", 16) != 0 && strncmp(line, "Version", 7) != 0;
}

/* Compares what otf2-print says, or, to be told, writes it. */
static void printed_is(const char *directory, const char *words, const char *wanted_path)
{
    char command[512];
    char line[LINE], wanted[LINE];
    (void)snprintf(command, sizeof(command),
                   "cd '%s' && for words in %s; do otf2-print $words traces.otf2 2>/dev/null; done",
                   directory, words);
    FILE *out = popen(command, "r"); /* NOLINT(cert-env33-c): a name of our own */
    FILE *known = fopen(wanted_path, "re");
    REQUIRE(out && known);
    while (fgets(line, sizeof(line), out)) {
        if (!line_counts(line)) {
            continue;
        }
        if (getenv("RECORDS_SHOW")) {
            (void)puts(line);
            continue;
        }
        wanted[0] = '\0';
        (void)fgets(wanted, sizeof(wanted), known);
        wanted[strcspn(wanted, "\n")] = '\0';
        CHECK_STR(line, wanted);
        if (strcmp(line, wanted) != 0) {
            break; /* the others are likely to be shifted */
        }
    }
    CHECK(fgets(wanted, sizeof(wanted), known) == NULL);
    (void)fclose(known);
    (void)pclose(out);
}

static void archives_say_what_was_recorded(const char *directory, bool local, const char *wanted)
{
    struct ictus_trace_summary s;
    struct ictus_why why = {""};
    const struct ictus_trace_recover_opts opts = {
        .size = sizeof(opts), .local = local, .force = 1, .keep = 1};
    REQUIRE(!ictus_trace_recover(directory, &opts, &s, &why));
    CHECK(s.processes == 2 && s.missing == 1 && s.cut == 1 && s.locations == 3);
    CHECK(s.lost == 4 && s.untracked == 4 && s.clamped == 1); /* a region without a name besides */
    CHECK_NEAR(s.length_s, local ? 830e-9 : 770e-9, 1e-15);
    CHECK(s.raw_bytes == bytes_put && s.jump_ns == 0.0);
    /* Local times are judged by the process that is behind. */
    printed_is(directory, local ? "-C '-L 2' -I" : "-G -C '' -I", wanted);
}

int main(void)
{
    char directory[CHECK_PATH];
    char command[256];
    /* As others format it, it is another text. */
    if (system("otf2-print --version 2>&1 | grep -q ' 3\\.'") != 0) { /* NOLINT(cert-env33-c) */
        return CHECK_SKIP;
    }
    REQUIRE(mkdtemp(check_scratch(directory, "records")));
    (void)snprintf(command, sizeof(command), "%s/raw", directory);
    REQUIRE(mkdir(command, 0700) == 0);
    make_raw(directory);
    archives_say_what_was_recorded(directory, false, RECORDS_WANTED);
    archives_say_what_was_recorded(directory, true, RECORDS_WANTED_LOCAL);
    (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
    CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a name of our own */
    return check_result();
}
