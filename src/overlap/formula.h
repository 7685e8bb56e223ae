/* SPDX-License-Identifier: BSD-3-Clause */
/* The overlap according to three definitions in use, which differ in the divisor. */
#ifndef ICTUS_OVERLAP_FORMULA_H
#define ICTUS_OVERLAP_FORMULA_H

/* H08: the share of the blocking time that cost the process nothing. */
double ictusi_overlap_h08(double overhead, double blocking);

/* OSU 7: max(0, 1 - (overall - (compute - test)) / pure), where compute includes the tests. */
double ictusi_overlap_osu(double overall, double compute, double test, double pure);

/* IMB-NBC: clamp01((pure + compute - overall) / max(pure, compute)). */
double ictusi_overlap_imb(double overall, double compute, double pure);

#endif
