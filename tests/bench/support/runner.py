"""Runs programs and measures them, from a process that was forked while it was small.

The kernel counts the pages of the process that starts a program into that program's peak. So the reported peak
is never less than that of the small process (FLOOR_NOTE); larger peaks are exact.
"""
import json
import os
import time

FLOOR_NOTE = "a peak below that of the measuring process is reported as that process's peak"


class RunFailed(Exception):
    pass


class Runner:
    def __init__(self):
        ask_read, ask_write = os.pipe()
        tell_read, tell_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(ask_write)
            os.close(tell_read)
            _serve(os.fdopen(ask_read), os.fdopen(tell_write, "w"))
            os._exit(0)
        os.close(ask_read)
        os.close(tell_write)
        self.ask, self.answer = os.fdopen(ask_write, "w"), os.fdopen(tell_read)

    def run(self, argv, stdin="/dev/null", stdout="/dev/null", stderr="/dev/null"):
        """{"wall", "cpu"} in seconds and {"rss"} in bytes; RunFailed unless it exits with 0."""
        request = {"argv": [str(arg) for arg in argv], "files": [str(stdin), str(stdout), str(stderr)]}
        print(json.dumps(request), file=self.ask, flush=True)
        answer = json.loads(self.answer.readline())
        if answer["status"] != 0:
            raise RunFailed(f"{' '.join(request['argv'])}: exit status {answer['status']}")
        return answer


def _serve(requests, answers):
    for line in requests:
        request = json.loads(line)
        stdin, stdout, stderr = request["files"]
        write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
                   (os.POSIX_SPAWN_OPEN, 1, stdout, write, 0o644), (os.POSIX_SPAWN_OPEN, 2, stderr, write, 0o644)]
        begin = time.perf_counter()
        try:
            pid = os.posix_spawn(request["argv"][0], request["argv"], os.environ, file_actions=actions)
            _, status, usage = os.wait4(pid, 0)
        except OSError as error:
            answer = {"status": str(error)}
        else:
            answer = {"status": os.waitstatus_to_exitcode(status), "wall": time.perf_counter() - begin,
                      "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss * 1024}
        print(json.dumps(answer), file=answers, flush=True)
