// SPDX-License-Identifier: BSD-3-Clause
// Timelines of traces, each with its profile; several are moved together (H18 fig 10).
import { h, select } from '../dom.js';
import * as format from '../format.js';
import { Gantt } from '../gantt.js';
import { DataTable } from '../table.js';
import { waitsOf } from '../waitmarks.js';

function facts(row, gantt) {
    const messages = row.message_count ?? gantt.messages.length;
    const backward = gantt.backwardCount;
    const parts = [`${format.number(row.events)} events over ${format.nanoseconds(gantt.whole.to - gantt.whole.from)}, `
        + `${format.number(messages)} messages; `
        + (backward ? `${backward} arrive before they were sent (red, pointing back in time).` : 'none arrives before it was sent.')];
    if (row.dropped) {
        parts.push(`${format.number(row.dropped)} calls shorter than ${format.nanoseconds(row.shortest_ns)} are not drawn one by one`
            + (row.density?.length ? `: each stretch of ${format.nanoseconds(row.bin_ns)} has the colour of what took most of it, paler where that took less.` : '.'));
    }
    const metrics = row.metrics ?? [];
    if (metrics.length) {
        const every = Math.max(...metrics.map((m) => m.every));
        parts.push(`${format.number(row.metric_count)} values of ${metrics.length === 1 ? '1 metric' : `${row.series_count ?? metrics.length} metrics`}${(row.series_count ?? metrics.length) > gantt.metrics.length
            ? `, of which ${gantt.metrics.length} are drawn` : ''}${every > 1 ? `, of the longest one value in ${every}` : ''}.`);
    }
    return parts.join(' ');
}

/** Which call to look at: its name, and which of its calls on each track. */
function jump(row, gantt) {
    const names = row.profile.filter((p) => p.name.startsWith('MPI_')).map((p) => [p.name, `${p.name} (${p.count})`]);
    if (!names.length) {
        return null;
    }
    let name = names[0][0];
    const number = h('input', { type: 'number', min: 1, value: 1, class: 'nth', 'aria-label': 'which call' });
    const go = (by) => {
        const wanted = Math.max(1, Number(number.value) + by);
        if (gantt.lookAtCall(name, wanted)) {
            number.value = wanted;
        }
    };
    number.addEventListener('change', () => go(0));
    return h('span', { class: 'jump' },
        select('Look at call', names, name, (value) => { name = value; number.value = 1; go(0); }), number,
        h('button', { type: 'button', onclick: () => go(-1) }, '◀'), h('button', { type: 'button', onclick: () => go(0) }, 'Look'),
        h('button', { type: 'button', onclick: () => go(1) }, '▶'));
}

function tools(row, gantt) {
    let at = -1;
    let wait = -1;
    const button = (text, label, act) => h('button', { type: 'button', title: label, onclick: act }, text);
    const arrows = h('input', { type: 'checkbox', checked: true,
        onchange: () => { gantt.arrows = arrows.checked; gantt.draw(); } });
    return h('div', { class: 'controls gantt-tools' },
        button('+', 'zoom in', () => gantt.zoom(0.5)), button('−', 'zoom out', () => gantt.zoom(2)),
        button('Work', 'from the first call after MPI_Init to the last before MPI_Finalize', () => { const view = gantt.work(); gantt.look(view.from, view.to); }),
        button('Whole', 'show all of it', () => gantt.reset()),
        h('label', { class: 'select' }, arrows, h('span', {}, 'arrows')),
        gantt.waits ? [['showWaits', 'waits', gantt.waits.instances], ['showPath', 'critical path', gantt.waits.stretches]].filter(([, , list]) => list.length).map(([key, text]) => {
            const box = h('input', { type: 'checkbox', checked: true, onchange: () => { gantt[key] = box.checked; gantt.draw(); } });
            return h('label', { class: 'select' }, box, h('span', {}, text));
        }) : null,
        gantt.waits?.instances.length ? button('Next longest wait', 'the longest first', () => {
            wait = (wait + 1) % gantt.waits.instances.length;
            const { from, to, cause } = gantt.waits.instances[wait];
            const margin = to - from + 1000;
            gantt.look(Math.min(from, cause) - margin, Math.max(to, cause) + margin);
        }) : null,
        gantt.backward.length ? button('Next backward message', 'one that arrives before it was sent', () => {
            at = (at + 1) % gantt.backward.length;
            gantt.lookAtMessage(gantt.backward[at]);
        }) : null,
        jump(row, gantt));
}

