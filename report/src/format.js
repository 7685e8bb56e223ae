// SPDX-License-Identifier: BSD-3-Clause
// Numbers as people read them.

const missing = '–';

function trim(number, digits) {
    return Number(number.toPrecision(digits)).toLocaleString('en', { maximumSignificantDigits: digits });
}

function scaled(value, steps, digits) {
    if (value === null || value === undefined || !Number.isFinite(value)) {
        return missing;
    }
    if (value === 0) {
        return '0';
    }
    const size = Math.abs(value);
    let chosen = steps[0];
    for (const step of steps) {
        if (size >= step[0] * 0.9995) {
            chosen = step;
        }
    }
    return `${trim(value / chosen[0], digits)} ${chosen[1]}`;
}

const timeSteps = [[1e-12, 'ps'], [1e-9, 'ns'], [1e-6, 'µs'], [1e-3, 'ms'], [1, 's']];
const byteSteps = [[1, 'B'], [1024, 'KiB'], [1048576, 'MiB'], [1073741824, 'GiB']];
const rateSteps = [[1, 'B/s'], [1e3, 'kB/s'], [1e6, 'MB/s'], [1e9, 'GB/s'], [1e12, 'TB/s']];

export const seconds = (value, digits = 4) => scaled(value, timeSteps, digits);
export const nanoseconds = (value, digits = 4) =>
    value === null || value === undefined ? missing : scaled(value * 1e-9, timeSteps, digits);
export const bytes = (value) => (value === 0 ? '0 B' : scaled(value, byteSteps, 5));
export const rate = (value) => scaled(value, rateSteps, 4);
export const number = (value, digits = 5) =>
    value === null || value === undefined || !Number.isFinite(value) ? missing : trim(value, digits);
export const percent = (value, digits = 3) =>
    value === null || value === undefined || !Number.isFinite(value)
        ? missing
        : `${trim(value * 100, digits)} %`;

const waitStates = new Map(Object.entries({
    barrier: 'wait at barrier', nxn: 'wait at N×N', fence: 'wait at fence', 'rma-sync': 'one-sided synchronisation', 'rma-lock': 'lock of a window',
    file: 'file collective', 'team-barrier': 'barrier of threads', join: 'join of threads', 'nxn-completion': 'N×N completion',
    'late-receiver-possible': 'possible late receiver' }));

/** A wait state as the table of `ictus waits` and docs/waits.md name it. */
export const waitState = (name) => waitStates.get(name) ?? name.replaceAll('-', ' ');

/** Guess from a member's name how its value reads: the unit ends the name. */
export function byName(name, value) {
    if (value === null || value === undefined) {
        return missing;
    }
    if (typeof value === 'boolean') {
        return value ? 'yes' : 'no';
    }
    if (Array.isArray(value)) {
        return value.length > 12
            ? `${value.length} values`
            : value.map((v) => byName(name, v)).join(', ');
    }
    if (typeof value === 'object') {
        return Object.entries(value)
            .map(([key, inner]) => `${key}=${byName(key, inner)}`)
            .join(', ');
    }
    if (name === 'state') {
        return waitState(String(value));
    }
    if (typeof value !== 'number') {
        return String(value);
    }
    if (name.endsWith('_s')) {
        return seconds(value);
    }
    if (name.endsWith('_ns')) {
        return nanoseconds(value);
    }
    if (name === 'bytes' || name.endsWith('_bytes')) {
        return bytes(value);
    }
    // Shares of a whole, and relative spreads; ratios of two times stay numbers.
    if (/^(overlap(_h08|_osu|_imb)?|decidable|(.*[._])?(share(_low|_high)?|covered)|launch[_-]spread|tolerance|significance)$/.test(name)) {
        return percent(value);
    }
    if (['seed', 'launch', 'location'].includes(name)) {
        return String(value);
    }
    return number(value, 6);
}

/** A row in words, by those of the named members that it has. */
export function inWords(row, names) {
    const word = (name, value) => (name === 'processes' ? `${value} processes`
        : ['root', 'launch'].includes(name) ? `${name} ${value}` : byName(name, value));
    return names.filter((n) => row[n] !== undefined).map((n) => word(n, row[n])).join(', ');
}

/** What a member's name means in words: "skew_median_s" becomes "Skew median". */
export function title(name) {
    const quantile = /^p(\d\d)(_s)?$/.exec(name);
    if (quantile) {
        return `${quantile[1]} %`;
    }
    if (name === 'ci95_covered') {
        return 'Level of the interval';
    }
    if (name.startsWith('ci95_')) {
        return `95 % ${name.split('_')[1]}`;
    }
    if (name === 'mpi') {
        return 'MPI';
    }
    if (name === 'p_adjusted') {
        return 'p, adjusted';
    }
    const words = name.replace(/_(s|ns)$/, '').replace(/_a$/, ' before').replace(/_b$/, ' after').replaceAll('_', ' ');
    return words.charAt(0).toUpperCase() + words.slice(1);
}
