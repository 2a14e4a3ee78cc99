# SPDX-License-Identifier: LGPL-2.1-or-later
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Tiara(MakefilePackage):
    """Time-independent traces of MPI applications, and their replay with SimGrid: predicts how an
    application would run on a machine that need not exist."""

    # Where `make dist` of a clone in /src/tiara leaves the release: put your path here.
    url = "file:///src/tiara/build/tiara-0.1.0.tar.gz"

    license("LGPL-2.1-or-later")

    # Without a checksum, spack install wants --no-checksum.
    version("0.1.0")

    variant("papi", default=True, description="Hardware counters")
    variant("valgrind", default=True, description="Exact counts by a valgrind tool (x86_64)")
    variant("blocks", default=True, description="Counting compilers: ti-mpicc (x86_64)")
    variant("otf2", default=False, description="Read traces of Score-P")
    variant("source_lines", default=True, description="Name the source lines of MPI calls")

    depends_on("c", type="build")
    depends_on("gmake@4.3:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("mpi@3:")
    depends_on("simgrid@3.32: +smpi")
    depends_on("libarchive")
    depends_on("jansson")
    depends_on("jemalloc")
    depends_on("nettle")
    depends_on("zlib +pic")  # the preloaded library contains libz.a
    depends_on("libssh2")
    depends_on("papi", when="+papi")
    depends_on("valgrind@3.19:", when="+valgrind")
    depends_on("zydis", when="+blocks")
    depends_on("otf2@3:", when="+otf2")
    depends_on("elfutils", when="+source_lines")

    def folders(self):
        return [
            "prefix=" + self.prefix,
            "MPICC=" + self.spec["mpi"].mpicc,
            "SIMGRID=" + self.spec["simgrid"].prefix,
        ]

    def build(self, spec, prefix):
        make("all", *self.folders())

    def install(self, spec, prefix):
        make("install", *self.folders())

    def test_ring(self):
        """trace a ring of four ranks, look into the trace, and replay it"""
        mpicc = which(self.spec["mpi"].mpicc)
        share = self.prefix.share.tiara
        sources = [join_path(share, "examples", f + ".c") for f in ("ring", "burst", "example")]
        mpicc("-std=c11", "-D_GNU_SOURCE", "-O2", "-I" + share, *sources, "-o", "ring", "-lm")
        tool = {name: which(join_path(self.prefix.bin, "ti-" + name)) for name in ("acquire", "info", "replay")}
        with test_part(self, "test_ring_acquire", purpose="trace"):
            tool["acquire"]("-np", "4", "-c", "cputime", "--mem-per-rank", "10M", "-o", "ring.tib", "./ring", "2")
        with test_part(self, "test_ring_info", purpose="verify"):
            out = tool["info"]("--verify", "ring.tib", output=str.split, error=str.split)
            assert "verified: 4 ranks" in out
        with test_part(self, "test_ring_replay", purpose="replay"):
            out = tool["replay"]("ring.tib", output=str.split, error=str.split)
            assert "simulated time:" in out
