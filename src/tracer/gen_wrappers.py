#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make the tracer's wrappers from mpi.table and the prototypes of the mpi.h at hand.

usage: gen_wrappers.py mpi.table OUTPUT_DIRECTORY [PREPROCESSED_MPI_H]

Writes functions.h and functions.c (names, groups and numbers: the same for every MPI library) and,
with a preprocessed mpi.h, real.h (pointers to the library's own functions) and wrappers.c.
"""
import re
import sys
import zlib

NOTE = "/* SPDX-License-Identifier: BSD-3-Clause */\n/* Made by gen_wrappers.py from mpi.table; %s */\n"

# What a call means: code before MPI is called, and code after it if it succeeded. The names
# are the table's parameters; the functions are those of p2p.h, requests.h, collective.h, rma.h.
OWN_STATUS = "    MPI_Status own_status;\n    if (status == MPI_STATUS_IGNORE) {\n        status = &own_status;\n    }\n"
SEND = "(r, (int64_t)%s, %s, dest, %s, comm)"
MEANINGS = {
    "send": ("ictusi_tracer_note_send" + SEND % ("count", "datatype", "tag"), ""),
    "isend": ("const uint64_t id = ictusi_tracer_note_isend" + SEND % ("count", "datatype", "tag"),
              "ictusi_tracer_track_isend(r, *request, id)"),
    "send_init": ("", "ictusi_tracer_track_send_init(r, *request, (int64_t)count, datatype, dest, tag, comm)"),
    "recv": ("@status", "ictusi_tracer_note_recv(r, comm, status)"),
    "irecv": ("", "ictusi_tracer_track_irecv(r, *request, source, comm)"),
    "recv_init": ("", "ictusi_tracer_track_recv_init(r, *request, source, comm)"),
    "sendrecv": ("@status\nictusi_tracer_note_send" + SEND % ("sendcount", "sendtype", "sendtag"),
                 "ictusi_tracer_note_recv(r, comm, status)"),
    "sendrecv_replace": ("@status\nictusi_tracer_note_send" + SEND % ("count", "datatype", "sendtag"),
                         "ictusi_tracer_note_recv(r, comm, status)"),
    "isendrecv": ("ictusi_tracer_note_send" + SEND % ("sendcount", "sendtype", "sendtag"),
                  "ictusi_tracer_track_isendrecv(r, *request, source, recvtag, comm)"),
    "isendrecv_replace": ("ictusi_tracer_note_send" + SEND % ("count", "datatype", "sendtag"),
                          "ictusi_tracer_track_isendrecv(r, *request, source, recvtag, comm)"),
    "mprobe": ("", "ictusi_tracer_track_message(r, *message, comm)"),
    "improbe": ("", "if (*flag) ictusi_tracer_track_message(r, *message, comm)"),
    "mrecv": ("@status\nstruct trace_request matched = ictusi_tracer_take_message(*message)",
              "ictusi_tracer_note_mrecv(r, &matched, status)"),
    "imrecv": ("struct trace_request matched = ictusi_tracer_take_message(*message)",
               "ictusi_tracer_track_imrecv(r, *request, &matched)"),
    "start": ("const int held = ictusi_tracer_note_start(r, 1, request)", "ictusi_tracer_note_started(r, held, request)"),
    "startall": ("const int held = ictusi_tracer_note_start(r, count, array_of_requests)",
                 "ictusi_tracer_note_started(r, held, array_of_requests)"),
    "request_free": ("ictusi_tracer_note_request_free(*request)", ""),
    "cancel": ("ictusi_tracer_note_cancel(*request)", ""),
    "wait": ("@handles 1 request\n@status", "ictusi_tracer_note_any_done(r, 0, status)"),
    "test": ("@handles 1 request\n@status",
             "if (*flag) ictusi_tracer_note_any_done(r, 0, status); else ictusi_tracer_note_tested(r, *request)"),
    "waitall": ("@handles count array_of_requests\n@statuses", "ictusi_tracer_note_all_done(r, kept, array_of_statuses, err)"),
    "testall": ("@handles count array_of_requests\n@statuses", "if (*flag) ictusi_tracer_note_all_done(r, kept, array_of_statuses, err)"),
    "waitany": ("@handles count array_of_requests\n@status", "ictusi_tracer_note_any_done(r, *indx, status)"),
    "testany": ("@handles count array_of_requests\n@status", "if (*flag) ictusi_tracer_note_any_done(r, *indx, status)"),
    "waitsome": ("@handles incount array_of_requests\n@statuses",
                 "ictusi_tracer_note_some_done(r, *outcount, array_of_indices, array_of_statuses)"),
    "testsome": ("@handles incount array_of_requests\n@statuses",
                 "ictusi_tracer_note_some_done(r, *outcount, array_of_indices, array_of_statuses)"),
    "comm_free": ("ictusi_comm_gone(*comm)", ""),
    "comm_name": ("", "ictusi_comm_name(comm, comm_name)"),
    "comm_idup": ("", "ictusi_comm_idup(comm, *newcomm)"),
    "win_name": ("", "ictusi_tracer_window_name(win, win_name)"),
    "win_new": ("", "ictusi_tracer_note_window(r, comm, *win)"),
    "win_free": ("ictusi_tracer_note_window_free(r, *win)", ""),
    "type_free": ("atomic_fetch_add_explicit(&ictusi_tracer.type_epoch, 1, memory_order_relaxed)", ""),
    "fence": ("ictusi_tracer_note_fence(r, win)", "ictusi_tracer_note_rma_done(r, win)"),
    "put": ("ictusi_tracer_note_put(r, win, target_rank, (int64_t)target_count, target_datatype)", ""),
    "get": ("ictusi_tracer_note_get(r, win, target_rank, (int64_t)target_count, target_datatype)", ""),
    "accumulate": ("ictusi_tracer_note_atomic(r, win, target_rank, RMA_ACCUMULATE, (int64_t)target_count, target_datatype)", ""),
    "get_accumulate": ("ictusi_tracer_note_atomic(r, win, target_rank, RMA_FETCH, (int64_t)target_count, target_datatype)", ""),
    "fetch_and_op": ("ictusi_tracer_note_atomic(r, win, target_rank, RMA_FETCH, 1, datatype)", ""),
    "compare_and_swap": ("ictusi_tracer_note_atomic(r, win, target_rank, RMA_SWAP, 1, datatype)", ""),
    "lock": ("", "ictusi_tracer_note_lock(r, win, rank, lock_type == MPI_LOCK_EXCLUSIVE)"),
    "lock_all": ("", "ictusi_tracer_note_lock_all(r, win)"),
    "unlock": ("", "ictusi_tracer_note_unlock(r, win, rank)"),
    "unlock_all": ("", "ictusi_tracer_note_unlock_all(r, win)"),
    "post": ("", "ictusi_tracer_note_post(r, win, group)"),
    "open_epoch": ("", "ictusi_tracer_note_start_epoch(win, group)"),
    "complete": ("ictusi_tracer_note_complete(r, win)", "ictusi_tracer_note_completed(r, win)"),
    "win_wait": ("", "ictusi_tracer_note_waited(r, win)"),
    "win_test": ("", "if (*flag) ictusi_tracer_note_waited(r, win)"),
    "flush": ("", "ictusi_tracer_note_rma_done(r, win)"),
    "file_open": ("", "ictusi_tracer_note_file_open(r, comm, filename, amode, *fh)"),
    "file_close": ("const uint32_t file = ictusi_tracer_take_file(*fh)", "ictusi_tracer_note_file_close(r, file)"),
    "file_delete": ("", "ictusi_tracer_note_file_delete(r, filename)"),
    "file_seek": ("", "ictusi_tracer_note_file_seek(r, fh, (int64_t)offset, whence)"),
    "file_sync": ("const uint64_t io = ictusi_tracer_note_io(r, fh, IO_COLLECTIVE, IO_SHARED, 0, MPI_BYTE)",
                  "ictusi_tracer_note_io_done(r, fh, io, NULL)"),
}
NEIGHBORS = {
    "neighbor": ("    ictusi_tracer_note_neighbors_sent(r, comm, &args);\n", "ictusi_tracer_note_neighbors_received(r, comm, &args)"),
    "ineighbor": ("    struct trace_request made = ictusi_tracer_note_ineighbor(r, comm, &args);\n",
                  "ictusi_tracer_track_ineighbor(r, *request, &made)"),
    "neighbor_init": ("", "ictusi_tracer_track_neighbor_init(r, *request, comm, &args)"),
}
# Calls that matter before there is a trace (sessions.h) or while recording is off (spawn.h), too: what comes before and after
# them, recorded or not.
AROUND = {
    "session_init": ("ictusi_sessions_enter()", "ictusi_sessions_opened(err)"),
    "session_finalize": ("ictusi_sessions_closing()", "ictusi_sessions_closed(err)"),
    "comm_spawned": ("const MPI_Info given = info;\n    info = ictusi_spawn_info(root, comm, info)",
                     "ictusi_spawn_info_free(info, given)"),
    "comm_spawned_each": ("const MPI_Info *const given = array_of_info;\n"
                          "    array_of_info = ictusi_spawn_infos(root, comm, count, array_of_info)",
                          "ictusi_spawn_infos_free(array_of_info, count, given)"),
    "comm_all": ("const struct begin_call begin = {.function = %s, .from = from, .entered = ictusi_tracer_stamp()}",
                 "ictusi_sessions_made(begin, err, newcomm, stringtag)"),
}
MEANINGS |= {"session_init": ("", ""), "session_finalize": ("", "")}
# How communicators are told apart (comms.h), by what their making was given beside its parent.
MADE = {
    "comm_new": "ictusi_comm_child({0}, *{1})",
    "comm_group": "ictusi_comm_group(comm, tag, *{0})",
    "comm_inter": "ictusi_comm_inter(*{0}, tag)",
    "comm_text": "ictusi_comm_text(*{0}, stringtag)",
    "comm_all": "ictusi_comm_text(*{0}, stringtag)",
    "comm_port": "ictusi_comm_port(*{0}, port_name)",
    "comm_met": 'ictusi_comm_port(*{0}, "")',
    "comm_spawned": 'ictusi_comm_port(*{0}, "")',
    "comm_spawned_each": 'ictusi_comm_port(*{0}, "")',
}
COLL_FIELDS = {
    "sendbuf": ".sendbuf = sendbuf", "recvbuf": ".recvbuf = recvbuf",
    "sendcount": ".sendcount = (int64_t)sendcount", "recvcount": ".recvcount = (int64_t)recvcount",
    "count": ".sendcount = (int64_t)count", "datatype": ".sendtype = datatype",
    "sendtype": ".sendtype = sendtype", "recvtype": ".recvtype = recvtype",
    "sendcounts": ".sendcounts = {sendcounts, sizeof(*sendcounts)}",
    "recvcounts": ".recvcounts = {recvcounts, sizeof(*recvcounts)}",
    "sendtypes": ".sendtypes = sendtypes", "recvtypes": ".recvtypes = recvtypes, .typed = true",
    "root": ".root = root", "op": ".op = op",
}


COLL_DEFAULTS = {
    "sendbuf": "NULL", "recvbuf": "NULL", "sendcount": "0", "recvcount": "0", "sendtype": "MPI_DATATYPE_NULL",
    "recvtype": "MPI_DATATYPE_NULL", "sendtypes": "NULL", "recvtypes": "NULL", "root": "0", "op": "MPI_OP_NULL", "sendcounts": "{NULL, 0}",
    "recvcounts": "{NULL, 0}", "typed": "false",
}

# Functions that statistics need: collectives, except persistent ones, and what tells communicators and sizes apart.
COUNTED = ("coll", "icoll", *MADE, "comm_free", "comm_name", "comm_idup", "type_free")


class Function:
    """One line of the table, in one of its two forms."""

    def __init__(self, number, name, group, params, meaning):
        self.number, self.name, self.group = number, name, group
        self.params, self.meaning = params, meaning

    @property
    def op(self):
        kind = self.meaning.split()
        if kind and kind[0] == "topology":
            return "CREATE_HANDLE"
        return kind[1].upper() if kind and kind[0] in ("coll", "icoll", "coll_init") else None

    @property
    def short(self):
        return self.name[4:]

    @property
    def shown(self):
        return "!$omp " + self.short.replace("_", " ") if self.group == "openmp" else self.name


def read_table(path):
    functions = []
    line_form = re.compile(r"^((?:MPI|OMP)_\w+)\s+(\w+)\s+\(([^)]*)\)(?:\s*:\s*(.+))?$")
    for line in open(path, encoding="ascii"):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = line_form.match(line)
        if not match:
            sys.exit(f"{path}: cannot read '{line}'")
        name, group, params, meaning = match.groups()
        if functions and functions[-1].name == name:
            functions.pop()
        for form in (name,) if name.endswith("_c") or group == "openmp" else (name, name + "_c"):
            functions.append(Function(len(functions), form, group, params.split(), meaning or ""))
    return functions


def read_prototypes(path):
    text = "".join(line for line in open(path, encoding="utf-8") if not line.startswith("#"))
    nested = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    text = re.sub(r"__attribute__\s*" + nested, "", text)
    text = re.sub(r"\s+", " ", text)
    form = r"(?:^|[;{}])\s*(?:extern )?int\s+(MPI_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*(?=;)"
    return {m.group(1): m.group(2).strip() for m in re.finditer(form, text)}


def declare(parameters, names):
    """The header's parameter declarations, under the table's names."""
    if parameters in ("void", ""):
        return []
    out = []
    for text, name in zip(re.split(r",(?![^(]*\))", parameters), names):
        text = text.strip()
        match = re.match(r"^(.*[\s*])(\w+)((?:\s*\[\d*\])*)$", text)
        plain = text.split()[-1] in ("int", "char") or text.endswith("*")
        if match and not plain:
            out.append(f"{match.group(1)}{name}{match.group(3)}")
        else:
            out.append(f"{text} {name}")
    return out


def expand(code, names):
    """Statements of a meaning; a line with @ stands for a block of its own."""
    out = ""
    for line in filter(None, code.split("\n")):
        if line == "@status":
            out += OWN_STATUS
        elif line.startswith("@handles"):
            _, count, handles = line.split()
            out += f"    const int kept = ictusi_tracer_keep_handles(r, {count}, {handles});\n"
        elif line == "@statuses":
            out += ("    if (array_of_statuses == MPI_STATUSES_IGNORE && kept) {\n"
                    "        array_of_statuses = r->statuses;\n    }\n")
        else:
            out += f"    {line};\n"
    return out


def collective_args(names):
    """Member by member: an initialiser would clear all of it first, which takes longer than the rest."""
    given = ", ".join(COLL_FIELDS[n] for n in names if n in COLL_FIELDS)
    fields = COLL_DEFAULTS | dict(re.findall(r"\.(\w+) = ((?:\{[^}]*\}|[^,])+)", given))
    arrays = {"sendcounts", "recvcounts"}
    return "    struct coll_args args;\n" + "".join(
        f"    args.{field} = {'(struct counts)' if field in arrays else ''}{value};\n" for field, value in fields.items())


def collective(function, names):
    kind, op = function.meaning.split()
    args = collective_args(names)
    code = f"COLL_{op.upper()}"
    if kind == "coll":
        return args + f"    ictusi_tracer_note_coll(r, {code}, comm, &args);\n", f"ictusi_tracer_note_coll_left(r, {code}, comm)"
    if kind == "icoll":
        return (args + f"    struct trace_request made = ictusi_tracer_icoll_request(r, {code}, comm, &args);\n"
                       "    ictusi_tracer_note_icoll(r, &made);\n",
                "ictusi_tracer_track_icoll(r, *request, &made)")
    return (args + f"    struct trace_request made = ictusi_tracer_icoll_request(r, {code}, comm, &args);\n",
            "ictusi_tracer_track_coll_init(r, *request, comm, &made)")


def file_access(words):
    """io MODE WHERE HOW [collective]: what is read or written, where in the file, and how the call ends."""
    mode, where, how = words[1:4]
    if how == "end":
        return OWN_STATUS, "ictusi_tracer_note_split_done(r, fh, err == MPI_SUCCESS ? status : NULL)"
    flags = [f"IO_{mode.upper()}"] + ["IO_NONBLOCKING"] * (how != "blocking") + ["IO_COLLECTIVE"] * ("collective" in words)
    at = {"at": "(int64_t)offset", "here": "IO_HERE", "shared": "IO_SHARED"}[where]
    begin = f"    const uint64_t io = ictusi_tracer_note_io(r, fh, {' | '.join(flags)}, {at}, (int64_t)count, datatype);\n"
    after = {"blocking": "ictusi_tracer_note_io_done(r, fh, io, err == MPI_SUCCESS ? status : NULL)",
             "begin": "ictusi_tracer_note_split(r, fh, io, err)",
             "nonblocking": "ictusi_tracer_track_io(r, err == MPI_SUCCESS ? *request : MPI_REQUEST_NULL, fh, io)"}[how]
    return (OWN_STATUS if how == "blocking" else "") + begin, after


def meaning(function, names):
    words = function.meaning.split()
    if not words:
        return "", ""
    if words[0] == "io":
        return file_access(words)
    if words[0] in ("coll", "icoll", "coll_init"):
        return collective(function, names)
    if words[0] in NEIGHBORS:
        before, after = NEIGHBORS[words[0]]
        return collective_args(names) + before, after
    if words[0] == "topology":
        size = words[3] if len(words) > 3 else 1
        return f"    ictusi_tracer_note_topology(r, {words[1]}, {size});\n", f"ictusi_comm_child({words[1]}, *{words[2]})"
    if words[0] in MADE:
        return "", MADE[words[0]].format(*words[1:])
    before, after = MEANINGS[words[0]]
    return expand(before, names), after


def around(function, region, fixed, declared):
    before, after = AROUND[function.meaning.split()[0]]
    before = before % region if "%s" in before else before
    arguments = ", ".join(["real", "from"] + function.params)
    return (f"static inline int around_{function.name}({', '.join(fixed + declared)})\n{{\n"
            f"    {before};\n    const int err = body_{function.name}({arguments});\n    {after};\n    return err;\n}}\n\n")


def wrapper(function, declared):
    names = function.params
    arguments = ", ".join(names)
    parameters = ", ".join(declared) or "void"
    before, after = meaning(function, names)
    region = f"FUNCTION_{function.name}"
    fixed = [f"int (*real)({parameters})", "const void *from"]
    body = f"static inline int body_{function.name}({', '.join(fixed + declared)})\n{{\n"
    body += f"    struct recorder *r = trace_begin({region}, from);\n    if (!r) {{\n"
    body += "        struct recorder *const was = ictusi_tracer_active;\n        ictusi_tracer_active = NULL;\n"
    body += f"        const int returned = real({arguments});\n        ictusi_tracer_active = was;\n"
    body += "        return returned;\n    }\n"
    body += before
    body += f"    recorder_enter_call(r);\n    const int err = real({arguments});\n    trace_left(r, {region}, err);\n"
    # Also where it failed: what was held goes back, what was begun ends.
    if "note_started" in after or function.meaning.split()[:1] in (["io"], ["file_sync"]):
        body += f"    {after};\n"
    elif after:
        succeeded = "err == MPI_SUCCESS"
        if function.meaning.startswith("coll "):  # where one member fails the others have met it all the same
            succeeded = "trace_took_place(err)"
        if "array_of_statuses" in after:
            succeeded = "trace_has_statuses(err)"
        elif "@status" in MEANINGS.get(function.meaning.split()[0], ("", ""))[0]:
            succeeded = "trace_has_received(err)"
        body += f"    if ({succeeded}) {{\n        {after};\n    }}\n"
    if "const int kept" in before:
        body += "    trace_return_handles(r, kept);\n"
    body += "    trace_end(r);\n    return err;\n}\n\n"
    entry = "body"
    if function.meaning.split()[:1] and function.meaning.split()[0] in AROUND:
        entry = "around"
        body += around(function, region, fixed, declared)
    for prefix, member in (("", function.short), ("P", "P_" + function.short)):
        call = ", ".join([f"ictusi_real.{member}", "SITE_FROM()"] + names)
        body += f"ICTUS_API int {prefix}{function.name}({parameters})\n{{\n"
        body += f"    return {entry}_{function.name}({call});\n}}\n\n"
    return body


def write_functions(functions, directory):
    text = "".join(f"{f.number}{f.name}" for f in functions)
    with open(f"{directory}/functions.h", "w", encoding="ascii") as out:
        out.write(NOTE % "the numbers of all MPI functions.")
        out.write("#ifndef ICTUS_TRACER_FUNCTIONS_H\n#define ICTUS_TRACER_FUNCTIONS_H\n\n#include <stdint.h>\n\n")
        out.write("enum trace_function_number {\n")
        out.write("".join(f"    FUNCTION_{f.name} = {f.number},\n" for f in functions))
        out.write(f"    TRACE_FUNCTIONS = {len(functions)}\n}};\n\n")
        out.write(f"#define TRACE_TABLE_HASH UINT64_C({zlib.crc32(text.encode())})\n\n")
        out.write("struct trace_function {\n    const char *name, *group;\n    int op; /* enum coll_op, -1: none */\n"
                  "    unsigned char tracked; /* records of other calls depend on it */\n"
                  "    unsigned char counted; /* statistics need it */\n};\n\n")
        out.write("extern const struct trace_function ictusi_tracer_functions[TRACE_FUNCTIONS];\n\n#endif\n")
    with open(f"{directory}/functions.c", "w", encoding="ascii") as out:
        out.write(NOTE % "all MPI functions.")
        out.write('#include "tracer/functions.h"\n\n#include "tracer/ops.h"\n\n')
        out.write("const struct trace_function ictusi_tracer_functions[TRACE_FUNCTIONS] = {\n")
        for f in functions:
            op = f"COLL_{f.op}" if f.op else "-1"
            tracked = int(bool(f.meaning) and f.meaning.split()[0] not in ("send", "recv", "neighbor", "hook", "session_init", "session_finalize"))
            counted = int(bool(f.meaning) and f.meaning.split()[0] in COUNTED)
            out.write(f'    {{"{f.shown}", "{f.group}", {op}, {tracked}, {counted}}},\n')
        out.write("};\n")


def write_real(present, declared, directory):
    with open(f"{directory}/real.h", "w", encoding="ascii") as out:
        out.write(NOTE % "the MPI library's own functions.")
        out.write("#ifndef ICTUS_TRACER_REAL_H\n#define ICTUS_TRACER_REAL_H\n\n#include <mpi.h>\n\n")
        out.write("struct real_mpi {\n")
        for f in present:
            parameters = ", ".join(declared[f.name]) or "void"
            out.write(f"    int (*{f.short})({parameters});\n    int (*P_{f.short})({parameters});\n")
        out.write("};\n\nextern struct real_mpi ictusi_real;\n\n")
        out.write("/* A function as the library has it, past all tools. */\n")
        out.write("#define REAL(name) ictusi_real.P_##name\n\nvoid ictusi_real_load(void);\n\n#endif\n")


def write_wrappers(present, declared, directory):
    with open(f"{directory}/wrappers.c", "w", encoding="ascii") as out:
        out.write(NOTE % "one wrapper for each MPI function.")
        out.write('#include "tracer/calls.h"\n\n#include <dlfcn.h>\n\nstruct real_mpi ictusi_real;\n\n')
        out.write("/* The next definition behind this one: the library's, or that of another tool. */\n"
                  "static void load(void *pointer, const char *name)\n{\n"
                  "    void *symbol = dlsym(RTLD_NEXT, name);\n"
                  "    memcpy(pointer, &symbol, sizeof(symbol));\n}\n\n")
        out.write("void ictusi_real_load(void)\n{\n")
        for f in present:
            out.write(f'    load(&ictusi_real.{f.short}, "{f.name}");\n')
            out.write(f'    load(&ictusi_real.P_{f.short}, "P{f.name}");\n')
        out.write("}\n\n")
        for f in present:
            if f.meaning != "hook":
                out.write(wrapper(f, declared[f.name]))


def main():
    functions = read_table(sys.argv[1])
    directory = sys.argv[2]
    write_functions(functions, directory)
    if len(sys.argv) < 4:
        return
    prototypes = read_prototypes(sys.argv[3])
    present = [f for f in functions if f.name in prototypes and f.name != "MPI_Pcontrol"]
    declared = {f.name: declare(prototypes[f.name], f.params) for f in present}
    for f in present:
        if len(declared[f.name]) != len(f.params):
            sys.exit(f"{f.name}: the table has {len(f.params)} parameters, mpi.h another number")
    write_real(present, declared, directory)
    write_wrappers(present, declared, directory)


if __name__ == "__main__":
    main()
