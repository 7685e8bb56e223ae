/* SPDX-License-Identifier: BSD-3-Clause */
/* Which programs ictus trace takes, what it says of the others, and where it finds its library. */
#include "traces/trace_target.h"

#include "captured.h"

#include <dlfcn.h>
#include <elf.h>
#include <mpi.h>
#include <stdbool.h>
#include <sys/stat.h>

static void file_write(const char *path, const void *bytes, size_t count, unsigned mode)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
    REQUIRE(chmod(path, mode) == 0);
}

static void script_write(const char *path)
{
    file_write(path, "#!/bin/sh\n", 10, 0755);
}

static void file_copy(const char *from, const char *to)
{
    static char bytes[65536];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    REQUIRE(in && out);
    for (size_t n = 1; n > 0;) {
        n = fread(bytes, 1, sizeof bytes, in);
        REQUIRE(fwrite(bytes, 1, n, out) == n);
    }
    (void)fclose(in);
    REQUIRE(fclose(out) == 0 && chmod(to, 0755) == 0);
}

/* The whole of what is said, or a part of it. */
static void told(const char *program, int wanted, const char *words)
{
    struct ictus_why why = {"left from before"};
    CHECK(trace_target_check(program, &why) == wanted);
    CHECK_STR(why.text, words);
}

/* However a launcher is named: by its path, by a name that PATH finds, with its kind after a dot.
 */
static void launchers_come_first(void)
{
    static const char *const launchers[] = {"mpirun",  "mpiexec",      "srun",          "orterun",
                                            "prterun", "mpirun.mpich", "mpiexec.hydra", "aprun"};
    static const char *const others[] = {"mpiru", "mpirunner", "my-mpirun", "run", "mpirun-it"};
    char path[80], words[160];
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        (void)snprintf(path, sizeof path, "bin/%s", launchers[i]);
        script_write(path);
        for (int named = 0; named < 2; named++) {
            const char *program = named ? launchers[i] : path;
            (void)snprintf(words, sizeof words,
                           "%s is a launcher; put it first: mpirun -n N ictus trace -o DIR -- "
                           "./app",
                           program);
            told(program, ICTUS_ERR_ARG, words);
        }
        (void)unlink(path);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        (void)snprintf(path, sizeof path, "bin/%s", others[i]);
        script_write(path);
        told(path, ICTUS_OK, "");
        told(others[i], ICTUS_OK, "");
        (void)unlink(path);
    }
}

/* As execvp() finds them. */
static void programs_are_found(void)
{
    static const char *const missing[] = {"none", "bin/none", "./none", "bin/data", "data"};
    char words[80];
    script_write("bin/script");
    file_write("bin/data", "x", 1, 0644);
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        (void)snprintf(words, sizeof words, "cannot run '%s': No such file or directory",
                       missing[i]);
        told(missing[i], ICTUS_ERR_ARG, words);
    }
    told("script", ICTUS_OK, "");
    told("./bin/script", ICTUS_OK, "");
    script_write("more/data"); /* PATH has bin first, where it cannot be run */
    told("data", ICTUS_OK, "");
    script_write("more/last");
    told("last", ICTUS_OK, "");
    (void)unlink("more/last");
    (void)unlink("more/data");
    (void)unlink("bin/data");
    (void)unlink("bin/script");
}

/* A program of so many parts, the last of which may name a loader. */
static void program_write(const char *path, int parts, bool loaded, int class)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr part[3];
    } program;
    memset(&program, 0, sizeof program);
    memcpy(program.header.e_ident, ELFMAG, SELFMAG);
    program.header.e_ident[EI_CLASS] = (unsigned char)class;
    program.header.e_phoff = sizeof program.header;
    program.header.e_phentsize = sizeof program.part[0];
    program.header.e_phnum = (Elf64_Half)parts;
    for (int i = 0; i < 3; i++) {
        program.part[i].p_type = loaded && i == parts - 1 ? PT_INTERP : PT_LOAD;
    }
    file_write(path, &program, sizeof program, 0755);
}

static const char static_words[] =
    "./program is statically linked: no library can be preloaded into it";
static const char other_words[] =
    "./program is not linked with MPI; it is traced only if it loads MPI later";

static void programs_are_told_apart(void)
{
    program_write("program", 0, false, ELFCLASS64);
    told("./program", ICTUS_ERR_ARG, static_words);
    program_write("program", 3, false, ELFCLASS64);
    told("./program", ICTUS_ERR_ARG, static_words);
    for (int parts = 1; parts <= 3; parts++) {
        program_write("program", parts, true, ELFCLASS64);
        told("./program", ICTUS_OK, other_words);
    }
    program_write("program", 3, false, ELFCLASS32); /* who knows */
    told("./program", ICTUS_OK, "");
    file_write("program", ELFMAG, SELFMAG, 0755);
    told("./program", ICTUS_OK, "");
    (void)unlink("program");
    told("/bin/sh", ICTUS_OK,
         "/bin/sh is not linked with MPI; it is traced only if it loads MPI later");
}

