// SPDX-License-Identifier: BSD-3-Clause
// Timelines of traces, each with its profile; several are moved together (H18 fig 10).
import { h, select } from '../dom.js';
import * as format from '../format.js';
import { Gantt } from '../gantt.js';
import { DataTable } from '../table.js';

function facts(row, gantt) {
    const messages = gantt.messages.length;
    const backward = gantt.backward.length;
    const parts = [`${format.number(row.events)} events over ${format.nanoseconds(gantt.whole.to - gantt.whole.from)}, `
        + `${format.number(messages)} messages; `
        + (backward ? `${backward} arrive before they were sent (red).` : 'none arrives before it was sent.')];
    if (row.dropped) {
        parts.push(`${format.number(row.dropped)} calls shorter than ${format.nanoseconds(row.shortest_ns)} are left out.`);
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
    const button = (text, label, act) => h('button', { type: 'button', title: label, onclick: act }, text);
    const arrows = h('input', { type: 'checkbox', checked: true,
        onchange: () => { gantt.arrows = arrows.checked; gantt.draw(); } });
    return h('div', { class: 'controls gantt-tools' },
        button('+', 'zoom in', () => gantt.zoom(0.5)), button('−', 'zoom out', () => gantt.zoom(2)),
        button('Work', 'from the first call after MPI_Init to the last before MPI_Finalize', () => { const view = gantt.work(); gantt.look(view.from, view.to); }),
        button('Whole', 'show all of it', () => gantt.reset()),
        h('label', { class: 'select' }, arrows, h('span', {}, 'arrows')),
        gantt.backward.length ? button('Next backward message', 'one that arrives before it was sent', () => {
            at = (at + 1) % gantt.backward.length;
            gantt.lookAtMessage(gantt.backward[at]);
        }) : null,
        jump(row, gantt));
}

export function build(rows) {
    const gantts = [];
    const together = (view, from) => gantts.forEach((g) => g !== from && g.look(view.from, view.to, true));
    const blocks = rows.map((row) => {
        const gantt = new Gantt(row, together);
        gantts.push(gantt);
        const profile = row.profile.map((p) => ({ ...p, file: row.file }));
        const table = new DataTable({ name: `Profile of ${row.file}`, rows: profile,
            columns: ['name', 'count', 'total_s', 'mean_s', 'min_s', 'max_s'] });
        table.sort('total_s');
        table.sort('total_s');
        return [
            h('figure', { class: 'chart wide', 'data-chart': `timeline ${row.file}`, 'data-drawn': 'yes' },
                h('figcaption', {}, h('h4', {}, row.file),
                    h('span', { class: 'saves' }, h('button', { type: 'button', onclick: () => gantt.save() }, 'PNG'),
                        h('button', { type: 'button', onclick: () => gantt.saveSvg() }, 'SVG'))),
                h('p', { class: 'note' }, facts(row, gantt)), tools(row, gantt), gantt.box),
            table.element,
        ];
    });
    return h('div', {}, h('p', { class: 'message' },
        'Drag to move, Ctrl and the wheel to zoom, double click to look closer; the arrow keys, + and − do the same.'
        + (rows.length > 1 ? ' All timelines move together.' : '')), blocks.flat());
}
