// SPDX-License-Identifier: BSD-3-Clause
// Option builders: lines with intervals, dots with intervals, scatters, distributions.
import { axis } from './chart.js';
import { esc } from './dom.js';
import { mark } from './marks.js';
import { groupBy, order } from './stats.js';
import { bounds, fitted } from './ticks.js';

/** Where a logarithmic axis shows 0: of bytes at a half, of a quantity with a unit left of the least value that has a place. */
function zeroOf(rows, spec) {
    const least = rows.map(spec.x).reduce((low, x) => (x > 0 && x < low ? x : low), Infinity);
    return spec.xBase === 2 || !Number.isFinite(least) ? 0.5 : least / 2;
}

/** Vertical (or horizontal) whiskers from low to high at each point, drawn in the line's colour. */
function whiskers(name, data, colour, flat) {
    return {
        type: 'custom',
        name,
        data,
        itemStyle: { color: colour },
        silent: true,
        z: 1,
        tooltip: { show: false },
        encode: flat ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] },
        renderItem(_params, api) {
            const at = api.value(0);
            const from = api.coord(flat ? [api.value(1), at] : [at, api.value(1)]);
            const to = api.coord(flat ? [api.value(2), at] : [at, api.value(2)]);
            const cap = 4;
            const line = (x1, y1, x2, y2) => ({
                type: 'line',
                shape: { x1, y1, x2, y2 },
                style: { stroke: colour, lineWidth: 1.4, opacity: 0.75 },
            });
            const ends = flat
                ? [line(from[0], from[1] - cap, from[0], from[1] + cap),
                   line(to[0], to[1] - cap, to[0], to[1] + cap)]
                : [line(from[0] - cap, from[1], from[0] + cap, from[1]),
                   line(to[0] - cap, to[1], to[0] + cap, to[1])];
            return { type: 'group', children: [line(...from, ...to), ...ends] };
        },
    };
}

const pencil = document.createElement('canvas').getContext('2d');

/** A legend that wraps, and how much room it takes; very many names scroll instead. */
export function legendFor(names, width) {
    pencil.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    let rows = 1;
    let used = 0;
    for (const name of names) {
        const wide = 32 + pencil.measureText(name).width;
        if (used > 0 && used + wide > width - 16) {
            rows++;
            used = 0;
        }
        used += wide;
    }
    const fits = rows <= 6;
    return {
        legend: { show: names.length > 1, data: names, type: fits ? 'plain' : 'scroll', itemGap: 8 },
        grid: { top: names.length > 1 ? 12 + 19 * (fits ? rows : 1) : 14 },
    };
}

/** A table of names and values for a tooltip. */
export function tipTable(heading, pairs) {
    const rows = pairs
        .map(([name, value]) => `<tr><td>${esc(name)}</td><td><b>${esc(value)}</b></td></tr>`)
        .join('');
    return `<div class="tip"><strong>${esc(heading)}</strong><table>${rows}</table></div>`;
}

const positive = (value) => (value > 0 ? value : null);

// Shapes and dashes tell lines apart where colours cannot.
const symbols = ['circle', 'rect', 'triangle', 'diamond', 'emptyCircle', 'emptyRect', 'emptyTriangle', 'emptyDiamond'];
const dashes = ['solid', [6, 4], [2, 3], [10, 3, 2, 3]];

const everyPoint = 60; // so many points of a line are all marked
const marksOfMore = 12; // of more points, about so many are where there are other lines: a shape is a name without colour
const mostSymbols = 5000;

/** Whether a point of a line has a mark; those of other lines are elsewhere, so that none hides another's. */
function marked(count, place, line, lines) {
    const step = count <= everyPoint ? 1 : Math.ceil(count / marksOfMore);
    return (step === 1 || lines > 1) && place % step === Math.floor((0.25 + 0.37 * line) * step) % step;
}

/** A point that looks different from its series. */
function lookOf(spec, row, colours) {
    const look = spec.look?.(row, colours);
    return look ? mark(colours, look.symbol, look.colour) : {};
}

