/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of MPI-IO. */
#include "tracer/files.h"

#include "tracer/p2p.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trace_file {
    uint32_t id;
    bool sequential; /* it has no position that can be queried */
    uint64_t split;  /* the split collective in progress, or 0 */
};

static struct trace_file *file_find(MPI_File file)
{
    struct trace_file **slot = ictusi_table_find(&ictusi_tracer.files, HANDLE_KEY(file));
    return slot ? *slot : NULL;
}

/* The name for the log: an absolute path in a single field. Prefixes for MPI ("ufs:") are kept. */
static void file_name(const char *name, char *path, size_t size)
{
    const char *slash = strchr(name, '/');
    const char *colon = strchr(name, ':');
    char here[2048] = "";
    if (name[0] == '/' || (colon && (!slash || colon < slash)) || !getcwd(here, sizeof(here))) {
        (void)snprintf(path, size, "%s", name);
    } else {
        (void)snprintf(path, size, "%s/%s", here, name);
    }
    for (char *c = path; *c; c++) {
        if (*c == '\t' || *c == '\n') {
            *c = ' ';
        }
    }
}

static uint64_t files_open_flags(int amode)
{
    uint64_t flags = amode & MPI_MODE_RDWR     ? FILE_READ | FILE_WRITE
                     : amode & MPI_MODE_WRONLY ? FILE_WRITE
                                               : FILE_READ;
    flags |= amode & MPI_MODE_CREATE ? FILE_CREATE : 0U;
    flags |= amode & MPI_MODE_EXCL ? FILE_EXCLUSIVE : 0U;
    flags |= amode & MPI_MODE_APPEND ? FILE_APPEND : 0U;
    flags |= amode & MPI_MODE_DELETE_ON_CLOSE ? FILE_DELETE_ON_CLOSE : 0U;
    return flags;
}

void ictusi_tracer_note_file_open(struct recorder *r, MPI_Comm comm, const char *name, int amode,
                                  MPI_File file)
{
    char path[4096];
    struct trace_comm *above = trace_comm(r, comm);
    if (!above || above->foreign) {
        return;
    }
    struct trace_file **slot = ictusi_table_put(&ictusi_tracer.files, HANDLE_KEY(file));
    struct trace_file *made = calloc(1, sizeof(*made));
    if (!slot || !made) {
        free(made);
        return;
    }
    made->id = atomic_fetch_add(&ictusi_tracer.next_file, 1);
    made->sequential = (amode & MPI_MODE_SEQUENTIAL) != 0;
    *slot = made;
    file_name(name, path, sizeof(path));
    ictusi_tracer_log("Y\t%u\t%llx\t%u\t%s", made->id,
                      (unsigned long long)ictusi_comm_file_key(above), above->id, path);
    recorder_put1(r, RECORD_FILE_OPEN, 0, made->id, files_open_flags(amode));
}

uint32_t ictusi_tracer_take_file(MPI_File file)
{
    struct trace_file *taken = NULL;
    uint32_t id = FILE_NONE;
    if (ictusi_table_take(&ictusi_tracer.files, HANDLE_KEY(file), &taken)) {
        id = taken->id;
        free(taken);
    }
    return id;
}

void ictusi_tracer_note_file_close(struct recorder *r, uint32_t number)
{
    if (number != FILE_NONE) {
        recorder_put1(r, RECORD_FILE_CLOSE, 0, number, 0);
    }
}

void ictusi_tracer_note_file_delete(struct recorder *r, const char *name)
{
    char path[4096];
    const uint32_t id = atomic_fetch_add(&ictusi_tracer.next_file, 1);
    file_name(name, path, sizeof(path));
    ictusi_tracer_log("Z\t%u\t%s", id, path);
    recorder_put1(r, RECORD_FILE_DELETE, 0, id, 0);
}

/* The byte of the file at an offset of its view, or at the individual file pointer. */
static uint64_t file_offset(const struct trace_file *known, MPI_File file, int64_t at)
{
    MPI_Offset offset = (MPI_Offset)at;
    MPI_Offset byte = 0;
    if (known->sequential || at == IO_SHARED ||
        (at < 0 && REAL(File_get_position)(file, &offset) != MPI_SUCCESS) ||
        REAL(File_get_byte_offset)(file, offset, &byte) != MPI_SUCCESS || byte < 0) {
        return OFFSET_NONE;
    }
    return (uint64_t)byte;
}

void ictusi_tracer_note_file_seek(struct recorder *r, MPI_File file, int64_t offset, int whence)
{
    const struct trace_file *known = file_find(file);
    if (known) {
        const unsigned from = whence == MPI_SEEK_SET   ? SEEK_FROM_START
                              : whence == MPI_SEEK_CUR ? SEEK_FROM_HERE
                                                       : SEEK_FROM_END;
        recorder_put2(r, RECORD_FILE_SEEK, from, known->id, (uint64_t)offset,
                      file_offset(known, file, IO_HERE));
    }
}

uint64_t ictusi_tracer_note_io(struct recorder *r, MPI_File file, unsigned flags, int64_t at,
                               int64_t count, MPI_Datatype type)
{
    const struct trace_file *known = file_find(file);
    uint64_t id = known ? recorder_request(r) : 0;
    if (id) {
        id |= (uint64_t)r->thread << 48; /* the operations of a handle are numbered per process */
        const int64_t bytes = count > 0 ? count * trace_type_bytes(r, type) : 0;
        recorder_put3(r, RECORD_IO_BEGIN, flags, known->id, (uint64_t)bytes, id,
                      file_offset(known, file, at));
    }
    return id;
}

void ictusi_tracer_note_io_done(struct recorder *r, MPI_File file, uint64_t id,
                                const MPI_Status *status)
{
    const struct trace_file *known = id ? file_find(file) : NULL;
    if (known) {
        recorder_put2(r, RECORD_IO_DONE, 0, known->id, id,
                      status ? (uint64_t)status_bytes(status) : 0);
    }
}

void ictusi_tracer_track_io(struct recorder *r, MPI_Request handle, MPI_File file, uint64_t id)
{
    const struct trace_file *known = id ? file_find(file) : NULL;
    const struct trace_request request = {
        .id = id, .kind = REQUEST_FILE, .root = known ? known->id : FILE_NONE};
    if (known && handle == MPI_REQUEST_NULL) {
        ictusi_tracer_note_io_done(r, file, id, NULL);
    } else if (known) {
        recorder_put1(r, RECORD_IO_ISSUED, 0, known->id, id);
        ictusi_request_track(r, handle, &request);
    }
}

void ictusi_tracer_note_split(struct recorder *r, MPI_File file, uint64_t id, int err)
{
    struct trace_file *known = id ? file_find(file) : NULL;
    if (known && err != MPI_SUCCESS) {
        ictusi_tracer_note_io_done(r, file, id, NULL);
    } else if (known) {
        known->split = id;
        recorder_put1(r, RECORD_IO_ISSUED, 0, known->id, id);
    }
}

void ictusi_tracer_note_split_done(struct recorder *r, MPI_File file, const MPI_Status *status)
{
    struct trace_file *known = file_find(file);
    if (known) {
        ictusi_tracer_note_io_done(r, file, known->split, status);
        known->split = 0;
    }
}
