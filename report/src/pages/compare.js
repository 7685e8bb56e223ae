// SPDX-License-Identifier: BSD-3-Clause
// Files beside each other: ratios of medians for each experiment that several files hold.
import { ChartCard } from '../chart.js';
import { dimensions } from '../data.js';
import { arrange, h, panels, select } from '../dom.js';
import { Filters } from '../filters.js';
import * as format from '../format.js';
import { dotOption, lineOption } from '../lines.js';
import { ascending, groupBy, quantile } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';

const numbers = ['bytes', 'processes', 'root'];

/** An experiment is the same when all text and the given numbers agree, but for the file. */
function identity(row, names) {
    return names.map((n) => `${n}=${row[n] ?? ''}`).join('\n');
}

function pairs(rows, base, other) {
    const names = dimensions(rows, numbers).map((d) => d.name).filter((n) => n !== 'file' && n !== 'launch' && n !== 'mpi');
    const first = new Map();
    for (const row of rows) {
        if (row.$file === base && row.median_s > 0) {
            first.set(identity(row, names), row);
        }
    }
    const out = [];
    for (const row of rows) {
        const a = row.$file === other && row.median_s > 0 ? first.get(identity(row, names)) : undefined;
        if (!a) {
            continue;
        }
        const low = row.ci95_low_s / a.ci95_high_s;
        const high = row.ci95_high_s / a.ci95_low_s;
        const entry = { type: 'ratio', file: row.file };
        for (const n of names) {
            entry[n] = row[n];
        }
        Object.assign(entry, {
            median_a_s: a.median_s, median_b_s: row.median_s, ratio: row.median_s / a.median_s, ratio_low: low, ratio_high: high,
            verdict: low > 1 ? 'slower' : high < 1 ? 'faster' : 'no difference shown',
        });
        out.push(entry);
    }
    return out;
}

/** One median ratio with quartiles for each file, operation and size. */
function condense(rows) {
    return [...groupBy(rows, (r) => `${r.file}\n${r.operation}\n${r.bytes}`).values()].map((group) => {
        const sorted = ascending(group.map((r) => r.ratio));
        const [{ file, operation, bytes }] = group;
        const several = new Set(rows.map((r) => r.file)).size > 1;
        return { name: several ? `${operation}, ${file}` : operation, bytes, ratio: quantile(sorted, 0.5),
                 ratio_low: quantile(sorted, 0.25), ratio_high: quantile(sorted, 0.75) };
    });
}

const first = ['experiment', 'operation', 'bytes', 'processes', 'median_a_s', 'median_b_s', 'ratio', 'ratio_low', 'ratio_high',
               'p_adjusted', 'verdict'];

/** What is asked for comes first, what is the same in all rows last. */
function columns(rows) {
    const all = plainColumns(rows);
    const fixed = new Set(dimensions(rows).filter((d) => !d.varies).map((d) => d.name));
    const known = first.filter((n) => all.includes(n) && !(n === 'operation' && all.includes('experiment')));
    const rest = all.filter((n) => !first.includes(n));
    return [...known, ...rest.filter((n) => !fixed.has(n)), ...rest.filter((n) => fixed.has(n))];
}

