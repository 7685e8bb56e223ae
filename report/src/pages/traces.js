// SPDX-License-Identifier: BSD-3-Clause
// Clock-condition violations in traces, and what correcting them moved (B07).
import { ChartCard } from '../chart.js';
import { h } from '../dom.js';
import * as format from '../format.js';
import { barOption } from '../lines.js';
import { DataTable, plainColumns } from '../table.js';

function bins(row) {
    if (Array.isArray(row.histogram)) {
        const last = row.histogram.reduce((at, bin, i) => (bin.violations > 0 ? i : at), -1);
        return last < 0 ? null
            : row.histogram.slice(0, last + 1).map((b) => [`below ${format.nanoseconds(b.below_ns)}`, b.violations]);
    }
    const entry = Object.entries(row.histogram || {}).find(([key]) => key.startsWith('edges'));
    if (!entry || !row.histogram.counts) {
        return null;
    }
    const text = entry[0].endsWith('_ns') ? format.nanoseconds : (v) => format.number(v, 3);
    const edges = entry[1];
    return row.histogram.counts.map((count, i) => [`${text(edges[i])} – ${text(edges[i + 1])}`, count]);
}

function bars(title, note, list, yName) {
    return new ChartCard({
        title, note, height: 280,
        option: (colours) => barOption(colours, {
            names: list.map((b) => b[0]), yName, yFormat: (v) => format.number(v),
            series: [{ name: yName, values: list.map((b) => b[1]), colour: colours.accent }] }),
        csv: () => [['what', yName], ...list],
    });
}

export function build(rows) {
    const cards = [];
    for (const row of rows.slice(0, 20)) {
        const name = row.archive || row.file;
        if (row.type === 'check') {
            cards.push(bars(`Violations in ${name}`,
                `${format.number(row.messages)} messages, ${format.number(row.collectives)} collectives; the largest violation is ${
                    format.nanoseconds(row.max_violation_ns)}.`,
                [['messages, as recorded', row.raw_violations_p2p], ['collectives, as recorded', row.raw_violations_collective],
                 ['messages, with its offsets', row.violations_p2p], ['collectives, with its offsets', row.violations_collective]],
                'violations'));
        }
        const list = bins(row);
        if (list) {
            cards.push(bars(row.type === 'check' ? `How large the violations are, ${name}` : `Distortion of intervals, ${name}`,
                '', list, row.type === 'check' ? 'violations' : 'intervals'));
        }
        const pairs = (row.rank_pairs || []).filter((p) => p.violations > 0);
        if (pairs.length) {
            cards.push(bars(`Violations by pair of ranks, ${name}`, '', pairs
                .sort((a, b) => b.violations - a.violations).slice(0, 30)
                .map((p) => [`${p.from} → ${p.to}`, p.violations]), 'violations'));
        }
    }
    return h('div', {}, h('div', { class: 'panels' }, cards.map((c) => c.element)),
        new DataTable({ name: 'Traces', columns: plainColumns(rows), rows }).element);
}
