// SPDX-License-Identifier: BSD-3-Clause
// How accurate, how long it stays so, and how costly each synchronisation is (H18 fig 3-6, S23 fig 15-16).
import { ChartCard } from '../chart.js';
import { dimensions, telling } from '../data.js';
import { arrange, h, panels, segmented } from '../dom.js';
import { Filters } from '../filters.js';
import * as format from '../format.js';
import { lineOption } from '../lines.js';
import { ascending, groupBy, order, quantile } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';

const tip = (row) => [
    ['processes', row.processes],
    ['repetition', row.repetition],
    ['rms error', format.nanoseconds(row.rms_error_ns)],
    ['sigma', format.nanoseconds(row.max_sigma_ns)],
    ['exchanges', format.number(row.exchanges)],
    ['error known', row.truth ? 'exactly' : 'by exchanges'],
];

/** The ranks of the 95 % interval of a median of n: binomial, by its normal approximation as ictus computes it. */
function medianInterval(sorted) {
    const half = 0.98 * Math.sqrt(sorted.length);
    const middle = sorted.length / 2;
    return [sorted[Math.max(0, Math.floor(middle - half) - 1)], sorted[Math.min(sorted.length - 1, Math.ceil(middle + half))]];
}

/** One row of medians and their 95 % intervals for each name, process count and wait. */
function medians(rows, key, member) {
    const out = [];
    for (const group of groupBy(rows, (r) => `${key(r)}\n${r.processes}\n${r.wait_s}`).values()) {
        const sorted = ascending(group.map((r) => r[member]).filter(Number.isFinite));
        const [low, high] = medianInterval(sorted);
        out.push({ ...group[0], value: quantile(sorted, 0.5), low, high, count: sorted.length });
    }
    return out;
}

