// SPDX-License-Identifier: BSD-3-Clause
// Algorithm against common start: the heat map that shows what a barrier's bias does (S23 fig 2, H18 fig 7).
import { axis, ChartCard } from '../chart.js';
import { h, segmented } from '../dom.js';
import * as format from '../format.js';
import { tipTable } from '../lines.js';
import { groupBy } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';
import { inkOn } from '../ink.js';

const most = 24;

function placed(cells) {
    const best = new Map();
    for (const cell of cells) {
        const least = best.get(cell.scheme);
        if (cell.median_s > 0 && (least === undefined || cell.median_s < least)) {
            best.set(cell.scheme, cell.median_s);
        }
    }
    return cells.filter((c) => c.median_s > 0).map((c) => ({ ...c, relative: c.median_s / best.get(c.scheme) }));
}

// in the order of the file: the default first, the starts that judge last
const algorithms = (cells) => [...new Set(cells.map((c) => c.algorithm))];
const schemes = (cells) => [...new Set(cells.map((c) => c.scheme))];

// a specification is broken where its first value begins
const lines = (scheme) => scheme.split(/(?<=^[^=]*=)/);

function heat(colours, cells, value, width) {
    const rows = algorithms(cells).reverse();
    const columns = schemes(cells);
    // by factors: one slow cell would else make all others look the same
    const of = (c) => Math.log(value === 'relative' ? c.relative : c.median_s);
    const text = (c) => (value === 'relative' ? `${format.number(c.relative, 3)}×` : format.seconds(c.median_s, 3));
    const spread = cells.map(of);
    const [low, high] = [Math.min(...spread), Math.max(...spread)];
    const ink = (c) => inkOn(colours, (of(c) - low) / (high - low || 1));
    const room = (width - 9 * Math.max(...rows.map((r) => r.length))) / columns.length;
    const narrow = room < 8 * Math.max(...columns.flatMap(lines).map((line) => line.length));
    return {
        legend: { show: false },
        grid: { top: 14, bottom: 66 },
        tooltip: { trigger: 'item', formatter: (p) => tipTable(`${p.data.cell.algorithm} under ${p.data.cell.scheme}`, [
            ['median', format.seconds(p.data.cell.median_s)],
            ['95 % interval', `${format.seconds(p.data.cell.ci95_low_s)} – ${format.seconds(p.data.cell.ci95_high_s)}`],
            ['against the best of the column', `${format.number(p.data.cell.relative, 4)}×`],
            ['place in the column', p.data.cell.place ?? '–']]) },
        xAxis: axis(colours, { type: 'category', name: 'common start', data: columns,
                               axisLabel: { interval: 0, hideOverlap: false, rotate: narrow ? 40 : 0, lineHeight: 14,
                                            formatter: (scheme) => lines(scheme).join('\n') } }),
        yAxis: axis(colours, { type: 'category', name: 'algorithm', data: rows }),
        visualMap: { min: low, max: high > low ? high : low + 1, calculable: false, orient: 'horizontal',
                     left: 'center', bottom: 0, itemHeight: 120, itemWidth: 12, inRange: { color: colours.heat },
                     textStyle: { color: colours.muted },
                     text: value === 'relative' ? ['slower', 'the column’s best'] : ['slow', 'fast'] },
        series: [{
            type: 'heatmap',
            data: cells.map((cell) => ({ value: [columns.indexOf(cell.scheme), rows.indexOf(cell.algorithm), of(cell)], cell,
                label: { formatter: text(cell), color: ink(cell), fontWeight: cell.relative === 1 ? 'bold' : 'normal' } })),
            label: { show: cells.length <= 200 && room > 36, color: colours.text, fontSize: 12 },
            itemStyle: { borderColor: colours.card, borderWidth: 2 },
        }],
    };
}

function ranking(cells) {
    const columns = schemes(cells);
    const lists = columns.map((scheme) => cells.filter((c) => c.scheme === scheme).sort((a, b) => a.median_s - b.median_s));
    const depth = Math.max(...lists.map((l) => l.length));
    return h('div', { class: 'table small' }, h('table', {},
        h('thead', {}, h('tr', {}, h('th', {}, 'Place'), columns.map((c) => h('th', {}, lines(c).flatMap((line, i) => (i ? [h('br'), line] : [line])))))),
        h('tbody', {}, Array.from({ length: depth }, (_x, i) => h('tr', {}, h('td', {}, String(i + 1)),
            lists.map((l) => h('td', { class: 'txt' }, l[i] ? [l[i].algorithm, h('span', { class: 'note' }, ` ${format.seconds(l[i].median_s, 3)}`)] : '')))))));
}

function verdict(cells, said) {
    if (said) { // the title tells operation, size and processes already
        const words = said.verdict.replace(/^.*? processes: /, '');
        return `${words[0].toUpperCase()}${words.slice(1)}.`;
    }
    const winners = new Set();
    for (const column of groupBy(cells, (c) => c.scheme).values()) {
        winners.add(column.reduce((a, b) => (b.median_s < a.median_s ? b : a)).algorithm);
    }
    return winners.size > 1
        ? `The choice of start changes the winner: ${[...winners].join(', ')}.`
        : `${[...winners][0]} wins under every start.`;
}

export function build(rows) {
    let value = 'relative';
    const same = (r) => `${r.file}\n${r.operation}\n${r.bytes}\n${r.processes}`;
    const isCell = (r) => r.algorithm !== undefined && r.scheme !== undefined;
    const groups = [...groupBy(rows, same).values()];
    const cards = [];
    const blocks = groups.slice(0, most).map((group) => {
        const cells = placed(group.filter(isCell));
        if (!cells.length) {
            return null;
        }
        const { operation, bytes, processes } = group[0];
        const card = new ChartCard({
            title: `${operation}, ${format.bytes(bytes)}, ${processes} processes`, wide: true,
            note: verdict(cells, group.find((r) => r.verdict)),
            height: 160 + 36 * algorithms(cells).length,
            option: (colours, width) => heat(colours, cells, value, width),
            csv: () => [['algorithm', 'scheme', 'median_s', 'relative'],
                        ...cells.map((c) => [c.algorithm, c.scheme, c.median_s, c.relative])],
        });
        cards.push(card);
        return [card.element, ranking(cells)];
    });
    return h('div', {},
        h('div', { class: 'controls' },
            segmented('cells', [['relative', 'Against the column’s best'], ['median', 'Medians']], value, (v) => {
                value = v;
                cards.forEach((c) => c.update());
            })),
        groups.length > most ? h('p', { class: 'message' }, `${groups.length - most} further matrices are in the table.`) : null,
        blocks.flat().filter(Boolean),
        new DataTable({ name: 'Cells', columns: plainColumns(rows.filter(isCell)), rows: rows.filter(isCell) }).element);
}
