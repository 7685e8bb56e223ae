// SPDX-License-Identifier: BSD-3-Clause
// A timeline on a canvas: a row for each process or thread, arrows for messages, zoom and pan.
import { download, h } from './dom.js';
import { nanoseconds, number, waitState } from './format.js';
import { inkUpon } from './ink.js';
import { drawCritical, drawWaits, placeWaits, waitAt } from './waitmarks.js';
import { SvgPen } from './svgpen.js';
import { onTheme, theme } from './theme.js';

const labelWidth = 120;
const axisHeight = 26;
const arrowGap = 6; // pixels between two arrows of the same two rows
const legendNames = 8;
const mostArrows = 250;
const metricHeight = 34;
const mostMetrics = 24;
// What a tracer or a library does before and after the program's own work.
const frame = /^(MPI_Init|MPI_Init_thread|MPI_Finalize|ictus .*)$/;

/** The slices of one track as columns; ends[i] is the latest end of the first i + 1. */
function columns(flat) {
    const count = flat.length / 4;
    const track = {
        count, start: new Float64Array(count), duration: new Float64Array(count),
        name: new Uint32Array(count), depth: new Uint32Array(count), ends: new Float64Array(count),
    };
    let latest = -Infinity;
    let at = 0; // starts are told since the one before
    for (let i = 0; i < count; i++) {
        at += flat[4 * i];
        track.start[i] = at;
        track.duration[i] = flat[4 * i + 1];
        track.name[i] = flat[4 * i + 2];
        track.depth[i] = flat[4 * i + 3];
        latest = Math.max(latest, at + flat[4 * i + 1]);
        track.ends[i] = latest;
    }
    return track;
}

/** The first place whose value is above a limit, in ascending values. */
function above(values, limit) {
    let low = 0;
    let high = values.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (values[middle] > limit) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/** Tracks by process and thread, as people count. */
function inOrder(tracks) {
    const key = (i) => `${tracks[i].process} ${tracks[i].name}`;
    return tracks.map((_t, i) => i).sort((a, b) => key(a).localeCompare(key(b), 'en', { numeric: true }));
}

/** What a track is called: its own name, with that of its process where it is only a number among threads. */
function trackName({ name, process }) {
    return name && !/^(master thread|thread \d+)$/i.test(name) ? name : `${process}${name ? ` · ${name}` : ''}`;
}

function messagesOf(flat, placed) {
    const list = [];
    for (let i = 0; i < flat.length; i += 5) {
        const [from, sent, to, received, bytes] = flat.slice(i, i + 5);
        list.push({ from: placed[from], sent, to: placed[to], received, bytes, backward: received < sent });
    }
    return list.sort((a, b) => Math.min(a.sent, a.received) - Math.min(b.sent, b.received));
}

/** Round steps for the axis: at most so many. */
function steps(from, to, most) {
    const raw = (to - from) / most;
    const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw) || power * 10;
    const list = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
        list.push(at);
    }
    return list;
}

