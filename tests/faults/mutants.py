#!/usr/bin/env python3
"""Defects of our own making, and the tests that must find each of them.

usage: mutants.py [--tree FOLDER] [--list] [--without-check] [NAME...]

A copy of the committed tree is built once, with its own build folder. First every test passes on it. Then one defect at a
time is put in, what it touches is built, and its test must fail. Exit 1 if one does not, or if a text that a defect
replaces is not there any more.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", ".."))
LIMIT_S = 900
WITH_POSTGRESQL = "tests/contract/with_postgresql.sh"
SERVER = ("framezero", "framezero-child", "kill_shim", "power_shim", "clock_shim")

# name: (targets, command in the copy's top folder)
DEV = "build/dev/"
LEDGER = ["tests/faults/test_ledger.py", "--framezero", DEV + "server/framezero", "--kill-shim",
          DEV + "tests/faults/libkill_shim.so", "--seed", "1"]
POWER = ["tests/faults/test_power.py", "--framezero", DEV + "server/framezero", "--power-shim",
         DEV + "tests/faults/libpower_shim.so", "--seed", "1"]
TESTS = {
    **{f"contract {group}": (("contract_store",), [DEV + "tests/contract/contract_store", group])
       for group in ("jobs", "queue", "reports", "unblock", "processes", "migrate", "dictionaries", "lists")},
    "contract months": (("contract_store",), [WITH_POSTGRESQL, DEV + "tests/contract/contract_store", "postgresql", "months"]),
    "contract row security": (("contract_store",), [WITH_POSTGRESQL, DEV + "tests/contract/contract_store", "postgresql", "row_security"]),
    "http framing": (("http_echo",), ["tests/e2e/http_framing.py", DEV + "tests/e2e/http_echo"]),
    "unit http_wire": (("test_http_wire",), [DEV + "tests/unit/test_http_wire"]),
    "unit store_distinct": (("test_store_distinct",), [DEV + "tests/unit/test_store_distinct"]),
    "unit protocol": (("test_protocol",), [DEV + "tests/unit/test_protocol"]),
    "power": (SERVER, POWER),
    "migrations": (SERVER, ["tests/faults/test_migrations.py", "--framezero", DEV + "server/framezero", "--kill-shim",
                            DEV + "tests/faults/libkill_shim.so"]),
    "clock": (SERVER, ["tests/e2e/test_clock.py", "--framezero", DEV + "server/framezero", "--shim",
                       DEV + "tests/e2e/libclock_shim.so"]),
    "blobs": (SERVER, ["tests/e2e/test_blobs.py", "--framezero", DEV + "server/framezero", "Blobs.test_deleted_while_sent_again"]),
    "replica": (SERVER, [WITH_POSTGRESQL, "tests/e2e/test_replica.py", "--framezero", DEV + "server/framezero"]),
    "row security": (SERVER, [WITH_POSTGRESQL, "tests/e2e/test_row_security.py", "--framezero", DEV + "server/framezero"]),
    "symbols": (SERVER, ["tests/e2e/test_symbols.py", "--framezero", DEV + "server/framezero", "Way.test_report_first"]),
    "ledger, the database": (SERVER, [WITH_POSTGRESQL, *LEDGER, "--kills", "12", "--only", "immediate,postmaster"]),
    "ledger, workers at their commits": (SERVER, [*LEDGER, "--kills", "30", "--only", "wal_sync_before"]),
    "ledger, commits that fail": (SERVER, [*LEDGER, "--kills", "20", "--only", "wal_full"]),
    "ledger, commits that are cut": (SERVER, [WITH_POSTGRESQL, *LEDGER, "--kills", "12", "--only", "commit_cut"]),
}

EARLY = """    static struct store_report_new early[BATCH_ITEMS];
    for (size_t i = 0; i < batch->n; i++) {
        early[i] = *batch->packed[i].item;
        early[i].format = strdup(early[i].format);
        early[i].reader = early[i].reader ? strdup(early[i].reader) : NULL;
        batch->packed[i].item->code = FZ_OK;
        batch->nodes[i]->done(batch->nodes[i]->user, batch->packed[i].item, FZ_OK, "");
        batch->packed[i].item = batch->nodes[i]->packed.item = &early[i];
    }
    struct timespec moment = {.tv_nsec = 20000000};
    nanosleep(&moment, NULL);
