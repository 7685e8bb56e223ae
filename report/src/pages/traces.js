// SPDX-License-Identifier: BSD-3-Clause
// Clock-condition violations in traces, and what correcting them moved (B07).
import { ChartCard } from '../chart.js';
import { h, panels } from '../dom.js';
import * as format from '../format.js';
import { barOption } from '../lines.js';
import { DataTable } from '../table.js';

const classes = [['p2p', 'messages'], ['collective', 'collectives'], ['openmp', 'threads'], ['rma', 'windows']];
const mostPairs = 30;

const checkColumns = ['archive', 'events', 'locations', 'nodes', 'messages', 'collectives', 'raw_violations_p2p',
    'raw_violations_collective', 'raw_max_violation_ns', 'violations_p2p', 'violations_collective', 'violations_openmp',
    'violations_rma', 'max_violation_ns', 'unmatched_sends', 'unmatched_receives', 'incomplete'];
const correctColumns = ['archive', 'output', 'events', 'raw_violations_p2p', 'raw_violations_collective', 'violations_p2p',
    'violations_collective', 'violations_openmp', 'violations_rma', 'presync', 'passes', 'gamma', 'moved_events', 'max_shift_ns',
    'error_end_ns', 'largest_slope', 'asked_slope', 'steep_intervals', 'max_interval_change_ns'];

/** Bars, one for each name and series: [what, values]. */
function bars({ title, note = '', names, series, yName, stacked = false }) {
    return new ChartCard({
        title, note, height: 280,
        option: (colours, width) => barOption(colours, {
            names, yName, yFormat: (v) => format.number(v), stacked,
            series: series.map(([name, values], i) => ({ name, values, colour: colours.series[i] })) }, width),
        csv: () => [['what', ...series.map((s) => s[0])], ...names.map((n, i) => [n, ...series.map((s) => s[1][i])])],
    });
}

/** Bins from the first to the last that hold anything, of several lists with the same edges; null where none does. */
function binBars(card, lists, edge, count, text) {
    const full = lists.filter(([, list]) => Array.isArray(list) && list.some((bin) => bin[count] > 0));
    if (!full.length) {
        return null;
    }
    const holds = full[0][1].map((_, i) => full.some(([, list]) => list[i]?.[count] > 0));
    const from = holds.indexOf(true);
    const to = holds.lastIndexOf(true) + 1;
    return bars({ ...card, note: full.length < lists.length ? `${full[0][0][0].toUpperCase()}${full[0][0].slice(1)}.` : '', names: full[0][1].slice(from, to).map((bin) => `< ${text(bin[edge])}`),
        series: full.map(([name, list]) => [name, list.slice(from, to).map((bin) => bin[count])]) });
}

/** How many of each class under some prefixes: [prefix, what it means]; classes that none violates are left out. */
function counts(row, stages) {
    const known = stages.filter(([prefix]) => typeof row[`${prefix}violations_p2p`] === 'number');
    const at = (prefix, key) => row[`${prefix}violations_${key}`] || 0;
    return { known, at, met: classes.filter(([key], i) => i < 2 || known.some(([prefix]) => at(prefix, key) > 0)) };
}

function pairBars(row, name) {
    const [pairs, what] = (row.rank_pairs || []).some((p) => p.violations > 0) ? [row.rank_pairs, '']
        : [row.raw_rank_pairs || [], ', as recorded'];
    const worst = pairs.filter((p) => p.violations > 0).sort((a, b) => b.violations - a.violations);
    return !worst.length ? null : bars({
        title: `Violations by pair of ranks${what}, ${name}`,
        note: worst.length > mostPairs ? `The ${mostPairs} worst of ${worst.length} pairs.` : '',
        names: worst.slice(0, mostPairs).map((p) => `${p.from} → ${p.to}`), yName: 'violations',
        series: [['violations', worst.slice(0, mostPairs).map((p) => p.violations)]] });
}

const checkStages = [['raw_', 'as recorded'], ['', 'with the archive’s clock offsets']];

/** Bars of nothing say nothing: what is clean is told in a sentence. */
function clean(row) {
    const { known, at } = counts(row, checkStages);
    return known.length > 0 && known.every(([prefix]) => classes.every(([key]) => at(prefix, key) === 0));
}

const cleanWords = (row) => `No violation in ${row.archive || row.file}, among ${format.number(row.messages)} messages and ${
    format.number(row.collectives)} collectives.`;

function checkCards(row) {
    const name = row.archive || row.file;
    const { known, at, met } = counts(row, checkStages);
    return clean(row) ? [] : [
        bars({ title: `Violations in ${name}`, names: met.map((c) => c[1]), yName: 'violations',
            note: `${format.number(row.messages)} messages, ${format.number(row.collectives)} collectives; the largest violation is ${
                format.nanoseconds(row.max_violation_ns)}.`,
            series: known.map(([prefix, what]) => [what, met.map(([key]) => at(prefix, key))]) }),
        binBars({ title: `How large the violations are, ${name}`, yName: 'violations' },
            [['as recorded', row.raw_histogram], ['with the archive’s clock offsets', row.histogram]], 'below_ns', 'violations',
            format.nanoseconds),
        pairBars(row, name),
    ];
}

function correctNote(row) {
    const parts = [];
    if (row.passes > 0) {
        parts.push(`The logical clock moved ${format.number(row.moved_events)} events by up to ${format.nanoseconds(row.max_shift_ns)}, `
            + `at a slope of up to ${format.percent(row.largest_slope)} (${format.percent(row.asked_slope)} asked); `
            + `at the end it is ${format.nanoseconds(row.error_end_ns)} ahead.`);
    }
    if (row.truth) {
        parts.push(`From the truth: ${format.nanoseconds(row.truth.input_rms_ns)} (rms) before, ${
            format.nanoseconds(row.truth.output_rms_ns)} now.`);
    }
    return parts.join(' ');
}

function correctCards(row) {
    const name = row.archive || row.file;
    const { known, at, met } = counts(row, [['raw_', 'as recorded'],
        ...(row.presync === 'none' ? [] : [['presync_', 'with the archive’s clock offsets']]),
        ['fit_', 'fitted to messages'], ['', 'corrected']]);
    return [
        bars({ title: `Violations before and after correcting ${name}`, note: correctNote(row), names: known.map((s) => s[1]),
            yName: 'violations', stacked: true,
            series: met.map(([key, what]) => [what, known.map(([prefix]) => at(prefix, key))]) }),
        binBars({ title: `How much intervals changed, ${name}`, yName: 'intervals' }, [['intervals', row.interval_changes]],
            'below_ns', 'intervals', (v) => format.nanoseconds(v, 3)),
        binBars({ title: `How much intervals changed, relatively, ${name}`, yName: 'intervals' },
            [['intervals', row.interval_changes_relative]], 'below', 'intervals', (v) => format.percent(v)),
    ];
}

function table(name, rows, columns) {
    const told = columns.filter((c) => rows.some((r) => r[c] !== undefined));
    return rows.length ? new DataTable({ name, columns: told, rows }).element : null;
}

export function build(rows) {
    const cards = rows.slice(0, 20).flatMap((row) => (row.type === 'check' ? checkCards(row) : correctCards(row)));
    return h('div', {}, rows.filter((r) => r.type === 'check' && clean(r)).map((r) => h('p', { class: 'message' }, cleanWords(r))),
        panels(cards),
        table('Violations', rows.filter((r) => r.type === 'check'), checkColumns),
        table('Corrections', rows.filter((r) => r.type === 'correct'), correctColumns));
}
