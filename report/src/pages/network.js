// SPDX-License-Identifier: BSD-3-Clause
// Round trips (H08 fig 4, 6), drift (H18 fig 2, H08 fig 5) and the time sources of the machine.
import { ChartCard } from '../chart.js';
import { h, panels } from '../dom.js';
import * as format from '../format.js';
import { histogramOption, lineOption } from '../lines.js';
import { ascending, histogram, quantile } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';

const most = 8;
const mostBars = 50;

/** Neighbours in one bar: bars narrower than the steps of a clock are a comb. */
function merged(bins) {
    const each = Math.ceil(bins.length / mostBars);
    return Array.from({ length: Math.ceil(bins.length / each) }, (_x, i) => {
        const part = bins.slice(i * each, (i + 1) * each);
        return [part[0][0], part[part.length - 1][1], part.reduce((sum, bin) => sum + bin[2], 0)];
    });
}

function rttBins(row) {
    if (row.histogram?.counts) {
        const { edges_s: edges, counts } = row.histogram;
        const bins = counts.map((count, i) => [edges[i], edges[i + 1], count]);
        // the last reaches to the maximum: as a bar it would say that most lie there
        return merged(bins.filter(([low, high]) => high - low <= 5 * (edges[1] - edges[0])));
    }
    if (!row.raw_s) {
        return [];
    }
    const sorted = ascending(row.raw_s);
    const { low, width, counts } = histogram(sorted, sorted[0], quantile(sorted, 0.995));
    return counts.map((count, i) => [low + i * width, low + (i + 1) * width, count]);
}

function beyond(row) {
    const left = row.n - rttBins(row).reduce((sum, bin) => sum + bin[2], 0);
    return left > 0 ? `round trip (${left === 1 ? '1 more lies' : `${format.number(left)} more lie`} beyond, up to ${format.seconds(row.max_s)})` : 'round trip';
}

const pair = (row) => (row.from === undefined ? row.clock || 'all' : `rank ${row.from} to ${row.to}`);

export function buildRtt(rows) {
    const cards = rows.slice(0, most).map((row) => new ChartCard({
        title: `Round trips, ${pair(row)}`,
        note: `${format.number(row.n)} exchanges: least ${format.seconds(row.min_s)}, median ${
            format.seconds(row.median_s)}, 99 % ${format.seconds(row.p99_s)}`,
        height: 280,
        option: (colours) => histogramOption(colours, { bins: rttBins(row), xName: beyond(row), xFormat: format.seconds }),
        csv: () => [['from_s', 'to_s', 'count'], ...rttBins(row)],
    }));
    const steps = rows.flatMap((row) => (row.quality || []).map((q) => ({
        ...q, name: pair(row), error_s: q.error_s > 1e-12 ? q.error_s : null })));
    if (steps.length) {
        const line = (title, member, yName) => new ChartCard({
            title, height: 280,
            option: (colours, width) => lineOption(colours, {
                rows: steps, key: (q) => q.name, x: (q) => q.exchanges, y: (q) => q[member], xLog: true, yLog: true,
                xName: 'exchanges', yName, xFormat: (v) => format.number(v), yFormat: format.seconds,
            }, width),
            csv: () => [['pair', 'exchanges', member], ...steps.map((q) => [q.name, q.exchanges, q[member]])],
        });
        cards.push(line('How good the minimum of N exchanges is', 'error_s', 'time above the best minimum'));
        cards.push(line('What N exchanges cost', 'cost_s', 'time of all exchanges'));
    }
    return h('div', {}, panels(cards),
        new DataTable({ name: 'Round trips', columns: plainColumns(rows), rows }).element);
}

/** Dashed lines across a chart, which they are always in view of. */
const limits = (values) => (!values ? {} : {
    within: values,
    marks: (c) => ({ silent: true, symbol: 'none', label: { show: false }, precision: 20,
        lineStyle: { color: c.bad, type: 'dashed' }, data: values.map((yAxis) => ({ yAxis })) }),
});

export function buildDrift(rows) {
    const points = (member) => rows.flatMap((row) =>
        (row[member] || []).map((y, i) => ({ name: `rank ${row.rank}`, x: row.times_s?.[i] ?? i, y })));
    const windows = rows.flatMap((row) => (row.windows || []).map((w) => ({ ...w, name: `rank ${row.rank}` })));
    const tolerance = rows.find((r) => r.tolerance_ns)?.tolerance_ns;
    const line = (title, note, list, x, y, yName, yFormat, more = {}) => new ChartCard({
        title, note, height: 320,
        option: (colours, width) => lineOption(colours, {
            rows: list, key: (p) => p.name, x: (p) => p[x], y: (p) => p[y], xName: 'time', yName,
            xFormat: format.seconds, yFormat, ...more,
        }, width),
        csv: () => [['name', x, y], ...list.map((p) => [p.name, p[x], p[y]])],
    });
    const cards = [line('Offset to the reference', 'Each clock against the reference rank.', points('offsets_ns'),
        'x', 'y', 'offset to the reference', format.nanoseconds)];
    if (rows.some((r) => r.residuals_ns)) {
        cards.push(line('What a straight line leaves over', tolerance
            ? `Offsets minus the line fitted to all of them; dashed: the tolerance of ±${format.nanoseconds(tolerance)}.`
            : 'Offsets minus the line fitted to all of them.',
            points('residuals_ns'), 'x', 'y', 'offset minus line', format.nanoseconds, limits(tolerance && [-tolerance, tolerance])));
    }
    if (windows.length) {
        cards.push(line('Fit over growing windows', '1 − R² of a line: small is straight.',
            windows.map((w) => ({ ...w, rest: Math.max(1 - w.r2, 1e-16) })), 'window_s', 'rest', '1 − R² (no unit)',
            (v) => format.number(v, 3), { xLog: true, yLog: true, xName: 'length of the window' }));
    }
    if (windows.some((w) => w.max_residual_ns)) {
        cards.push(line('For how long a line holds', tolerance
            ? `Dashed: the tolerance of ${format.nanoseconds(tolerance)}.` : '', windows, 'window_s',
            'max_residual_ns', 'largest distance from the line', format.nanoseconds,
            { xLog: true, yLog: true, xName: 'length of the window', ...limits(tolerance && [tolerance]) }));
    }
    return h('div', {}, panels(cards),
        new DataTable({ name: 'Drift', columns: plainColumns(rows), rows }).element);
}

export function buildClocks(rows) {
    return new DataTable({ name: 'Time sources', columns: plainColumns(rows), rows }).element;
}
