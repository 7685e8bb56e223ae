// SPDX-License-Identifier: BSD-3-Clause
// Waits, their causes and the critical path upon a timeline, as ictus waits found them.

const mostLinks = 150;
const hatchGap = 7; // pixels from one stripe of the hatch to the next

/** The rows of one file of ictus waits, as a timeline wants them; null where it has none. */
export function waitsOf(types, file) {
    const of = (type) => (types.get(type) ?? []).filter((r) => r.$file === file);
    const [whole] = of('waits');
    const program = of('critical-path').find((r) => r.of === 'program');
    return whole ? { archive: whole.archive, sigma_ns: whole.clock_sigma_ns, sigma_source: whole.sigma_source,
                     instances: of('wait-instance'), stretches: program?.raw_stretches ?? [] } : null;
}

/** Their places: tracks by location, times in nanoseconds of the timeline. */
export function placeWaits(waits, trackOf, first) {
    const at = (s) => first + 1e9 * s;
    const instances = waits.instances.filter((w) => trackOf.has(w.location)).map((w) => ({
        ...w, track: trackOf.get(w.location), by: trackOf.get(w.causer), from: at(w.from_s), to: at(w.from_s + w.wait_s),
        cause: at(w.cause_s), sure: w.wait_s > 1.96 * w.sigma_s }));
    const stretches = waits.stretches.filter(([location]) => trackOf.has(location))
        .map(([location, from, to]) => ({ track: trackOf.get(location), from: at(from), to: at(to) }));
    return { instances, stretches };
}

const seen = (gantt, from, to) => to >= gantt.view.from && from <= gantt.view.to;

/**
 * Stripes across a rectangle, as part of the path that is being drawn: they rise to the right, or fall. Their
 * places are those of the picture, so that neighbours' stripes join. On a stripe x + y (or x - y) is constant.
 */
function hatch(pen, left, right, top, bottom, rising) {
    const sign = rising ? 1 : -1;
    const low = left + Math.min(sign * top, sign * bottom);
    const high = right + Math.max(sign * top, sign * bottom);
    for (let c = Math.ceil(low / hatchGap) * hatchGap; c <= high; c += hatchGap) {
        const [a, b] = [c - sign * top, c - sign * bottom].sort((p, q) => p - q).map((x) => Math.min(right, Math.max(left, x)));
        if (b > a) {
            pen.moveTo(a, sign * (c - a));
            pen.lineTo(b, sign * (c - b));
        }
    }
}

/** What is seen without colour: stripes of the card's colour, which every call's colour stands out of. */
function hatchWaits(pen, colours, gantt, list, rising) {
    const [first, last] = gantt.sides();
    pen.strokeStyle = colours.card;
    pen.lineWidth = 1.6;
    pen.beginPath();
    for (const w of list) {
        const x = gantt.xAt(w.from);
        const right = Math.max(x + 1, gantt.xAt(w.to));
        hatch(pen, Math.max(x, first), Math.min(right, last), w.track * gantt.rowHeight + 1, (w.track + 1) * gantt.rowHeight - 4, rising);
    }
    pen.stroke();
}

/**
 * Shaded and hatched where somebody waited, grey and hatched the other way where that is undecidable, with a line
 * from whoever was waited for.
 */
export function drawWaits(pen, colours, gantt, waits) {
    const shown = waits.instances.filter((w) => seen(gantt, w.from, w.to));
    const deep = gantt.rowHeight;
    for (const w of shown) {
        const x = gantt.xAt(w.from);
        const wide = Math.max(1, gantt.xAt(w.to) - x);
        pen.fillStyle = w.sure ? colours.bad : colours.muted;
        pen.globalAlpha = 0.35;
        pen.fillRect(x, w.track * deep + 1, wide, deep - 2);
        pen.globalAlpha = 1;
        pen.fillRect(x, (w.track + 1) * deep - 4, wide, 3);
    }
    for (const sure of [true, false]) {
        hatchWaits(pen, colours, gantt, shown.filter((w) => w.sure === sure), sure);
    }
    pen.lineWidth = 1.2;
    for (const w of shown.slice(0, mostLinks)) {
        if (w.by !== undefined && w.by !== w.track) {
            pen.strokeStyle = w.sure ? colours.bad : colours.muted;
            pen.beginPath();
            pen.moveTo(gantt.xAt(w.cause), (w.by + 0.5) * deep);
            pen.lineTo(gantt.xAt(w.to), (w.track + 0.5) * deep);
            pen.stroke();
        }
    }
}

/** A thick line along whoever the program's time consisted of, from one to the next, edged so that it is seen on dark calls. */
export function drawCritical(pen, colours, gantt, waits) {
    const [first, last] = gantt.sides();
    const within = (at) => Math.min(last + 9, Math.max(first - 9, gantt.xAt(at)));
    for (const [colour, wide] of [[colours.card, 7], [colours.text, 3]]) {
        let before = null;
        pen.strokeStyle = colour;
        pen.lineWidth = wide;
        pen.beginPath();
        for (const s of waits.stretches) {
            const y = s.track * gantt.rowHeight + 4.5;
            if (seen(gantt, s.from, s.to)) {
                pen.moveTo(within(s.from), before ?? y);
                if (before !== null && before !== y) {
                    pen.lineTo(within(s.from), y);
                }
                pen.lineTo(within(s.to), y);
            }
            before = y;
        }
        pen.stroke();
    }
}

/** The wait under the pointer. */
export function waitAt(gantt, waits, x, y) {
    const track = Math.floor(y / gantt.rowHeight);
    const at = gantt.timeAt(x);
    const slack = (gantt.view.to - gantt.view.from) / gantt.plot;
    return waits.instances.find((w) => w.track === track && w.from - slack <= at && at <= w.to + slack) ?? null;
}
