/* SPDX-License-Identifier: BSD-3-Clause */
#include "tracer/spawn.h"

#include "tracer/real.h"
#include "tracer/settings.h"
#include "tracer/tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI

static const char spawn_key[] = "env";

/*
 * Append the lines for a trace to those that the program has set. The program knows best what its
 * processes may preload, so a value with LD_PRELOAD is left unchanged. @return false: the value of
 * an info has no room for them
 */
static bool spawn_write_lines(char *text, size_t room)
{
    const char *preload = getenv("LD_PRELOAD");
    size_t used = strlen(text);
    if (!preload || strstr(text, "LD_PRELOAD=")) {
        return true;
    }
    const int length =
        snprintf(text + used, room - used, "%sLD_PRELOAD=%s\n", used > 0 ? "\n" : "", preload);
    if (length < 0 || (size_t)length >= room - used) {
        return false;
    }
    used += (size_t)length;
    return ictusi_settings_lines(text + used, room - used) < room - used;
}

/*
 * Whether this process is the root, which alone may read the info, and is being traced, with
 * recording switched on or off.
 */
static bool spawn_is_traced(int root, MPI_Comm comm)
{
    int rank = MPI_PROC_NULL;
    return atomic_load(&ictusi_tracer.state) == TRACER_RUNNING &&
           REAL(Comm_rank)(comm, &rank) == MPI_SUCCESS && rank == root;
}

static void spawn_say_untraced(void)
{
    if (!atomic_exchange(&ictusi_tracer.spawns_told, true)) {
        (void)fprintf(
            stderr,
            "ictus trace: spawned processes are not traced: Open MPI passes on at most %d "
            "bytes of environment, and the paths of library and output need more\n",
            MPI_MAX_INFO_VAL - 1);
    }
}

static MPI_Info spawn_extend(MPI_Info given)
{
    char text[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info made = MPI_INFO_NULL;
    if (given != MPI_INFO_NULL) {
        (void)REAL(Info_get)(given, spawn_key, MPI_MAX_INFO_VAL - 1, text, &found);
    }
    if (!spawn_write_lines(text, MPI_MAX_INFO_VAL)) {
        spawn_say_untraced();
        return given;
    }
    const int err =
        given == MPI_INFO_NULL ? REAL(Info_create)(&made) : REAL(Info_dup)(given, &made);
    if (err != MPI_SUCCESS) {
        return given;
    }
    (void)REAL(Info_set)(made, spawn_key, text);
    return made;
}

MPI_Info ictusi_spawn_info(int root, MPI_Comm comm, MPI_Info info)
{
    return spawn_is_traced(root, comm) ? spawn_extend(info) : info;
}

const MPI_Info *ictusi_spawn_infos(int root, MPI_Comm comm, int count, const MPI_Info *infos)
{
    MPI_Info *made = NULL;
    if (spawn_is_traced(root, comm) && count > 0) {
        made = malloc((size_t)count * sizeof(MPI_Info));
    }
    for (int i = 0; i < count && made; i++) {
        made[i] = spawn_extend(infos[i]);
    }
    return made ? made : infos;
}

#else

MPI_Info ictusi_spawn_info(int root, MPI_Comm comm, MPI_Info info)
{
    (void)root;
    (void)comm;
    return info;
}

const MPI_Info *ictusi_spawn_infos(int root, MPI_Comm comm, int count, const MPI_Info *infos)
{
    (void)root;
    (void)comm;
    (void)count;
    return infos;
}

#endif

void ictusi_spawn_info_free(MPI_Info made, MPI_Info info)
{
    if (made != info) {
        (void)REAL(Info_free)(&made);
    }
}

void ictusi_spawn_infos_free(const MPI_Info *made, int count, const MPI_Info *infos)
{
    if (made == infos) {
        return;
    }
    for (int i = 0; i < count; i++) {
        ictusi_spawn_info_free(made[i], infos[i]);
    }
    free((void *)made);
}
