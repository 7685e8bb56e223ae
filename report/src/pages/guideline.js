// SPDX-License-Identifier: BSD-3-Clause
// Performance guidelines: how an operation compares with what should not be faster than it (PGMPI).
import { axis, ChartCard } from '../chart.js';
import { h, segmented } from '../dom.js';
import * as format from '../format.js';
import { tipTable } from '../lines.js';
import { groupBy, order } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';
import { inkOn } from '../ink.js';

// colours saturate at half and at twice
const reach = 1;
const most = 12;

function rival(row) {
    if (row.kind === 'monotony') {
        return 'a larger size';
    }
    return row.against.replace(`${row.operation}_as_`, '').replace(`${row.operation}_in_`, 'in pieces: ');
}

function heat(colours, rows) {
    const names = order(new Set(rows.map(rival))).reverse();
    const sizes = order(new Set(rows.map((r) => r.bytes)));
    const value = (r) => Math.max(-reach, Math.min(reach, Math.log2(r.factor)));
    const ink = (r) => inkOn(colours, (value(r) + reach) / (2 * reach));
    return {
        legend: { show: false },
        grid: { top: 14, bottom: 66 },
        tooltip: { trigger: 'item', formatter: ({ data: { row } }) =>
            tipTable(`${row.operation} of ${format.bytes(row.bytes)} against ${rival(row)}`, [
                ['guideline', row.state],
                ['median', format.seconds(row.median_s)],
                [row.kind === 'monotony' ? `of ${format.bytes(row.against_bytes)}` : 'the other’s', format.seconds(row.against_median_s)],
                ['factor', `${format.number(row.factor, 4)} (${format.number(row.factor_low, 4)} – ${format.number(row.factor_high, 4)})`],
                ['p, corrected', format.number(row.p_adjusted, 3)]]) },
        xAxis: axis(colours, { type: 'category', name: 'message size', data: sizes.map(format.bytes) }),
        yAxis: axis(colours, { type: 'category', name: 'measured against', data: names }),
        visualMap: { min: -reach, max: reach, calculable: false, orient: 'horizontal', left: 'center', bottom: 0,
                     itemHeight: 120, itemWidth: 12, inRange: { color: colours.heat },
                     textStyle: { color: colours.muted }, text: ['slower than the other', 'faster'] },
        series: [{
            type: 'heatmap',
            data: rows.map((row) => ({ value: [sizes.indexOf(row.bytes), names.indexOf(rival(row)), value(row)], row,
                label: { formatter: `${format.number(row.factor, 3)}×${row.state === 'violated' ? ' !' : ''}`, color: ink(row),
                         fontWeight: row.state === 'violated' ? 'bold' : 'normal' } })),
            label: { show: rows.length <= 200, fontSize: 12 },
            itemStyle: { borderColor: colours.card, borderWidth: 2 },
        }],
    };
}

function findings(rows, told) {
    const found = rows.filter((r) => r.finding && r.state === 'violated').sort((a, b) => b.factor - a.factor);
    if (!found.length) {
        return told ? null : h('p', {}, 'No guideline is violated.');
    }
    return h('ul', { class: 'findings' }, found.slice(0, most).map((r) => h('li', {}, `${r.finding}.`)),
        found.length > most ? h('li', {}, `${found.length - most} more are in the table.`) : null);
}

export function build(rows) {
    const tested = rows.filter((r) => r.operation !== undefined && r.factor > 0);
    const said = rows.filter((r) => r.operation === undefined && r.verdict);
    let only = 'all';
    const cards = h('div', {});
    let drawn = [];

    function show() {
        drawn.forEach((c) => c.dispose());
        const groups = [...groupBy(tested, (r) => `${r.file}\n${r.operation}\n${r.processes}`).values()]
            .filter((g) => only === 'all' || g.some((r) => r.state === 'violated'));
        drawn = groups.map((group) => new ChartCard({
            title: `${group[0].operation}, ${group[0].processes} processes`, wide: true,
            note: `Time against the other’s; above 1 the guideline is broken, “!” marks what is sure. ${
                group.filter((r) => r.state === 'violated').length} of ${group.length} violated.`,
            height: 130 + 30 * new Set(group.map(rival)).size,
            option: (colours) => heat(colours, group),
            csv: () => [['operation', 'bytes', 'against', 'against_bytes', 'factor', 'factor_low', 'factor_high', 'p_adjusted', 'state'],
                        ...group.map((r) => [r.operation, r.bytes, r.against, r.against_bytes, r.factor, r.factor_low,
                                             r.factor_high, r.p_adjusted, r.state])],
        }));
        cards.replaceChildren(...drawn.map((c) => c.element));
    }

    show();
    return h('div', {},
        said.map((r) => h('p', { class: 'message' }, `${r.verdict}.`)),
        findings(tested, said.length > 0),
        h('div', { class: 'controls' },
            segmented('guidelines', [['all', 'All operations'], ['violated', 'With violations']], only, (v) => {
                only = v;
                show();
            })),
        cards,
        new DataTable({ name: 'Guidelines', columns: plainColumns(tested), rows: tested }).element);
}
