// SPDX-License-Identifier: BSD-3-Clause
// The report's colours seen by eyes of other kinds and in greyscale, and the ticks of its axes; no browser.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { apart, contrast, kinds, lightness } from './vision.mjs';

const page = (name) => import(pathToFileURL(join(process.env.SOURCE, 'report', 'src', name)));
const { light, dark } = await page('palettes.js');
const { inkOn, inkUpon } = await page('ink.js');
const { everySo, fitted } = await page('ticks.js');
const failures = [];

function check(what, good) {
    if (!good) {
        failures.push(what);
        console.log(`FAILED: ${what}`);
    }
}

for (const palette of [light, dark]) {
    const { name, series, heat, card } = palette;
    for (const kind of kinds) {
        series.forEach((a, i) => series.slice(i + 1).forEach((b) =>
            check(`${name}: ${a} and ${b} are told apart with ${kind}`, apart(a, b, kind) >= 20)));
        check(`${name}: slower and faster are told apart with ${kind}`, apart(palette.slower, palette.faster, kind) >= 40);
    }
    series.forEach((a) => check(`${name}: ${a} stands out of the card`, contrast(a, card) >= 2.9));
    [...series, palette.line].forEach((c) => check(`${name}: a name upon ${c} can be read`, contrast(inkUpon(c), c) >= 4.5));
    heat.forEach((c, i) => check(`${name}: a number upon ${c} can be read`, contrast(inkOn(palette, i / (heat.length - 1)), c) >= 4.5));
    for (const key of ['text', 'muted', 'accent', 'bad', 'good']) {
        check(`${name}: ${key} can be read`, contrast(palette[key], card) >= 4.5);
    }
    check(`${name}: slower and faster differ in greyscale`, Math.abs(lightness(palette.slower) - lightness(palette.faster)) >= 15);
    const steps = heat.slice(1).map((c, i) => lightness(c) - lightness(heat[i]));
    check(`${name}: the heat map's ends differ in greyscale`, Math.abs(lightness(heat[0]) - lightness(heat[heat.length - 1])) >= 50);
    check(`${name}: the heat map's lightness runs one way`, steps.every((s) => Math.sign(s) === Math.sign(steps[0])));
}

const ranges = [[3e-6, 8e-6], [1e-9, 1e-3], [5, 5.001], [-3e-3, 2e-3], [0, 0.07], [1, 1e6], [7e-9, 7.1e-9], [0, 0], [40, 40], [2, 300]];
for (const [low, high] of ranges) {
    for (const log of [false, true]) {
        const range = fitted([low, high], log);
        const of = `${low} to ${high}${log ? ', logarithmic' : ''}`;
        if (!range) {
            check(`${of} has an axis`, log && !(high > 0));
            continue;
        }
        const seen = log && !(low > 0) ? high : low;
        check(`${of}: in view`, range.min <= seen && range.max >= high);
        check(`${of}: at least four ticks: ${range.ticks}`, range.ticks.length >= 4);
        check(`${of}: not too many: ${range.ticks.length}`, range.ticks.length <= 14);
        check(`${of}: ticks rise`, range.ticks.every((t, i) => i === 0 || t > range.ticks[i - 1]));
        check(`${of}: fits`, log ? Math.log(range.max / range.min) < 2 * Math.log(high / seen) + 2
            : range.max - range.min <= 2.5 * (high - low) || low === high);
    }
}
for (const [low, high] of ranges.filter(([a, b]) => a !== b)) {
    const { min, max, ticks } = fitted([low, high], false, { ends: true });
    check(`${low} to ${high}: ends with the data`, min === low && max === high);
    check(`${low} to ${high}: at least four ticks within: ${ticks}`, ticks.length >= 4 && ticks[0] >= low && ticks[ticks.length - 1] <= high);
}
const wide = fitted([0, 5], false, { ends: true, least: 1 });
check(`whole numbers keep off the axes: ${wide.min} to ${wide.max}`, wide.min === -0.5 && wide.max === 5.5 && wide.ticks.join() === '0,1,2,3,4,5');
const ranks = fitted([0, 5], false, { most: 40, least: 1 });
check(`no ticks between ranks: ${ranks.ticks}`, ranks.ticks.every(Number.isInteger));
check(`labels of 300 calls: ${everySo(300, 20)}, ${everySo(300, 25)}, ${everySo(5000, 20)}`,
    everySo(300, 20) === 20 && everySo(300, 400) === 1 && everySo(5000, 20) === 500);
console.log(failures.length ? `${failures.length} failures` : 'colours and axes are as they should be');
process.exit(failures.length ? 1 : 0);
