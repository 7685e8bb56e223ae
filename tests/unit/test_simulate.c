/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What 'ictus simulate' refuses, and what it hands to SimGrid: its command line, its environment
 * and its files; and what becomes of signals and exit codes. Nothing is simulated here.
 */
#include "../check.h"

/* NOLINTBEGIN(bugprone-suspicious-include): its static functions are what is looked at */
#include "simulate/cmd_simulate.c"
/* NOLINTEND(bugprone-suspicious-include) */

#include "main/interrupt.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

enum { MANY = 80, TEXT = 2000 };

static struct ictus_why told;
static char *arguments[MANY];
static int argument_count;
static char directory[CHECK_PATH];

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    CHECK_STR(command, "simulate");
    told = *why;
    return err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN ? EXIT_USAGE : EXIT_FAILED;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_execvp(const char *file, char *const *argv);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* What smpirun is: it keeps its arguments, or refuses an algorithm. */
int __wrap_execvp(const char *file, char *const *argv)
{
    int processes = 0;
    bool is_trial = true;
    CHECK_STR(file, "smpirun");
    CHECK_STR(argv[0], "smpirun");
    for (argument_count = 0; argv[argument_count]; argument_count++) {
        REQUIRE(argument_count < MANY - 1);
        arguments[argument_count] = strdup(argv[argument_count]);
        is_trial = is_trial && strcmp(argv[argument_count], "-wrapper") != 0;
        processes =
            strcmp(argv[argument_count], "-np") ? processes : atoi(argv[argument_count + 1]);
        if (strstr(argv[argument_count], "bcast:nix")) {
            (void)fprintf(stderr, "[0.000] [root/CRITICAL] there is no nix\nand so on\n");
            _exit(134);
        }
        if (strstr(argv[argument_count], "bcast:fine")) {
            _exit(is_trial && processes > 2); /* more would take long */
        }
    }
    errno = ENOENT;
    return -1;
}

/* Where this program is, whatever was built beside it; the linker redirects readlink() here. */
ssize_t readlink_model(const char *path, char *text, size_t size) __asm__("__wrap_readlink");

ssize_t readlink_model(const char *path, char *text, size_t size)
{
    char self[CHECK_PATH + 20];
    CHECK_STR(path, "/proc/self/exe");
    const int length = snprintf(self, sizeof self, "%s/bin/ictus", directory);
    REQUIRE(length > 0 && (size_t)length <= size);
    memcpy(text, self, (size_t)length);
    return length;
}

static void arguments_free(void)
{
    while (argument_count > 0) {
        free(arguments[--argument_count]);
    }
}

static struct simulate_options given;

/* Read a command line into the options. @return its words */
static char **words_of(const char *line, int *count)
{
    static char text[600];
    static char *argv[20];
    char *rest = NULL;
    struct ictus_why why = {""};
    int n = 1;
    argv[0] = "simulate";
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        REQUIRE(n < 19);
        argv[n++] = word;
    }
    argv[n] = NULL;
    memset(&given, 0, sizeof given);
    REQUIRE(options_read(options, n, argv, &given, count, &why) == ICTUS_OK);
    return argv + 1;
}

static int command_runs(const char *line)
{
    int count = 0;
    char **words = words_of(line, &count);
    told.text[0] = '\0';
    return command_simulate.run(&given, count, words);
}

static void refused(const char *line, const char *reason)
{
    if (command_runs(line) != EXIT_USAGE || !strstr(told.text, reason)) {
        check_failures++;
        (void)fprintf(stderr, "%s: %s\n", line, told.text);
    }
}

