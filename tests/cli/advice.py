"""Follow the advice of ti-acquire: advice.py TI-ACQUIRE PROGRAM...

For each program, every counter and every way of threads is asked for (--dry-run).  Where that is
refused, each option that the hint or the message names is taken in its turn.  Advice may meet what
this machine lacks, but it must not lead back to a request that was refused."""
import re
import subprocess
import sys

COUNTERS = ["auto", "papi", "valgrind", "blocks", "cputime"]
THREADS = ["auto", "caller", "sum"]
tool, programs = sys.argv[1], sys.argv[2:]
failed = []


def ask(program, counter, threads):
    """Status, and what is said."""
    p = subprocess.run([tool, "--dry-run", "--np", "2", "--mem-per-rank", "20M", "-c", counter,
                        "--threads", threads, program], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL)
    return p.returncode, p.stderr


def advised(text, counter, threads):
    """The requests that a text advises, one option changed at a time."""
    found = set()
    lines = [l for l in text.split("\n") if l.startswith("hint:") or "warning:" in l]
    for line in lines:
        line = re.sub(r"and blocks cannot|blocks counts only", "", line)
        for name in re.findall(r"-c (papi|valgrind|blocks|cputime)\b", line):
            found.add((name, threads))
        for name in re.findall(r"\bwith (valgrind|blocks)\b", line):
            found.add((name, threads))
        for name in re.findall(r"--threads (caller|sum)\b", line):
            found.add((counter, name))
    return found


def follow(program, counter, threads, refused):
    status, said = ask(program, counter, threads)
    if (counter, threads) in refused:
        failed.append("%s: advice leads back to -c %s --threads %s by way of %s:\n%s" % (
            program, counter, threads, refused, said))
        return
    if status == 0:
        return
    for request in sorted(advised(said, counter, threads)):
        follow(program, *request, refused + [(counter, threads)])


for program in programs:
    for c in COUNTERS:
        for t in THREADS:
            follow(program, c, t, [])
            # what is accepted but warned of: the advice must not be refused for what it is
            status, said = ask(program, c, t)
            for request in advised(said, c, t) if status == 0 else []:
                status, then = ask(program, *request)
                if status and (c, t) in advised(then, *request):
                    failed.append("%s: -c %s --threads %s advises %s, which advises it in turn:\n%s" % (
                        program, c, t, request, then))
print("\n".join(failed) or "ok")
sys.exit(bool(failed))
