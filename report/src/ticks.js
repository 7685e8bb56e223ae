// SPDX-License-Identifier: BSD-3-Clause
// Where an axis begins and ends, and its ticks: round numbers close to the data, at least four of them.

const fewest = 4;

/** Round steps of 1, 2, 2.5 or 5 times a power of ten, at most so many over a range. */
function stepOf(range, most) {
    const raw = range / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw * (1 - 1e-9));
}

function multiples(step, from, to) {
    const list = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-12) + step * 1e-9; i++) {
        list.push(Number((i * step).toPrecision(12)));
    }
    return list;
}

function linear(low, high, most, least) {
    if (low === high) {
        const half = Math.abs(low) / 2 || 1;
        return linear(low - half, high + half, most, least);
    }
    const step = Math.max(stepOf(high - low, Math.max(most, fewest)), least);
    const min = Number((Math.floor(low / step + 1e-9) * step).toPrecision(12));
    const max = Number((Math.ceil(high / step - 1e-9) * step).toPrecision(12));
    return { min, max, step, ticks: multiples(step, min, max) };
}

/**
 * From the first value to the last, with the round numbers between them: an axis of time or of samples ends where the data
 * end. Where there are only whole numbers, half a step is left free on both sides, so that no point lies on an axis.
 */
function tight(low, high, most, least) {
    if (low === high) {
        return linear(low, high, most, least);
    }
    const margin = least / 2;
    for (let more = Math.max(most, fewest); ; more *= 2) {
        const { ticks, step } = linear(low, high, more, least);
        const inside = ticks.filter((t) => t >= low && t <= high);
        if (inside.length >= fewest || step <= least) {
            return { min: low - margin, max: high + margin, ticks: inside };
        }
    }
}

/** Powers of the base, divided more finely until there are enough. */
function logarithmic(low, high, most, base) {
    const margin = Math.max((high / low) ** 0.04, 1.02);
    const [min, max] = [low / margin, high * margin];
    const from = Math.floor(Math.log(min) / Math.log(base));
    const to = Math.ceil(Math.log(max) / Math.log(base));
    for (const within of base === 2 ? [[1]] : [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]]) {
        const ticks = [];
        for (let power = from; power <= to; power++) {
            ticks.push(...within.map((f) => Number((f * base ** power).toPrecision(12))));
        }
        const inside = ticks.filter((t) => t >= min && t <= max);
        const every = Math.ceil(inside.length / most);
        if (inside.length >= fewest) {
            return { min, max, ticks: inside.filter((_t, i) => i % every === 0) };
        }
    }
    const { ticks } = linear(min, max, Math.max(most, fewest + 1), 0);
    return { min, max, ticks: ticks.filter((t) => t >= min && t <= max) };
}

/**
 * @param values what has to be seen, and nothing else
 * @param log    false, or true for a logarithmic axis, on which only positive values are
 * @param least  the smallest step: 1 where there is nothing between whole numbers
 * @param ends   whether a linear axis ends where the data end, not at the next round number
 * @return {min, max, ticks}, or null where there is nothing
 */
export function fitted(values, log = false, { most = 8, base = 10, least = 0, ends = false } = {}) {
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
        if (Number.isFinite(value) && (!log || value > 0)) {
            low = Math.min(low, value);
            high = Math.max(high, value);
        }
    }
    if (low > high) {
        return null;
    }
    return log ? logarithmic(low, high, most, base) : (ends ? tight : linear)(low, high, most, least);
}

/** The smallest of 1, 2, 5, 10, … by which at most so many labels fit on that many values. */
export function everySo(values, most) {
    let step = 1;
    for (let i = 0; values / step > most; i++) {
        step *= i % 3 === 1 ? 2.5 : 2;
    }
    return step;
}

/** An ECharts axis that keeps to what fitted() said. */
export function bounds(range) {
    if (!range) {
        return {};
    }
    return range.step ? { min: range.min, max: range.max, interval: range.step } : {
        min: range.min, max: range.max,
        axisTick: { customValues: range.ticks },
        axisLabel: { customValues: range.ticks },
    };
}
