/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tracer records of MPI-IO: names that fit into one field, how a file was opened, and
 * where operations are and how much they move, from beginning to end. MPI is simulated here.
 */
#include "../check.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#undef PMPI_Type_size_x
/* NOLINTNEXTLINE(readability-identifier-naming): the MPI library's name */
#define PMPI_Type_size_x(type, bytes) model_type_size(type, bytes)
static int model_type_size(MPI_Datatype type, MPI_Count *bytes);

#include "tracer/p2p.h"

/* NOLINTBEGIN(bugprone-suspicious-include): its static functions are what is looked at */
#include "tracer/files.c"
/* NOLINTEND(bugprone-suspicious-include) */

struct tracer ictusi_tracer;
struct real_mpi ictusi_real;

/* What the library answers. */
static MPI_Offset model_position;
static int model_fails;
static char logged[8192];
static struct trace_request tracked;

static int model_type_size(MPI_Datatype type, MPI_Count *bytes)
{
    *bytes = type == MPI_INT ? 4 : 1;
    return MPI_SUCCESS;
}

static int model_get_position(MPI_File file, MPI_Offset *offset)
{
    (void)file;
    *offset = model_position;
    return model_fails & 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* A view that shows every second byte, beginning at the thousandth. */
static int model_get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset *byte)
{
    (void)file;
    *byte = model_fails & 4 ? -1 : 1000 + 2 * offset;
    return model_fails & 2 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

struct trace_comm *ictusi_comm_find(struct recorder *r, MPI_Comm comm)
{
    (void)r;
    (void)comm;
    CHECK_ABORT();
}

void ictusi_recorder_flush(struct recorder *recorder)
{
    (void)recorder;
    CHECK_ABORT();
}

uint64_t ictusi_comm_file_key(struct trace_comm *comm)
{
    return 0xabc + comm->id;
}

void ictusi_tracer_log(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    (void)vsnprintf(logged, sizeof(logged), format, rest);
    va_end(rest);
}

void ictusi_request_track(struct recorder *r, MPI_Request handle,
                          const struct trace_request *request)
{
    (void)r;
    (void)handle;
    tracked = *request;
}

static uint64_t window[256];
static struct trace_comm world = {.id = 3, .rank = 0, .size = 2, .remote = -1};

static struct recorder recorder_here(void)
{
    memset(window, 0, sizeof(window));
    return (struct recorder){
        .pos = window, .comm = MPI_COMM_WORLD, .comm_info = &world, .next_request = 7, .thread = 2};
}

/* Handles are never dereferenced, so any two values will do. */
static MPI_File file_handle(int i)
{
    return (MPI_File)(uintptr_t)(16 * (i + 1));
}

static void names_are_absolute_fields(void)
{
    char here[2048];
    char wanted[4096];
    char path[4096];
    REQUIRE(getcwd(here, sizeof(here)));
    (void)snprintf(wanted, sizeof(wanted), "%s/a/b:c", here);
    file_name("a/b:c", path, sizeof(path));
    CHECK_STR(path, wanted);
    (void)snprintf(wanted, sizeof(wanted), "%s/data", here);
    file_name("data", path, sizeof(path));
    CHECK_STR(path, wanted);
    file_name("/data", path, sizeof(path));
    CHECK_STR(path, "/data");
    file_name("ufs:data", path, sizeof(path));
    CHECK_STR(path, "ufs:data");
    file_name("ufs:/data/a", path, sizeof(path));
    CHECK_STR(path, "ufs:/data/a");
    file_name("/tab\tand\nline", path, sizeof(path));
    CHECK_STR(path, "/tab and line");
}

static void ways_to_open_are_told(void)
{
    CHECK(files_open_flags(MPI_MODE_RDONLY) == FILE_READ);
    CHECK(files_open_flags(MPI_MODE_WRONLY) == FILE_WRITE);
    CHECK(files_open_flags(MPI_MODE_RDWR) == (FILE_READ | FILE_WRITE));
    CHECK(files_open_flags(MPI_MODE_WRONLY | MPI_MODE_CREATE) == (FILE_WRITE | FILE_CREATE));
    CHECK(files_open_flags(MPI_MODE_RDWR | MPI_MODE_EXCL) ==
          (FILE_READ | FILE_WRITE | FILE_EXCLUSIVE));
    CHECK(files_open_flags(MPI_MODE_WRONLY | MPI_MODE_APPEND) == (FILE_WRITE | FILE_APPEND));
    CHECK(files_open_flags(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE) ==
          (FILE_READ | FILE_DELETE_ON_CLOSE));
}

static bool recorded(enum record_kind kind, unsigned small, uint32_t value, uint64_t w1,
                     uint64_t w2, uint64_t w3)
{
    const unsigned words = record_words(window[0]);
    return record_kind(window[0]) == kind && record_small(window[0]) == small &&
           record_value(window[0]) == value && window[1] == w1 && (words < 3 || window[2] == w2) &&
           (words < 4 || window[3] == w3);
}

static void files_come_and_go(void)
{
    struct recorder r = recorder_here();
    ictusi_tracer_note_file_open(&r, MPI_COMM_WORLD, "/one", MPI_MODE_RDONLY, file_handle(0));
    CHECK_STR(logged, "Y\t0\tabf\t3\t/one");
    CHECK(recorded(RECORD_FILE_OPEN, 0, 0, FILE_READ, 0, 0));
    r = recorder_here();
    ictusi_tracer_note_file_open(&r, MPI_COMM_WORLD, "/two", MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                                 file_handle(1));
    CHECK(recorded(RECORD_FILE_OPEN, 0, 1, FILE_READ | FILE_WRITE, 0, 0));
    r = recorder_here();
    world.foreign = true;
    ictusi_tracer_note_file_open(&r, MPI_COMM_WORLD, "/no", MPI_MODE_RDWR, file_handle(2));
    world.foreign = false;
    CHECK(r.pos == window && ictusi_tracer_take_file(file_handle(2)) == FILE_NONE);
    ictusi_tracer_note_file_close(&r, FILE_NONE);
    CHECK(r.pos == window);
    ictusi_tracer_note_file_close(&r, 1);
    CHECK(recorded(RECORD_FILE_CLOSE, 0, 1, 0, 0, 0));
    r = recorder_here();
    ictusi_tracer_note_file_delete(&r, "/gone");
    CHECK_STR(logged, "Z\t2\t/gone");
    CHECK(recorded(RECORD_FILE_DELETE, 0, 2, 0, 0, 0));
}

/* File 0 has a position; file 1 has none that could be queried. */
static void operations_have_places(void)
{
    const uint64_t id = UINT64_C(2) << 48 | 7;
    struct recorder r = recorder_here();
    model_position = 5;
    CHECK(ictusi_tracer_note_io(&r, file_handle(0), 3, 40, 6, MPI_INT) == id);
    CHECK(recorded(RECORD_IO_BEGIN, 3, 0, 24, id, 1080));
    r = recorder_here();
    CHECK(ictusi_tracer_note_io(&r, file_handle(0), 0, 0, -1, MPI_INT) == id);
    CHECK(recorded(RECORD_IO_BEGIN, 0, 0, 0, id, 1000));
    r = recorder_here();
    CHECK(ictusi_tracer_note_io(&r, file_handle(0), 0, IO_HERE, 1, MPI_CHAR) == id);
    CHECK(recorded(RECORD_IO_BEGIN, 0, 0, 1, id, 1010));
    r = recorder_here();
    CHECK(ictusi_tracer_note_io(&r, file_handle(0), 0, IO_SHARED, 1, MPI_CHAR) == id);
    CHECK(recorded(RECORD_IO_BEGIN, 0, 0, 1, id, OFFSET_NONE));
    r = recorder_here();
    CHECK(ictusi_tracer_note_io(&r, file_handle(1), 0, 40, 1, MPI_CHAR) == id);
    CHECK(recorded(RECORD_IO_BEGIN, 0, 1, 1, id, OFFSET_NONE));
    for (model_fails = 1; model_fails <= 4; model_fails *= 2) {
        r = recorder_here();
        CHECK(ictusi_tracer_note_io(&r, file_handle(0), 0, IO_HERE, 1, MPI_CHAR) == id);
        CHECK(recorded(RECORD_IO_BEGIN, 0, 0, 1, id, OFFSET_NONE));
    }
    model_fails = 0;
    r = recorder_here();
    CHECK(ictusi_tracer_note_io(&r, file_handle(5), 0, 40, 1, MPI_CHAR) == 0);
    r.after = AFTER_MUTED;
    CHECK(ictusi_tracer_note_io(&r, file_handle(0), 0, 40, 1, MPI_CHAR) == 0);
    CHECK(r.pos == window);
}

static void operations_end(void)
{
    struct recorder r = recorder_here();
    ictusi_tracer_note_io_done(&r, file_handle(0), 9, NULL);
    CHECK(recorded(RECORD_IO_DONE, 0, 0, 9, 0, 0));
    r = recorder_here();
    ictusi_tracer_track_io(&r, MPI_REQUEST_NULL, file_handle(0), 9);
    CHECK(recorded(RECORD_IO_DONE, 0, 0, 9, 0, 0) && tracked.id == 0);
    r = recorder_here();
    ictusi_tracer_track_io(&r, (MPI_Request)(uintptr_t)160, file_handle(1), 9);
    CHECK(recorded(RECORD_IO_ISSUED, 0, 1, 9, 0, 0));
    CHECK(tracked.id == 9 && tracked.kind == REQUEST_FILE && tracked.root == 1);
    r = recorder_here();
    ictusi_tracer_track_io(&r, (MPI_Request)(uintptr_t)160, file_handle(1), 0);
    ictusi_tracer_note_io_done(&r, file_handle(0), 0, NULL);
    ictusi_tracer_note_split(&r, file_handle(0), 0, MPI_SUCCESS);
    CHECK(r.pos == window);
    /* The number of a split collective is kept until its end, and used once. */
    ictusi_tracer_note_split(&r, file_handle(0), 12, MPI_SUCCESS);
    CHECK(recorded(RECORD_IO_ISSUED, 0, 0, 12, 0, 0));
    r = recorder_here();
    ictusi_tracer_note_split_done(&r, file_handle(0), NULL);
    CHECK(recorded(RECORD_IO_DONE, 0, 0, 12, 0, 0));
    r = recorder_here();
    ictusi_tracer_note_split_done(&r, file_handle(0), NULL);
    CHECK(r.pos == window);
    ictusi_tracer_note_split(&r, file_handle(0), 13, MPI_ERR_OTHER);
    CHECK(recorded(RECORD_IO_DONE, 0, 0, 13, 0, 0));
}

static void pointers_are_moved(void)
{
    static const int from[] = {MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END};
    static const unsigned told[] = {SEEK_FROM_START, SEEK_FROM_HERE, SEEK_FROM_END};
    model_position = 8;
    for (int i = 0; i < 3; i++) {
        struct recorder r = recorder_here();
        ictusi_tracer_note_file_seek(&r, file_handle(0), -4, from[i]);
        CHECK(recorded(RECORD_FILE_SEEK, told[i], 0, (uint64_t)-4, 1016, 0));
    }
}

int main(void)
{
    ictusi_real.P_File_get_position = model_get_position;
    ictusi_real.P_File_get_byte_offset = model_get_byte_offset;
    REQUIRE(ictusi_table_init(&ictusi_tracer.files, 16, sizeof(struct trace_file *)) == 0);
    names_are_absolute_fields();
    ways_to_open_are_told();
    files_come_and_go();
    operations_have_places();
    operations_end();
    pointers_are_moved();
    CHECK(ictusi_tracer_take_file(file_handle(0)) == 0 &&
          ictusi_tracer_take_file(file_handle(1)) == 1);
    CHECK(ictusi_tracer_take_file(file_handle(0)) == FILE_NONE);
    ictusi_table_fini(&ictusi_tracer.files);
    return check_result();
}