export class Gantt {
    /**
     * @param moved (view) => void, after the user moved
     * @param waits what ictus waits found in this archive: {instances, stretches, sigma_ns}, or null
     */
    constructor(row, moved, waits = null) {
        const places = inOrder(row.tracks);
        const placed = places.map((_p, i) => places.indexOf(i));
        this.row = row;
        this.moved = moved;
        this.names = places.map((i) => row.tracks[i]);
        // one thread of each process: its name says nothing
        this.alone = new Set(this.names.map((t) => t.process)).size === this.names.length && this.names.every((t) => t.process);
        this.tracks = places.map((i) => columns(row.slices[i]));
        this.messages = messagesOf(row.messages, placed);
        // The calls that take the most time get colours of their own; what is rare shares one.
        const total = new Map(row.profile.map((p) => [p.name, p.total_s]));
        this.colours = new Map(row.names.filter((n) => n.startsWith('MPI_'))
            .sort((a, b) => frame.test(a) - frame.test(b) || (total.get(b) ?? 0) - (total.get(a) ?? 0) || a.localeCompare(b))
            .map((n, i) => [n, i]));
        this.backward = this.messages.filter((m) => m.backward);
        this.backwardCount = row.backward_count ?? this.backward.length;
        this.density = (row.density ?? []).length ? places.map((i) => row.density[i]) : null;
        this.metrics = (row.metrics ?? []).slice(0, mostMetrics).map((m) => ({ ...m, place: placed[m.track] }))
            .sort((a, b) => a.place - b.place);
        const trackOf = new Map(this.names.map((t, i) => [t.location, i]));
        this.waits = waits && placeWaits(waits, trackOf, row.first_ns ?? 0);
        this.sigma = row.clock?.sigma_ns ?? (waits && waits.sigma_source !== 'unknown' ? waits.sigma_ns : undefined);
        this.showWaits = true;
        this.showPath = true;
        this.depths = this.tracks.map((t) => Math.min(4, t.depth.reduce((a, b) => Math.max(a, b), 0) + 1));
        this.arrows = true;
        this.whole = this.extent();
        this.view = this.work();
        const rows = this.tracks.length;
        this.rowHeight = Math.max(12, Math.min(44, Math.floor(460 / Math.max(rows, 1))));
        this.canvas = h('canvas', {
            class: 'gantt', tabindex: 0, role: 'application', 'aria-roledescription': 'timeline',
            'aria-label': `Timeline of ${row.archive}. Arrow keys move it, plus and minus zoom, 0 shows the whole; the table below has the times of all calls.`,
            style: `height:${rows * this.rowHeight + this.metrics.length * metricHeight + axisHeight}px`,
        });
        this.tip = h('div', { class: 'gantt-tip', hidden: true });
        this.note = h('span', { class: 'gantt-note' });
        this.legend = h('div', { class: 'gantt-legend' });
        this.band = h('div', { class: 'gantt-band', hidden: true });
        this.box = h('div', { class: 'gantt-box' }, this.canvas, this.band, this.tip, this.legend);
        this.listen();
        new ResizeObserver(() => this.draw()).observe(this.box);
        onTheme(() => this.draw());
    }

    extent() {
        let from = Infinity;
        let to = -Infinity;
        for (const track of this.tracks) {
            if (track.count) {
                from = Math.min(from, track.start[0]);
                to = Math.max(to, track.ends[track.count - 1]);
            }
        }
        return to > from ? { from, to } : { from: 0, to: 1 };
    }

    /** Without what comes before the program's own calls and after them, where there is anything in between. */
    work() {
        let from = Infinity;
        let to = -Infinity;
        for (const track of this.tracks) {
            for (let i = 0; i < track.count; i++) {
                const name = this.row.names[track.name[i]];
                if (name.startsWith('MPI_') && !frame.test(name)) {
                    from = Math.min(from, track.start[i]);
                    to = Math.max(to, track.start[i] + track.duration[i]);
                }
            }
        }
        const margin = 0.01 * (to - from);
        return to > from ? { from: Math.max(from - margin, this.whole.from), to: Math.min(to + margin, this.whole.to) } : { ...this.whole };
    }

    /** The names that take most of the time, each with its colour, and what the arrows leave out. */
    explainColours(colours) {
        const names = this.row.profile.filter((p) => this.colours.has(p.name) && !frame.test(p.name)).sort((a, b) => b.total_s - a.total_s);
        const key = (name, background) => h('span', { class: 'gantt-key' }, h('i', { style: `background:${background}` }), name);
        const hatched = (angle, colour) => `repeating-linear-gradient(${angle}deg, ${colour} 0 2.5px, ${colours.card} 2.5px 4px)`;
        const line = `linear-gradient(${colours.text}, ${colours.text}) center / 100% 3px no-repeat`;
        const of = (sure) => this.waits?.instances.some((w) => w.sure === sure);
        this.legend.replaceChildren(
            ...names.slice(0, legendNames).map((p) => key(p.name, this.colourOf(this.row.names.indexOf(p.name), colours))),
            ...(of(true) ? [key('waiting', hatched(-45, colours.bad))] : []),
            ...(of(false) ? [key('waiting, undecidable', hatched(45, colours.muted))] : []),
            ...(this.waits?.stretches.length ? [key('critical path', line)] : []),
            key(names.length > legendNames ? 'the program; further calls repeat these colours' : 'the program', colours.line),
            this.note);
    }

