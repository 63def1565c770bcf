"""Every count of issues, made again from the facts; for tests that kill, delete and process again.

The server must be idle. `framezero.Server` says which database it uses.
"""

import os
import sqlite3
import subprocess

# What is counted, by what: a count that is not there is 0. A key of each has the form "1 7 20612".
COUNTS = {
    "issues": ("SELECT id, n_reports FROM issues",
               "SELECT v.issue_id, count(*) FROM facts f JOIN variants v ON v.id = f.variant_id "
               "WHERE f.is_counted = 1 GROUP BY v.issue_id"),
    "users": ("SELECT id, n_users FROM issues",
              "SELECT v.issue_id, count(DISTINCT f.user_id) FROM facts f JOIN variants v ON v.id = f.variant_id "
              "WHERE f.is_counted = 1 AND f.user_id > 0 GROUP BY v.issue_id"),
    "variants": ("SELECT id, n_reports FROM variants",
                 "SELECT variant_id, count(*) FROM facts WHERE is_counted = 1 GROUP BY variant_id"),
    "issue_users": ("SELECT issue_id, user_id, n FROM issue_users",
                    "SELECT v.issue_id, f.user_id, count(*) FROM facts f JOIN variants v ON v.id = f.variant_id "
                    "WHERE f.is_counted = 1 AND f.user_id > 0 GROUP BY v.issue_id, f.user_id"),
    "issue_hours": ("SELECT variant_id, hour, n FROM issue_hours",
                    "SELECT variant_id, received_ms / 3600000, count(*) FROM facts WHERE is_counted = 1 "
                    "GROUP BY variant_id, received_ms / 3600000"),
}
# enum store_term, the column of facts
DAILY = {1: "version_id", 2: "os_id", 3: "device_id", 4: "arch_id", 5: "environment_id"}
for _field, _column in DAILY.items():
    COUNTS[f"issue_days.{_column}"] = (
        f"SELECT variant_id, term_id, day, n FROM issue_days WHERE field = {_field}",
        f"SELECT variant_id, {_column}, received_ms / 86400000, count(*) FROM facts WHERE is_counted = 1 "
        f"AND {_column} > 0 GROUP BY variant_id, {_column}, received_ms / 86400000")

# What must not be there; the number is 0.
NEVER = {
    "a finished report without facts, or facts without their report":
        "SELECT (SELECT count(*) FROM reports r WHERE n_processed > 0 AND transient = 0 AND NOT EXISTS (SELECT 1 FROM "
        "facts f WHERE f.project_id = r.project_id AND f.received_ms = r.received_ms AND f.report_key = r.key)) "
        "+ (SELECT count(*) FROM facts f WHERE report_key >= 0 AND NOT EXISTS (SELECT 1 FROM reports r WHERE "
        "r.key = f.report_key AND r.received_ms = f.received_ms AND r.project_id = f.project_id))",
    "a run's crash that is not counted exactly once":
        "SELECT count(*) FROM (SELECT run_id FROM reports r JOIN facts f ON f.report_key = r.key AND f.received_ms = "
        "r.received_ms WHERE run_id IS NOT NULL AND run_id <> '' GROUP BY run_id HAVING sum(is_counted) > 1) AS twice",
    # Rules of grouping leave keys without stacks, and variants without reports, in issues that redirect.
    "a report in an issue that was merged, or in none":
        "SELECT count(*) FROM facts f LEFT JOIN variants v ON v.id = f.variant_id LEFT JOIN issues i ON i.id = v.issue_id "
        "WHERE i.id IS NULL OR i.merged_into IS NOT NULL",
    "a key with stacks of an issue that was merged, without rules that have done so":
        "SELECT count(*) FROM issue_keys k JOIN issues i ON i.id = k.issue_id WHERE i.merged_into IS NOT NULL AND EXISTS "
        "(SELECT 1 FROM stacks s WHERE s.key_id = k.id) AND NOT EXISTS (SELECT 1 FROM grouping_versions)",
    "a count of no variant":
        "SELECT (SELECT count(*) FROM issue_hours h WHERE NOT EXISTS (SELECT 1 FROM variants v WHERE v.id = h.variant_id)) + "
        "(SELECT count(*) FROM issue_days d WHERE NOT EXISTS (SELECT 1 FROM variants v WHERE v.id = d.variant_id)) + "
        "(SELECT count(*) FROM issue_users u WHERE NOT EXISTS (SELECT 1 FROM issues i WHERE i.id = u.issue_id))",
    "a redirect to a redirect":
        "SELECT count(*) FROM issues a JOIN issues b ON b.id = a.merged_into WHERE b.merged_into IS NOT NULL",
    "a fact under another key than its stack's":
        "SELECT count(*) FROM facts f JOIN stacks s ON s.key = f.stack_key JOIN variants v ON v.id = f.variant_id "
        "WHERE s.key_id <> v.key_id",
    "an issue that was first or last seen at another time than its reports":
        "SELECT count(*) FROM (SELECT v.issue_id AS id, min(f.received_ms) AS low, max(f.received_ms) AS high FROM facts f "
        "JOIN variants v ON v.id = f.variant_id WHERE f.is_counted = 1 GROUP BY v.issue_id) AS t JOIN issues i ON "
        "i.id = t.id WHERE i.first_ms > t.low OR i.last_ms < t.high",
    "a number that was given twice, or lost":
        "SELECT abs((SELECT count(*) FROM issues) - (SELECT coalesce(sum(last_issue), 0) FROM projects))",
    "a tag of no report":
        "SELECT count(*) FROM fact_tags t WHERE NOT EXISTS (SELECT 1 FROM facts f WHERE f.report_key = t.report_key "
        "AND f.received_ms = t.received_ms AND f.project_id = t.project_id)",
}


def execute(server, *statements):
    """Change rows beside the server."""
    if server.database:
        subprocess.run(["psql", "-q", "-X", server.database, "-c", "; ".join(statements)], check=True, timeout=60)
        return
    with sqlite3.connect(os.path.join(server.data, "framezero.db"), timeout=30) as db:
        for statement in statements:
            db.execute(statement)


def rows(server, query):
    """Rows of texts and numbers, read beside the server."""
    if not server.database:
        with sqlite3.connect(os.path.join(server.data, "framezero.db"), timeout=30) as db:
            return [list(row) for row in db.execute(query)]
    done = subprocess.run(["psql", "-X", "-A", "-t", "-F", "\x1f", server.database, "-c", query], capture_output=True,
                          text=True, check=True, timeout=120)
    made = [line.split("\x1f") for line in done.stdout.splitlines()]
    return [[int(x) if x.lstrip("-").isdigit() else x for x in row] for row in made]


def number(server, query):
    return rows(server, query)[0][0]


def counts(server, query):
    return {tuple(row[:-1]): row[-1] for row in rows(server, query) if row[-1]}


def wrong(server):
    """What differs, as lines for a person; an empty list: nothing."""
    found = []
    for name, (have, want) in COUNTS.items():
        a, b = counts(server, have), counts(server, want)
        found += [f"{name} {key}: {a.get(key, 0)}, counted {b.get(key, 0)}"
                  for key in sorted(a.keys() | b.keys()) if a.get(key, 0) != b.get(key, 0)]
    for name, query in NEVER.items():
        n = number(server, query)
        if n:
            found.append(f"{name}: {n}")
    return found
