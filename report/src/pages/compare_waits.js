// SPDX-License-Identifier: BSD-3-Clause
// Waits of one file's runs against those of another's: differences with their intervals, from the whole down to each rank.
import { ChartCard } from '../chart.js';
import { arrange, h, panels, segmented } from '../dom.js';
import * as format from '../format.js';
import { dotOption } from '../lines.js';
import { DataTable } from '../table.js';

const most = 30;

// Each sum is a part of the one above it, so only sums of one kind are drawn beside each other.
const kinds = [
    ['state', 'By state', (r) => r.state === undefined || (r.site === undefined && r.rank === undefined)],
    ['site', 'By call site', (r) => r.site !== undefined && r.rank === undefined],
    ['rank', 'By rank', (r) => r.rank !== undefined],
];

const looks = {
    more: (c) => ({ colour: c.slower, symbol: 'triangle' }),
    less: (c) => ({ colour: c.faster, symbol: 'path://M0 0H10L5 9Z' }),
    'the same': (c) => ({ colour: c.muted, symbol: 'rect' }),
};
const unsure = (c) => ({ colour: c.muted, symbol: 'emptyCircle' });

const words = (name, rows) => [...new Set(rows.map((r) => r[name]).filter(Boolean))].join(', ');

const interval = (r) => (Number.isFinite(r.difference_low_s) && Number.isFinite(r.difference_high_s)
    ? `${format.seconds(r.difference_low_s)} to ${format.seconds(r.difference_high_s)}` : 'not known');

function changes(rows, base, several) {
    const shown = [...rows].sort((a, b) => Math.abs(b.difference_s) - Math.abs(a.difference_s)).slice(0, most);
    return !shown.length ? null : new ChartCard({
        title: 'How much the waiting changed', height: 100 + 26 * shown.length, wide: true,
        note: `Right of the dashed line is more waiting than in ${base}, with 95 % intervals. ▲ more, ▼ less, ■ the same, ○ not decided.${
            rows.length > most ? ` The ${most} largest of ${rows.length} differences.` : ''}`,
        option: (colours, width) => dotOption(colours, {
            rows: shown, largestFirst: true, key: (r) => (several ? `${r.waiting}, ${r.file}` : r.waiting), y: (r) => r.difference_s,
            low: (r) => r.difference_low_s, high: (r) => r.difference_high_s, within: [0],
            yName: 'change of the waiting time of a run', yFormat: format.seconds, look: (r, c) => (looks[r.verdict] ?? unsure)(c),
            marks: (c) => ({ silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: c.muted, type: 'dashed' }, data: [{ xAxis: 0 }] }),
            tip: (r) => [['before', format.seconds(r.wait_a_s)], ['after', format.seconds(r.wait_b_s)], ['95 % interval', interval(r)],
                         ['verdict', r.verdict], ['p, adjusted', format.number(r.p_adjusted, 2)]] }, width),
        csv: () => [['waiting', 'file', 'wait_a_s', 'wait_b_s', 'difference_s', 'difference_low_s', 'difference_high_s', 'p_adjusted', 'verdict'],
                    ...rows.map((r) => [r.waiting, r.file, r.wait_a_s, r.wait_b_s, r.difference_s, r.difference_low_s, r.difference_high_s,
                                        r.p_adjusted, r.verdict])],
    });
}

/** What was compared, and what came out of it. */
function sentence(rows, base) {
    const runs = (name) => (words(name, rows) === '1' ? '1 run' : `${words(name, rows)} runs`);
    const count = (verdict) => rows.filter((r) => r.verdict === verdict).length;
    const judged = rows.some((r) => r.verdict !== 'cannot be judged');
    return `Mean waiting time of ${runs('runs_b')} of ${words('file', rows)} against ${runs('runs_a')} of ${base}. ${judged
        ? `Of ${rows.length} sums of waits, ${count('more')} became longer and ${count('less')} shorter.`
        : 'There are too few runs to judge the differences: merge several runs of each side.'}`;
}

export function build(rows) {
    const base = words('baseline', rows) || 'the baseline';
    const several = new Set(rows.map((r) => r.file)).size > 1;
    const there = kinds.filter(([, , of]) => rows.some(of));
    const charts = panels();
    const table = new DataTable({ name: 'Waits compared', rows, muted: (r) => r.verdict === 'cannot be judged' || r.verdict === 'no difference shown',
        columns: ['waiting', ...(several ? ['file'] : []), 'wait_a_s', 'wait_b_s', 'difference_s', 'difference_low_s', 'difference_high_s',
                  'p_adjusted', 'verdict'] });
    let card = null;
    const show = (wanted) => {
        const shown = rows.filter(there.find(([key]) => key === wanted)[2]);
        card?.dispose();
        card = changes(shown, base, several);
        arrange(charts, card ? [card.element] : []);
        table.setRows(shown);
    };
    show(there[0][0]);
    return h('div', {}, h('p', { class: 'message' }, sentence(rows, base)),
        there.length > 1 ? h('div', { class: 'controls' },
            segmented('sums', there.map(([key, text]) => [key, text]), there[0][0], show)) : null,
        charts, table.element);
}