/* What cannot be simulated is refused before anything is started, with what would be right. */
static void nonsense_is_refused(void)
{
    static const char slow[] = "must be NODE:TIME or NODE-NODE:TIME of nodes 0 to 3";
    static const char odd[] = "must be NODE:RATIO or NODE:TIME of nodes 0 to 3";
    static const char list[] = "must be OPERATION:NAME[,OPERATION:NAME...]";
    static const char *const walks[] = {"-1e-9", "0.0011", "x", ""};
    static const char *const slows[] = {"4:1us",   "0-4:1us", "4-0:1us", "-1:1us",   "1",
                                        "1:1us,2", "1:1.5s",  "1:-1us",  "1:x",      ":1us",
                                        "1-:1us",  "x:1us",   "1:1us,x", "1-2-3:1us"};
    static const char *const odds[] = {"4:1us", "1", "1:x", "x:1us", "-1:1us", "1:1us,4:1us"};
    static const char *const choices[] = {"barrier", ":x",    "barrier:", "a:b,c",
                                          "a:b-c",   "a b:c", "a:b,:"};
    char line[400];
    refused("", "the command to simulate is missing: ictus simulate -- sync");
    refused("--", "the command to simulate is missing");
    refused("-- bench1", "did you mean 'bench'?");
    refused("--jitter=300ns -- sync", "jitter");
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        (void)snprintf(line, sizeof line, "--walk=%s -- sync", walks[i]);
        refused(line, "must be between 0 and 1e-3");
    }
    for (size_t i = 0; i < sizeof slows / sizeof *slows; i++) {
        (void)snprintf(line, sizeof line, "--nodes=4 --slow=%s -- sync", slows[i]);
        refused(line, slow);
    }
    for (size_t i = 0; i < sizeof odds / sizeof *odds; i++) {
        (void)snprintf(line, sizeof line, "--nodes=4 --odd-clocks=%s -- sync", odds[i]);
        refused(line, odd);
    }
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!strchr(choices[i], ' ')) {
            (void)snprintf(line, sizeof line, "--collectives=%s -- sync", choices[i]);
            refused(line, list);
        }
    }
    refused("--topology=own.xml --latency=2us -- sync", "--latency has no effect with the platform "
                                                        "file 'own.xml'");
    refused("--topology=own.xml --bandwidth=1e9 -- sync", "--bandwidth has no effect");
}

/* Lists of any length up to the limit, and none beyond. */
static void lists_have_limits(void)
{
    char text[300] = "", out[SIMULATE_FAULTS_BYTES];
    struct ictus_why why = {""};
    size_t used = 0;
    CHECK(simulate_faults_slow("", 4, out, &why) == ICTUS_OK && !out[0]);
    CHECK(simulate_faults_slow("17:20us,3-90:30us,0:1s,2:0s", 91, out, &why) == ICTUS_OK);
    CHECK_STR(out, "17:2e-05,3-90:3e-05,0:1,2:0");
    while (used < 195) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s1:1s", used ? "," : "");
    }
    CHECK(strlen(text) == 199 && simulate_faults_slow(text, 2, out, &why) == ICTUS_OK);
    CHECK(simulate_faults_clocks(text, 2, &why) == ICTUS_OK);
    CHECK(strlen(out) == 159); /* "1:1" each */
    (void)snprintf(text + used, sizeof text - used, ",1:1s");
    CHECK(simulate_faults_slow(text, 2, out, &why) == ICTUS_ERR_SPEC);
    CHECK(simulate_faults_clocks(text, 2, &why) == ICTUS_ERR_SPEC);
    CHECK(simulate_faults_clocks("5:100ppm,9:50us", 10, &why) == ICTUS_OK);
    char chosen[CHOICES_MAX][CHOICE_BYTES];
    int count = 0;
    CHECK(simulate_read_collectives("", chosen, &count, &why) == ICTUS_OK && count == 0);
    CHECK(simulate_read_collectives("a:b,Allreduce:x_9", chosen, &count, &why) == ICTUS_OK);
    CHECK(count == 2);
    CHECK_STR(chosen[0], "--cfg=smpi/a:b");
    CHECK_STR(chosen[1], "--cfg=smpi/Allreduce:x_9");
    for (int many = CHOICES_MAX; many <= CHOICES_MAX + 1; many++) {
        text[0] = '\0';
        for (int i = 0; i < many; i++) {
            (void)strcat(text, i ? ",a:b" : "a:b");
        }
        CHECK((simulate_read_collectives(text, chosen, &count, &why) == ICTUS_OK) ==
              (many == CHOICES_MAX));
    }
}

static void file_make(const char *name)
{
    char path[CHECK_PATH + 80];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file && fclose(file) == 0);
}

static void file_remove(const char *name)
{
    char path[CHECK_PATH + 80];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    CHECK(unlink(path) == 0);
}

static void directory_make(const char *name, bool make)
{
    char path[CHECK_PATH + 40];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    CHECK((make ? mkdir(path, 0777) : rmdir(path)) == 0);
}

