// SPDX-License-Identifier: BSD-3-Clause
// Opens each page several times, in turns, and prints from navigation until the charts in view are drawn.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';

const goalSeconds = 2;
const goalBytes = 15e6;
const rounds = 7;
const files = process.argv.slice(2);
const times = new Map(files.map((file) => [file, []]));

/** In the page: remember when the last chart that is in the first window was drawn and painted. */
function watch() {
    new MutationObserver(() => {
        const charts = [...document.querySelectorAll('[data-chart]')];
        const inView = charts.filter((c) => c.getBoundingClientRect().top < innerHeight);
        const done = document.documentElement.dataset.ready && inView.every((c) => c.dataset.drawn);
        if (done && !window.opened) {
            window.opened = -1;
            requestAnimationFrame(() => setTimeout(() => { window.opened = performance.now(); }));
        }
    }).observe(document, { subtree: true, childList: true, attributes: true });
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
for (let round = 0; round < rounds; round++) {
    for (const file of files) {
        const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
        const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
        await page.addInitScript(watch);
        await page.goto(`file://${resolve(file)}`);
        await page.waitForFunction(() => window.opened > 0, null, { timeout: 30000 });
        times.get(file).push((await page.evaluate(() => window.opened)) / 1000);
        await browser.close();
    }
}
for (const file of files) {
    const seconds = median(times.get(file));
    const { size } = statSync(file);
    console.log(
        `${file}: opens in ${seconds.toFixed(3)} s (${times.get(file).map((t) => t.toFixed(2)).join(' ')}), ` +
        `${(seconds / goalSeconds).toFixed(2)} of ${goalSeconds} s; ${(size / 1e6).toFixed(2)} MB, ` +
        `${(size / goalBytes).toFixed(2)} of ${goalBytes / 1e6} MB`,
    );
}