    listen() {
        const { canvas } = this;
        let held = null;
        canvas.addEventListener('wheel', (event) => {
            if (event.ctrlKey || event.shiftKey) {
                event.preventDefault();
                this.zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
            }
        }, { passive: false });
        canvas.addEventListener('pointerdown', (event) => {
            held = { x: event.offsetX, view: { ...this.view } };
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener('pointermove', (event) => {
            if (held) {
                const shift = ((held.x - event.offsetX) * (held.view.to - held.view.from)) / this.plot;
                this.look(held.view.from + shift, held.view.to + shift);
            } else {
                this.explain(event.offsetX, event.offsetY);
            }
        });
        canvas.addEventListener('pointerup', () => { held = null; });
        canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; this.band.hidden = true; });
        canvas.addEventListener('dblclick', (event) => this.zoom(0.25, this.timeAt(event.offsetX)));
        canvas.addEventListener('keydown', (event) => {
            const span = this.view.to - this.view.from;
            const act = {
                ArrowLeft: () => this.look(this.view.from - span / 4, this.view.to - span / 4),
                ArrowRight: () => this.look(this.view.from + span / 4, this.view.to + span / 4),
                '+': () => this.zoom(0.5), '-': () => this.zoom(2), 0: () => this.reset(),
            }[event.key];
            if (act) {
                event.preventDefault();
                act();
            }
        });
    }

    get plot() {
        return Math.max(50, this.canvas.clientWidth - labelWidth);
    }

    timeAt(x) {
        return this.view.from + ((x - labelWidth) / this.plot) * (this.view.to - this.view.from);
    }

    zoom(factor, around = (this.view.from + this.view.to) / 2) {
        this.look(around - (around - this.view.from) * factor, around + (this.view.to - around) * factor);
    }

    reset() {
        this.look(this.whole.from, this.whole.to);
    }

    /** Show a span of time, and tell whoever shows the same. */
    look(from, to, quietly = false) {
        const least = 10; // ns
        const middle = (from + to) / 2;
        this.view = to - from < least ? { from: middle - least / 2, to: middle + least / 2 } : { from, to };
        this.draw();
        if (!quietly) {
            this.moved?.(this.view, this);
        }
    }

    colourOf(name, colours) {
        const place = this.colours.get(this.row.names[name]);
        return place === undefined ? colours.line : colours.series[place % colours.series.length];
    }

    draw() {
        const { canvas } = this;
        const width = canvas.clientWidth;
        const height = canvas.clientHeight;
        const ratio = window.devicePixelRatio || 1;
        if (!width || !height) {
            return;
        }
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        const pen = canvas.getContext('2d');
        pen.scale(ratio, ratio);
        this.paint(pen, width, height);
        this.explainColours(theme());
    }

    paint(pen, width, height) {
        const colours = theme();
        pen.fillStyle = colours.card;
        pen.fillRect(0, 0, width, height);
        pen.font = '11px sans-serif';
        this.drawAxis(pen, colours, height);
        pen.save();
        pen.beginPath();
        pen.rect(labelWidth, 0, this.plot, height - axisHeight);
        pen.clip();
        if (this.density) {
            this.density.forEach((bins, i) => this.drawDensity(pen, colours, bins, i));
        }
        const names = this.tracks.flatMap((track, i) => this.drawTrack(pen, colours, track, i));
        if (this.waits && this.showWaits) {
            drawWaits(pen, colours, this, this.waits);
        }
        this.metrics.forEach((m, i) => this.drawMetric(pen, colours, m, this.tracks.length * this.rowHeight + i * metricHeight));
        if (this.arrows) {
            this.drawMessages(pen, colours);
        } else {
            this.note.textContent = '';
        }
        this.drawNames(pen, names);
        if (this.waits && this.showPath) {
            drawCritical(pen, colours, this, this.waits);
        }
        pen.restore();
        this.drawLabels(pen, colours, width);
    }

