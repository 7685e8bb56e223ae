// SPDX-License-Identifier: BSD-3-Clause
// How far apart processes leave a barrier, and who is first and last (S23 fig 3, H18 fig 8).
import { ChartCard } from '../chart.js';
import { dimensions } from '../data.js';
import { h, select } from '../dom.js';
import { Filters } from '../filters.js';
import * as format from '../format.js';
import { barOption, dotOption, lineOption } from '../lines.js';
import { ascending, ecdf, order } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';

const most = 24;

export function build(rows) {
    const panels = h('div', { class: 'panels' });
    const filters = new Filters(dimensions(rows, ['processes']), show);
    const table = new DataTable({ name: 'Barriers', columns: plainColumns(rows), rows });
    const message = h('p', { class: 'message', role: 'status' });
    let cards = [];
    let processes = String(Math.max(...rows.map((r) => r.processes)));
    let shown = rows;

    const name = () => {
        const names = dimensions(shown).filter((d) => d.varies).map((d) => d.name);
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
            option: (colours, width) => {
                const option = lineOption(colours, {
                    rows: points, key: (p) => p.name, x: (p) => p.x, y: (p) => p.y, xLog: true,
                    xName: 'skew', yName: 'share of barriers', xFormat: format.seconds,
                    yFormat: (v) => format.percent(v),
                }, width);
                option?.series.forEach((s) => { s.showSymbol = false; });
                return option;
            },
            csv: () => [['name', 'skew_s', 'share'], ...points.map((p) => [p.name, p.x, p.y])],
        });
    }

    function ends(row) {
        const ranks = row.first.map((_n, i) => `rank ${i}`);
        return new ChartCard({
            title: `Who leaves first and last: ${name()(row)}, ${row.processes} processes`, height: 260,
            option: (colours) => barOption(colours, {
                names: ranks, yName: 'times', yFormat: (v) => format.number(v),
                series: [{ name: 'first', values: row.first, colour: colours.series[0] },
                         { name: 'last', values: row.last || [], colour: colours.series[1] }],
            }),
            csv: () => [['rank', 'first', 'last'], ...row.first.map((n, i) => [i, n, row.last?.[i]])],
        });
    }

    function show() {
        shown = filters.apply(rows);
        cards.forEach((c) => c.dispose());
        const key = name();
        cards = [
            new ChartCard({
                title: `Skew at the exit, ${processes} processes`, note: 'Median and its 95 % interval.', height: 340,
                option: (colours) => dotOption(colours, {
                    rows: here(), key, y: (r) => r.skew_median_s, yName: 'skew', yFormat: format.seconds, yLog: true,
                    ...interval }),
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
                    yLog: true, xName: 'processes', yName: 'median skew', xFormat: (v) => format.number(v),
                    yFormat: format.seconds, ...interval }, width),
                csv: () => [['name', 'processes', 'skew_median_s'],
                            ...shown.map((r) => [key(r), r.processes, r.skew_median_s])],
            }));
        }
        const known = here().filter((r) => r.first);
        cards.push(...known.slice(0, most).map(ends));
        message.textContent = known.length > most ? `Who leaves first and last is drawn for ${most} of ${known.length}: narrow the filter.` : '';
        panels.replaceChildren(...cards.map((c) => c.element));
        table.setRows(shown);
    }

    const counts = order(new Set(rows.map((r) => r.processes))).map((n) => [String(n), String(n)]);
    const controls = h('div', { class: 'controls' },
        select('Processes', counts, processes, (value) => { processes = value; show(); }));
    show();
    return h('div', {}, filters.element, counts.length > 1 ? controls : null, message, panels, table.element);
}
