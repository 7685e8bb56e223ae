// SPDX-License-Identifier: BSD-3-Clause
// When processes come to a collective, call site by call site (docs/arrivals.md): how far apart, who, and how persistently.
import { axis, below, ChartCard } from '../chart.js';
import { arrange, h, panels, select } from '../dom.js';
import * as format from '../format.js';
import { dotOption, lineOption, tipTable } from '../lines.js';
import { DataTable } from '../table.js';
import { everySo } from '../ticks.js';
import { inkOn } from '../ink.js';

const most = 30;

/** Offsets that are no larger than their error say nothing: they are drawn grey and hollow. */
const known = (r) => Number.isFinite(r.error_ns) && r.spread_ns > r.error_ns;

const plusMinus = (r) => (Number.isFinite(r.error_ns) ? `± ${format.nanoseconds(r.error_ns, 3)}` : '± not known');

const title = (r) => `${r.call ?? r.operation} at ${r.site}`;

/** What the first of each call waited for the last, in all calls: one that came once, before the computation began, is not the worst site. */
const waited = (r) => r.spread_ns * (r.instances ?? 1);

/** One object a rank. Without quantiles: 95 % of a normal distribution of that mean and deviation. */
function ranksOf(r) {
    return (r.mean_ns ?? []).map((mean, rank) => {
        const q = r.quantiles_ns?.[rank];
        const sd = r.sd_ns?.[rank] ?? 0;
        return { rank, mean, sd, middle: q ? q[3] : mean, low: q ? q[1] : Math.max(0, mean - 1.96 * sd), high: q ? q[5] : mean + 1.96 * sd,
                 longest: q?.[6], last: r.last?.[rank], correlation: r.autocorrelation?.[rank] };
    });
}

function spreads(rows) {
    const several = new Set(rows.map((r) => r.file)).size > 1;
    const shown = [...rows].sort((a, b) => waited(b) - waited(a)).slice(0, most);
    return new ChartCard({
        title: 'How far apart processes arrive', height: 100 + 26 * shown.length, wide: true,
        note: `Offset of the last arrival, median over the calls of each site, with its 95 % error. Grey and hollow: no larger than its error.${
            rows.length > most ? ` The ${most} of ${rows.length} sites where processes waited longest in all.` : ''}`,
        option: (colours, width) => dotOption(colours, {
            rows: shown, largestFirst: true, key: (r) => (several ? `${title(r)}, ${r.file}` : title(r)), y: (r) => r.spread_ns,
            low: (r) => Math.max(0, r.spread_ns - r.error_ns), high: (r) => r.spread_ns + r.error_ns, within: [0],
            yName: 'offset of the last arrival', yFormat: format.nanoseconds,
            look: (r, c) => (known(r) ? { colour: c.accent, symbol: 'circle' } : { colour: c.muted, symbol: 'emptyCircle' }),
            tip: (r) => [['error', plusMinus(r)], ['the operation takes', format.seconds(r.duration_s)], ['persistence', format.number(r.persistence, 3)],
                         ['calls', format.number(r.instances)], ['ranks', format.number(r.ranks)]] }, width),
        csv: () => [['file', 'site', 'call', 'spread_ns', 'error_ns', 'duration_s', 'persistence', 'instances', 'ranks'],
                    ...rows.map((r) => [r.file, r.site, r.call, r.spread_ns, r.error_ns, r.duration_s, r.persistence, r.instances, r.ranks])],
    });
}

function offsets(r) {
    const ranks = ranksOf(r);
    return new ChartCard({
        title: `Arrival of each rank: ${title(r)}`, height: 340, wide: true,
        note: `Offset from the first arrival: median, and where ${r.quantiles_ns ? '5 to 95 % of the calls lie' : '95 % of the calls lie (from the standard deviation)'
        }. Each offset is ${plusMinus(r)}${known(r) ? '' : ', as large as what it shows: this may be noise'}.`,
        option: (colours, width) => lineOption(colours, {
            rows: ranks, key: () => 'median, with 5 to 95 % of the calls', x: (p) => p.rank, y: (p) => p.middle, low: (p) => p.low, high: (p) => p.high,
            points: true, xName: 'rank in the communicator', xWhole: true, yName: 'offset of arrival', xFormat: (v) => format.number(v), yFormat: format.nanoseconds,
            look: (_p, c) => (known(r) ? { colour: c.series[0], symbol: 'circle' } : { colour: c.muted, symbol: 'emptyCircle' }),
            tip: (p) => [['5 to 95 %', `${format.nanoseconds(p.low)} – ${format.nanoseconds(p.high)}`], ['longest', format.nanoseconds(p.longest)],
                         ['mean', format.nanoseconds(p.mean)], ['clock error', plusMinus(r)], ['last of all in', format.percent(p.last)],
                         ['autocorrelation', format.number(p.correlation, 3)]] }, width),
        csv: () => [['rank', 'median_ns', 'low_ns', 'high_ns', 'mean_ns', 'sd_ns', 'error_ns', 'last', 'autocorrelation'],
                    ...ranks.map((p) => [p.rank, p.middle, p.low, p.high, p.mean, p.sd, r.error_ns, p.last, p.correlation])],
    });
}

