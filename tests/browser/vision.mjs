// SPDX-License-Identifier: BSD-3-Clause
// How a colour looks to eyes of other kinds, and how far apart two colours are to them.
// Deuteranopia and protanopia: Machado, Oliveira and Fernandes 2009, severity 1, in linear RGB.
const eyes = {
    normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
};

export const kinds = Object.keys(eyes);

function linear(hex) {
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
}

const times = (matrix, v) => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);

/** CIE L*a*b* of a colour as one kind of eye sees it. */
export function lab(hex, kind = 'normal') {
    const seen = times(eyes[kind], linear(hex)).map((c) => Math.min(1, Math.max(0, c)));
    const xyz = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], seen);
    const [x, y, z] = [xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089].map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** Euclidean distance in L*a*b* (CIE 1976); about 2.3 is just noticeable. */
export function apart(a, b, kind = 'normal') {
    const [p, q] = [lab(a, kind), lab(b, kind)];
    return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

/** Lightness L*, 0 to 100: all that greyscale leaves. */
export const lightness = (hex) => lab(hex)[0];

/** Contrast of two colours by WCAG 2, 1 to 21. */
export function contrast(a, b) {
    const [x, y] = [a, b].map((hex) => times([[0.2126, 0.7152, 0.0722]], linear(hex))[0]).sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
}
