// SPDX-License-Identifier: BSD-3-Clause
// One measurement closely, or a few beside each other: every sample, not just the median.
import { axis, ChartCard } from '../chart.js';
import { h, panels, segmented } from '../dom.js';
import * as format from '../format.js';
import { histogramOption, lineOption, tipTable } from '../lines.js';
import { mark } from '../marks.js';
import { ascending, density, ecdf, histogram, quantile } from '../stats.js';
import { bounds, fitted } from '../ticks.js';

const mostRows = 6;
const mostPoints = 4000;

function nameOf(row) {
    const parts = [row.operation, format.bytes(row.bytes), `${row.processes} processes`, row.algorithm,
                   row.scheme, row.reduction, row.file];
    return parts.filter(Boolean).join(', ');
}

/** Where a picture should end: the far tail would squeeze everything else together. */
function ends(list) {
    const low = Math.min(...list.map((s) => s[0]));
    const reach = (s) => [0.99, 0.95].map((q) => quantile(s, q)).find((v) => v <= 5 * quantile(s, 0.5)) ?? quantile(s, 0.9);
    const high = Math.max(...list.map(reach));
    const top = Math.max(...list.map((s) => s[s.length - 1]));
    return [low, Math.min(top, high + 0.25 * (high - low)), top];
}

/** Whether times reach so far apart that only a logarithmic axis shows both ends. */
function farApart(list) {
    const low = Math.min(...list.map((s) => s[0]));
    return low > 0 && Math.max(...list.map((s) => s[s.length - 1])) > 20 * low;
}

export class Distribution {
    constructor() {
        this.rows = [];
        this.shape = 'histogram';
        this.label = h('p', { class: 'picked' });
        this.cards = [
            new ChartCard({
                title: 'Distribution function', height: 300,
                option: (colours, width) => this.ecdfOption(colours, width),
                csv: () => [['measurement', 'value_s', 'share'],
                            ...this.raw().flatMap((r) => ecdf(r.sorted, 1e9).map((p) => [r.name, ...p]))],
            }),
            new ChartCard({
                title: 'Samples by value', height: 300,
                option: (colours) => this.shapeOption(colours),
                csv: () => [['measurement', 'value_s'],
                            ...this.raw().flatMap((r) => Array.from(r.sorted, (v) => [r.name, v]))],
            }),
            new ChartCard({
                title: 'Samples in the order they were taken', height: 300, wide: true,
                option: (colours, width) => this.seriesOption(colours, width),
                csv: () => [['measurement', 'repetition', 'value_s'],
                            ...this.raw().flatMap((r) => r.values.map((v, i) => [r.name, i, v]))],
            }),
            new ChartCard({
                title: 'Quantiles', height: 260, wide: true,
                option: (colours, width) => this.boxOption(colours, width),
                csv: () => [['measurement', 'min_s', 'ci95_low_s', 'median_s', 'ci95_high_s', 'p90_s', 'p99_s', 'max_s'],
                            ...this.rows.map((r) => [nameOf(r), r.min_s, r.ci95_low_s, r.median_s,
                                                     r.ci95_high_s, r.p90_s, r.p99_s, r.max_s])],
            }),
        ];
        this.shapes = segmented('shape', [['histogram', 'Histogram'], ['violin', 'Violins']], this.shape, (shape) => {
            this.shape = shape;
            this.cards[1].update();
        });
        this.element = h(
            'div', { class: 'closely' },
            h('h3', {}, 'One measurement in detail'),
            this.label,
            h('div', { class: 'controls' }, this.shapes),
            panels(this.cards),
        );
    }

    /** @param follow scroll to the pictures: the choice was made elsewhere on the page */
    show(rows, follow = false) {
        this.rows = [...new Set(rows)].slice(-mostRows);
        this.cache = null;
        const raw = this.raw().length;
        this.label.textContent = this.rows.length
            ? `${this.rows.map(nameOf).join('; ')}. Click a point or a row to see another one; hold Ctrl to add it.`
            : 'Click a point above or a row below.';
        if (this.rows.length && !raw) {
            this.label.textContent += ' The file holds no raw samples of it (--raw keeps them).';
        }
        this.cards.slice(0, 3).forEach((card) => {
            card.element.hidden = raw === 0;
            card.update();
        });
        this.shapes.hidden = raw === 0; // nothing to choose a shape for
        this.cards[3].update();
        if (follow) {
            this.element.scrollIntoView({ block: 'nearest' });
        }
    }

    raw() {
        if (!this.cache) {
            this.cache = this.rows
                .filter((row) => Array.isArray(row.raw_s) && row.raw_s.length)
                .map((row) => ({ row, name: nameOf(row), values: row.raw_s, sorted: ascending(row.raw_s) }));
        }
        return this.cache;
    }

    ecdfOption(colours, width) {
        const rows = this.raw().flatMap((r) => ecdf(r.sorted).map(([x, y]) => ({ name: r.name, x, y })));
        const option = lineOption(colours, {
            rows, key: (r) => r.name, x: (r) => r.x, y: (r) => r.y, xName: 'time', yName: 'share of samples',
            xFormat: format.seconds, yFormat: (v) => format.percent(v), xLog: farApart(this.raw().map((r) => r.sorted)),
        }, width);
        if (!option) {
            return null;
        }
        for (const series of option.series) {
            series.step = 'end';
        }
        return option;
    }

    shapeOption(colours) {
        const raw = this.raw();
        if (!raw.length) {
            return null;
        }
        return this.shape === 'violin' || raw.length > 1 ? violins(colours, raw) : bars(colours, raw[0]);
    }

