/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every way to read and write a file by MPI. Prints what a trace must hold, by the program's own
 * statuses: operations, how many of them are collective and nonblocking, and bytes. usage: files
 * PATH
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { COUNT = 8, BYTES = COUNT * (int)sizeof(int) };

struct tally {
    long begun, collective, nonblocking, read, written, seeks;
};

static struct tally mine;

static void begun(int collective, int nonblocking)
{
    mine.begun++;
    mine.collective += collective;
    mine.nonblocking += nonblocking;
}

static void moved(int err, const MPI_Status *status, long *bytes)
{
    int count = 0;
    if (err == MPI_SUCCESS && MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count > 0) {
        *bytes += count;
    }
}

static void seek(MPI_File file, MPI_Offset to)
{
    MPI_File_seek(file, to, MPI_SEEK_SET);
    mine.seeks++;
}

static void finish(int err, MPI_Request *request, long *bytes, int poll)
{
    MPI_Status status;
    int done = !poll;
    (void)memset(&status, 0, sizeof(status));
    while (!done && err == MPI_SUCCESS) {
        err = MPI_Test(request, &done, &status);
    }
    if (!poll && err == MPI_SUCCESS) {
        err = MPI_Wait(request, &status);
    }
    moved(err, &status, bytes);
}

static void write_blocking(MPI_File file, MPI_Offset own, const int *data)
{
    MPI_Status status;
    begun(0, 0);
    moved(MPI_File_write_at(file, own, data, COUNT, MPI_INT, &status), &status, &mine.written);
    begun(1, 0);
    moved(MPI_File_write_at_all(file, own, data, COUNT, MPI_INT, &status), &status, &mine.written);
    seek(file, own);
    begun(0, 0);
    moved(MPI_File_write(file, data, COUNT, MPI_INT, &status), &status, &mine.written);
    seek(file, own);
    begun(1, 0);
    moved(MPI_File_write_all(file, data, COUNT, MPI_INT, &status), &status, &mine.written);
    /* Its bytes are in the trace all the same. */
    begun(0, 0);
    mine.written +=
        MPI_File_write_at(file, own, data, COUNT, MPI_INT, MPI_STATUS_IGNORE) ? 0 : BYTES;
}

static void write_nonblocking(MPI_File file, MPI_Offset own, const int *data)
{
    MPI_Request request = MPI_REQUEST_NULL;
    begun(0, 1);
    finish(MPI_File_iwrite_at(file, own, data, COUNT, MPI_INT, &request), &request, &mine.written,
           0);
    seek(file, own);
    begun(0, 1);
    finish(MPI_File_iwrite(file, data, COUNT, MPI_INT, &request), &request, &mine.written, 1);
    begun(1, 1);
    finish(MPI_File_iwrite_at_all(file, own, data, COUNT, MPI_INT, &request), &request,
           &mine.written, 0);
}

static void write_split(MPI_File file, MPI_Offset own, const int *data)
{
    MPI_Status status;
    begun(1, 1);
    MPI_File_write_at_all_begin(file, own, data, COUNT, MPI_INT);
    moved(MPI_File_write_at_all_end(file, data, &status), &status, &mine.written);
    seek(file, own);
    begun(1, 1);
    MPI_File_write_all_begin(file, data, COUNT, MPI_INT);
    moved(MPI_File_write_all_end(file, data, &status), &status, &mine.written);
}

static void read_back(MPI_File file, MPI_Offset own, int *data)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    begun(0, 0);
    moved(MPI_File_read_at(file, own, data, COUNT, MPI_INT, &status), &status, &mine.read);
    begun(1, 0);
    moved(MPI_File_read_at_all(file, own, data, COUNT, MPI_INT, &status), &status, &mine.read);
    seek(file, own);
    begun(0, 0);
    moved(MPI_File_read(file, data, COUNT, MPI_INT, &status), &status, &mine.read);
    seek(file, own);
    begun(1, 0);
    moved(MPI_File_read_all(file, data, COUNT, MPI_INT, &status), &status, &mine.read);
    begun(0, 1);
    finish(MPI_File_iread_at(file, own, data, COUNT, MPI_INT, &request), &request, &mine.read, 0);
    begun(1, 1);
    MPI_File_read_at_all_begin(file, own, data, COUNT, MPI_INT);
    moved(MPI_File_read_at_all_end(file, data, &status), &status, &mine.read);
    /* Behind the end there is nothing. */
    begun(0, 0);
    moved(MPI_File_read_at(file, 1 << 20, data, COUNT, MPI_INT, &status), &status, &mine.read);
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    int data[COUNT];
    MPI_File file = MPI_FILE_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COUNT; i++) {
        data[i] = rank * COUNT + i;
    }
    if (argc < 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                  MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    /* Offsets count ints: a byte is at 4 times as much, behind the view's displacement. */
    MPI_File_set_view(file, 64, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    const MPI_Offset own = (MPI_Offset)rank * COUNT;
    write_blocking(file, own, data);
    write_nonblocking(file, own, data);
    write_split(file, own, data);
    begun(1, 0);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    (void)memset(data, 0, sizeof(data));
    read_back(file, own, data);
    const int right = data[1] == rank * COUNT + 1;
    MPI_File_close(&file);
    /* A file of each process alone. */
    begun(0, 0);
    MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_Status status;
    moved(MPI_File_read(file, data, COUNT, MPI_INT, &status), &status, &mine.read);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    struct tally all = {0};
    int wrong = !right;
    int wrongs = 0;
    MPI_Reduce(&mine, &all, sizeof(all) / sizeof(long), MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &wrongs, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_File_delete(argv[1], MPI_INFO_NULL);
        printf("IO_OPERATION_BEGIN %ld\nIO_OPERATION_COMPLETE %ld\n", all.begun, all.begun);
        printf("COLLECTIVE %ld\nNON_BLOCKING %ld\n", all.collective, all.nonblocking);
        printf("READ %ld\nWRITE %ld\nIO_SEEK %ld\n", all.read, all.written, all.seeks);
        printf("IO_CREATE_HANDLE %d\nIO_DESTROY_HANDLE %d\nIO_DELETE_FILE 1\nwrong %d\n", 2 * size,
               2 * size, wrongs);
    }
    MPI_Finalize();
    return 0;
}
