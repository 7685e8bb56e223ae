// SPDX-License-Identifier: BSD-3-Clause
// Measurements of operations: over size and over processes, as panels of lines; one of them closely.
import { ChartCard } from '../chart.js';
import { dimensions, telling } from '../data.js';
import { arrange, h, panels, segmented, select } from '../dom.js';
import { Filters } from '../filters.js';
import * as format from '../format.js';
import { dotOption, lineOption } from '../lines.js';
import { groupBy, order } from '../stats.js';
import { DataTable, plainColumns } from '../table.js';
import { Distribution } from './distribution.js';

const mostPanels = 12;
const mostLines = 12;

const statistics = [
    ['median_s', 'median'], ['mean_s', 'mean'], ['min_s', 'minimum'], ['p90_s', '90 % quantile'],
    ['p99_s', '99 % quantile'], ['max_s', 'maximum'],
];

const numbers = ['bytes', 'processes', 'root', 'launch'];

function lineName(row, names) {
    return format.inWords(row, names) || row.operation || 'all';
}

/** The lines' names in alphabetical order, but for files, which stay as they were given: before stands before after. */
function lineNames(rows, names) {
    const rest = names.filter((n) => n !== 'file');
    const seats = new Map(rows.map((row) => [lineName(row, names), [lineName(row, rest), row.$file]]));
    const others = order(new Set([...seats.values()].map(([other]) => other)));
    return [...seats.keys()].sort((a, b) => {
        const [x, y] = [seats.get(a), seats.get(b)];
        return others.indexOf(x[0]) - others.indexOf(y[0]) || x[1] - y[1];
    });
}

/** What tells rows apart. */
function varying(rows) {
    return telling(rows, numbers);
}

class Page {
    constructor(rows) {
        this.rows = rows;
        this.view = { kind: 'latency', over: 'bytes', statistic: 'median_s', panels: 'operation', log: 'log' };
        this.cards = [];
        this.dims = dimensions(rows, numbers);
        this.filters = new Filters(this.dims, () => this.show());
        const varies = (name) => this.dims.some((d) => d.name === name && d.varies);
        if (!varies('bytes') && varies('processes')) {
            this.view.over = 'processes';
        }
        if (!varies('operation')) {
            this.view.panels = '';
        }
        this.panels = panels();
        this.message = h('p', { class: 'message', role: 'status' });
        this.distribution = new Distribution();
        this.table = new DataTable({
            name: 'Measurements',
            columns: plainColumns(rows),
            rows,
            click: (row, event) => this.pick(row, event),
        });
        this.element = h(
            'div', {},
            this.filters.element,
            this.controls(varies),
            this.message,
            this.panels,
            this.distribution.element,
            this.table.element,
        );
        this.narrow();
        this.show();
        const first = this.shown.find((row) => row.raw_s?.length) || this.shown[0];
        this.distribution.show(first ? [first] : []);
    }

    controls(varies) {
        const set = (name) => (value) => {
            this.view[name] = value;
            this.show();
        };
        const panelChoices = this.dims
            .filter((d) => d.values.length > 1 && d.name !== 'bytes')
            .map((d) => [d.name, format.title(d.name)]);
        return h(
            'div', { class: 'controls' },
            segmented('what', [['latency', 'Latency'], ['bandwidth', 'Bandwidth']], this.view.kind, set('kind')),
            varies('bytes') && varies('processes')
                ? segmented('over', [['bytes', 'Over size'], ['processes', 'Over processes']],
                    this.view.over, set('over'))
                : null,
            segmented('axes', [['log', 'Log'], ['linear', 'Linear']], 'log', set('log')),
            select('Statistic', statistics, 'median_s', set('statistic')),
            panelChoices.length
                ? select('A panel for each', [['', 'nothing'], ...panelChoices], this.view.panels, set('panels'))
                : null,
        );
    }

    /**
     * Too many lines say nothing: begin with one value of some dimensions, and say so. Only of those
     * that cut across all panels: one value of "algorithm" would empty other operations' panels.
     */
    narrow() {
        this.narrowed = [];
        const other = this.dims.filter(
            (d) => d.values.length > 1 && ![this.view.over, this.view.panels, 'file'].includes(d.name));
        other.sort((a, b) => b.values.length - a.values.length);
        for (const dim of other) {
            const rows = this.filters.apply(this.rows);
            const { panels, lines } = this.split(rows);
            if (lines <= mostLines) {
                break;
            }
            const groups = groupBy(rows, (row) => row[dim.name]);
            const best = order(dim.values).reduce((a, b) =>
                (groups.get(b)?.length || 0) > (groups.get(a)?.length || 0) ? b : a);
            if (this.split(groups.get(best)).panels.size === panels.size) {
                this.filters.choose(dim.name, [best]);
                this.narrowed.push(`${format.title(dim.name).toLowerCase()} ${format.byName(dim.name, best)}`);
            }
        }
    }

