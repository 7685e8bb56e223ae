# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe. Put it into a repository as packages/ictus/package.py."""
from spack.package import *

try:  # Spack 1.0 and later keep the build systems with the packages
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass


class Ictus(CMakePackage):
    """One clock and one common start for MPI jobs: benchmarks of collectives, studies of
    synchronisation, a network clock."""

    license("BSD-3-Clause")

    version("0.1.0", tag="v0.1.0")

    variant("compare", default=True, description="ictus compare (GSL)")
    variant("nettle", default=True, description="Authenticated NTP")

    variant("otf2", default=True, description="Traces: ictus trace, check and correct")

    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3.1:")
    depends_on("hwloc@2:")
    depends_on("jansson@2.10:")
    depends_on("gsl", when="+compare")
    depends_on("nettle@3.5:", when="+nettle")
    depends_on("otf2@3:", when="+otf2")
    depends_on("python@3:", type="build", when="+otf2")
    depends_on("binutils", type="run", when="+otf2")  # addr2line, for call sites

    def cmake_args(self):
        return [
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("BUILD_TESTING", self.run_tests),
            self.define_from_variant("ICTUS_WITH_NETTLE", "nettle"),
            self.define_from_variant("ICTUS_WITH_OTF2", "otf2"),
            # A release tarball brings the report's page and the manual rendered.
            self.define("ICTUS_REPORT", False),
        ]