function lasts(r) {
    const ranks = ranksOf(r).filter((p) => Number.isFinite(p.last)).map((p) => ({ ...p, percent: 100 * p.last }));
    return !ranks.length ? null : new ChartCard({
        title: `Who is last: ${title(r)}`, height: 300, wide: true,
        note: `In how many calls each rank came last. In random order each would in ${format.percent(1 / r.ranks)} of them.${
            Number.isFinite(r.persistence) ? ` Persistence ${format.number(r.persistence, 3)}, from 0 (random) to 1 (always the same order).` : ''}`,
        option: (colours, width) => lineOption(colours, {
            rows: ranks, key: () => 'share of the calls', x: (p) => p.rank, y: (p) => p.percent, points: true, within: [100 / r.ranks],
            xName: 'rank in the communicator', xWhole: true, yName: 'last of all in (% of calls)', xFormat: (v) => format.number(v), yFormat: (v) => format.number(v),
            marks: (c) => ({ silent: true, symbol: 'none', lineStyle: { color: c.muted, type: 'dashed' },
                             label: { color: c.muted, formatter: 'random', position: 'insideEndTop' }, data: [{ yAxis: 100 / r.ranks }] }) }, width),
        csv: () => [['rank', 'last'], ...ranks.map((p) => [p.rank, p.last])],
    });
}

/**
 * Calls by ranks, in the order of the calls: the darker, the later; stripes are persistent, speckles are random. The scale ends at twice
 * the median spread, or a single suspended process would leave all others in one shade.
 */
function history(r) {
    const table = r.offsets_ns;
    if (!table?.length) {
        return null;
    }
    const every = r.offsets_every ?? 1;
    const latest = Math.max(...table.map((row) => Math.max(...row)), 1);
    const high = Math.min(latest, 2 * r.spread_ns || latest);
    const calls = table.map((_row, i) => String(i * every + 1));
    const names = table[0].map((_v, rank) => String(rank));
    return new ChartCard({
        title: `Call by call: ${title(r)}`, height: Math.min(520, 130 + 16 * names.length), wide: true,
        note: `Offset of each rank in ${every > 1 ? `one call in ${every}` : 'each call'}. A row of one shade is a rank that always comes at the same time; speckles are chance.${
            high < latest ? ` Up to ${format.nanoseconds(latest, 3)}; all above the scale are drawn alike.` : ''}`,
        option: (colours, width) => {
            const step = everySo(table.length * every, width / 60);
            const told = (i) => i > 0 && Math.floor(calls[i] / step) > Math.floor(calls[i - 1] / step);
            return {
                legend: { show: false }, grid: { top: 14, bottom: 66 },
                tooltip: { trigger: 'item', formatter: ({ value: [call, rank, ns] }) => tipTable(`rank ${rank}, call ${calls[call]}`, [
                    ['offset of arrival', format.nanoseconds(ns)], ['clock error', plusMinus(r)]]) },
                xAxis: axis(colours, { type: 'category', ...below, name: 'call', data: calls, splitLine: { show: false },
                                       axisLabel: { interval: told }, axisTick: { interval: told } }),
                yAxis: axis(colours, { type: 'category', name: 'rank', data: names, splitLine: { show: false } }),
                visualMap: { min: 0, max: high, orient: 'horizontal', left: 'center', bottom: 0, itemWidth: 12, itemHeight: 120, calculable: false,
                             inRange: { color: colours.heat }, textStyle: { color: colours.muted }, text: [`${high < latest ? '≥ ' : ''}${format.nanoseconds(high, 3)}`, 'first'] },
                series: [{ type: 'heatmap', label: { show: table.length * names.length <= 60, formatter: ({ value }) => format.nanoseconds(value[2], 2) },
                    data: table.flatMap((row, call) => row.map((ns, rank) => ({ value: [call, rank, ns], label: { color: inkOn(colours, Math.min(1, ns / high)) } }))) }],
            };
        },
        csv: () => [['call', ...names.map((n) => `rank_${n}_ns`)], ...table.map((row, i) => [calls[i], ...row])],
    });
}

export function build(rows) {
    const sorted = [...rows].sort((a, b) => waited(b) - waited(a));
    const one = panels();
    let cards = [];
    const show = (index) => {
        const row = sorted[Number(index)];
        cards.forEach((c) => c.dispose());
        cards = [offsets(row), history(row), lasts(row)].filter(Boolean);
        arrange(one, cards.map((c) => c.element));
    };
    const several = new Set(rows.map((r) => r.file)).size > 1;
    const table = new DataTable({ name: 'Call sites', rows: sorted, muted: (r) => !known(r), click: (r) => show(sorted.indexOf(r)),
        columns: ['site', 'call', 'comm', 'bytes', 'ranks', 'instances', 'spread_ns', 'error_ns', 'duration_s', 'imbalance', 'persistence'] });
    show(0);
    return h('div', {}, panels([spreads(rows)]),
        h('div', { class: 'controls' }, select('Call site', sorted.map((r, i) => [String(i), several ? `${title(r)}, ${r.file}` : title(r)]), '0', show)),
        one, table.element);
}
