"""Types command lines into bash, zsh and fish, with tabs, and looks at what they start.

    completion.py DIR     DIR/bin has programs that write their arguments to DIR/started, DIR/usr what
                          `make install` installed; the shells start in DIR/w
"""
import os
import pty
import select
import sys

# What is typed, and what is started; a tab completes.  zsh joins options and words by "=" and takes
# the slash behind a folder away again.
LINES = [
    ("ti-gather --mer\tno\t x", "<ti-gather><--merge><no><x>"),  # "none" and "node"
    ("ti-gather --merge non\t", "<ti-gather><--merge><none>"),
    ("ti-gather --merge=roo\t", "<ti-gather><--merge><root>"),
    ("ti-gather lu.8\t --forc\t", "<ti-gather><lu.8.tib><--force>"),
    ("ti-replay --platf\tplat\t", "<ti-replay><--platform><platform.xml>"),
    ("ti-replay --keep some\t", "<ti-replay><--keep><somewhere>"),
    ("ti-replay --hosts lu.8\t", "<ti-replay><--hosts><lu.8>"),  # a number, and no file
    ("ti-report --repl\tlu.8\t --fram\tsome\t", "<ti-report><--replay><lu.8.tib><--frames><somewhere>"),
    ("ti-acquire -np 8 --transp\topen\t ./x", "<ti-acquire><-np><8><--transport><openssh><./x>"),
    ("ti-acquire --np 8 ./x --transp\t", "<ti-acquire><--np><8><./x><--transp>"),  # the program's
]


def start(shell, folder):
    share = folder + "/usr/share/"
    env = {"PATH": folder + "/bin:/usr/bin:/bin", "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8",
           "INPUTRC": "/dev/null"}
    argv = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"],
            "fish": ["fish", "--no-config", "-i"]}[shell]
    first = {
        "bash": "for f in %sbash-completion/completions/*; do . $f; done" % share,
        "zsh": "PROMPT=; fpath=(%szsh/site-functions $fpath); autoload -U compinit; "
               "compinit -u -D; setopt nobeep noautomenu" % share,
        "fish": "set fish_complete_path %sfish/vendor_completions.d" % share}[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder + "/w")
        os.execvpe(argv[0], argv, env)
    return pid, terminal, first


def type_line(terminal, folder, text):
    """What the line starts."""
    started = folder + "/started"
    if os.path.exists(started):
        os.unlink(started)
    os.write(terminal, text.encode() + b"\n")
    while not os.path.exists(started) or not os.path.getsize(started):
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 65536)  # or the shell could write no more
    with open(started) as f:
        return f.read().replace("=", "><").replace("/>", ">")


def main(folder):
    bad = 0
    for shell in ("bash", "zsh", "fish"):
        pid, terminal, first = start(shell, folder)
        type_line(terminal, folder, first + "; ti-info ready")
        for typed, expected in LINES:
            found = type_line(terminal, folder, typed)
            if found != expected:
                bad += 1
                print("FAILED: %s: %r starts %s, not %s" % (shell, typed, found, expected))
        os.close(terminal)
        os.waitpid(pid, 0)
    sys.exit(1 if bad else 0)


main(sys.argv[1])