export function build(rows) {
    const dims = dimensions(rows, ['processes', 'wait_s']);
    let error = 'max_error_ns';
    let cards = [];
    const charts = panels();
    const filters = new Filters(dims, show);
    const table = new DataTable({ name: 'Synchronisations', columns: plainColumns(rows), rows });
    const errorName = () => (error === 'max_error_ns' ? 'largest error of any clock' : 'RMS error of the clocks');
    let within = []; // all errors that are shown: charts of the error have one range

    function overDuration(group, wait, name) {
        return new ChartCard({
            title: `Error over duration, ${wait === 0 ? 'at the end of the sync' : `${format.seconds(wait)} later`}`,
            note: 'One point for each repetition; further left and lower is better.',
            height: 360,
            option: (colours, width) => lineOption(colours, {
                rows: group, key: name, points: true, x: (r) => r.duration_s, y: (r) => r[error], xLog: true,
                yLog: true, xName: 'duration of the synchronisation', yName: errorName(),
                xFormat: format.seconds, yFormat: format.nanoseconds, tip, within,
            }, width),
            csv: () => [['sync', 'processes', 'repetition', 'wait_s', 'duration_s', error],
                        ...group.map((r) => [r.sync, r.processes, r.repetition, r.wait_s, r.duration_s, r[error]])],
        });
    }

    /** How the error grows while nothing synchronises: medians over repetitions, for the largest process count. */
    function overWait(group, name) {
        const processes = Math.max(...group.map((r) => r.processes));
        const points = medians(group.filter((r) => r.processes === processes), name, error);
        return new ChartCard({
            title: `Error over the time since the synchronisation, ${processes} processes`, height: 360, wide: true,
            note: 'Medians over repetitions, with their 95 % intervals.',
            option: (colours, width) => lineOption(colours, {
                rows: points, key: name, x: (r) => r.wait_s, y: (r) => r.value, low: (r) => r.low, high: (r) => r.high,
                yLog: true, xName: 'time since the synchronisation', yName: errorName(), xFormat: format.seconds,
                yFormat: format.nanoseconds, tip: (r) => [['repetitions', r.count],
                    ['95 % interval', `${format.nanoseconds(r.low)} – ${format.nanoseconds(r.high)}`]], within,
            }, width),
            csv: () => [['sync', 'processes', 'wait_s', 'median_ns', 'ci95_low_ns', 'ci95_high_ns'],
                        ...points.map((r) => [r.sync, r.processes, r.wait_s, r.value, r.low, r.high])],
        });
    }

    function overProcesses(group, member, heading, yName, yFormat, name) {
        const points = medians(group, name, member);
        return new ChartCard({
            title: heading,
            note: 'Medians over repetitions, with their 95 % intervals.',
            option: (colours, width) => lineOption(colours, {
                rows: points, key: name, x: (r) => r.processes, y: (r) => r.value, low: (r) => r.low,
                high: (r) => r.high, xLog: true, xBase: 2, yLog: true, xName: 'processes', yName,
                xFormat: (v) => format.number(v), yFormat, tip: (r) => [['repetitions', r.count]],
                within: member === error ? within : [],
            }, width),
            csv: () => [['sync', 'processes', 'wait_s', 'median', 'ci95_low', 'ci95_high'],
                        ...points.map((r) => [r.sync, r.processes, r.wait_s, r.value, r.low, r.high])],
        });
    }

    function promise(group, name) {
        const known = group.filter((r) => r.max_sigma_ns > 0 && r.max_error_ns > 0);
        const within = known.filter((r) => r.max_error_ns <= 1.96 * r.max_sigma_ns).length;
        const range = (member) => known.reduce(([low, high], r) =>
            [Math.min(low, r[member]), Math.max(high, r[member])], [Infinity, 0]);
        return new ChartCard({
            title: 'What the clock claimed, and what was true',
            note: known.length
                ? `In ${format.percent(within / known.length)} of ${known.length} cases the largest error over all processes was at most 1.96 times the largest sigma (dashed: error = sigma).`
                : '',
            height: 360,
            option: (colours, width) => lineOption(colours, {
                rows: known, key: name, points: true, x: (r) => r.max_sigma_ns, y: (r) => r.max_error_ns,
                xLog: true, yLog: true, xName: 'standard deviation that the clock claims', yName: 'largest error of any clock',
                xFormat: format.nanoseconds, yFormat: format.nanoseconds, tip,
                marks: (c) => {
                    const [sigma, off] = [range('max_sigma_ns'), range('max_error_ns')];
                    const low = Math.max(sigma[0], off[0]);
                    const high = Math.min(sigma[1], off[1]);
                    return { silent: true, symbol: 'none', lineStyle: { color: c.muted, type: 'dashed' },
                             label: { show: false },
                             data: low < high ? [[{ coord: [low, low] }, { coord: [high, high] }]] : [] };
                },
            }, width),
            csv: () => [['sync', 'processes', 'wait_s', 'max_sigma_ns', 'max_error_ns'],
                        ...known.map((r) => [r.sync, r.processes, r.wait_s, r.max_sigma_ns, r.max_error_ns])],
        });
    }

    function show() {
        const shown = filters.apply(rows);
        const names = telling(shown);
        const name = (row) => names.map((n) => row[n]).join(', ') || row.sync;
        cards.forEach((card) => card.dispose());
        cards = [];
        const waits = groupBy(shown, (r) => r.wait_s);
        within = shown.map((r) => r[error]).filter((v) => v > 0);
        if (waits.size > 1) {
            cards.push(overWait(shown, name));
        }
        for (const wait of order(waits.keys()).slice(0, 8)) {
            cards.push(overDuration(waits.get(wait), wait, name));
        }
        if (new Set(shown.map((r) => r.processes)).size > 1) {
            for (const wait of order(waits.keys()).slice(0, 4)) {
                cards.push(overProcesses(waits.get(wait), error,
                    `Accuracy over processes, ${wait === 0 ? 'at the end' : `${format.seconds(wait)} later`}`,
                    errorName(), format.nanoseconds, name));
            }
            cards.push(overProcesses(waits.get(order(waits.keys())[0]) || [], 'duration_s',
                'Duration over processes', 'duration of the synchronisation', format.seconds, name));
        }
        if (shown.some((r) => r.max_sigma_ns > 0)) { // where all read one clock it promises nothing
            cards.push(promise(shown, name));
        }
        arrange(charts, cards.map((c) => c.element));
        table.setRows(shown);
    }

    const controls = h('div', { class: 'controls' },
        segmented('error', [['max_error_ns', 'Largest error'], ['rms_error_ns', 'RMS error']], error, (value) => {
            error = value;
            show();
        }));
    show();
    return h('div', {}, filters.element, controls, charts, table.element);
}