/* The simulated flavour is where the environment says, beside the build's program or where it was
 * installed, if both its files are there. */
static void program_is_found(void)
{
    static const char *const places[] = {"simulate", "libexec/ictus", "."};
    static const char *const files[] = {"ictus-simgrid", "ictus-platform.so"};
    struct simulation f;
    struct ictus_why why = {""};
    char name[60], wanted[CHECK_PATH + 60];
    CHECK(unsetenv("ICTUS_SIMULATE_DIR") == 0);
    directory_make("bin", true);
    directory_make("simulate", true);
    directory_make("libexec", true);
    directory_make("libexec/ictus", true);
    for (int place = 0; place < 3; place++) {
        CHECK(place < 2 || setenv("ICTUS_SIMULATE_DIR", directory, 1) == 0);
        for (int file = 0; file < 2; file++) {
            why.text[0] = '\0';
            CHECK(simulate_find_program(&f, &why) == ICTUS_ERR_UNSUPPORTED);
            CHECK(strstr(why.text, "rebuild ictus with SimGrid") != NULL);
            CHECK(command_runs("-- sync") == EXIT_FAILED && strstr(told.text, "cannot simulate"));
            (void)snprintf(name, sizeof name, "%s/%s", places[place], files[file]);
            file_make(name);
        }
        CHECK(simulate_find_program(&f, &why) == ICTUS_OK);
        const char *base = place < 2 ? "bin/../" : "";
        (void)snprintf(wanted, sizeof wanted, "%s/%s%s/%s", directory, base, places[place],
                       files[0]);
        CHECK_STR(f.program, wanted);
        (void)snprintf(wanted, sizeof wanted, "%s/%s%s/%s", directory, base, places[place],
                       files[1]);
        CHECK_STR(f.plugin, wanted);
        for (int file = 0; file < 2 && place < 2; file++) {
            (void)snprintf(name, sizeof name, "%s/%s", places[place], files[file]);
            file_remove(name);
        }
    }
    directory_make("libexec/ictus", false);
    directory_make("libexec", false);
    directory_make("simulate", false);
    directory_make("bin", false);
}

/* Prepare a simulation up to the start of smpirun, whose arguments are kept. */
static struct simulation simulation_of(const char *line, const char *word)
{
    struct simulation f;
    struct simulate_jitter jitter;
    struct ictus_why why = {""};
    int count = 0;
    char **words = words_of(line, &count);
    words += strcmp(words[0], "--") == 0;
    words[count - (words[-1] && strcmp(words[-1], "--") == 0)] = NULL;
    const struct launch launch = {&given, &jitter, &f, word};
    REQUIRE(simulate_check(&given, 1, words, &jitter, &why) == ICTUS_OK);
    REQUIRE(simulate_find_program(&f, &why) == ICTUS_OK);
    f.shared = simulate_is_file(given.topology) || !simulate_is_light(words[0]);
    REQUIRE(simulate_make_files(&given, &f, words, &why) == ICTUS_OK);
    arguments_free();
    FILE *const real = stderr, *nowhere = fopen("/dev/null", "w");
    REQUIRE(nowhere);
    stderr = nowhere;
    CHECK(simulate_become_smpirun(&launch) == EXIT_FAILED); /* there is none */
    stderr = real;
    (void)fclose(nowhere);
    return f;
}

static int argument_place(const char *text)
{
    int place = 0;
    while (place < argument_count && strcmp(arguments[place], text) != 0) {
        place++;
    }
    return place;
}

static double variable(const char *name)
{
    const char *text = getenv(name);
    REQUIRE(text);
    return strtod(text, NULL);
}

static void files_close(const struct simulation *f)
{
    CHECK(close(atoi(f->files.platform + strlen("/dev/fd/"))) == 0);
    CHECK(close(atoi(f->files.hosts + strlen("/dev/fd/"))) == 0);
    CHECK(close(atoi(f->files.wrapper + strlen("/dev/fd/"))) == 0);
}

