// SPDX-License-Identifier: BSD-3-Clause
// Statistics of plain arrays. Arguments named sorted are ascending.

export function ascending(values) {
    return Float64Array.from(values.filter((v) => v !== null)).sort();
}

/** Type 7 of Hyndman and Fan, as the program itself computes quantiles. */
export function quantile(sorted, q) {
    if (!sorted.length) {
        return null;
    }
    const at = q * (sorted.length - 1);
    const low = Math.floor(at);
    const high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

export const median = (values) => quantile(ascending(values), 0.5);

/** The step points of the distribution function, thinned to what a screen can show. */
export function ecdf(sorted, most = 1000) {
    const n = sorted.length;
    const points = [];
    const step = Math.max(1, Math.floor(n / most));
    for (let i = 0; i < n; i += step) {
        points.push([sorted[i], (i + 1) / n]);
    }
    if (n && points[points.length - 1][1] !== 1) {
        points.push([sorted[n - 1], 1]);
    }
    return points;
}

/** Equal bins by Freedman and Diaconis between two values; what lies beyond is counted apart. */
export function histogram(sorted, low, high, most = 80) {
    const n = sorted.length;
    const spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
    const wide = (2 * spread) / Math.cbrt(n || 1);
    const range = high - low;
    const bins = range > 0 && wide > 0 ? Math.min(most, Math.max(8, Math.ceil(range / wide))) : 8;
    const width = (range > 0 ? range : Math.abs(low) || 1) / bins;
    const counts = new Array(bins).fill(0);
    let beyond = 0;
    for (const value of sorted) {
        if (value > high) {
            beyond++;
        } else if (value >= low) {
            counts[Math.min(bins - 1, Math.floor((value - low) / width))]++;
        }
    }
    return { low, width, counts, beyond };
}

/** A Gaussian kernel density on a grid (Silverman's bandwidth), for violins. */
export function density(sorted, low, high, steps = 64) {
    const n = sorted.length;
    const spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.349;
    const wide = 0.9 * (spread || (high - low) / 10 || 1) * Math.pow(n || 1, -0.2);
    const points = [];
    for (let i = 0; i <= steps; i++) {
        const x = low + ((high - low) * i) / steps;
        let sum = 0;
        for (const value of sorted) {
            const z = (x - value) / wide;
            if (z < 4 && z > -4) {
                sum += Math.exp(-0.5 * z * z);
            }
        }
        points.push([x, sum / (n * wide * Math.sqrt(2 * Math.PI))]);
    }
    return points;
}

/** Sort what came out of groupBy or a set: numbers by size, other things by name. */
export function order(values) {
    return [...values].sort((a, b) =>
        typeof a === 'number' && typeof b === 'number'
            ? a - b
            : String(a).localeCompare(String(b), 'en', { numeric: true }),
    );
}

export function groupBy(rows, keyOf) {
    const groups = new Map();
    for (const row of rows) {
        const key = keyOf(row);
        const group = groups.get(key);
        if (group) {
            group.push(row);
        } else {
            groups.set(key, [row]);
        }
    }
    return groups;
}
