/* SPDX-License-Identifier: BSD-3-Clause */
/* A component of collectives, as it appears to code that looks up the names of its addresses. */
/* NOLINTBEGIN(readability-identifier-naming): as the MPI library names its functions */
const char main_loop = 1;
const char MPI_Pretend = 2;
const char PMPI_Pretend = 3;
const char PMPIX_Pretend = 4;
const char mca_coll_pretend_bcast = 5;
const char mca_coll_pretend_wait = 6;
const char ompi_coll_base_bcast_intra_binomial = 7;
const char ompi_coll_base_bcast_intra_chain = 8;
/* NOLINTEND(readability-identifier-naming) */