/* smpirun gets the ranks, the files, our settings, the user's after them, and the program last. */
static void command_line_is_whole(void)
{
    const struct simulation f = simulation_of(
        "--nodes=6 --ppn=7 --collectives=bcast:flattree --overhead=1us -- sync", NULL);
    CHECK_STR(arguments[argument_place("-np") + 1], "42");
    CHECK_STR(arguments[argument_place("-platform") + 1], f.plugin);
    CHECK_STR(arguments[argument_place("-hostfile") + 1], f.files.hosts);
    const char *wrapper = arguments[argument_place("-wrapper") + 1];
    CHECK(strncmp(wrapper, "sh ", 3) == 0 && strcmp(wrapper + 3, f.files.wrapper) == 0);
    for (int i = 0; i < SETTINGS; i++) {
        CHECK(argument_place(settings[i]) < argument_count);
    }
    CHECK(argument_place("--cfg=smpi/bcast:flattree") < argument_count);
    CHECK(argument_place("--cfg=smpi/bcast:flattree") >
          argument_place("--cfg=smpi/bcast:binomial_tree"));
    static const char *const sides[] = {"os", "or", "ois"};
    for (int i = 0; i < 3; i++) {
        char text[80];
        (void)snprintf(text, sizeof text, "--cfg=smpi/%s:0:%.17g:0", sides[i], 1e-6);
        CHECK(argument_place(text) < argument_count);
    }
    CHECK(argument_place(f.program) == argument_count - 1);
    CHECK(argument_count == 10 + SETTINGS + 1 + 3 + 1);
    files_close(&f);
    const struct simulation trial = simulation_of("--nodes=6 -- sync", "clocks");
    CHECK(argument_place("-wrapper") == argument_count);
    CHECK(argument_count == 8 + SETTINGS + 2);
    CHECK_STR(arguments[argument_count - 1], "clocks");
    files_close(&trial);
}

/* Commands whose messages are short share no links; what they send takes its length's time. */
static void environment_is_the_clusters(void)
{
    static const char *const light[] = {"check-nodes", "clocks", "drift", "rtt", "sync"};
    char line[300];
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(line, sizeof line,
                       "--nodes=91 --bandwidth=2e9 --asymmetry=3ns --seed=77 "
                       "--jitter=gauss:1us,tail:2%%:3us --slow=3-90:30us -- %s",
                       light[i]);
        const struct simulation f = simulation_of(line, NULL);
        CHECK(!f.shared && variable("ICTUS_SIMULATE_BANDWIDTH") == 2e9);
        CHECK(variable("ICTUS_SIMULATE_INSIDE_BANDWIDTH") == 8e9);
        CHECK_STR(getenv("ICTUS_SIMULATE_BURSTS"), f.plugin);
        files_close(&f);
    }
    CHECK_STR(getenv("ICTUS_SIMULATE_SLOW"), "3-90:3e-05");
    CHECK_STR(getenv("ICTUS_SIMULATE_SHAPE"), "gauss");
    CHECK_NEAR(variable("ICTUS_SIMULATE_JITTER"), 1e-6, 0);
    CHECK_NEAR(variable("ICTUS_SIMULATE_TAIL"), 0.02, 1e-15);
    CHECK_NEAR(variable("ICTUS_SIMULATE_TAIL_SCALE"), 3e-6, 1e-18);
    CHECK_NEAR(variable("ICTUS_SIMULATE_ASYMMETRY"), 3e-9, 1e-21);
    CHECK(variable("ICTUS_SIMULATE_SEED") == 77);
    CHECK_STR(getenv("ICTUS_CLOCK"), "sim:offset=1,drift=1e-05,walk=1e-9,seed=77");
    static const char *const each[] = {"--every-message -- sync", "--overhead=1ns -- sync",
                                       "-- bench"};
    for (size_t i = 0; i < 3; i++) {
        const struct simulation f = simulation_of(each[i], NULL);
        CHECK(!getenv("ICTUS_SIMULATE_BURSTS") && f.shared == (i == 2));
        CHECK(variable("ICTUS_SIMULATE_BANDWIDTH") == (i == 2 ? 0 : 12.5e9));
        CHECK(variable("ICTUS_SIMULATE_INSIDE_BANDWIDTH") == (i == 2 ? 0 : 50e9));
        CHECK_STR(getenv("ICTUS_SIMULATE_PLATFORM"), f.files.platform);
        files_close(&f);
    }
    const struct simulation f = simulation_of(
        "--nodes=10 --odd-clocks=5:100ppm,9:50us --walk=1e-3 --offset=2s -- sync", NULL);
    CHECK_STR(getenv("ICTUS_CLOCK"), "sim:offset=2,drift=1e-05,walk=1e-3,seed=1,step_at=0.3,"
                                     "faults=5:100ppm,9:50us");
    files_close(&f);
    CHECK(simulate_is_file("a.xml") && !simulate_is_file(".xml") && !simulate_is_file("a.xml2"));
    CHECK(!simulate_is_file("fat-tree"));
}