    drawAxis(pen, colours, height) {
        const { from, to } = this.view;
        // so many digits that neighbours differ
        const digits = (at) => Math.max(4, Math.ceil(Math.log10(Math.abs(at) / (to - from) + 1)) + 3);
        const label = (at) => nanoseconds(at, Math.min(digits(at), 15));
        const widest = Math.max(pen.measureText(label(from)).width, pen.measureText(label(to)).width, 44);
        pen.textAlign = 'center';
        for (const at of steps(from, to, Math.max(2, this.plot / (1.35 * widest)))) {
            const x = this.xAt(at);
            const text = label(at);
            pen.fillStyle = colours.faint;
            pen.fillRect(x, 0, 1, height - axisHeight);
            pen.fillStyle = colours.muted;
            pen.fillText(text, Math.min(x, this.sides()[1] - pen.measureText(text).width / 2), height - 9);
        }
        pen.textAlign = 'left';
    }

    drawTrack(pen, colours, track, index) {
        const { from, to } = this.view;
        const scale = this.plot / (to - from);
        const top = index * this.rowHeight + 1;
        const each = (this.rowHeight - 2) / this.depths[index];
        const names = []; // of those that have room for theirs
        const drawn = []; // the last pixel drawn at each depth: what is narrower is not seen
        for (let i = above(track.ends, from); i < track.count && track.start[i] < to; i++) {
            const depth = Math.min(track.depth[i], 3);
            const x = labelWidth + (track.start[i] - from) * scale;
            const right = x + track.duration[i] * scale;
            if (right < labelWidth || right < (drawn[depth] ?? -1) + 0.5) {
                continue;
            }
            const wide = Math.max(right - x, 0.8);
            drawn[depth] = x + wide;
            pen.fillStyle = this.colourOf(track.name[i], colours);
            const y = top + depth * each;
            pen.fillRect(x, y, wide, each - (each > 5 ? 1 : 0));
            const shown = Math.max(x, labelWidth);
            if (right - shown > 46 && each > 10) {
                names.push({ text: this.row.names[track.name[i]], x: shown, y, wide: right - shown - 3, deep: each, colour: pen.fillStyle });
            }
        }
        return names;
    }

    /** The names of calls, upon the call's own colour, so that no hatch and no line runs through them. */
    drawNames(pen, names) {
        for (const { text, x, y, wide, deep, colour } of names) {
            pen.save();
            pen.beginPath();
            pen.rect(x, y, wide, deep);
            pen.clip();
            pen.fillStyle = colour;
            pen.fillRect(x + 2, y + deep / 2 - 6, pen.measureText(text).width + 4, 13);
            pen.fillStyle = inkUpon(colour);
            pen.fillText(text, x + 4, y + deep / 2 + 4);
            pen.restore();
        }
    }

    /** Where an instant is, in pixels. */
    xAt(at) {
        return labelWidth + ((at - this.view.from) / (this.view.to - this.view.from)) * this.plot;
    }

    /** Where the plot begins and ends, in pixels. */
    sides() {
        return [labelWidth, labelWidth + this.plot];
    }

    /** What a track did most of where calls are too short to be in the page: the paler, the less of it. */
    drawDensity(pen, colours, bins, index) {
        const wide = this.row.bin_ns;
        const first = Math.max(0, Math.floor(this.view.from / wide));
        for (let b = first; 2 * b < bins.length && b * wide < this.view.to; b++) {
            if (bins[2 * b] >= 0) {
                pen.globalAlpha = 0.15 + 0.5 * Math.min(1, bins[2 * b + 1] / 100);
                pen.fillStyle = this.colourOf(bins[2 * b], colours);
                pen.fillRect(this.xAt(b * wide), index * this.rowHeight + 1, this.xAt((b + 1) * wide) - this.xAt(b * wide), this.rowHeight - 2);
            }
        }
        pen.globalAlpha = 1;
    }

    /** A metric as steps in a row of its own, between its least and its greatest value in view. */
    drawMetric(pen, colours, metric, top) {
        const values = metric.points.filter((_v, i) => i % 2 === 1);
        const [low, high] = [Math.min(...values), Math.max(...values)];
        const y = (v) => top + metricHeight - 5 - (high > low ? (v - low) / (high - low) : 0.5) * (metricHeight - 12);
        pen.strokeStyle = colours.series[metric.place % colours.series.length];
        pen.lineWidth = 1.2;
        pen.beginPath();
        for (let i = 0; i < metric.points.length; i += 2) {
            const x = Math.min(Math.max(this.xAt(metric.points[i]), labelWidth - 2), labelWidth + this.plot + 2);
            if (i > 0) {
                pen.lineTo(x, y(metric.points[i - 1]));
                pen.lineTo(x, y(metric.points[i + 1]));
            } else {
                pen.moveTo(x, y(metric.points[1]));
            }
        }
        pen.stroke();
        pen.fillStyle = colours.muted;
        pen.fillText(`${number(high, 3)} ${metric.unit}`, labelWidth + 4, top + 10);
    }