/** What an axis has to show: all values, their intervals where those are drawn, and what else was asked for. */
function seen(rows, value, spec) {
    return [...rows.map(value), ...(spec.low ? rows.flatMap((r) => [spec.low(r), spec.high(r)]) : []), ...(spec.within ?? [])];
}

/**
 * Lines of rows.
 * @param spec rows, key (row → line's name), x and y (row → number), low and high (row → number),
 *             xName, yName, xFormat, yFormat, xLog, xWhole (no ticks between whole numbers), yLog, tip (row → pairs), points (no line), marks,
 *             within (values that have to be in view too), look (row, colours → colour and symbol),
 *             names (of the lines, in the order of their colours; sorted where it is missing)
 */
export function lineOption(colours, spec, width = 600) {
    const rows = spec.rows.filter((row) => spec.y(row) !== null && spec.y(row) !== undefined);
    if (!rows.length) {
        return null;
    }
    const atZero = spec.xLog && rows.some((row) => !(spec.x(row) > 0));
    const zeroAt = zeroOf(rows, spec);
    const placeX = (row) => {
        const x = spec.x(row);
        return spec.xLog && !(x > 0) ? zeroAt : x;
    };
    const placeY = (value) => (spec.yLog ? positive(value) : value);
    const series = [];
    const groups = groupBy(rows, spec.key);
    const names = spec.names?.filter((name) => groups.has(name)) ?? order(groups.keys());
    names.forEach((name, index) => {
        const colour = colours.series[index % colours.series.length];
        const group = groups.get(name).filter((row) => placeY(spec.y(row)) !== null);
        group.sort((a, b) => spec.x(a) - spec.x(b));
        series.push({
            type: spec.points ? 'scatter' : 'line',
            name,
            ...mark(colours, symbols[index % symbols.length], colour, spec.points ? 0.75 : 1),
            symbolSize: spec.points ? 6 : 7,
            showSymbol: spec.points || group.length <= mostSymbols, // those that are not seen have a tooltip
            lineStyle: { color: colour, width: 2, type: dashes[Math.floor(index / 4) % dashes.length] },
            data: group.map((row, i) => ({ value: [placeX(row), placeY(spec.y(row))], row,
                ...(spec.points || marked(group.length, i, index, names.length) ? lookOf(spec, row, colours) : { itemStyle: { opacity: 0 } }) })),
            markLine: spec.marks && index === 0 ? spec.marks(colours) : undefined,
        });
        if (spec.low && group.length <= 400) {
            const ends = group
                .map((row) => [placeX(row), placeY(spec.low(row)), placeY(spec.high(row))])
                .filter((p) => Number.isFinite(p[1]) && Number.isFinite(p[2]));
            if (ends.length) {
                series.push(whiskers(name, ends, colour, false));
            }
        }
    });
    const across = fitted(rows.map(placeX), spec.xLog, { base: spec.xBase, most: width / 70, least: spec.xWhole ? 1 : 0, ends: true });
    const up = fitted(seen(rows, spec.y, spec).concat(spec.yLog || spec.yScale ? [] : [0]), spec.yLog);
    return {
        ...legendFor(names, width),
        tooltip: {
            trigger: 'item',
            formatter: (p) =>
                tipTable(p.seriesName || '', [
                    [spec.xName, spec.xFormat(spec.x(p.data.row))],
                    [spec.yName, spec.yFormat(spec.y(p.data.row))],
                    ...(spec.tip ? spec.tip(p.data.row) : []),
                ]),
        },
        xAxis: axis(colours, {
            ...bounds(across),
            type: spec.xLog ? 'log' : 'value',
            logBase: spec.xBase || 10,
            name: spec.xName,
            axisLabel: {
                ...bounds(across).axisLabel,
                formatter: (v) => spec.xFormat(atZero && v === zeroAt ? 0 : v),
            },
        }),
        yAxis: axis(colours, {
            ...bounds(up),
            type: spec.yLog ? 'log' : 'value',
            name: spec.yName,
            axisLabel: { ...bounds(up).axisLabel, formatter: (v) => spec.yFormat(v) },
        }),
        dataZoom: [{ type: 'inside', filterMode: 'none', zoomOnMouseWheel: 'ctrl' }],
        series,
    };
}

