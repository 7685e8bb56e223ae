// SPDX-License-Identifier: BSD-3-Clause
// How far apart processes leave a barrier, and who is first and last (S23 fig 3, H18 fig 8).
import { axis, below, ChartCard } from '../chart.js';
import { dimensions, telling } from '../data.js';
import { arrange, h, panels, select } from '../dom.js';
import { Filters } from '../filters.js';
import * as format from '../format.js';
import { dotOption, lineOption, tipTable } from '../lines.js';
import { ascending, ecdf, order } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';
import { inkOn } from '../ink.js';

const mostRanks = 128;

export function build(rows) {
    const charts = panels();
    const filters = new Filters(dimensions(rows, ['processes']), show);
    const table = new DataTable({ name: 'Barriers', columns: plainColumns(rows), rows });
    let cards = [];
    let processes = String(Math.max(...rows.map((r) => r.processes)));
    let shown = rows;

    const name = () => {
        const names = telling(shown);
        return (row) => names.map((n) => row[n]).join(', ') || row.algorithm;
    };
    const here = () => shown.filter((r) => String(r.processes) === processes);
    const interval = {
        low: (r) => r.ci95_low_s,
        high: (r) => r.ci95_high_s,
        tip: (r) => [['95 % quantile', format.seconds(r.skew_p95_s)], ['largest', format.seconds(r.skew_max_s)],
                     ['starts', r.n]],
    };

    function distribution() {
        const points = here().flatMap((r) =>
            r.raw_s ? ecdf(ascending(r.raw_s), 300).map(([x, y]) => ({ name: name()(r), x, y })) : []);
        return new ChartCard({
            title: `Distribution of the skew, ${processes} processes`, height: 340,
            note: points.some((p) => !(p.x > 0)) ? 'Where the clock shows no skew at all, the curve begins above the left edge.' : '',
            option: (colours, width) => {
                const option = lineOption(colours, {
                    rows: points, key: (p) => p.name, x: (p) => p.x, y: (p) => p.y, xLog: true,
                    xName: 'skew at the exit', yName: 'share of barriers (%)', xFormat: format.seconds,
                    yFormat: (v) => format.percent(v),
                }, width);
                option?.series.forEach((s) => { s.step = 'end'; });
                return option;
            },
            csv: () => [['name', 'skew_s', 'share'], ...points.map((p) => [p.name, p.x, p.y])],
        });
    }

    /** Each barrier a row, each rank a column: how often it left first, or last. */
    function ends(list, end) {
        const key = name();
        const names = list.map(key);
        const count = Math.min(mostRanks, Math.max(...list.map((r) => r[end].length)));
        const share = (r, rank) => r[end][rank] / r[end].reduce((a, b) => a + b, 0);
        const cells = list.flatMap((r, y) => r[end].slice(0, count).map((_n, x) => ({ value: [x, y, share(r, x)], row: r })));
        const high = Math.max(...cells.map((c) => c.value[2]));
        return new ChartCard({
            title: `Who leaves ${end}, ${processes} processes`, height: 130 + 26 * list.length, wide: count > 16,
            note: `Share of the barriers that each rank left ${end}; with no preference each would have ${format.percent(1 / count)}.${
                list[0][end].length > count ? ` The first ${count} ranks are drawn.` : ''}`,
            option: (colours, width) => ({
                legend: { show: false }, grid: { top: 14, bottom: 66 },
                tooltip: { trigger: 'item', formatter: (p) => tipTable(`${key(p.data.row)}, rank ${p.data.value[0]}`,
                    [[`left ${end}`, `${p.data.row[end][p.data.value[0]]} of ${p.data.row.n}`]]) },
                xAxis: axis(colours, { type: 'category', name: 'rank', ...below, data: Array.from({ length: count }, (_x, i) => String(i)) }),
                yAxis: axis(colours, { type: 'category', name: 'algorithm', data: names, inverse: true }),
                visualMap: { min: 0, max: high, orient: 'horizontal', left: 'center', bottom: 0, itemWidth: 12, itemHeight: 120,
                             calculable: false, inRange: { color: colours.heat }, textStyle: { color: colours.muted },
                             text: [format.percent(high), '0'] },
                series: [{ type: 'heatmap', data: cells.map((c) => ({ ...c, label: { color: inkOn(colours, c.value[2] / high) } })),
                           label: { show: width / count > 46, formatter: (p) => format.percent(p.data.value[2], 2), fontSize: 11 },
                           itemStyle: { borderColor: colours.card, borderWidth: 1 } }],
            }),
            csv: () => [['name', 'rank', end], ...list.flatMap((r) => r[end].map((n, i) => [key(r), i, n]))],
        });
    }

    function show() {
        shown = filters.apply(rows);
        cards.forEach((c) => c.dispose());
        const key = name();
        cards = [
            new ChartCard({
                title: `Skew at the exit, ${processes} processes`, height: Math.max(240, 110 + 34 * here().length), wide: true,
                note: 'How long after the first process the last one leaves; the smallest median is on top.',
                option: (colours, width) => dotOption(colours, {
                    rows: here(), key, y: (r) => r.skew_median_s, yName: 'skew at the exit', yFormat: format.seconds, yLog: true,
                    named: 'median with its 95 % interval',
                    more: [['95 % quantile', (r) => r.skew_p95_s, 'triangle'], ['largest', (r) => r.skew_max_s, 'emptyDiamond']],
                    ...interval }, width),
                csv: () => [['name', 'skew_median_s', 'ci95_low_s', 'ci95_high_s'],
                            ...here().map((r) => [key(r), r.skew_median_s, r.ci95_low_s, r.ci95_high_s])],
            }),
        ];
        if (here().some((r) => r.raw_s)) {
            cards.push(distribution());
        }
        if (new Set(shown.map((r) => r.processes)).size > 1) {
            cards.push(new ChartCard({
                title: 'Skew over processes', height: 340,
                option: (colours, width) => lineOption(colours, {
                    rows: shown, key, x: (r) => r.processes, y: (r) => r.skew_median_s, xLog: true, xBase: 2,
                    yLog: true, xName: 'processes', yName: 'median skew at the exit', xFormat: (v) => format.number(v),
                    yFormat: format.seconds, ...interval }, width),
                csv: () => [['name', 'processes', 'skew_median_s'],
                            ...shown.map((r) => [key(r), r.processes, r.skew_median_s])],
            }));
        }
        const known = here().filter((r) => r.first);
        if (known.length) {
            cards.push(...['first', 'last'].filter((end) => known.every((r) => r[end])).map((end) => ends(known, end)));
        }
        arrange(charts, cards.map((c) => c.element));
        table.setRows(shown);
    }

    const counts = order(new Set(rows.map((r) => r.processes))).map((n) => [String(n), String(n)]);
    const controls = h('div', { class: 'controls' },
        select('Processes', counts, processes, (value) => { processes = value; show(); }));
    show();
    return h('div', {}, filters.element, counts.length > 1 ? controls : null, charts, table.element);
}