    split(rows) {
        const names = varying(rows).filter((n) => n !== this.view.over && n !== this.view.panels);
        const panel = (row) => (this.view.panels ? row[this.view.panels] ?? '–' : '');
        const panels = groupBy(rows, panel);
        let lines = 0;
        for (const group of panels.values()) {
            lines = Math.max(lines, groupBy(group, (row) => lineName(row, names)).size);
        }
        return { names, panels, lines };
    }

    measures() {
        const { kind, statistic } = this.view;
        const raw = (row) => row[statistic] ?? null;
        if (kind === 'bandwidth') {
            const of = (row, time) => (time > 0 && row.bytes > 0 ? row.bytes / time : null);
            return {
                y: (row) => of(row, raw(row)),
                low: (row) => of(row, row.ci95_high_s),
                high: (row) => of(row, row.ci95_low_s),
                yFormat: format.rate,
                yName: 'bandwidth (bytes of one process per second)',
            };
        }
        return {
            y: raw,
            low: (row) => row.ci95_low_s,
            high: (row) => row.ci95_high_s,
            yFormat: format.seconds,
            yName: `${statistics.find(([key]) => key === statistic)[1]} time`,
        };
    }

    spec(rows, names) {
        const { over, log, statistic } = this.view;
        const measures = this.measures();
        if (statistic !== 'median_s') {
            delete measures.low; // the interval is the median's
            delete measures.high;
        }
        return {
            rows,
            key: (row) => lineName(row, names),
            names: lineNames(rows, names),
            x: (row) => row[over],
            ...measures,
            xName: over === 'bytes' ? 'bytes contributed by a process' : 'processes',
            xFormat: over === 'bytes' ? format.bytes : (v) => format.number(v),
            xLog: log === 'log',
            xBase: 2,
            yLog: log === 'log',
            tip: (row) => [
                ['95 % interval', `${format.seconds(row.ci95_low_s)} – ${format.seconds(row.ci95_high_s)}`],
                ['90 %, 99 %', `${format.seconds(row.p90_s)}, ${format.seconds(row.p99_s)}`],
                ['samples', `${row.n} valid, ${row.invalid} invalid, ${row.outliers} outliers`],
                ['file', row.file],
            ],
        };
    }

    panel(key, rows, all) {
        const here = new Set(varying(rows)); // one root of all in this panel is no part of a line's name
        const names = all.filter((n) => here.has(n));
        const groups = groupBy(rows, (row) => lineName(row, names));
        const kept = new Set(order(groups.keys()).slice(0, mostLines));
        const hidden = groups.size - kept.size;
        const shown = hidden > 0 ? rows.filter((row) => kept.has(lineName(row, names))) : rows;
        const spec = this.spec(shown, names);
        const single = new Set(shown.map(spec.x)).size <= 1;
        const what = this.view.kind === 'latency' ? 'Latency' : 'Bandwidth';
        const over = single ? '' : this.view.over === 'bytes' ? ' over size' : ' over processes';
        return new ChartCard({
            title: `${what}${over}${key === '' ? '' : `: ${format.byName(this.view.panels, key)}`}`,
            note: hidden > 0 ? `${hidden} further lines: narrow the filter to see them.` : '',
            height: kept.size > 6 ? 420 : 340,
            option: (colours, width) => (single ? dotOption(colours, spec, width) : lineOption(colours, spec, width)),
            csv: () => [
                [...names, this.view.over, this.view.kind, 'ci95_low_s', 'ci95_high_s'],
                ...shown.map((row) => [...names.map((n) => row[n]), row[this.view.over], spec.y(row),
                                       row.ci95_low_s, row.ci95_high_s]),
            ],
            onClick: (event) => event.data?.row && this.pick(event.data.row, event.event?.event),
        });
    }

    show() {
        const rows = this.filters.apply(this.rows);
        this.shown = rows;
        for (const card of this.cards) {
            card.dispose();
        }
        const { names, panels } = this.split(rows);
        const keys = order(panels.keys());
        this.cards = keys.slice(0, mostPanels).map((key) => this.panel(key, panels.get(key), names));
        arrange(this.panels, this.cards.map((card) => card.element));
        const notes = [];
        if (this.narrowed.length && this.filters.chosen.size) {
            notes.push(`To begin with, only ${this.narrowed.join(', ')} is drawn; “All” shows everything.`);
        }
        if (keys.length > mostPanels) {
            notes.push(`${keys.length - mostPanels} further panels: narrow the filter to see them.`);
        }
        if (!rows.length) {
            notes.push('No experiment passes the filter.');
        }
        this.message.textContent = notes.join(' ');
        this.table.setRows(rows);
    }

    /** Look closely at a measurement; with Ctrl or Shift beside those already chosen. */
    pick(row, event) {
        const add = event && (event.ctrlKey || event.metaKey || event.shiftKey);
        this.distribution.show(add ? [...this.distribution.rows, row] : [row], true);
    }
}

export function build(rows) {
    return new Page(rows).element;
}