"""

# (name, [(file, text, its replacement)], test)
MUTANTS = [
    ("acknowledge before the commit",
     [("storage/store_committer.c", "    struct fz_error err = {0};\n    enum fz_code code = store_report_insert_packed",
       EARLY + "    struct fz_error err = {0};\n    enum fz_code code = store_report_insert_packed"),
      ("storage/store_committer.c", "    node->done(node->user, node->packed.item, code, text);\n", "    (void)code;\n    (void)text;\n"),
      ("storage/store_committer.c", "#include <stdlib.h>\n", "#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n")],
     "power"),
    ("no sync of a commit",
     [("storage/sql/sqlite.c", '"PRAGMA synchronous = FULL; ', '"PRAGMA synchronous = NORMAL; '),
      ("storage/sql/sqlite.c", '.after_light = "PRAGMA synchronous = FULL"', '.after_light = "PRAGMA synchronous = NORMAL"')], "power"),
    ("no commit of a database server on its disk",
     [("storage/sql/postgresql_connection.c", "SELECT set_config('synchronous_commit', 'on', false) \"\n        \"WHERE "
       "current_setting('synchronous_commit') = 'off'\"", "SELECT set_config('synchronous_commit', 'off', false)\"")],
     "ledger, the database"),
    ("the result of SQLite's commit ignored",
     [("storage/sql/sqlite.c", '    return sqlite_script(sql, "COMMIT", err);', '    if (sqlite_script(sql, "COMMIT", err) != FZ_OK)\n'
       '        sqlite3_exec(self(sql)->db, "ROLLBACK", NULL, NULL, NULL);\n    return FZ_OK;')], "ledger, commits that fail"),
    ("the result of PostgreSQL's commit ignored",
     [("storage/sql/postgresql.c", "    PQclear(result);\n    return code;\n}\n\nstatic void\npg_rollback",
       "    PQclear(result);\n    fz_ignore(code);\n    return FZ_OK;\n}\n\nstatic void\npg_rollback")], "ledger, commits that are cut"),
    ("no sync of a blob",
     [("storage/blob/blob_file.c", "    else if (!there)\n        code = blob_io_sync(fd, err);\n", "")], "power"),
    ("no sync of a blob's folder",
     [("storage/blob/blob_file.c", "    /* Even if it was there: whoever put it may not have come as far as this. */\n"
       "    if (code == FZ_OK)\n        code = fz_file_sync_parent(path, err);\n", "")], "power"),
    ("no sync of new folders of blobs",
     [("storage/blob/blob_file.c", "    return fz_file_sync_parent(at, err); /* DIR, which holds ab */", "    return FZ_OK;")], "power"),
    ("a blob's name before its bytes",
     [("storage/blob/blob_file.c", "    else if (!there)\n        code = blob_io_sync(fd, err);\n    if (code == FZ_OK && !there && "
       "!blob_io_link(fd, path))\n        code = blob_io_copy(blobs->dir, fd, path, true, err);\n",
       "    if (code == FZ_OK && !there && !blob_io_link(fd, path))\n        code = blob_io_copy(blobs->dir, fd, path, true, err);\n"
       "    if (code == FZ_OK && !there)\n        fz_ignore(blob_io_sync(-1, err));\n")], "power"),
    ("no fence at the finish",
     [("storage/store_jobs.c", "FROM jobs WHERE id = $1 AND fence = $2%s", "FROM jobs WHERE id = $1 AND $2 = $2%s")], "contract jobs"),
    ("no new fence for what is taken from a dead worker",
     [("storage/store_job_end.c", '"UPDATE jobs SET state = 0, fence = fence + 1, due_ms = 0, "\n                            '
       '"strikes = strikes - 1', '"UPDATE jobs SET state = 0, due_ms = 0, "\n                            "strikes = strikes - 1')],
     "contract jobs"),
    ("the attempt not counted at the claim",
     [("storage/store_claim.c", '"UPDATE jobs SET state = 1, fence = fence + 1, attempt = attempt + 1, "\n             '
       '"strikes = strikes + 1, due_ms', '"UPDATE jobs SET state = 1, fence = fence + 1, "\n             "due_ms')], "contract jobs"),
    ("a lease that is over at once",
     [("storage/store_claim.c", "sql_int(claim->now + claim->lease_ms)", "sql_int(claim->now)")], "contract jobs"),
    ("a lease that never ends",
     [("storage/store_claim.c", "state < 2 AND due_ms > 0 AND (due_ms <= $1 OR (state = 0 AND due_ms > $2) OR \"\n             "
       "\"(state = 1 AND due_ms > $3))", "state < 2 AND due_ms > 0 AND state = 0 AND (due_ms <= $1 OR \"\n             "
       "\"(due_ms > $2 AND due_ms <> $3))")], "contract jobs"),
    ("leases by the calendar",
     [("storage/sql/sqlite.c", "    *ret_ms = fz_time_monotonic_ms(); /* the calendar", "    *ret_ms = fz_time_now_ms(); /* the calendar")],
     "clock"),
    ("a first back-off that grows with restarts",
     [("storage/store_job_end.c", "back_off_ms(row->outages)", "back_off_ms(job->attempt)")], "contract jobs"),
    ("duplicates stored twice",
     [("migrations/sqlite/0001_first.sql", "CREATE UNIQUE INDEX reports_body", "CREATE INDEX reports_body")], "contract reports"),
    ("an answered duplicate gets another id",
     [("storage/store_report_insert.c", "        if (item->is_duplicate || item->is_clash)\n", "        if (item->is_clash)\n")],
     "contract reports"),
    ("issues counted in another transaction",
     [("storage/store_finish.c", "    if (code == FZ_OK)\n        code = store_record_end(record, err);\n",
       "    if (code == FZ_OK)\n        code = sql_commit(&tx, err);\n    if (code == FZ_OK)\n        code = "
       "sql_begin(store->sql, &tx, err);\n    if (code == FZ_OK)\n        code = store_record_end(record, err);\n")],
     "ledger, workers at their commits"),
    ("the job's end in another transaction",
     [("storage/store_finish.c", "        code = store_learned_add(store, job, done, arena, err);\n",
       "        code = store_learned_add(store, job, done, arena, err);\n    if (code == FZ_OK) {\n        struct sql *tx = "
       "store->sql;\n        code = sql_commit(&tx, err);\n        if (code == FZ_OK)\n            code = sql_begin(store->sql, "
       "&tx, err);\n    }\n")],
     "ledger, workers at their commits"),
    ("a death from outside counts against the report",
     [("storage/store_job_end.c", "    if (child_died) {\n", "    if (child_died || why == FZ_E_UNAVAILABLE) {\n")], "contract jobs"),
    ("reports queued twice by one symbol file",
     [("storage/store_finish.c", "project_id = $1 AND ready_seq > $4 ", "project_id = $1 AND ready_seq > $4 - 1 ")], "contract unblock"),
    ("a symbol file that comes while a report is done is missed",
     [("storage/store_finish.c", "    *ret = false;\n    if (done->n_waits == 0)", "    *ret = false;\n    if (done->n_waits == 0 || row)")],
     "contract unblock"),
    ("a registered symbol file wakes nobody",
     [("storage/store_finish.c", "    if (code == FZ_OK)\n        code = store_unblock(store, job, symbols, n, last_report, arena, err);\n",
       "")], "contract unblock"),
    ("the sweep deletes blobs that are named",
     [("storage/store_blobs.c", "        if (code == FZ_OK && !named) {", "        if (code == FZ_OK) {")], "blobs"),
    ("201 before the symbol files are registered",
     [("storage/store_uploads.c", "VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8)", "VALUES ($1, $2, $3, $4, $5, 'done', $6, $7, $8)")],
     "symbols"),
    ("a list longer than its place",
     [("server/protocol/fields.c", "count <= list->max && fz_read_fits", "fz_read_fits")], "unit protocol"),
    ("a message that was cut is taken",
     [("server/protocol/protocol.c", "    if (message.msg_flags & MSG_TRUNC)\n", "    if (message.msg_flags & 0)\n")], "unit protocol"),
    ("columns of a sealing before are used",
     [("storage/store_fact_scan.c", '" AND c.sealing = d.sealing"', '""')], "contract lists"),
    ("a condition of most facts is taken for one of all",
     [("storage/store_fact_all.c", "n && (uint64_t)total == n", "n && (uint64_t)total >= n")], "contract lists"),
    ("the times that the second thread saw are left out",
     [("storage/store_tally_count.c", "    end_part(other);\n    settle(other);\n", "    end_part(other);\n")], "contract lists"),
    ("the users that the second thread saw are left out",
     [("storage/store_tally_count.c", "    return store_distinct_merge(&tally->users, &other->users, err);\n", "    return err ? FZ_OK : FZ_OK;\n")],
     "contract lists"),
    ("issues with more users than those of the page are not looked for",
     [("storage/store_issue_list.c", "compare_places(&places[to], &places[first + limit]) > 0", "places[to].first <= places[first].first")],
     "contract lists"),
    ("half of the users of the largest issue are left out",
     [("storage/store_distinct_count.c", "one->words[i] | other->words[i]", "one->words[i] | other->words[0]")], "unit store_distinct"),
    ("tags of a day are not compared with how many there are",
     [("storage/store_fact_filter.c", "are_counts && counts->sum == n_tags", "are_counts || n_tags")], "contract lists"),
    ("facts without a user have one in common",
     [("storage/store_distinct.c", "if (has_others && user == 0)", "if (has_others && user == UINT32_MAX)")], "unit store_distinct"),
    ("a squeezed list loses a user",
     [("storage/store_distinct_count.c", "\n    chunk->n = in_chunk;\n", "\n    chunk->n = in_chunk - 1;\n")], "unit store_distinct"),
    ("an unknown time of a crash is before any",
     [("storage/store_fact_row.c", "part->least = is_upper ? 1 : value", "part->least = is_upper ? 0 : value")], "contract lists"),
    ("a fact after the last place is kept",
     [("storage/store_report_hits.c", "(hits->has_last && !precedes(hits, &hit, &hits->last))", "(hits->has_last && precedes(hits, &hit, &hits->last))")],
     "contract lists"),
    ("a NUL within a header passes the filter",
     [("server/http/wire.c", "len ? memchr(bytes.data, 0, len) : NULL", "NULL")], "unit http_wire"),
    ("a bare LF passes the filter",
     [("server/http/wire.c", "if (bytes.data[len] != '\\r') {", "if (bytes.data[len] == 0) {")], "unit http_wire"),
    ("a query without memory reaches libmicrohttpd",
     [("server/http/wire.c", "    if (n_sound < len) {", "    if (n_sound > len) {")], "http framing"),
    ("the end of a client is noticed at a deadline",
     [("server/http/filter.c", "n < len && ended < n", "n > len")], "http framing"),
    ("migrations each for themselves",
     [("storage/store_migrate.c", "        code = apply(tx, &table[i], err);\n",
       "        code = apply(tx, &table[i], err);\n        if (code == FZ_OK)\n            code = sql_commit(&tx, err);\n"
       "        if (code == FZ_OK)\n            code = sql_begin(sql, &tx, err);\n")], "migrations"),
    ("an older program goes on after any migration",
     [("storage/store_migrate.c", "            is_expansion(sql_col_bytes(&rows, 2)))", "            is_expansion(sql_col_bytes(&rows, 2)) + 1)")],
     "contract migrate"),
    ("a report is stored in each month in which it comes",
     [("migrations/postgresql/0035_expand_months.sql", "RETURN CASE WHEN FOUND THEN NEW END;", "RETURN NEW;")], "contract months"),
    ("a month is dropped with its reports",
     [("storage/store_partitions.c", "n_reports == 0 && month->number > 0", "month->number > 0"),
      ("storage/store_partitions.c", "code != FZ_OK || n > 0)", "code != FZ_OK)")], "contract months"),
    ("a deleted report leaves its body",
     [("migrations/postgresql/0035_expand_months.sql", "        DELETE FROM report_bodies WHERE report_key = OLD.key;\n", "")],
     "contract months"),
    ("a dictionary has what one report has",
     [("storage/store_dictionary_share.c", "slot->n >= STORE_DICTIONARY_SHARED", "slot->n >= 1")], "contract dictionaries"),
    ("a dictionary is of one user",
     [("storage/store_dictionary_train.c", "        if (has_user(ret, n, sample.user))\n            continue;\n", "        fz_ignore(has_user(ret, n, sample.user));\n")],
     "contract dictionaries"),
    ("a damaged dictionary is used",
     [("storage/store_dictionary.c", "    if (code == FZ_OK && strcmp(want, is) != 0)\n", "    if (code == FZ_OK && want[0] == is[1] - 256)\n")], "contract dictionaries"),
    ("a change is not seen by who made it",
     [("server/api/api_replica.c", "           has_ms > atomic_load(slot_of(replica->senders, http_token_id(request))) &&\n"
       "           has_ms > atomic_load(slot_of(replica->projects, http_project_id(request)));",
       "           has_ms > http_token_id(request) - INT64_MAX;")], "replica"),
    ("requests see all projects",
     [("server/api/api_call.c", "route && route->sees_all", "route")], "row security"),
    ("the project of a transaction that was taken back stays",
     [("storage/sql/postgresql.c", "    sql_pg_has_settings(sql, false); /* they may have been made in it */\n", "")],
     "contract row security"),
    ("a connection that was lost sees all projects",
     [("storage/sql/sql.c", "    if (code == FZ_OK && sql->to_confine && sql->driver->confine)\n        code = sql->driver->confine(sql, err);\n", "")],
     "contract row security"),
    ("a table without a policy",
     [("storage/store_row_security.c", '    {"versions", OWN, all, NULL},\n', '    {"versions", NULL, all, "numbers"},\n')],
     "contract row security"),
]


def run(command, cwd, limit_s=LIMIT_S):
    """True if it passes, None if it does not end. What it prints is in the copy, in build/mutant.log."""
    with open(os.path.join(cwd, "build", "mutant.log"), "ab") as log:
        log.write(f"\n== {' '.join(command)}\n".encode())
        log.flush()
        process = subprocess.Popen(command, cwd=cwd, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(limit_s) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 15)
            process.wait(30)
            return None


def build(tree, targets):
    return run(["cmake", "--build", "build/dev", "--target", *targets], tree, 1200)


def copy_changed(source, to):
    """Only files that differ are written, so only they are built again; what else is in `to` stays."""
    for folder, _, names in os.walk(source):
        target = os.path.join(to, os.path.relpath(folder, source))
        os.makedirs(target, exist_ok=True)
        for name in names:
            new, old = os.path.join(folder, name), os.path.join(target, name)
            if not (os.path.isfile(old) and filecmp.cmp(new, old, shallow=False)):
                shutil.copyfile(new, old)
                shutil.copymode(new, old)


def copy_tree(tree):
    fresh = tree + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    os.makedirs(os.path.join(tree, "build"), exist_ok=True)
    with subprocess.Popen(["git", "-C", TOP, "archive", "HEAD"], stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", fresh], stdin=archive.stdout, check=True)
    copy_changed(fresh, tree)
    shutil.rmtree(fresh)
    deps = os.path.join(TOP, "build", "deps")
    if os.path.isdir(deps) and not os.path.isdir(os.path.join(tree, "build", "deps")):
        shutil.copytree(deps, os.path.join(tree, "build", "deps"), symlinks=True)
    return run(["cmake", "--preset", "dev", "-DFZ_TESTS=ON"], tree)


def change(tree, edits):
    """Put the defect in; what the files were. None: a text is not there."""
    before = {}
    for path, old, new in edits:
        full = os.path.join(tree, path)
        with open(full, encoding="utf-8") as f:
            text = f.read()
        before.setdefault(full, text)
        if text.count(old) != 1:
            restore(before)
            return None
        with open(full, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
    return before


def restore(before):
    for full, text in before.items():
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)


def try_mutant(tree, edits, test):
    targets, command = TESTS[test]
    before = change(tree, edits)
    if before is None:
        return "its text is not there: adapt it"
    try:
        if not build(tree, targets):
            return "does not build"
        # No end is no finding: the machine may be slow.
        return {True: "NOT CAUGHT", False: "caught", None: f"no end within {LIMIT_S} s"}[run(command, tree)]
    finally:
        restore(before)


def check():
    """Each text that a mutant replaces is in the tree: code that changes takes its mutants along."""
    bad = 0
    for name, edits, _ in MUTANTS:
        for file, text, _ in edits:
            with open(os.path.join(TOP, file), encoding="utf-8") as f:
                if text not in f.read():
                    print(f"{file}: the mutant '{name}' does not find its text any more: correct it in tests/faults/mutants.py")
                    bad += 1
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", default=os.path.join(TOP, "build", "mutants"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true", help="only whether the mutants fit the tree")
    parser.add_argument("--without-check", action="store_true", help="do not run the tests without a defect first")
    parser.add_argument("names", nargs="*", help="parts of names")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.names or any(n in m[0] for n in options.names)]
    if options.check:
        return check()
    if options.list:
        print("\n".join(f"{name}: {test}" for name, _, test in chosen))
        return 0
    if not copy_tree(options.tree):
        raise SystemExit(f"the copy cannot be configured: {options.tree}/build/mutant.log")
    bad = 0
    for test in sorted({m[2] for m in chosen}) if not options.without_check else []:
        targets, command = TESTS[test]
        began = time.monotonic()
        passes = build(options.tree, targets) and run(command, options.tree)
        bad += not passes
        print(f"{'passes' if passes else 'FAILS'} without a defect: {test} ({time.monotonic() - began:.0f} s)", flush=True)
    for name, edits, test in chosen:
        began = time.monotonic()
        verdict = try_mutant(options.tree, edits, test)
        bad += verdict != "caught"
        print(f"{verdict}: {name} ({test}, {time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(chosen)} mutants, {bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
