/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of overlap, by the three definitions in use: each divides by something else. */
#ifndef ICTUS_OVERLAP_FORMULA_H
#define ICTUS_OVERLAP_FORMULA_H

/* H08: the part of the blocking time that cost the process nothing. */
double ictusi_overlap_h08(double overhead, double blocking);

/* OSU 7: max(0, 1 - (overall - (compute - test)) / pure), compute with the tests in it. */
double ictusi_overlap_osu(double overall, double compute, double test, double pure);

/* IMB-NBC: clamp01((pure + compute - overall) / max(pure, compute)). */
double ictusi_overlap_imb(double overall, double compute, double pure);

#endif