/** "run1/traces.otf2", "run1/" and "run1" are one archive. */
const plain = (archive) => String(archive).replace(/\/[^/]*\.otf2$/, '').replace(/\/$/, '').replace(/^.*\//, '');

/** The file of ictus waits that is about a timeline's archive; where there is one of each, these two. */
function waitsFor(row, rows, types) {
    const all = (types.get('waits') ?? []).map((r) => waitsOf(types, r.$file));
    return all.find((w) => plain(w.archive) === plain(row.archive)) ?? (rows.length === 1 && all.length === 1 ? all[0] : null);
}

/** How good the clock is that all instants are read from. */
function clockCard(row, gantt, waits) {
    const known = gantt.sigma !== undefined;
    const bounded = row.clock?.bound_ns > 0 ? format.nanoseconds(row.clock.bound_ns, 3) : null;
    // A bound contradicts exactness: without a standard deviation it is all that is known.
    const value = !known ? 'not known' : gantt.sigma > 0 ? `± ${format.nanoseconds(1.96 * gantt.sigma, 3)}` : bounded ? `within ± ${bounded}` : 'exact';
    const source = row.clock?.sigma_ns !== undefined ? 'as the archive says' : waits?.sigma_source === 'one-clock' ? 'all locations read one clock'
        : known ? 'bounded by messages both ways' : 'the archive does not say; ictus waits finds out';
    const bound = bounded ? gantt.sigma > 0 ? `; hard bound ${bounded}` : '; a hard bound, no error was estimated' : '';
    return h('div', { class: 'facts alone' }, h('div', { class: `fact ${known ? '' : 'bad'}` }, h('span', { class: 'label' }, 'Clock quality'),
        h('b', {}, value), h('span', { class: 'detail' }, `${gantt.sigma > 0 ? '95 %, ' : ''}${source}${bound}`)));
}

export function build(rows, data) {
    const gantts = [];
    const together = (view, from) => gantts.forEach((g) => g !== from && g.look(view.from, view.to, true));
    const blocks = rows.map((row) => {
        const waits = waitsFor(row, rows, data.types);
        const gantt = new Gantt(row, together, waits);
        gantts.push(gantt);
        const profile = row.profile.map((p) => ({ ...p, file: row.file }));
        const table = new DataTable({ name: `Profile of ${row.file}`, rows: profile,
            columns: ['name', 'count', 'total_s', 'mean_s', 'min_s', 'max_s'] });
        table.sort('total_s');
        table.sort('total_s');
        const figure =
            h('figure', { class: 'chart wide', 'data-chart': `timeline ${row.file}`, 'data-drawn': 'yes' },
                h('figcaption', {}, h('h4', {}, row.file),
                    h('span', { class: 'saves' }, h('button', { type: 'button', onclick: () => gantt.save() }, 'PNG'),
                        h('button', { type: 'button', onclick: () => gantt.saveSvg() }, 'SVG'))),
                h('p', { class: 'note' }, facts(row, gantt)), clockCard(row, gantt, waits), tools(row, gantt), gantt.box);
        figure.ictusGantt = gantt;
        return [figure, table.element];
    });
    return h('div', {}, h('p', { class: 'message' },
        'Drag to move, Ctrl and the wheel to zoom, double click to look closer; the arrow keys, + and − do the same.'
        + (rows.length > 1 ? ' All timelines move together.' : '')), blocks.flat());
}
