/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of MPI-IO: which file a handle refers to, and what is read and written where. Each
 * operation has a number in its process, from its beginning to its completion.
 */
#ifndef ICTUS_TRACER_FILES_H
#define ICTUS_TRACER_FILES_H

#include "tracer/requests.h"

/* Values for operations at a file pointer instead of an offset in the view: individual, shared. */
enum { IO_HERE = -1, IO_SHARED = -2 };

void ictusi_tracer_note_file_open(struct recorder *r, MPI_Comm comm, const char *name, int amode,
                                  MPI_File file);
/*
 * Remove a handle from the table before it is closed, because MPI may then give it to another
 * thread. @return its number in the records; FILE_NONE: it has none
 */
uint32_t ictusi_tracer_take_file(MPI_File file);
void ictusi_tracer_note_file_close(struct recorder *r, uint32_t number);
void ictusi_tracer_note_file_delete(struct recorder *r, const char *name);
void ictusi_tracer_note_file_seek(struct recorder *r, MPI_File file, int64_t offset, int whence);

/* An operation begins; flags: enum record_io. @return its number; 0: it is not recorded */
uint64_t ictusi_tracer_note_io(struct recorder *r, MPI_File file, unsigned flags, int64_t at,
                               int64_t count, MPI_Datatype type);
/* An operation is complete; status NULL: it failed, or moves nothing. */
void ictusi_tracer_note_io_done(struct recorder *r, MPI_File file, uint64_t id,
                                const MPI_Status *status);
/* An operation has begun; its request, or the call that ends it, shows when it is complete. */
void ictusi_tracer_track_io(struct recorder *r, MPI_Request handle, MPI_File file, uint64_t id);
void ictusi_tracer_note_split(struct recorder *r, MPI_File file, uint64_t id, int err);
void ictusi_tracer_note_split_done(struct recorder *r, MPI_File file, const MPI_Status *status);

#endif
