// SPDX-License-Identifier: BSD-3-Clause
// A table of any length: only the rows in view exist.
import { csvText, download, h } from './dom.js';
import { byName, title } from './format.js';

const rowHeight = 28;
const printedRows = 300;

export class DataTable {
    /** @param columns names of members @param click (row) => void @param muted (row) => greyed */
    constructor({ name, columns, rows, click, label, muted = () => false }) {
        this.name = name;
        this.columns = columns;
        this.numeric = new Set(columns.filter((c) => rows.some((r) => typeof r[c] === 'number')));
        this.click = click;
        this.muted = muted;
        this.label = label || ((column) => title(column));
        this.sortBy = null;
        this.down = false;
        this.heads = columns.map((c) =>
            h('th', { scope: 'col', 'aria-sort': 'none', class: this.numeric.has(c) ? 'num' : 'txt' },
                h('button', { type: 'button', onclick: () => this.sort(c) }, this.label(c))));
        this.top = h('tr', { class: 'pad' }, h('td', { colspan: columns.length }));
        this.bottom = h('tr', { class: 'pad' }, h('td', { colspan: columns.length }));
        this.body = h('tbody', {}, this.top, this.bottom);
        this.box = h(
            'div',
            { class: 'table', tabindex: 0, role: 'region', 'aria-label': name, onscroll: () => this.draw() },
            h('table', {}, h('thead', {}, h('tr', {}, this.heads)), this.body),
        );
        this.caption = h('span', { class: 'count' });
        this.element = h(
            'div',
            { class: 'tablebox', 'data-table': name },
            h('div', { class: 'tablehead' }, h('h4', {}, name), this.caption,
                h('span', { class: 'saves' },
                    h('button', { type: 'button', onclick: () => this.save() }, 'CSV'))),
            this.box,
        );
        this.setRows(rows);
    }

    setRows(rows) {
        this.rows = [...rows];
        this.caption.textContent = `${rows.length.toLocaleString('en')} ${rows.length === 1 ? 'row' : 'rows'}`;
        this.resort();
        this.from = this.to = -1;
        this.draw();
    }

    sort(column) {
        this.down = this.sortBy === column ? !this.down : false;
        this.sortBy = column;
        this.heads.forEach((head, i) =>
            head.setAttribute('aria-sort',
                this.columns[i] !== column ? 'none' : this.down ? 'descending' : 'ascending'));
        this.resort();
        this.from = -1;
        this.draw();
    }

    resort() {
        const column = this.sortBy;
        if (column === null) {
            return;
        }
        const sign = this.down ? -1 : 1;
        this.rows.sort((a, b) => {
            const x = a[column];
            const y = b[column];
            if (typeof x === 'number' && typeof y === 'number') {
                return sign * (x - y);
            }
            return sign * String(x ?? '').localeCompare(String(y ?? ''), 'en', { numeric: true });
        });
    }

    row(row) {
        return h(
            'tr',
            this.muted(row) ? { class: 'muted', title: 'undecidable at 95 %' } : this.click ? { class: 'can', tabindex: 0, onclick: (e) => this.click(row, e),
                           onkeydown: (e) => e.key === 'Enter' && this.click(row, e) } : {},
            this.columns.map((c) =>
                h('td', { class: typeof row[c] === 'number' || (row[c] ?? null) === null && this.numeric.has(c) ? 'num' : 'txt', title: byName(c, row[c]) },
                    byName(c, row[c]))),
        );
    }

    draw(all = false) {
        const height = this.box.clientHeight || 420;
        const from = all ? 0 : Math.max(0, Math.floor(this.box.scrollTop / rowHeight) - 10);
        const to = all
            ? Math.min(this.rows.length, printedRows)
            : Math.min(this.rows.length, from + Math.ceil(height / rowHeight) + 20);
        if (from === this.from && to === this.to) {
            return;
        }
        this.from = from;
        this.to = to;
        this.top.firstChild.style.height = `${from * rowHeight}px`;
        this.bottom.firstChild.style.height = `${all ? 0 : (this.rows.length - to) * rowHeight}px`;
        this.body.replaceChildren(this.top, ...this.rows.slice(from, to).map((r) => this.row(r)), this.bottom);
    }

    /** After the table has come to its place on the page. */
    redraw() {
        this.from = -1;
        this.draw();
    }

    save() {
        const rows = this.rows.map((row) =>
            this.columns.map((c) => (row[c] && typeof row[c] === 'object' ? JSON.stringify(row[c]) : row[c])));
        download(`ictus-${this.name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.csv`,
            csvText([this.columns, ...rows]), 'text/csv');
    }
}

/** The members of rows that make a column: plain values, in order of first appearance. */
export function plainColumns(rows, hidden = []) {
    const found = new Set();
    for (const row of rows) {
        for (const name in row) {
            const value = row[name];
            if (name[0] !== '$' && name !== 'type' && (value === null || typeof value !== 'object')) {
                found.add(name);
            }
        }
    }
    return [...found].filter((name) => !hidden.includes(name));
}
