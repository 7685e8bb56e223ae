// SPDX-License-Identifier: BSD-3-Clause
// A card with one chart: drawn when it comes into view, redrawn with the theme, saved as PNG, SVG, CSV.
import { BarChart, BoxplotChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
    DataZoomComponent,
    GridComponent,
    LegendComponent,
    MarkLineComponent,
    TooltipComponent,
    VisualMapComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';
import { csvText, download, h } from './dom.js';
import { Reader } from './reader.js';
import { DataTable } from './table.js';
import { onTheme, theme } from './theme.js';

echarts.use([
    BarChart, BoxplotChart, CustomChart, HeatmapChart, LineChart, ScatterChart, DataZoomComponent,
    GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapComponent,
    CanvasRenderer, SVGRenderer,
]);

const cards = new Set();
let printed = false;

const watcher = new IntersectionObserver(
    (entries) => {
        for (const entry of entries) {
            const card = entry.target.ictusCard;
            card.visible = entry.isIntersecting;
            if (card.visible) {
                card.draw();
            }
        }
    },
    { rootMargin: '400px' },
);

const resizer = new ResizeObserver((entries) => {
    for (const entry of entries) {
        entry.target.ictusCard.resize();
    }
});

/** What all charts share; a chart's own option is laid over it. */
function base(colours) {
    return {
        animation: false,
        progressive: 0, // a picture that is saved or printed between two steps would lack the rest
        color: colours.series,
        backgroundColor: 'transparent',
        textStyle: { color: colours.text, fontFamily: 'inherit', fontSize: 12 },
        grid: { left: 12, right: 20, top: 38, bottom: 12, outerBoundsMode: 'same', outerBoundsContain: 'all' },
        tooltip: {
            confine: true,
            transitionDuration: 0,
            backgroundColor: colours.card,
            borderColor: colours.line,
            padding: [6, 10],
            textStyle: { color: colours.text, fontSize: 12 },
            extraCssText: 'max-width:34rem;white-space:normal;box-shadow:0 2px 12px #0003',
        },
        legend: {
            type: 'scroll',
            top: 0,
            left: 4,
            right: 4,
            itemWidth: 18,
            itemHeight: 9,
            textStyle: { color: colours.text, fontSize: 12 },
            pageTextStyle: { color: colours.muted },
            pageIconColor: colours.accent,
            pageIconInactiveColor: colours.line,
        },
    };
}

/** An axis in the page's colours. */
export function axis(colours, own) {
    return {
        nameLocation: 'middle',
        nameTextStyle: { color: colours.muted, fontSize: 12 },
        nameMoveOverlap: true,
        nameGap: 8,
        axisLine: { show: true, lineStyle: { color: colours.line } },
        splitLine: { show: own.type !== 'category', lineStyle: { color: colours.faint } },
        minorSplitLine: { show: false },
        ...own,
        axisTick: { lineStyle: { color: colours.line }, ...own.axisTick },
        axisLabel: { color: colours.muted, hideOverlap: true, ...own.axisLabel },
    };
}

/** For the name of an axis of categories, whose middle label would be where the name is. */
export const below = { nameGap: 24, nameMoveOverlap: false };

/**
 * @param option   (colours, width) => an ECharts option, or null when there is nothing to draw
 * @param csv      () => rows, the first of them names
 * @param onClick  receives what ECharts says was clicked
 */
export class ChartCard {
    constructor({ title, note = '', height = 320, option, csv, onClick, wide = false }) {
        this.option = option;
        this.csv = csv;
        this.onClick = onClick;
        this.title = title;
        this.visible = false;
        this.stale = true;
        this.box = h('div', {
            class: 'canvas', style: `height:${height}px`, tabindex: 0, role: 'application', 'aria-roledescription': 'chart',
            'aria-label': `${title}. Arrow keys go from point to point${csv ? '; the table has all of them' : ''}.`,
        });
        this.reader = new Reader(this.box, () => this.chart, (event) => this.onClick?.(event));
        this.tableBox = h('div', { class: 'alternative' });
        this.head = h('h4', {}, title);
        this.noteBox = h('p', { class: 'note' }, note);
        this.empty = h('p', { class: 'empty', hidden: true }, 'Nothing to draw for this choice.');
        const save = (name, how) =>
            h('button', { type: 'button', title: `save as ${name}`, onclick: () => this[how]() }, name);
        this.element = h(
            'figure',
            { class: wide ? 'chart wide' : 'chart', 'data-chart': title, role: 'group', 'aria-label': title },
            h('figcaption', {}, this.head,
                h('span', { class: 'saves' }, save('PNG', 'savePng'), save('SVG', 'saveSvg'),
                    csv ? save('CSV', 'saveCsv') : null, csv ? this.tableButton() : null)),
            this.noteBox,
            this.box,
            this.reader.says,
            this.empty,
            this.tableBox,
        );
        this.box.ictusCard = this;
        this.element.ictusCard = this;
        watcher.observe(this.element);
        resizer.observe(this.box);
        cards.add(this);
    }

    /** Opens and closes the chart's numbers as a table, for those to whom a picture says nothing. */
    tableButton() {
        return h('button', { type: 'button', class: 'as-table', title: 'show as a table', 'aria-expanded': 'false',
            onclick: (event) => {
                const open = event.currentTarget.getAttribute('aria-expanded') !== 'true';
                event.currentTarget.setAttribute('aria-expanded', String(open));
                this.tableOpen = open;
                this.showTable();
            } }, 'Table');
    }

    showTable() {
        if (!this.tableOpen) {
            this.tableBox.replaceChildren();
            return;
        }
        const [names, ...rows] = this.csv();
        const table = new DataTable({ name: `${this.title}: table`, columns: names,
            rows: rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]]))) });
        this.tableBox.replaceChildren(table.element);
        table.redraw();
    }

    /** The data behind the chart changed: redraw it, now or when it is looked at. */
    update({ title, note } = {}) {
        if (title !== undefined) {
            this.title = title;
            this.head.textContent = title;
            this.element.setAttribute('aria-label', title);
        }
        if (note !== undefined) {
            this.noteBox.textContent = note;
        }
        this.stale = true;
        this.showTable();
        if (this.visible || printed) {
            this.draw();
        }
    }

    draw() {
        if (!this.stale || !this.box.isConnected) {
            return;
        }
        const colours = theme();
        const own = this.option(colours, this.box.clientWidth || 600);
        this.stale = false;
        this.empty.hidden = Boolean(own);
        this.box.hidden = !own;
        this.element.dataset.drawn = own ? 'yes' : 'empty';
        if (!own) {
            return;
        }
        if (!this.chart) {
            this.chart = echarts.init(this.box, null, { renderer: 'canvas' });
            this.chart.on('click', (event) => this.onClick?.(event));
            this.chart.on('datazoom', () => this.freeTicks());
        }
        this.chart.setOption(this.merge(colours, own), { notMerge: true });
    }

    /** Ticks were chosen for the whole range: a part of it needs ECharts' own. */
    freeTicks() {
        const free = { interval: null, axisTick: { customValues: null }, axisLabel: { customValues: null } };
        this.chart.setOption({ xAxis: free });
    }

    merge(colours, own) {
        const whole = base(colours);
        for (const key of ['grid', 'tooltip', 'legend']) {
            if (own[key] && !Array.isArray(own[key])) {
                own[key] = { ...whole[key], ...own[key] };
            }
        }
        return { ...whole, ...own };
    }

    resize() {
        if (this.chart && this.box.clientWidth > 0) {
            this.chart.resize();
        }
    }

    fileName(end) {
        const words = this.title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
        return `ictus-${words || 'chart'}.${end}`;
    }

    async savePng() {
        this.draw();
        if (!this.chart) {
            return;
        }
        const url = this.chart.getDataURL({ type: 'png', pixelRatio: 2, backgroundColor: theme().card });
        const bytes = Uint8Array.from(atob(url.split(',')[1]), (c) => c.charCodeAt(0));
        download(this.fileName('png'), new Blob([bytes], { type: 'image/png' }));
    }

    saveSvg() {
        const colours = theme();
        const width = this.box.clientWidth || 800;
        const own = this.option(colours, width);
        if (!own) {
            return;
        }
        const shadow = echarts.init(null, null, {
            renderer: 'svg', ssr: true, width, height: this.box.clientHeight || 320,
        });
        shadow.setOption({ ...this.merge(colours, own), backgroundColor: colours.card,
                           textStyle: { color: colours.text, fontFamily: 'sans-serif' } });
        download(this.fileName('svg'), shadow.renderToSVGString(), 'image/svg+xml');
        shadow.dispose();
    }

    saveCsv() {
        download(this.fileName('csv'), csvText(this.csv()), 'text/csv');
    }

    /** Forget a card whose place on the page is gone. */
    dispose() {
        watcher.unobserve(this.element);
        resizer.unobserve(this.box);
        this.chart?.dispose();
        cards.delete(this);
        this.element.remove();
    }
}

/** Paper shows everything at once, in paper's width. */
export function printAll(on) {
    printed = on;
    for (const card of cards) {
        card.stale = true;
        if (on || card.visible) {
            card.draw();
            card.resize();
        }
    }
}

onTheme(() => {
    for (const card of cards) {
        card.stale = true;
        if (card.visible || printed) {
            card.draw();
        }
    }
});