static size_t file_read(const char *path, char *text)
{
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    const size_t length = fread(text, 1, TEXT - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    return length;
}

/* Words of any kind come to the program as they are, though a shell reads them. */
static void words_are_quoted(void)
{
    static char *words[] = {"sync", "a b", "it's", "$HOME", "''", "\\", "", NULL};
    char script[TEXT], line[TEXT + 200], got[TEXT];
    struct simulate_files files;
    const struct simulate_cluster cluster = {2, 1, "fat-tree", 1e-6, 1e9, 1e9};
    struct ictus_why why = {""};
    REQUIRE(simulate_files_make(&cluster, words, false, &files, &why) == ICTUS_OK);
    CHECK(file_read(files.platform, script) > 100 && strstr(script, "<platform"));
    CHECK(file_read(files.hosts, script) > 4);
    (void)file_read(files.wrapper, script);
    (void)snprintf(got, sizeof got, "%s/script", directory);
    FILE *file = fopen(got, "w");
    REQUIRE(file && fputs(script, file) >= 0 && fclose(file) == 0);
    (void)snprintf(line, sizeof line,
                   "sh %s/script printf '[%%s]' 9>%s/results 8>%s/number >%s/output", directory,
                   directory, directory, directory);
    CHECK(system(line) == 0); /* NOLINT(cert-env33-c): what smpirun does */
    (void)snprintf(line, sizeof line, "%s/results", directory);
    (void)file_read(line, got);
    CHECK_STR(got, "[sync][a b][it's][$HOME][''][\\][]");
    (void)snprintf(line, sizeof line, "%s/number", directory);
    CHECK(file_read(line, got) > 1 && strtol(got, NULL, 10) > 1);
    (void)snprintf(line, sizeof line, "%s/output", directory);
    CHECK(file_read(line, got) == 0);
    file_remove("script");
    file_remove("results");
    file_remove("number");
    file_remove("output");
    const struct simulation f = {.files = files};
    files_close(&f);
}

/* --keep leaves readable copies where temporary files go. */
static void files_are_kept(void)
{
    char path[CHECK_PATH + 60], text[TEXT], other[TEXT];
    const char *before = getenv("TMPDIR");
    char *kept = before ? strdup(before) : NULL;
    int copies = 0;
    CHECK(setenv("TMPDIR", directory, 1) == 0);
    const struct simulation f = simulation_of("--nodes=2 --keep -- sync", NULL);
    DIR *list = opendir(directory);
    REQUIRE(list);
    for (const struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
        if (strncmp(entry->d_name, "ictus-simulate-", 15) == 0) {
            (void)snprintf(path, sizeof path, "%s/%.40s/platform.xml", directory, entry->d_name);
            CHECK(file_read(path, text) == file_read(f.files.platform, other));
            CHECK(strcmp(text, other) == 0 && unlink(path) == 0);
            (void)snprintf(path, sizeof path, "%s/%.40s/hosts", directory, entry->d_name);
            CHECK(file_read(path, text) == file_read(f.files.hosts, other));
            CHECK(strcmp(text, other) == 0 && unlink(path) == 0);
            (void)snprintf(path, sizeof path, "%s/%.40s", directory, entry->d_name);
            CHECK(rmdir(path) == 0);
            copies++;
        }
    }
    (void)closedir(list);
    CHECK(copies == 1);
    files_close(&f);
    CHECK(setenv("TMPDIR", "/no/where", 1) == 0);
    CHECK(command_runs("--nodes=2 --keep -- sync") == EXIT_FAILED);
    CHECK(strstr(told.text, "cannot create a directory in /no/where") != NULL);
    CHECK(kept ? setenv("TMPDIR", kept, 1) == 0 : unsetenv("TMPDIR") == 0);
    free(kept);
}

/* SimGrid's refusal of an algorithm becomes ours, in its words; what it accepts runs. */
static void algorithms_are_tried(void)
{
    CHECK(command_runs("--nodes=2 --collectives=bcast:nix -- sync") == EXIT_USAGE);
    CHECK_STR(told.text, "--collectives: there is no nix");
    CHECK(command_runs("--nodes=1 --collectives=bcast:fine -- sync") == EXIT_OK);
    CHECK(command_runs("--nodes=70 --ppn=9 --collectives=bcast:fine -- sync") == EXIT_OK);
    simulate_say_refusal("no brackets\nat all", &told);
    CHECK_STR(told.text, "--collectives: no brackets");
}

/* What smpirun does, and how the program ends. */
enum deed { EXITS, RESULTS, ORPHAN, KILLED, TOLD, STUBBORN, TOLD_PROGRAM };

static int child_acts(const void *deed)
{
    char text[24];
    pid_t program = 0;
    const struct timespec tick = {.tv_nsec = 20000000};
    const pid_t parent = getppid();
    switch (*(const enum deed *)deed) {
    case RESULTS:
        (void)!write(STDOUT_FILENO, "smpirun's own", 13);
        return write(SIMULATE_RESULTS, "results", 7) == 7 ? 3 : 4;
    case KILLED:
        (void)raise(SIGKILL);
        return 0;
    case ORPHAN: /* the launcher ends before the program */
    case TOLD_PROGRAM:
        program = fork();
        if (program == 0) {
            (void)snprintf(text, sizeof text, "%d\n", (int)getpid());
            (void)!write(SIMULATE_NUMBER, text, strlen(text));
            if (*(const enum deed *)deed == TOLD_PROGRAM) {
                (void)kill(parent, SIGINT);
                (void)sleep(100); /* until the signal comes to us */
            }
            (void)nanosleep(&tick, NULL);
            _exit(5);
        }
        if (*(const enum deed *)deed == TOLD_PROGRAM) {
            (void)signal(SIGTERM, SIG_IGN); /* it waits for the program */
            (void)waitpid(program, NULL, 0);
        }
        return 6;
    case STUBBORN:
        (void)signal(SIGTERM, SIG_IGN);
        (void)kill(parent, SIGTERM);
        (void)nanosleep(&tick, NULL);
        (void)kill(parent, SIGHUP);
        (void)sleep(100);
        return 0;
    case TOLD:
        (void)kill(parent, SIGTERM);
        (void)sleep(100);
        return 0;
    default:
        return 7;
    }
}

/* @return the exit code; what the program wrote is read into text */
static int simulation_ends(enum deed deed, char *text)
{
    char path[CHECK_PATH + 20];
    (void)snprintf(path, sizeof path, "%s/output", directory);
    (void)fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(kept >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    const int code = simulate_run(child_acts, &deed);
    REQUIRE(dup2(kept, STDOUT_FILENO) == STDOUT_FILENO && close(kept) == 0 && close(file) == 0);
    (void)file_read(path, text);
    CHECK(unlink(path) == 0);
    return code;
}

/* The exit code is the program's, where it can be known; only its results are on standard output.
 * Signals come to it once, and end all the second time. */
static void ends_are_the_programs(void)
{
    char text[TEXT];
    CHECK(simulation_ends(EXITS, text) == 7 && !text[0]);
    CHECK(simulation_ends(RESULTS, text) == 3);
    CHECK_STR(text, "results");
    CHECK(simulation_ends(ORPHAN, text) == 5);
    CHECK(simulation_ends(KILLED, text) == EXIT_FAILED);
    CHECK(simulation_ends(TOLD, text) == EXIT_INTERRUPTED);
    CHECK(simulation_ends(STUBBORN, text) == EXIT_INTERRUPTED);
    CHECK(simulation_ends(TOLD_PROGRAM, text) == EXIT_INTERRUPTED);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* and nobody is left */
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "simulate")) != NULL);
    nonsense_is_refused();
    lists_have_limits();
    program_is_found();
    command_line_is_whole();
    environment_is_the_clusters();
    words_are_quoted();
    files_are_kept();
    algorithms_are_tried();
    ends_are_the_programs();
    arguments_free();
    file_remove("ictus-simgrid");
    file_remove("ictus-platform.so");
    CHECK(rmdir(directory) == 0);
    return check_result();
}
