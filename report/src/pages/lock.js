// SPDX-License-Identifier: BSD-3-Clause
// A clock locked over the network: offset, delays in three parts, variation, accuracy (M00 fig 3-7).
import { ChartCard } from '../chart.js';
import { dimensions } from '../data.js';
import { arrange, h, panels } from '../dom.js';
import { Filters } from '../filters.js';
import * as format from '../format.js';
import { barOption, lineOption } from '../lines.js';
import { ascending, groupBy, quantile } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';

const parts = [['send_s', 'send'], ['network_s', 'network'], ['receive_s', 'receive']];

export function build(rows) {
    const charts = panels();
    const filters = new Filters(dimensions(rows), show);
    const table = new DataTable({ name: 'Polls', columns: plainColumns(rows), rows });
    let cards = [];

    const over = (list, title, members, yName, yFormat, more = {}) => {
        const points = list.flatMap((r, i) => members.filter(([m]) => Number.isFinite(r[m])).map(([m, name]) => ({
            name, x: r.elapsed_s ?? i, y: r[m], row: r })));
        return new ChartCard({
            title, height: 300,
            option: (colours, width) => lineOption(colours, {
                rows: points, key: (p) => p.name, x: (p) => p.x, y: (p) => p.y, xName: 'time since the start', yName,
                xFormat: format.seconds, yFormat, tip: (p) => [['state', p.row.state]], ...more }, width),
            csv: () => [['name', 'elapsed_s', yName], ...points.map((p) => [p.name, p.x, p.y])],
        });
    };

    function delays(list) {
        const groups = groupBy(list, (r) => [r.server, r.stamps].filter(Boolean).join(', ') || 'all');
        const names = [...groups.keys()];
        const stat = (name, member, q) => quantile(ascending(groups.get(name).map((r) => r[member]).filter(Number.isFinite)), q);
        const card = (title, value) => new ChartCard({
            title, height: 300,
            option: (colours, width) => barOption(colours, {
                names, stacked: value === 'median', yName: 'delay', yFormat: format.seconds,
                series: parts.map(([m, name], i) => ({ name, colour: colours.series[i], values: names.map((n) =>
                    value === 'median' ? stat(n, m, 0.5) : stat(n, m, 0.95) - stat(n, m, 0.05)) })) }, width),
            csv: () => [['source', ...parts.map((p) => p[1])],
                        ...names.map((n) => [n, ...parts.map(([m]) => stat(n, m, 0.5))])],
        });
        return [card('Delay in three parts (medians)', 'median'), card('Variation of each part (5 to 95 %)', 'spread')];
    }

    function show() {
        const shown = filters.apply(rows);
        cards.forEach((c) => c.dispose());
        cards = [
            over(shown, 'Offset', [['offset_ns', 'offset']], 'offset to the server', format.nanoseconds),
            over(shown, 'Accuracy: expected, predicted, measured', [['expected_ns', 'expected'],
                ['predicted_ns', 'predicted'], ['measured_ns', 'measured'], ['sigma_ns', 'sigma'], ['bound_ns', 'hard bound']],
                'error of the clock', format.nanoseconds, { yLog: true }),
            over(shown, 'Frequency', [['frequency_ppm', 'frequency']], 'frequency correction (ppm)', (v) => format.number(v), { yScale: true }),
            over(shown, 'Poll interval', [['interval_s', 'interval']], 'time between polls', format.seconds),
        ];
        if (shown.some((r) => Number.isFinite(r.network_s))) {
            cards.push(...delays(shown), over(shown, 'Delays over time', parts, 'delay', format.seconds, { names: parts.map(([, name]) => name) }));
        }
        arrange(charts, cards.map((c) => c.element));
        table.setRows(shown);
    }

    show();
    return h('div', {}, filters.element, charts, table.element);
}