/** A list in lines of so many pixels, broken after its commas. */
function inLines(text, room) {
    return text.split(/(?<=, )/).reduce((lines, part) => {
        const longer = lines.length ? lines[lines.length - 1] + part : '';
        return longer && pencil.measureText(longer.trimEnd()).width <= room ? [...lines.slice(0, -1), longer] : [...lines, part];
    }, []).join('\n');
}

/** A text that is too wide loses its middle: its end may be the source line of a call. */
function narrowed(text, room) {
    const cut = (kept) => `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
    let kept = text.length;
    let shown = text;
    while (kept > 2 && pencil.measureText(shown).width > room) {
        kept -= 1;
        shown = cut(kept);
    }
    return shown;
}

/** Names beside dots: those that are too long for a line have several smaller ones, since their ends differ. */
export function sideLabels(names, width) {
    const room = Math.min(380, width * 0.4);
    const font = (size) => { pencil.font = `${size}px ${getComputedStyle(document.body).fontFamily}`; };
    font(12);
    const long = names.some((name) => pencil.measureText(name).width > room);
    return { margin: 14, width: room, ...(long ? { fontSize: 10, lineHeight: 11,
        formatter: (name) => { font(10); return inLines(name, room).split('\n').map((line) => narrowed(line, room)).join('\n'); } } : {}) };
}

/**
 * One dot with its interval a line: what a single size or process count leaves to show. The smallest is on top, as the
 * fastest should be; with `largestFirst` the largest is, as what matters most should be.
 */
export function dotOption(colours, spec, width = 600) {
    const rows = spec.rows.filter((row) => spec.y(row) !== null && spec.y(row) !== undefined);
    if (!rows.length) {
        return null;
    }
    const sorted = [...rows].sort((a, b) => spec.y(b) - spec.y(a)).slice(-40);
    const names = sorted.map((row) => spec.key(row));
    const ends = sorted
        .map((row, i) => [i, spec.low?.(row), spec.high?.(row)])
        .filter((p) => Number.isFinite(p[1]) && Number.isFinite(p[2]));
    const range = fitted([...seen(sorted, spec.y, spec), ...(spec.more ?? []).flatMap(([, of]) => sorted.map(of))],
        spec.yLog, { most: width / 110 });
    return {
        legend: { show: Boolean(spec.more), data: spec.more ? [spec.named, ...spec.more.map(([name]) => name)] : [] },
        grid: { top: spec.more ? 30 : 10 },
        tooltip: {
            trigger: 'item',
            formatter: (p) =>
                tipTable(p.name, [
                    [spec.yName, spec.yFormat(spec.y(p.data.row))],
                    ...(spec.tip ? spec.tip(p.data.row) : []),
                ]),
        },
        yAxis: axis(colours, { type: 'category', data: names, inverse: Boolean(spec.largestFirst), axisLabel: sideLabels(names, width) }),
        xAxis: axis(colours, {
            ...bounds(range),
            type: spec.yLog ? 'log' : 'value',
            name: spec.yName,
            axisLabel: { ...bounds(range).axisLabel, formatter: (v) => spec.yFormat(v) },
        }),
        series: [
            {
                type: 'scatter',
                name: spec.named,
                symbolSize: 11,
                itemStyle: { color: colours.accent },
                data: sorted.map((row, i) => ({ name: names[i], value: [spec.y(row), i], row, ...lookOf(spec, row, colours) })),
                markLine: spec.marks?.(colours),
            },
            ...(spec.more ?? []).map(([name, of, symbol]) => ({
                type: 'scatter', name, ...mark(colours, symbol, colours.muted), symbolSize: 8,
                data: sorted.map((row, i) => ({ name: names[i], value: [of(row), i], row })).filter((d) => Number.isFinite(d.value[0])),
            })),
            whiskers('interval', ends, colours.accent, true),
        ],
    };
}

/** Few names are all written, in several lines where they are long; of many, those that fit. */
function nameLabels(names, width) {
    return names.length > 8 ? {} : { interval: 0, hideOverlap: false, overflow: 'break', lineHeight: 14, width: Math.max(50, (0.85 * width - 70) / names.length) };
}

/** What bars have to show: 0, and each bar or stack. */
function barRange(series, stacked, most) {
    const count = Math.max(...series.map((s) => s.values.length));
    const sums = Array.from({ length: count }, (_x, i) => series.reduce((sum, s) => sum + (s.values[i] || 0), 0));
    const tops = stacked ? sums : series.flatMap((s) => s.values);
    return fitted([0, ...(tops.some((t) => t > 0) ? tops : [1])], false, { most, least: tops.every(Number.isInteger) ? 1 : 0 }); // counts have no halves
}

/** Bars of numbers by name: upright, or flat with the first name on top. */
export function barOption(colours, { names, series, yName, yFormat, stacked = false, flat = false }, width = 600) {
    if (!names.length) {
        return null;
    }
    const range = bounds(barRange(series, stacked, flat ? width / 110 : 8));
    const values = axis(colours, { ...range, type: 'value', name: yName, axisLabel: { formatter: yFormat },
        ...(flat ? { nameGap: 26, nameMoveOverlap: false } : {}) });
    return {
        legend: { show: series.length > 1 },
        grid: { top: series.length > 1 ? 38 : 14 },
        tooltip: {
            trigger: 'axis',
            axisPointer: { type: 'shadow' },
            formatter: (points) =>
                tipTable(points[0].name, points.map((p) => [p.seriesName, yFormat(p.value)])),
        },
        ...(flat ? { xAxis: values, yAxis: axis(colours, { type: 'category', data: names, inverse: true, axisLabel: sideLabels(names, width) }) }
            : { xAxis: axis(colours, { type: 'category', data: names, axisLabel: nameLabels(names, width) }), yAxis: values }),
        series: series.map(({ name, values: data, colour }) => ({
            type: 'bar',
            name,
            data,
            stack: stacked ? 'all' : undefined,
            barMaxWidth: 36,
            itemStyle: colour ? { color: colour } : undefined,
        })),
    };
}

/** Bars of a histogram, each as wide as its bin. */
export function histogramOption(colours, { bins, xName, xFormat, marks }) {
    if (!bins.length) {
        return null;
    }
    const across = bounds(fitted(bins.flatMap(([low, high]) => [low, high]), false, { ends: true, most: 6 }));
    return {
        legend: { show: false },
        grid: { top: 14 },
        tooltip: {
            trigger: 'item',
            formatter: (p) =>
                tipTable(`${xFormat(p.value[0])} – ${xFormat(p.value[1])}`, [['samples', p.value[2]]]),
        },
        xAxis: axis(colours, {
            ...across, type: 'value', name: xName, axisLabel: { ...across.axisLabel, formatter: (v) => xFormat(v) },
        }),
        yAxis: axis(colours, { type: 'value', name: 'samples' }),
        series: [
            {
                type: 'custom',
                encode: { x: [0, 1], y: 2 },
                data: bins,
                renderItem(_params, api) {
                    const top = api.coord([api.value(0), api.value(2)]);
                    const foot = api.coord([api.value(1), 0]);
                    return {
                        type: 'rect',
                        shape: { x: top[0], y: top[1], width: Math.max(1, foot[0] - top[0] - 1),
                                 height: foot[1] - top[1] },
                        style: { fill: colours.accent },
                        emphasis: { style: { opacity: 0.8 } },
                    };
                },
                markLine: marks?.(colours),
            },
        ],
    };
}
