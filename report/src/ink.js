// SPDX-License-Identifier: BSD-3-Clause
// Black or white upon a colour, whichever stands out more: at least 4.5 to 1 upon any.

const parts = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

/** Relative luminance (WCAG 2), by which contrast with black and with white is the same at 0.179. */
function luminance(rgb) {
    const [red, green, blue] = rgb.map((v) => v / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const ink = (rgb) => (luminance(rgb) > 0.179 ? '#000000' : '#ffffff');

/** The colour of text upon a colour (#rrggbb). */
export const inkUpon = (colour) => ink(parts(colour));

/** The colour of text on a heat map's cell that lies at a share of the way from its first colour to its last. */
export function inkOn({ heat }, share) {
    const at = Math.min(Math.max(share, 0), 1) * (heat.length - 1);
    const low = Math.min(Math.floor(at), heat.length - 2);
    const [from, to] = [parts(heat[low]), parts(heat[low + 1])];
    return ink(from.map((v, i) => v + (at - low) * (to[i] - v)));
}
