// SPDX-License-Identifier: BSD-3-Clause
// Waits, their causes and the critical path upon a timeline, as ictus waits found them.

const mostLinks = 150;

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

/** Shaded where somebody waited, hollow where that is undecidable, with a line from whoever was waited for. */
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

/** A thick line along whoever the program's time consisted of, from one to the next. */
export function drawCritical(pen, colours, gantt, waits) {
    let before = null;
    pen.strokeStyle = colours.text;
    pen.lineWidth = 3;
    for (const s of waits.stretches) {
        const y = s.track * gantt.rowHeight + 2.5;
        if (seen(gantt, s.from, s.to)) {
            pen.beginPath();
            if (before !== null && before !== y) {
                pen.moveTo(gantt.xAt(s.from), before);
                pen.lineTo(gantt.xAt(s.from), y);
            } else {
                pen.moveTo(gantt.xAt(s.from), y);
            }
            pen.lineTo(gantt.xAt(s.to), y);
            pen.stroke();
        }
        before = y;
    }
}

/** The wait under the pointer. */
export function waitAt(gantt, waits, x, y) {
    const track = Math.floor(y / gantt.rowHeight);
    const at = gantt.timeAt(x);
    const slack = (gantt.view.to - gantt.view.from) / gantt.plot;
    return waits.instances.find((w) => w.track === track && w.from - slack <= at && at <= w.to + slack) ?? null;
}