    drawMessages(pen, colours) {
        const { from, to } = this.view;
        const x = (at) => labelWidth + ((at - from) / (to - from)) * this.plot;
        const y = (track) => (track + 0.5) * this.rowHeight;
        const seen = (m) => Math.max(m.sent, m.received) >= from && Math.min(m.sent, m.received) <= to;
        const shown = this.messages.filter((m) => !m.backward && seen(m));
        const arrow = (m) => {
            const ax = x(m.received);
            const ay = y(m.to);
            const angle = Math.atan2(ay - y(m.from), ax - x(m.sent));
            pen.beginPath();
            pen.moveTo(x(m.sent), y(m.from));
            pen.lineTo(ax, ay);
            pen.lineTo(ax - 7 * Math.cos(angle - 0.4), ay - 7 * Math.sin(angle - 0.4));
            pen.moveTo(ax, ay);
            pen.lineTo(ax - 7 * Math.cos(angle + 0.4), ay - 7 * Math.sin(angle + 0.4));
            pen.stroke();
        };
        // Where they are too close to be told apart, one stands for its neighbours, all over the picture alike.
        const thinned = (list) => {
            const last = new Map();
            return list.filter((m) => {
                const key = m.from * this.tracks.length + m.to;
                const keep = !(x(m.sent) - (last.get(key) ?? -Infinity) < arrowGap);
                if (keep) {
                    last.set(key, x(m.sent));
                }
                return keep;
            });
        };
        const few = (list) => list.filter((_m, i) => i % Math.ceil(list.length / mostArrows) === 0);
        const drawn = few(thinned(shown));
        // Edged with the card's colour, so that they are seen upon calls of any colour.
        const edged = (list, colour, wide, alpha) => [[colours.card, wide + 1.4], [colour, wide]].forEach(([ink, width]) => {
            pen.strokeStyle = ink;
            pen.lineWidth = width;
            pen.globalAlpha = alpha;
            list.forEach(arrow);
            pen.globalAlpha = 1;
        });
        edged(drawn, colours.text, 1, drawn.length > 300 ? 0.35 : 0.8);
        const wrong = this.backward.filter(seen);
        const red = few(thinned(wrong));
        edged(red, colours.bad, 1.6, 1);
        const all = shown.length + wrong.length;
        const now = drawn.length + red.length;
        const total = this.row.message_count ?? this.messages.length;
        const sampled = total > this.messages.length ? ` The page holds ${number(this.messages.length)} of ${number(total)} messages, taken evenly from the whole run.` : '';
        this.note.textContent = `${now < all ? `${number(now)} of ${number(all)} arrows are drawn; zoom in to see the others.` : ''}${sampled}`;
    }

    /** A text cut to what has room before the plot. */
    cut(pen, text) {
        let shown = text;
        while (shown.length > 2 && pen.measureText(shown).width > labelWidth - 10) {
            shown = `${shown.slice(0, -2)}…`;
        }
        return shown;
    }

    drawLabels(pen, colours, width) {
        let last = null;
        const nameOf = (track) => (this.alone ? track.process : trackName(track));
        const twice = new Set(this.names.map(nameOf)).size < this.names.length;
        this.metrics.forEach((m, i) => {
            const top = this.tracks.length * this.rowHeight + i * metricHeight;
            pen.fillStyle = colours.line;
            pen.fillRect(0, top, width, 1);
            pen.fillStyle = colours.text;
            pen.fillText(this.cut(pen, m.name), 2, top + 13);
            pen.fillStyle = colours.muted;
            pen.fillText(this.cut(pen, this.names[m.place].process || this.names[m.place].name), 2, top + 26);
        });
        this.names.forEach((track, i) => {
            const y = i * this.rowHeight;
            pen.fillStyle = colours.line;
            if (track.process !== last) {
                pen.fillRect(0, y, width, 1);
            }
            last = track.process;
            const text = twice ? `${nameOf(track)} (${track.location})` : nameOf(track);
            if (this.rowHeight >= 11) {
                pen.fillStyle = colours.text;
                pen.fillText(this.cut(pen, text), 2, y + this.rowHeight / 2 + 4);
            }
        });
    }