function view(rows, intro, against) {
    const charts = panels();
    const filters = new Filters(dimensions(rows, numbers), show);
    const table = new DataTable({ name: 'Ratios', columns: columns(rows), rows });
    const sentence = h('p', { class: 'message' });
    let cards = [];
    const marks = (where) => (c) => ({ silent: true, symbol: 'none', label: { show: false },
        lineStyle: { color: c.muted, type: 'dashed' }, data: [{ [where]: 1 }] });
    const apart = (shown) => { // so far that a linear axis would press most of them together
        const ends = shown.flatMap((r) => [r.ratio_low, r.ratio_high]).filter((v) => v > 0 && Number.isFinite(v));
        return Math.max(...ends) > 4 * Math.min(...ends);
    };
    const spec = (shown, key, where) => ({
        yLog: apart(shown),
        rows: shown, key, y: (r) => r.ratio, low: (r) => r.ratio_low, high: (r) => r.ratio_high, yName: `median of ${against.other} / median of ${against.base}`,
        yFormat: (v) => `${format.number(v, 4)}×`, within: [1], marks: marks(where),
        look: (r, c) => (r.verdict?.startsWith('slower') ? { colour: c.slower, symbol: 'triangle' }
            : r.verdict?.startsWith('faster') ? { colour: c.faster, symbol: 'path://M0 0H10L5 9Z' } : { colour: c.muted, symbol: 'emptyCircle' }),
        tip: (r) => [[against.base, format.seconds(r.median_a_s)], [r.file ?? against.other, format.seconds(r.median_b_s)],
                     ['95 % interval', `${format.number(r.ratio_low, 4)} – ${format.number(r.ratio_high, 4)}`],
                     ['verdict', r.verdict], ...(r.p_adjusted === undefined ? [] : [['p, adjusted', format.number(r.p_adjusted, 2)]])],
    });

    function show() {
        const shown = filters.apply(rows);
        const names = dimensions(shown, numbers).filter((d) => d.varies).map((d) => d.name);
        const key = (r) => format.inWords(r, names.filter((n) => n !== 'bytes')) || 'all';
        const keyed = (r) => format.inWords(r, names) || r.operation;
        const count = (word) => shown.filter((r) => r.verdict.startsWith(word)).length;
        const middle = quantile(ascending(shown.map((r) => r.ratio)), 0.5);
        sentence.textContent = shown.length
            ? `${intro} Of ${shown.length} experiments ${count('slower') || 'none'} are slower and ${count('faster') || 'none'} faster; the median ratio is ${format.number(middle, 4)}.`
            : 'The files have no experiment in common.';
        cards.forEach((c) => c.dispose());
        const furthest = [...shown].sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio))).slice(0, 30);
        const csv = () => [['experiment', 'ratio', 'low', 'high'],
                           ...shown.map((r) => [keyed(r), r.ratio, r.ratio_low, r.ratio_high])];
        cards = [new ChartCard({
            title: 'The largest differences', note: `Right of the dashed line is slower than ${against.base}. ▲ slower, ▼ faster, ○ may be chance.`,
            height: 90 + 24 * furthest.length, wide: true,
            option: (colours, width) => dotOption(colours, spec(furthest, keyed, 'xAxis'), width), csv })];
        if (names.includes('bytes')) {
            const many = new Set(shown.map(key)).size > 10;
            const over = many ? { ...spec(condense(shown), (r) => r.name, 'yAxis'), tip: undefined, look: undefined }
                : spec(shown, key, 'yAxis');
            cards.push(new ChartCard({
                title: 'Ratio over size', height: 380, wide: true,
                note: many ? 'Medians and quartiles over what else varies; narrow the filter to see each line.' : '',
                option: (colours, width) => lineOption(colours, { ...over, x: (r) => r.bytes, xLog: true,
                    xBase: 2, xName: 'bytes', xFormat: format.bytes, yScale: true }, width), csv }));
        }
        arrange(charts, cards.map((c) => c.element));
        table.setRows(shown);
    }

    show();
    return h('div', {}, sentence, filters.element, charts, table.element);
}

/** Of the measurements of several files; null when there is nothing in common. */
export function buildFromFiles(rows, files) {
    const holder = h('div', {});
    let base = 0;
    const show = () => {
        const list = files.flatMap((_f, i) => (i === base ? [] : pairs(rows, base, i)));
        holder.replaceChildren(list.length
            ? view(list, `Each file is compared with ${files[base].name}. The intervals are made of those of both medians and are wide on purpose; ictus compare tests more sharply.`,
                { base: files[base].name, other: files.length === 2 ? files[1 - base].name : 'the other file' })
            : h('p', { class: 'message' }, 'The files have no experiment in common.'));
    };
    show();
    return h('div', {}, h('div', { class: 'controls' },
        select('Against', files.map((f, i) => [String(i), f.name]), '0', (v) => { base = Number(v); show(); })), holder);
}

/** What a comparison was of, in words: both files, how many samples and launches, by which test. */
function compared(rows) {
    const one = (name) => {
        const values = [...new Set(rows.map((r) => r[name]).filter((v) => v !== undefined && v !== null))];
        return values.length === 1 ? values[0] : values.length > 1 ? `${Math.min(...values)} to ${Math.max(...values)}` : null;
    };
    const names = (name) => [...new Set(rows.map((r) => r[name]).filter(Boolean))].join(', ');
    const [base, other] = [names('baseline') || 'the baseline', names('file')];
    const counts = ['samples', 'launches'].filter((w) => one(`${w}_a`) !== null)
        .map((w) => `${one(`${w}_b`)} ${one(`${w}_b`) === 1 ? w.replace(/s$|(?<=ch)es$/, '') : w} against ${one(`${w}_a`)}`);
    return { base, other, text: `Medians of ${other} against those of ${base}, as ictus compare found${
        counts.length ? `. Each experiment has ${counts.join(', and ')}` : ''}.` };
}

export function build(rows) {
    const against = compared(rows);
    return view(rows, against.text, against);
}
