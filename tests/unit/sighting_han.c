/* SPDX-License-Identifier: BSD-3-Clause */
/* A component that gives its parts to others, and what is seen further in. */
/* NOLINTBEGIN(readability-identifier-naming): as the MPI library names its functions */
const char mca_coll_han_bcast_intra = 1;
const char mca_coll_han_bcast_intra_simple = 2;
const char mca_coll_han_gather_intra = 3;
const char opal_progress = 4;
const char MPI_Han = 5;
/* NOLINTEND(readability-identifier-naming) */