    /** Beside the pointer, how far instants of different clocks may be off from each other. */
    showBand(x) {
        const half = (1.96 * (this.sigma ?? 0) * this.plot) / (this.view.to - this.view.from);
        this.band.hidden = !(this.sigma > 0) || x < labelWidth;
        this.band.style.left = `${x - half}px`;
        this.band.style.width = `${Math.max(1, 2 * half)}px`;
        this.band.style.height = `${this.canvas.clientHeight - axisHeight}px`;
    }

    /** The innermost slice under the pointer. */
    sliceAt(x, y) {
        const index = Math.floor(y / this.rowHeight);
        const track = this.tracks[index];
        if (!track || x < labelWidth) {
            return null;
        }
        const at = this.timeAt(x);
        const slack = (this.view.to - this.view.from) / this.plot;
        let found = null;
        for (let i = above(track.ends, at - slack); i < track.count && track.start[i] <= at + slack; i++) {
            if (track.start[i] + track.duration[i] >= at - slack) {
                found = { index, name: this.row.names[track.name[i]], start: track.start[i], duration: track.duration[i] };
            }
        }
        return found;
    }

    explain(x, y) {
        const named = x < labelWidth ? this.names[Math.floor(y / this.rowHeight)] : null;
        const slice = this.sliceAt(x, y);
        const wait = this.waits && this.showWaits && !named ? waitAt(this, this.waits, x, y) : null;
        this.showBand(x);
        this.tip.hidden = !slice && !wait && !named;
        if (!this.tip.hidden) {
            this.tip.replaceChildren(
                named ? h('strong', {}, `${trackName(named)} (${named.location})`) : '',
                slice ? h('strong', {}, slice.name) : '',
                slice ? h('div', {}, `${nanoseconds(slice.duration)} from ${nanoseconds(slice.start - this.whole.from, 9)}`) : '',
                wait ? h('div', { class: 'wait' }, `${waitState(wait.state)}: ${nanoseconds(1e9 * wait.wait_s)} ± ${nanoseconds(1.96e9 * wait.sigma_s, 3)}${
                    wait.sure ? '' : ' (undecidable)'}, for rank ${wait.causer_rank} in ${wait.causer_call}`) : '',
                this.sigma > 0 && !named ? h('div', {}, `clock ± ${nanoseconds(1.96 * this.sigma, 3)}`) : '');
            const [wide, high] = [this.tip.offsetWidth, this.tip.offsetHeight];
            this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.canvas.clientWidth - wide))}px`;
            this.tip.style.top = `${y + 14 + high > this.box.clientHeight ? Math.max(0, y - high - 6) : y + 14}px`;
        }
    }

    /** Look at the n-th call of a name on every track; false if no track has so many. */
    lookAtCall(name, n) {
        const number = this.row.names.indexOf(name);
        let from = Infinity;
        let to = -Infinity;
        for (const track of this.tracks) {
            let seen = 0;
            for (let i = 0; i < track.count; i++) {
                if (track.name[i] === number && ++seen === n) {
                    from = Math.min(from, track.start[i]);
                    to = Math.max(to, track.start[i] + track.duration[i]);
                    break;
                }
            }
        }
        if (!(to >= from)) {
            return false;
        }
        const margin = 0.15 * (to - from) + 50;
        this.look(from - margin, to + margin);
        return true;
    }

    lookAtMessage(message) {
        const low = Math.min(message.sent, message.received);
        const high = Math.max(message.sent, message.received);
        const margin = 2 * (high - low) + 1000;
        this.look(low - margin, high + margin);
    }

    saveSvg() {
        const pen = new SvgPen(this.canvas.clientWidth, this.canvas.clientHeight);
        this.paint(pen, ...pen.size);
        download('ictus-timeline.svg', new Blob([pen.text()], { type: 'image/svg+xml' }), 'image/svg+xml');
    }

    save() {
        this.canvas.toBlob((blob) => blob && download('ictus-timeline.png', blob, 'image/png'));
    }
}
