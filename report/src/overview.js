// SPDX-License-Identifier: BSD-3-Clause
// What was run where, how good the clock was, and what deserves suspicion: on top of every report.
import { h } from './dom.js';
import * as format from './format.js';

const shownFirst = ['command', 'arguments', 'started', 'version', 'mpi', 'processes', 'nodes', 'hosts', 'clock', 'sync',
                    'seed', 'cpu', 'cores', 'kernel'];

function card(label, value, detail, tone) {
    return h('div', { class: `fact ${tone || ''}` }, h('span', { class: 'label' }, label), h('b', {}, value),
        detail ? h('span', { class: 'detail' }, detail) : null);
}

// Commands that read what others measured: their own job and MPI library say nothing of the results.
const readers = new Set(['waits', 'check', 'correct', 'arrivals', 'compare', 'merge']);

const largest = (values) => values.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), -Infinity);

function clockFact(headers, measurements) {
    const sigma = largest([...headers.map((x) => x.clock_sigma_ns), ...measurements.map((m) => m.clock_sigma_ns)]);
    if (!Number.isFinite(sigma)) {
        return null;
    }
    const bound = largest(headers.map((x) => x.clock_bound_ns));
    if (sigma === 0) {
        return bound > 0 ? card('Clock quality', `within ± ${format.nanoseconds(bound, 3)}`, 'a hard bound, no error was estimated', bound > 1000 ? 'bad' : 'good')
            : card('Clock quality', 'exact', 'all processes read one source', 'good');
    }
    return card('Clock quality', `± ${format.nanoseconds(1.96 * sigma, 3)}`,
        `95 %, worst process${Number.isFinite(bound) ? `; hard bound ${format.nanoseconds(bound, 3)}` : ''}`,
        sigma > 1000 ? 'bad' : 'good');
}

function validFact(measurements) {
    const valid = measurements.reduce((sum, m) => sum + (m.n || 0), 0);
    const invalid = measurements.reduce((sum, m) => sum + (m.invalid || 0), 0);
    if (!valid) {
        return null;
    }
    const share = invalid / (valid + invalid);
    return card('Repetitions', format.number(valid, 6), `valid ones; ${format.percent(share)} of all were invalid and left out`,
        share > 0.1 ? 'bad' : '');
}

/** Sentences about what a careful reader would ask. */
function suspicions(data, measurements) {
    const list = [];
    for (const file of data.files) {
        if (file.skipped) {
            list.push(`${file.name}: ${file.skipped} lines could not be read and were left out.`);
        }
        if (file.thinned > 1) {
            list.push(`${file.name}: raw samples are thinned to one in ${file.thinned}, to keep this page small.`);
        }
    }
    const few = measurements.filter((m) => m.n < 20).length;
    const loose = measurements.filter((m) => m.clock_sigma_ns * 1e-9 * 1.96 > 0.1 * m.median_s).length;
    const wild = measurements.filter((m) => m.n > 0 && m.outliers > 0.05 * m.n).length;
    const of = `of ${measurements.length} measurements`;
    if (few) {
        list.push(`${few} ${of} rest on fewer than 20 samples: their intervals are wide.`);
    }
    if (loose) {
        list.push(`In ${loose} ${of} the clock's ± is above a tenth of the measured time.`);
    }
    if (wild && !measurements.some((m) => m.warnings?.length)) {
        list.push(`${wild} ${of} have more than 5 % outliers: something else may have run on these cores.`);
    }
    const own = new Map();
    for (const m of measurements) {
        for (const text of Array.isArray(m.warnings) ? m.warnings : []) {
            own.set(text, (own.get(text) || 0) + 1);
        }
    }
    for (const [text, count] of [...own].slice(0, 8)) {
        list.push(`${text}${count > 1 ? ` (${count} times)` : ''}`);
    }
    return list;
}

function headerTable(data) {
    const all = data.files.flatMap((file) => file.headers.map((header) => ({ file, header })));
    const shown = all.slice(0, 8);
    const names = new Set(shownFirst);
    for (const { header } of shown) {
        Object.keys(header).forEach((key) => names.add(key));
    }
    const rows = [...names].filter((n) => n[0] !== '$' && n !== 'type' && shown.some((x) => x.header[n] !== undefined));
    if (!rows.length) {
        return null;
    }
    return h('details', { class: 'environment' },
        h('summary', {}, `Environment of ${all.length === 1 ? 'the run' : `${all.length} runs`}`),
        h('div', { class: 'table small' }, h('table', {},
            shown.length > 1 ? h('thead', {}, h('tr', {}, h('th', {}), shown.map((x) => h('th', {}, x.file.name)))) : null,
            h('tbody', {}, rows.map((name) => {
                const cells = shown.map((x) => (x.header[name] === undefined ? '–' : format.byName(name, x.header[name])));
                const differs = new Set(cells).size > 1;
                return h('tr', { class: differs ? 'differs' : '' }, h('th', { scope: 'row' }, format.title(name)),
                    cells.map((text) => h('td', { class: 'txt wrap' }, text)));
            })))),
        all.length > shown.length ? h('p', { class: 'note' }, `${all.length - shown.length} more are not shown.`) : null);
}

export function overview(data) {
    const headers = data.files.flatMap((f) => f.headers);
    const measurements = data.types.get('measurement') || [];
    const all = (name, among = headers) => [...new Set(among.map((x) => x[name]).filter((v) => v !== undefined))].map((v) => format.byName(name, v));
    const few = (values) => (values.length <= 3 ? values.join(', ') || null : `${values.length} different ones`);
    const one = (name) => few(all(name));
    const starts = all('started').sort().map((text) => text.replace('T', ' ').replace('Z', ' UTC'));
    const jobs = headers.filter((x) => !readers.has(x.command));
    const processes = few(all('processes', jobs));
    const nodes = few(all('nodes', jobs));
    const mpi = few([...new Set(all('mpi', jobs).map((text) => text.split(',')[0]))]);
    const facts = [
        processes ? card('Job', `${processes} ${processes === '1' ? 'process' : 'processes'}`, nodes ? `on ${nodes} ${nodes === '1' ? 'node' : 'nodes'}` : null) : null,
        mpi ? card('MPI', mpi) : null,
        one('clock') ? card('Clock', one('clock'), one('sync')) : null,
        clockFact(headers, measurements),
        validFact(measurements),
        starts.length ? card('Started', starts[0], starts.length > 1 ? `the last of ${starts.length} runs at ${starts[starts.length - 1]}` : null) : null,
        headers.some((x) => x.simulated) ? card('Simulated', 'yes', 'on a described cluster, not measured', 'bad') : null,
    ];
    const doubts = suspicions(data, measurements);
    return h('section', { id: 'overview', class: 'section' },
        h('div', { class: 'facts' }, facts.filter(Boolean)),
        doubts.length ? h('ul', { class: 'doubts' }, doubts.map((text) => h('li', {}, text))) : null,
        headers.length ? headerTable(data) : null);
}