/* This program is of the MPI that the tracer is of; with another library of that name it is not. */
static void libraries_are_compared(const char *self)
{
    Dl_info info;
    char words[512], mine[4096], theirs[4096], other[256], directory[4096];
    void *symbol = dlsym(RTLD_DEFAULT, "PMPI_Init");
    int version = 0, part = 0;
    CHECK(MPI_Get_version(&version, &part) == MPI_SUCCESS); /* so that it is linked with it */
    REQUIRE(symbol && dladdr(symbol, &info) && realpath(info.dli_fname, mine));
    told(self, ICTUS_OK, "");
    (void)snprintf(other, sizeof other, "more%s", strrchr(info.dli_fname, '/'));
    file_copy(mine, other);
    REQUIRE(realpath("more", directory) && realpath(other, theirs));
    REQUIRE(setenv("LD_LIBRARY_PATH", directory, 1) == 0);
    (void)snprintf(words, sizeof words,
                   "%.80s uses %.80s, but this ictus was built with %.80s; use an ictus built with "
                   "the same MPI library",
                   self, theirs, mine);
    told(self, ICTUS_ERR_ARG, words);
    REQUIRE(unsetenv("LD_LIBRARY_PATH") == 0);
    (void)unlink(other);
}

static void library_is(int wanted, const char *path, const char *words)
{
    struct ictus_why why = {""};
    char found[4096] = "";
    CHECK(trace_target_library(found, sizeof found, &why) == wanted);
    CHECK_STR(wanted == ICTUS_ERR_IO ? path : found, path);
    CHECK_STR(why.text, words);
}

static void library_is_given(void)
{
    static const char name[] = "ICTUS_TRACE_LIBRARY";
    file_write("lib:1", "", 0, 0644);
    file_write("library", "", 0, 0644);
    REQUIRE(setenv(name, "library", 1) == 0);
    library_is(ICTUS_OK, "library", "");
    REQUIRE(setenv(name, "lib:1", 1) == 0);
    library_is(ICTUS_ERR_UNSUPPORTED, "lib:1",
               "lib:1 cannot be preloaded because its path contains a colon");
    REQUIRE(setenv(name, "none", 1) == 0);
    library_is(ICTUS_ERR_IO, "", "ICTUS_TRACE_LIBRARY=none: No such file or directory");
    REQUIRE(unsetenv(name) == 0);
    (void)unlink("lib:1");
    (void)unlink("library");
}

/* What a copy of this program in bin finds. */
static void copy_finds(const char *wanted)
{
    char found[4096] = "";
    FILE *from = popen("bin/copy library 2>&1", "r");
    REQUIRE(from && fgets(found, sizeof found, from));
    (void)pclose(from);
    CHECK_STR(found, wanted);
}

/* Where it is installed, and in a build; an empty name is none. */
static void library_is_found(void)
{
    char directory[3072], wanted[4096];
    REQUIRE(getcwd(directory, sizeof directory));
    file_copy("/proc/self/exe", "bin/copy");
    REQUIRE(setenv("ICTUS_TRACE_LIBRARY", "", 1) == 0);
    copy_finds("libictus-trace.so was not found next to this program; set ICTUS_TRACE_LIBRARY to "
               "its path\n");
    static const char *const places[] = {"preload", "lib",
                                         "lib64"}; /* the last one: ICTUS_LIBDIR */
    for (size_t i = 0; i < 3; i++) {
        char path[80];
        (void)snprintf(path, sizeof path, "%s/libictus-trace.so", places[i]);
        REQUIRE(mkdir(places[i], 0700) == 0);
        file_write(path, "", 0, 0644);
        (void)snprintf(wanted, sizeof wanted, "%s/%s\n", directory, path);
        copy_finds(wanted);
    }
    for (size_t i = 0; i < 3; i++) {
        char path[80];
        (void)snprintf(path, sizeof path, "%s/libictus-trace.so", places[i]);
        CHECK(unlink(path) == 0 && rmdir(places[i]) == 0);
    }
    (void)unlink("bin/copy");
}

int main(int argc, char **argv)
{
    struct ictus_why why = {""};
    char self[4096], directory[CHECK_PATH], path[240];
    if (argc > 1 && strcmp(argv[1], "library") == 0) {
        char found[4096];
        printf("%s\n", trace_target_library(found, sizeof found, &why) ? why.text : found);
        return 0;
    }
    REQUIRE(realpath("/proc/self/exe", self) && argv[0]);
    REQUIRE(mkdtemp(check_scratch(directory, "target")) && chdir(directory) == 0);
    REQUIRE(mkdir("bin", 0700) == 0 && mkdir("more", 0700) == 0);
    (void)snprintf(path, sizeof path, "%s/bin:%s/more", directory, directory);
    REQUIRE(setenv("PATH", path, 1) == 0);
    launchers_come_first();
    programs_are_found();
    programs_are_told_apart();
    libraries_are_compared(self);
    library_is_given();
    REQUIRE(setenv("PATH", "/usr/bin:/bin", 1) == 0);
    library_is_found();
    CHECK(rmdir("bin") == 0 && rmdir("more") == 0 && chdir("/") == 0 && rmdir(directory) == 0);
    return check_result();
}
