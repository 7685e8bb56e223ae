/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of MPI-IO: which file a handle stands for, and what is read and written where. An
 * operation has a number of its own in its process, from where it begins to where it is complete.
 */
#ifndef ICTUS_TRACER_FILES_H
#define ICTUS_TRACER_FILES_H

#include "tracer/requests.h"

/* Where an operation is in the file, if not at an offset of the view: at a file pointer. */
enum { IO_HERE = -1, IO_SHARED = -2 };

void ictusi_tracer_note_file_open(struct recorder *r, MPI_Comm comm, const char *name, int amode,
                                  MPI_File file);
/*
 * The handle leaves the table before it is closed: MPI may give it out again to another thread.
 * @return its number in the records, FILE_NONE: it has none
 */
uint32_t ictusi_tracer_take_file(MPI_File file);
void ictusi_tracer_note_file_close(struct recorder *r, uint32_t number);
void ictusi_tracer_note_file_delete(struct recorder *r, const char *name);
void ictusi_tracer_note_file_seek(struct recorder *r, MPI_File file, int64_t offset, int whence);

/* An operation begins; flags: enum record_io. @return its number, 0: it leaves no records */
uint64_t ictusi_tracer_note_io(struct recorder *r, MPI_File file, unsigned flags, int64_t at,
                               int64_t count, MPI_Datatype type);
/* It is complete; status NULL: it failed, or moves nothing. */
void ictusi_tracer_note_io_done(struct recorder *r, MPI_File file, uint64_t id,
                                const MPI_Status *status);
/* It was begun, and its request or the call that ends it will say when it is complete. */
void ictusi_tracer_track_io(struct recorder *r, MPI_Request handle, MPI_File file, uint64_t id);
void ictusi_tracer_note_split(struct recorder *r, MPI_File file, uint64_t id, int err);
void ictusi_tracer_note_split_done(struct recorder *r, MPI_File file, const MPI_Status *status);

#endif
