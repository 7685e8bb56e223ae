// SPDX-License-Identifier: BSD-3-Clause
// What a nonblocking collective costs the CPU and how much of it hides behind work (H08 4, fig 11).
import { ChartCard } from '../chart.js';
import { dimensions, telling } from '../data.js';
import { arrange, h, panels, select } from '../dom.js';
import { Filters } from '../filters.js';
import * as format from '../format.js';
import { barOption, lineOption } from '../lines.js';
import { groupBy, order } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';

export function build(rows) {
    const charts = panels();
    const filters = new Filters(dimensions(rows, ['bytes', 'processes', 'interval_bytes']), show);
    const table = new DataTable({ name: 'Overlap', columns: plainColumns(rows, ['overlap_percent']), rows });
    const formulas = [...new Set(rows.map((r) => r.formula).filter(Boolean))];
    let cards = [];
    let bytes = null;

    function line(list, key, title, y, yName, yFormat, yLog) {
        return new ChartCard({
            title, height: 330,
            option: (colours, width) => lineOption(colours, {
                rows: list, key, x: (r) => r.bytes, y, xLog: true, xBase: 2, yLog, xName: 'bytes contributed by a process',
                yName, xFormat: format.bytes, yFormat,
                tip: (r) => [['start', format.seconds(r.init_s)], ['tests', format.seconds(r.test_s)],
                             ['wait', format.seconds(r.wait_s)], ['blocking', format.seconds(r.blocking_s)],
                             ['overlap', format.percent(r.overlap)]],
            }, width),
            csv: () => [['name', 'bytes', yName], ...list.map((r) => [key(r), r.bytes, y(r)])],
        });
    }

    function show() {
        const shown = filters.apply(rows);
        const names = telling(shown, ['processes', 'interval_bytes']);
        // operation and strategy first; only tests have an interval
        const rest = names.filter((n) => !['operation', 'strategy', 'interval_bytes'].includes(n));
        const key = (r) => [r.operation, r.strategy, format.inWords(r, rest),
            names.includes('interval_bytes') && r.strategy === 'tests' ? `every ${format.bytes(r.interval_bytes)}` : '']
            .filter(Boolean).join(', ');
        const sizes = order(groupBy(shown, (r) => r.bytes).keys());
        const at = sizes.includes(Number(bytes)) ? Number(bytes) : sizes[sizes.length - 1];
        const one = shown.filter((r) => r.bytes === at).slice(0, 24);
        cards.forEach((c) => c.dispose());
        cards = [
            line(shown, key, 'CPU overhead over size', (r) => r.overhead_s ?? r.init_s + r.test_s + r.wait_s, 'time of the CPU',
                format.seconds, true),
            line(shown, key, 'Share hidden behind computation', (r) => r.overlap, 'share hidden (%)', (v) => format.percent(v), false),
            new ChartCard({
                title: `Where the overhead is, ${format.bytes(at)}`, height: 330, wide: true,
                option: (colours, width) => barOption(colours, {
                    names: one.map(key), yName: 'time of the CPU', yFormat: format.seconds, stacked: true,
                    series: [['start', 'init_s'], ['tests', 'test_s'], ['wait', 'wait_s']].map(([name, member], i) => ({
                        name, values: one.map((r) => r[member]), colour: colours.series[i] })),
                }, width),
                csv: () => [['name', 'init_s', 'test_s', 'wait_s'], ...one.map((r) => [key(r), r.init_s, r.test_s, r.wait_s])],
            }),
        ];
        arrange(charts, cards.map((c) => c.element));
        table.setRows(shown);
    }

    const sizes = order(new Set(rows.map((r) => r.bytes)));
    bytes = sizes[sizes.length - 1];
    const controls = h('div', { class: 'controls' },
        select('Bars for', sizes.map((s) => [String(s), format.bytes(s)]), String(bytes), (v) => { bytes = v; show(); }));
    show();
    return h('div', {}, filters.element, controls,
        formulas.length ? h('p', { class: 'message' }, `Overlap is ${formulas.join('; ')}.`) : null, charts, table.element);
}
