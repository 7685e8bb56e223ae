// SPDX-License-Identifier: BSD-3-Clause
// The filter bar of a page: one drop-down of check boxes for each dimension that varies.
import { h } from './dom.js';
import { byName, title } from './format.js';

export class Filters {
    /** @param dims as dimensions() gives them @param change called after each choice */
    constructor(dims, change) {
        // What some rows lack and the others agree on is no choice.
        this.dims = dims.filter((d) => d.varies && d.values.length > 1);
        this.chosen = new Map();
        this.change = change;
        this.menus = new Map();
        this.count = h('span', { class: 'count', role: 'status' });
        // one file is named on top, and "-" is no value
        const fixed = dims.filter((d) => !d.varies && d.everywhere && d.name !== 'file' && d.values[0] !== '-');
        this.fixedNote = fixed.map((d) => `${d.name.replaceAll('_', ' ')} ${byName(d.name, d.values[0])}`).join(' · ');
        this.reset = h('button', { type: 'button', class: 'reset', onclick: () => this.clear() }, 'All');
        this.element = h(
            'div',
            { class: 'filters' },
            this.dims.map((d) => this.menu(d)),
            this.dims.length ? this.reset : null,
            this.count,
            this.fixedNote ? h('span', { class: 'fixed' }, `In all: ${this.fixedNote}`) : null,
        );
        document.addEventListener('click', (event) => {
            for (const { details } of this.menus.values()) {
                if (!details.contains(event.target)) {
                    details.open = false;
                }
            }
        });
        document.addEventListener('keydown', (event) => {
            if (event.key === 'Escape') {
                for (const { details, summary } of this.menus.values()) {
                    if (details.open && details.contains(document.activeElement)) {
                        summary.focus(); // what is closed can have no focus
                    }
                    details.open = false;
                }
            }
        });
    }

    menu(dim) {
        const boxes = dim.values.map((value) => this.choice(dim, value));
        const search =
            dim.values.length > 12
                ? h('input', {
                      type: 'search',
                      placeholder: 'find…',
                      'aria-label': `find ${dim.name}`,
                      oninput: (event) => {
                          const wanted = event.target.value.toLowerCase();
                          boxes.forEach(({ row, text }) => {
                              row.hidden = !text.toLowerCase().includes(wanted);
                          });
                      },
                  })
                : null;
        const summary = h('summary', {});
        const details = h(
            'details',
            { class: 'filter', 'data-dimension': dim.name },
            summary,
            h('div', { class: 'menu' }, search, boxes.map((b) => b.row)),
        );
        this.menus.set(dim.name, { details, summary, boxes, dim });
        this.label(dim.name);
        return details;
    }

    choice(dim, value) {
        const text = byName(dim.name, value);
        const box = h('input', {
            type: 'checkbox', checked: true, 'data-value': String(value),
            onchange: () => this.read(dim.name),
        });
        const only = h('button', {
            type: 'button', class: 'only',
            onclick: (event) => {
                event.preventDefault();
                this.choose(dim.name, [value]);
                this.change();
            },
        }, 'only');
        return { value, text, box, row: h('label', {}, box, h('span', {}, text), only) };
    }

    label(name) {
        const { summary, dim } = this.menus.get(name);
        const set = this.chosen.get(name);
        const shown = !set
            ? `all ${dim.values.length}`
            : set.size === 1
              ? byName(name, [...set][0])
              : `${set.size} of ${dim.values.length}`;
        summary.replaceChildren(h('span', { class: 'dim' }, title(name)), h('b', {}, shown));
        summary.classList.toggle('active', Boolean(set));
    }

    read(name) {
        const { boxes } = this.menus.get(name);
        const values = boxes.filter((b) => b.box.checked).map((b) => b.value);
        this.set(name, values);
        this.change();
    }

    set(name, values) {
        const { dim } = this.menus.get(name);
        if (values.length === dim.values.length) {
            this.chosen.delete(name);
        } else {
            this.chosen.set(name, new Set(values));
        }
        this.label(name);
    }

    /** Choose values without telling anyone. */
    choose(name, values) {
        const wanted = new Set(values);
        for (const { box, value } of this.menus.get(name).boxes) {
            box.checked = wanted.has(value);
        }
        this.set(name, values);
    }

    clear() {
        for (const { dim } of this.menus.values()) {
            this.choose(dim.name, dim.values);
        }
        this.change();
    }

    apply(rows) {
        const sets = [...this.chosen];
        const kept = sets.length
            ? rows.filter((row) => sets.every(([name, set]) => set.has(row[name])))
            : rows;
        this.count.textContent = `${kept.length.toLocaleString('en')} of ${rows.length.toLocaleString('en')}`;
        return kept;
    }

    /** The dimensions that still vary among the chosen. */
    open() {
        return this.dims
            .filter((d) => (this.chosen.get(d.name)?.size ?? d.values.length) > 1 ||
                           (!this.chosen.has(d.name) && d.varies))
            .map((d) => d.name);
    }
}