    seriesOption(colours, width) {
        const rows = this.raw().flatMap((r) => {
            const step = Math.max(1, Math.ceil(r.values.length / mostPoints));
            return r.values.filter((_v, i) => i % step === 0).map((y, i) => ({ name: r.name, x: i * step, y }));
        });
        const option = lineOption(colours, {
            rows, key: (r) => r.name, x: (r) => r.x, y: (r) => r.y, xName: 'repetition', yName: 'time',
            xFormat: (v) => format.number(v), yFormat: format.seconds, points: true, yScale: true,
            yLog: farApart(this.raw().map((r) => r.sorted)),
        }, width);
        if (option && rows.length > 1000) {
            option.series.forEach((s) => { s.symbolSize = 3; });
        }
        return option;
    }

    boxOption(colours, width) {
        const rows = this.rows.filter((r) => Number.isFinite(r.median_s));
        if (!rows.length) {
            return null;
        }
        const points = [['min_s', 'minimum', 'emptyRect'], ['ci95_low_s', 'interval, low', 'triangle'],
                        ['median_s', 'median', 'diamond'], ['ci95_high_s', 'interval, high', 'triangle'],
                        ['p90_s', '90 %', 'emptyCircle'], ['p99_s', '99 %', 'circle'], ['max_s', 'maximum', 'rect']];
        const names = rows.map(nameOf);
        const high = Math.max(...rows.map((r) => r.max_s));
        const low = Math.min(...rows.map((r) => r.min_s));
        const log = high / low > 20;
        const across = bounds(fitted([low, high], log, { most: width / 110 }));
        return {
            legend: { type: 'plain' }, grid: { top: 48 },
            tooltip: { trigger: 'item', formatter: (p) =>
                tipTable(names[p.value[1]], [[p.seriesName, format.seconds(p.value[0])]]) },
            yAxis: axis(colours, { type: 'category', data: names, axisLabel: { width: Math.min(260, width * 0.4), overflow: 'break', lineHeight: 15 } }),
            xAxis: axis(colours, { ...across, type: log ? 'log' : 'value', name: 'time',
                                   axisLabel: { ...across.axisLabel, formatter: (v) => format.seconds(v) } }),
            series: points.map(([key, name, symbol], i) => ({
                type: 'scatter', name, ...mark(colours, symbol, colours.series[i]), symbolSize: key === 'median_s' ? 15 : 10,
                data: rows.map((r, y) => [r[key], y]).filter((p) => Number.isFinite(p[0])),
            })),
        };
    }
}

function bars(colours, one) {
    const [low, high] = ends([one.sorted]);
    const { low: from, width, counts, beyond } = histogram(one.sorted, low, high);
    const bins = counts.map((count, i) => [from + i * width, from + (i + 1) * width, count]);
    const option = histogramOption(colours, {
        bins, xName: beyond ? `time (${beyond === 1 ? '1 slower sample lies' : `${beyond} slower samples lie`} beyond)` : 'time', xFormat: format.seconds,
        marks: (c) => ({
            // seconds are small numbers, and two digits the default
            symbol: 'none', silent: true, precision: 20, lineStyle: { color: c.bad, type: 'dashed' },
            label: { formatter: 'median', color: c.bad }, data: [{ xAxis: one.row.median_s }],
        }),
    });
    option.grid = { top: 24 };
    return option;
}

function violins(colours, raw) {
    const [low, high, top] = ends(raw.map((r) => r.sorted));
    const up = bounds(fitted([low, high], false, { ends: true }));
    const shapes = raw.map((r) => {
        const points = density(r.sorted, low, high);
        const most = Math.max(...points.map((p) => p[1]));
        return points.map(([x, d]) => [x, d / most]);
    });
    return {
        legend: { show: false }, grid: { top: 14 },
        tooltip: { trigger: 'item', formatter: (p) => tipTable(raw[p.dataIndex].name, [
            ['median', format.seconds(quantile(raw[p.dataIndex].sorted, 0.5))],
            ['quartiles', `${format.seconds(quantile(raw[p.dataIndex].sorted, 0.25))} – ${
                format.seconds(quantile(raw[p.dataIndex].sorted, 0.75))}`],
            ['samples', raw[p.dataIndex].sorted.length]]) },
        xAxis: axis(colours, { type: 'category', data: raw.map((r) => r.name),
                               axisLabel: { width: 150, overflow: 'break', interval: 0, lineHeight: 15 } }),
        yAxis: axis(colours, { ...up, type: 'value', axisLabel: { ...up.axisLabel, formatter: (v) => format.seconds(v) },
                               name: high < top ? 'time (the far tail is cut)' : 'time' }),
        series: [{
            type: 'custom', encode: { x: 0, y: 1 },
            data: raw.map((r, i) => [i, quantile(r.sorted, 0.5)]),
            renderItem(params, api) {
                const index = api.value(0);
                const half = Math.min(70, api.size([1, 0])[0] * 0.42);
                const place = ([x, d], side) => {
                    const at = api.coord([index, x]);
                    return [at[0] + side * d * half, at[1]];
                };
                const shape = shapes[index];
                const middle = api.coord([index, api.value(1)]);
                return { type: 'group', children: [
                    { type: 'polygon',
                      shape: { points: [...shape.map((p) => place(p, 1)),
                                        ...[...shape].reverse().map((p) => place(p, -1))] },
                      style: { fill: colours.series[index % colours.series.length], opacity: 0.75 } },
                    { type: 'line',
                      shape: { x1: middle[0] - half * 0.5, x2: middle[0] + half * 0.5,
                               y1: middle[1], y2: middle[1] },
                      style: { stroke: colours.text, lineWidth: 2 } }] };
            },
        }],
    };
}
