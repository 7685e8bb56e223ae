// SPDX-License-Identifier: BSD-3-Clause
// Opens reports, clicks through them and looks whether what should have changed did.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';

const failures = [];

function check(what, good) {
    if (!good) {
        failures.push(what);
        console.log(`FAILED: ${what}`);
    }
}

mkdirSync('shots', { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });

/** A page that complains about every error and every request that leaves the file. */
async function open(file, { width = 1400, scheme = 'light' } = {}) {
    const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme: scheme, acceptDownloads: true });
    const here = `${file} at ${width} ${scheme}`;
    page.on('console', (m) => check(`${here}: console ${m.type()}: ${m.text()}`, !['error', 'warning'].includes(m.type())));
    page.on('pageerror', (e) => check(`${here}: ${e.stack}`, false));
    page.on('request', (r) => check(`${here}: request for ${r.url()}`, /^(file|data|blob):/.test(r.url())));
    await page.goto(`file://${resolve(file)}`);
    await page.waitForSelector('html[data-ready]', { timeout: 20000 });
    return page;
}

const kept = new Map();

/** A page that several parts look at, each at its own sections: opened and drawn once. */
async function share(file) {
    if (!kept.has(file)) {
        const page = await open(file);
        await scrollThrough(page);
        kept.set(file, page);
    }
    return kept.get(file);
}

/** Charts are drawn when they come near the view: two frames after each step all of them have been told. */
async function scrollThrough(page) {
    await page.evaluate(async () => {
        const frame = () => new Promise((done) => { requestAnimationFrame(done); });
        for (let y = 0; y < document.documentElement.scrollHeight; y += 900) {
            scrollTo({ top: y, behavior: 'instant' });
            await frame();
            await frame();
        }
    });
}

/** The first chart of measurements alone. */
async function drawFirst(page) {
    const chart = page.locator('#measurement [data-chart]').first();
    await chart.scrollIntoViewIfNeeded();
    await chart.locator('canvas').first().waitFor();
}

/** Something that is to become true soon: it fails after ten seconds, which no machine takes. */
async function soon(what, page, condition, argument) {
    const came = await page.waitForFunction(condition, argument, { timeout: 10000 }).then(() => true, () => false);
    check(what, came);
}

/** Pictures of whole pages, for those who want to look: SHOTS=1. */
async function shoot(page, name) {
    if (process.env.SHOTS) {
        await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }));
        await page.screenshot({ path: `shots/${name}.png`, fullPage: true });
    }
}

/** Each chart that is shown has ink on its canvas. */
async function blankCharts(page) {
    return page.evaluate(() => [...document.querySelectorAll('[data-chart]')]
        .filter((figure) => !figure.hidden && figure.dataset.drawn !== 'empty')
        .filter((figure) => {
            const canvas = figure.querySelector('canvas');
            if (!canvas) {
                return true;
            }
            const small = new OffscreenCanvas(240, 120).getContext('2d', { willReadFrequently: true });
            small.drawImage(canvas, 0, 0, 240, 120);
            const { data } = small.getImageData(0, 0, 240, 120);
            const seen = new Set();
            for (let i = 0; i < data.length && seen.size < 5; i += 4) {
                seen.add((data[i] << 24) | (data[i + 1] << 16) | (data[i + 2] << 8) | data[i + 3]);
            }
            return seen.size < 5;
        })
        .map((figure) => figure.dataset.chart));
}

/** Boxes of charts in which a row of them leaves a gap to the right. */
async function gaps(page) {
    return page.evaluate(() => [...document.querySelectorAll('.panels')].flatMap((box) => {
        const right = box.getBoundingClientRect().right;
        const ends = new Map(); // of each row, by where its charts begin
        for (const chart of [...box.children].filter((c) => c.getClientRects().length)) {
            const place = chart.getBoundingClientRect();
            ends.set(Math.round(place.top), Math.max(place.right, ends.get(Math.round(place.top)) ?? 0));
        }
        return [...ends].filter(([, end]) => end < right - 2).map(() => `${box.closest('section')?.id}: ${box.firstChild.dataset.chart}`);
    }));
}

async function looks(file, sections, widths = [390, 1400]) {
    for (const width of widths) {
        const page = await open(file, { width });
        for (const scheme of ['light', 'dark']) {
            await page.emulateMedia({ colorScheme: scheme });
            await soon(`${file}: the theme follows the system to ${scheme}`, page,
                (wanted) => document.documentElement.dataset.theme === wanted, scheme);
            await scrollThrough(page);
            const blank = await blankCharts(page);
            check(`${file} ${width} ${scheme}: blank charts ${blank}`, blank.length === 0);
            const gap = await gaps(page);
            check(`${file} ${width} ${scheme}: rows of charts that are not full: ${gap}`, gap.length === 0);
            check(`${file} ${width} ${scheme}: wider than the window`,
                await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
            for (const id of sections) {
                check(`${file}: section ${id}`, (await page.locator(`section#${id}`).count()) === 1);
            }
            await shoot(page, `${file}-${width}-${scheme}`);
        }
        await page.close();
    }
    const dark = await open(file, { scheme: 'dark' });
    check(`${file}: opened in the dark`, (await dark.getAttribute('html', 'data-theme')) === 'dark');
    await dark.close();
}

async function filters() {
    const page = await open('two.html');
    const section = page.locator('#measurement');
    const count = section.locator('.filters .count');
    const before = await count.textContent();
    check('the filter begins narrowed, and says so', /To begin with/.test(await section.locator('.message').first().textContent()));
    await section.locator('.filters .reset').click();
    check('“All” shows everything', (await count.textContent()).startsWith('1,152 of 1,152') && before !== await count.textContent());
    await section.locator('[data-dimension=operation] summary').click();
    await section.locator('[data-dimension=operation] label', { hasText: 'bcast' }).locator('.only').click();
    check('“only” leaves one operation', (await count.textContent()).startsWith('288 of'));
    check('one panel is left', (await section.locator('.panels').first().locator('[data-chart]').count()) === 1);
    await section.locator('[data-dimension=operation] label', { hasText: 'reduce' }).last().locator('input').check();
    check('a second box adds its rows', (await count.textContent()).startsWith('576 of'));
    await page.keyboard.press('Escape');
    check('Escape closes the menu', !(await section.locator('[data-dimension=operation]').evaluate((d) => d.open)));
    check('and leaves the focus on it', await section.locator('[data-dimension=operation] summary').evaluate((s) => s === document.activeElement));
    const title = () => section.locator('.panels').first().locator('[data-chart] h4').first().textContent();
    check('titled latency', (await title()).startsWith('Latency over size'));
    await section.locator('[data-choice=bandwidth]').click();
    check('titled bandwidth', (await title()).startsWith('Bandwidth over size'));
    await section.locator('[data-choice=processes]').click();
    check('titled over processes', (await title()).startsWith('Bandwidth over processes'));
    await section.locator('[data-choice=linear]').click();
    await section.getByLabel('A panel for each').selectOption('scheme');
    check('panels by scheme', /harmonize|barrier/.test(await title()));
    await section.getByLabel('Statistic').selectOption('p99_s');
    await scrollThrough(page);
    check('all drawn after the clicks', (await blankCharts(page)).length === 0);
    await page.close();
}

async function closely() {
    const page = await open('two.html');
    const section = page.locator('#measurement');
    const picked = section.locator('.picked');
    const chart = section.locator('.panels').first().locator('[data-chart]').first();
    await chart.scrollIntoViewIfNeeded();
    await chart.locator('canvas').waitFor();
    const spot = await chart.evaluate((figure) => {
        const { chart: drawn } = figure.ictusCard;
        const { series } = drawn.getOption();
        const last = series.filter((s) => s.type === 'line').pop();
        const [x, y] = drawn.convertToPixel({ seriesName: last.name }, last.data[3].value);
        return { x, y };
    });
    const histogram = section.locator('[data-chart="Samples by value"]');
    await histogram.scrollIntoViewIfNeeded();
    await histogram.locator('canvas').waitFor();
    const [line, median] = await histogram.evaluate((figure) => {
        const { chart: drawn } = figure.ictusCard;
        const [{ markLine }] = drawn.getOption().series;
        const lines = drawn.getZr().storage.getDisplayList(true).filter((e) => e.style?.stroke === markLine.lineStyle.color);
        return [lines[0]?.shape.x1, drawn.convertToPixel({ xAxisIndex: 0 }, markLine.data[0].xAxis)];
    });
    check(`the median's line is at the median: ${line}, ${median}`, Math.abs(line - median) < 2);
    const before = await picked.textContent();
    await chart.locator('.canvas').hover({ position: spot });
    await soon('a tooltip tells the interval', page,
        () => [...document.querySelectorAll('#measurement .tip')].some((tip) => /95 % interval/.test(tip.textContent)));
    await chart.locator('.canvas').click({ position: spot });
    check('a click on a point picks it', (await picked.textContent()) !== before);
    const rows = section.locator('[data-table=Measurements] tbody tr.can');
    await rows.nth(4).click();
    const one = await picked.textContent();
    await rows.nth(6).click({ modifiers: ['Control'] });
    check('Ctrl adds one', (await picked.textContent()).length > one.length);
    await section.locator('[data-choice=violin]').click();
    await section.locator('[data-choice=histogram]').click();
    await scrollThrough(page);
    check('distributions drawn', (await blankCharts(page)).length === 0);
    const head = section.locator('[data-table=Measurements] th').filter({ hasText: /^Median$/ });
    await head.locator('button').click();
    check('sorting is marked', (await head.getAttribute('aria-sort')) === 'ascending');
    const smallest = await rows.first().textContent();
    await head.locator('button').click();
    check('sorting turns round', (await rows.first().textContent()) !== smallest);
    await shoot(page, 'closely');
    await page.close();
}

async function saves() {
    const page = await open('two.html');
    const chart = page.locator('#measurement [data-chart]').first();
    await chart.scrollIntoViewIfNeeded();
    for (const [button, magic] of [['PNG', '\x89PNG'], ['SVG', '<svg'], ['CSV', 'scheme,algorithm,file,bytes,latency']]) {
        const [download] = await Promise.all([
            page.waitForEvent('download'),
            chart.getByRole('button', { name: button }).click(),
        ]);
        const saved = `shots/saved.${button.toLowerCase()}`;
        await download.saveAs(saved);
        const content = readFileSync(saved, 'latin1');
        check(`${button} begins as one: ${content.slice(0, 40)}`, content.startsWith(magic));
        check(`${button} is not empty`, content.length > 500);
    }
    const [table] = await Promise.all([
        page.waitForEvent('download'),
        page.locator('[data-table=Measurements] .saves button').click(),
    ]);
    await table.saveAs('shots/table.csv');
    check('the table has all rows', readFileSync('shots/table.csv', 'utf8').trim().split('\r\n').length === 385);
    await page.close();
}

async function themeAndPrint() {
    const page = await open('all.html');
    await page.locator('.tools [data-choice=dark]').click();
    check('dark on request', (await page.getAttribute('html', 'data-theme')) === 'dark');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    check('the wish is kept', (await page.getAttribute('html', 'data-theme')) === 'dark');
    await page.locator('nav a', { hasText: 'Barriers' }).click();
    await soon('a link goes to its section', page, () => {
        const { top } = document.querySelector('#barrier h2').getBoundingClientRect();
        return top >= 0 && top < innerHeight;
    });
    await page.locator('#sync [data-choice=rms_error_ns]').click();
    await page.locator('#overlap .controls select').selectOption('1024');
    await page.locator('#barrier .controls select').selectOption('8');
    await page.locator('#matrix [data-choice=median]').click();
    check('violations are told in words', /takes [0-9.]+ times what/.test(await page.locator('#guideline .findings').textContent()));
    const guidelines = await page.locator('#guideline [data-chart]').count();
    await page.locator('#guideline [data-choice=violated]').click();
    check('operations without violations go', (await page.locator('#guideline [data-chart]').count()) <= guidelines);
    check('violations are drawn before and after', (await page.locator('#traces [data-chart^="Violations"]').count()) === 3);
    check('a correction shows how much it changed', (await page.locator('#traces [data-chart^="How much intervals changed"]').count()) === 2
        && (await page.locator('#traces .note').allTextContents()).some((t) => t.includes('From the truth')));
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    check('paper is light', (await page.getAttribute('html', 'data-theme')) === 'light');
    check('paper has every chart', (await blankCharts(page)).length === 0);
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    check('dark again after printing', (await page.getAttribute('html', 'data-theme')) === 'dark');
    const pdf = await page.pdf({ path: 'shots/all.pdf', format: 'A4' });
    check('a PDF of some size', pdf.length > 100000);
    await page.close();
}

async function matrixAndBarriers() {
    const page = await share('all.html');
    const columns = await page.locator('#matrix .table.small').first().locator('th').allTextContents();
    check(`the matrix keeps the order of the file: ${columns}`, columns[1] === 'barrier:algorithm=linear' && columns[columns.length - 1] === 'harmonize');
    const verdicts = await page.locator('#matrix [data-table=Cells] th', { hasText: 'Verdict' }).count();
    check('a verdict is no cell', verdicts === 0);
    const barriers = page.locator('#barrier');
    for (const title of ['Skew at the exit, 32 processes', 'Who leaves last, 32 processes']) {
        const card = barriers.locator(`[data-chart="${title}"]`);
        await card.scrollIntoViewIfNeeded();
        await card.locator('canvas').first().waitFor();
        const names = await card.evaluate((figure) => figure.ictusCard.chart.getOption().yAxis[0].data);
        check(`${title} compares all algorithms: ${names}`, names.length === 6 && names.includes('harmonize'));
    }
    const skews = barriers.locator('[data-chart="Distribution of the skew, 32 processes"]');
    await skews.scrollIntoViewIfNeeded();
    await skews.locator('canvas').first().waitFor();
    const risen = await skews.evaluate((figure) => figure.ictusCard.chart.getOption().series.every(({ data }) =>
        data.every(({ value }, i) => value[0] > 0 && value[0] < 1 && (i === 0 || value[0] >= data[i - 1].value[0]))));
    check('a skew of zero is at the left end of a logarithmic axis', risen);
}

/** Every chart says what it is, is walked through by keyboard, and has its numbers in a table. */
async function accessible() {
    const page = await share('all.html');
    const bad = await page.evaluate(() => [...document.querySelectorAll('[data-chart]')].filter((f) => {
        const box = f.querySelector('.canvas');
        return !f.getAttribute('aria-label') || box?.tabIndex !== 0 || !box.getAttribute('role') || !box.getAttribute('aria-label');
    }).map((f) => f.dataset.chart));
    check(`charts without role, label or keyboard: ${bad}`, bad.length === 0);
    const card = page.locator('#drift [data-chart="For how long a line holds"]');
    await card.scrollIntoViewIfNeeded();
    await card.locator('canvas').first().waitFor();
    await card.locator('.canvas').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    const first = await card.locator('.says').textContent();
    check(`the keyboard reads a point: ${first}`, /rank 1.*window.*\(2 of 8\)/.test(first));
    await page.keyboard.press('ArrowDown');
    check('and goes to the next series', /rank 2.*\(2 of 8\)/.test(await card.locator('.says').textContent()));
    await page.keyboard.press('Escape');
    check('Escape is silent', (await card.locator('.says').textContent()) === '');
    await card.locator('.as-table').click();
    check('the table has the chart’s numbers', (await card.locator('.alternative tbody tr:not(.pad)').count()) >= 30);
}

/** Lines of many points are told apart without colour: each has some marks, of its own shape, where no other has them. */
async function marksOfLines() {
    const page = await share('all.html');
    const lines = await page.locator('#drift [data-chart="Offset to the reference"]').evaluate((f) => f.ictusCard.chart.getOption().series
        .map(({ symbol, itemStyle, data }) => ({ symbol: `${symbol} ${itemStyle.borderColor ? 'hollow' : 'full'}`, points: data.length, marks: data.flatMap((d, i) => (d.itemStyle?.opacity === 0 ? [] : [i])) })));
    check(`there are lines of many points: ${lines.map((l) => l.points)}`, lines.length === 5 && lines.every((l) => l.points > 60));
    check(`each has some marks: ${lines.map((l) => l.marks.length)}`, lines.every((l) => l.marks.length >= 5 && l.marks.length <= 15));
    check('each has a shape of its own', new Set(lines.map((l) => l.symbol)).size === lines.length);
    check('no mark hides another', new Set(lines.flatMap((l) => l.marks)).size === lines.reduce((sum, l) => sum + l.marks.length, 0));
}

/** Hollow marks show the card that they lie on, not white, which in the dark would outshine all others. */
async function hollowMarks() {
    for (const scheme of ['light', 'dark']) {
        const page = await open('all.html', { scheme });
        await scrollThrough(page);
        const marks = await page.evaluate(() => [...document.querySelectorAll('[data-chart]')].flatMap((figure) =>
            (figure.ictusCard?.chart?.getOption().series ?? []).flatMap((s) => [s, ...(s.data ?? [])])
                .filter((m) => m?.symbol && m.itemStyle).map((m) => [m.symbol, m.itemStyle.color, m.itemStyle.borderColor])));
        const hollow = marks.filter(([, , border]) => border);
        const card = scheme === 'dark' ? '#171d26' : '#ffffff';
        check(`no ${scheme} mark is filled with white: ${marks.find(([symbol]) => symbol.startsWith('empty'))}`,
            marks.length > 50 && marks.every(([symbol]) => !symbol.startsWith('empty')));
        check(`${scheme} hollow marks have the card's colour: ${hollow.length}`, hollow.length > 5 && hollow.every(([, fill]) => fill === card));
        await page.close();
    }
}

/** Axes say what they show and have enough ticks; legends name what differs; limits are in view. */
async function axes() {
    const page = await share('all.html');
    const found = await page.evaluate(() => [...document.querySelectorAll('[data-chart]')].flatMap((figure) => {
        const chart = figure.ictusCard?.chart;
        return (chart?.getModel().queryComponents({ mainType: 'yAxis' }) ?? []).concat(chart?.getModel().queryComponents({ mainType: 'xAxis' }) ?? [])
            .filter((m) => m.option.type !== 'category' || figure.ictusCard.chart.getOption().visualMap?.length) // names of dots and bars say what they are
            .map((m) => ({ chart: figure.dataset.chart, name: m.option.name, ticks: m.axis.getTicksCoords().length,
                of: m.option.type === 'category' ? 'heat map' : m.mainType }));
    }));
    check(`axes were seen: ${found.length}`, found.length > 30);
    const maps = new Set(found.filter((a) => a.of === 'heat map').map((a) => a.chart.replace(/[,:].*/, '')));
    check(`heat maps were seen: ${[...maps]}`, maps.size >= 5);
    check(`axes without a name: ${found.filter((a) => !a.name).map((a) => a.chart)}`, found.every((a) => a.name));
    check(`vertical axes of fewer than four ticks: ${found.filter((a) => a.of === 'yAxis' && a.ticks < 4).map((a) => a.chart)}`,
        found.every((a) => a.of !== 'yAxis' || a.ticks >= 4));
    const option = (selector, of) => page.locator(selector).evaluate(of);
    const legend = await option('#overlap [data-chart="CPU overhead over size"]', (f) => f.ictusCard.chart.getOption().legend[0].data);
    check(`overlap's series are operations and strategies: ${legend}`,
        legend.length === 3 && legend.every((n) => n.startsWith('iallreduce, ')));
    const range = await option('#drift [data-chart="What a straight line leaves over"]', (f) => {
        const { min, max } = f.ictusCard.chart.getOption().yAxis[0];
        return [min, max];
    });
    check(`drift's tolerance is in view: ${range}`, range[0] <= -500 && range[1] >= 500);
    const half = await option('#sync [data-chart="Error over duration, at the end of the sync"]', (f) => f.ictusCard.chart.getOption().xAxis[0].axisLabel.formatter(0.5));
    check(`half a second is not 0: ${half}`, half === '500 ms');
    const spans = await page.evaluate(() => [...document.querySelectorAll('#sync [data-chart^="Error over"]')]
        .map((f) => { const { min, max } = f.ictusCard.chart.getOption().yAxis[0]; return `${min} ${max}`; }));
    check(`one range for errors: ${spans}`, spans.length === 3 && new Set(spans).size === 1);
    const two = await open('labels.html');
    await drawFirst(two);
    const names = await two.locator('#measurement [data-chart]').first().evaluate((f) => f.ictusCard.chart.getOption().legend[0].data);
    check(`--label names the series: ${names}`, names.some((n) => n.includes('before')) && names.some((n) => n.includes('after')));
    const seat = (word) => names.findIndex((n) => n.includes(word));
    check(`files keep their order in legends: ${names}`, seat('before') < seat('after'));
    await two.close();
    const mpis = await open('mpis.html');
    await drawFirst(mpis);
    const libraries = await mpis.locator('#measurement [data-chart]').first().evaluate((f) => f.ictusCard.chart.getOption().legend[0].data);
    check(`MPI libraries name the series: ${libraries}`, libraries.some((n) => n.includes('MPICH 4.0.2')) && libraries.some((n) => n.includes('Open MPI 4.1.4')));
    await mpis.close();
    const compare = await open('compare.html');
    check('a comparison says what was compared', /Medians of b\.jsonl against those of a\.jsonl/.test(await compare.locator('#compare').textContent()));
    check('a clock with a bound is not called exact', /within ± 900 ns/.test(await compare.locator('#overview').textContent()));
    await compare.close();
}

/** Waits: severities by state, site and rank, causes with intervals, and what is undecidable greyed. */
async function waits() {
    const page = await share('all.html');
    const section = page.locator('#waits');
    const titles = await section.locator('[data-chart] h4').allTextContents();
    for (const title of ['Waiting time by state', 'Severity by call site and rank: all states', 'Who caused the waiting', 'Critical path by rank',
        'Critical path by call site', 'Collectives: waiting for the last one or moving data']) {
        check(`waits have “${title}”`, titles.includes(title));
    }
    check('the clock’s ± is told', /± 608 ns/.test(await section.locator('.facts').textContent()));
    check('what was left out is told', /2 unmatched sends/.test(await section.locator('.facts').textContent()));
    const cells = await section.locator('[data-chart^="Severity"]').evaluate((f) =>
        f.ictusCard.chart.getOption().series[0].data.map((d) => [d.cell.name, d.cell.sure, d.label.formatter]));
    check('undecidable cells are greyed', cells.length === 12 && cells.every(([name, sure, text]) => sure === !name.startsWith('late sender: ') && sure === (text !== '?')));
    await section.locator('.controls select').selectOption('nxn');
    await scrollThrough(page);
    check('one state alone, named in words', (await section.locator('[data-chart="Severity by call site and rank: wait at N×N"]').count()) === 1);
    const shown = await section.locator('[data-chart="Who caused the waiting"]').evaluate((f) => {
        const { series: [dots], yAxis: [axis] } = f.ictusCard.chart.getOption();
        return { values: dots.data.map((d) => d.value[0]), downwards: axis.inverse, names: axis.data };
    });
    check(`the largest cause is on top: ${shown.values}`, shown.downwards && shown.values.length > 1
        && shown.values.every((v, i) => i === 0 || v <= shown.values[i - 1]));
    check(`threads of a rank have different names: ${shown.names}`, new Set(shown.names).size === 3
        && shown.names.includes('rank 2 OMP thread 2: main/solve/compute'));
    check('tables name states in words', /late sender/.test(await section.locator('[data-table="The longest waits"]').textContent()));
    check('the longest waits are listed', (await section.locator('[data-table="The longest waits"] tbody tr:not(.pad)').count()) === 12);
    check('an undecidable wait is greyed', (await section.locator('[data-table="The longest waits"] tr.muted').count()) === 4);
}

/** Comparisons of waits: differences by state, site and rank, with what was decided about each. */
async function waitsCompared() {
    const page = await share('all.html');
    const section = page.locator('#compare-waits');
    check('it says what was compared', /5 runs of waits-b\.jsonl against 5 runs of waits-a\.jsonl/.test(await section.textContent()));
    const points = () => section.locator('[data-chart="How much the waiting changed"]').evaluate((f) => {
        const { series: [dots], xAxis: [axis] } = f.ictusCard.chart.getOption();
        return { dots: dots.data.map((d) => [d.name, d.row.verdict, d.symbol]), inView: axis.min <= 0 && axis.max >= 0 };
    });
    const { dots, inView } = await points();
    const symbols = new Map(dots.map(([name, , symbol]) => [name, symbol]));
    check(`verdicts differ in shape: ${[...symbols]}`, symbols.get('all') === 'triangle' && symbols.get('late-sender') === 'rect'
        && symbols.get('barrier').startsWith('path'));
    check('no change is in view', inView);
    await section.locator('[data-choice=rank]').click();
    await section.locator('canvas').waitFor();
    check('by rank', (await points()).dots.length === 12 && (await section.locator('tbody tr:not(.pad)').count()) === 12);
}

async function timelines() {
    const page = await open('traces.html');
    const figures = page.locator('#timeline [data-chart]');
    check('two timelines', (await figures.count()) === 2);
    check('the good one has no backward message', /none arrives before/.test(await figures.nth(1).textContent()));
    check('the skewed one has some', /\d+ arrive before they were sent/.test(await figures.nth(0).textContent()));
    const view = (i) => figures.nth(i).locator('canvas').evaluate((c) => c.toDataURL());
    let before = [await view(0), await view(1)];
    const changed = async (what) => {
        await soon(`${what} moves both timelines`, page, (old) => [...document.querySelectorAll('#timeline canvas')]
            .every((canvas, i) => canvas.toDataURL() !== old[i]), before);
        before = [await view(0), await view(1)];
    };
    check('the colours are explained', await figures.nth(0).locator('.gantt-key').count() >= 2);
    const saved = page.waitForEvent('download');
    await figures.nth(0).getByRole('button', { name: 'SVG' }).click();
    const drawing = readFileSync(await (await saved).path(), 'utf8');
    check('a timeline is saved as SVG', drawing.startsWith('<svg') && drawing.includes('</svg>') && drawing.includes('<text'));
    await figures.nth(0).getByRole('button', { name: '+' }).click();
    await changed('zooming');
    await figures.nth(0).getByRole('button', { name: 'Next backward message' }).click();
    await changed('the next backward message');
    await figures.nth(1).locator('select').selectOption('MPI_Allreduce');
    await changed('looking at a call');
    await figures.nth(1).getByRole('button', { name: '▶' }).click();
    await changed('the next call');
    await figures.nth(1).locator('canvas').scrollIntoViewIfNeeded();
    const box = await figures.nth(1).locator('canvas').boundingBox();
    await page.mouse.move(box.x + 400, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 300, box.y + 60);
    await page.mouse.up();
    await changed('dragging');
    await figures.nth(1).locator('canvas').hover({ position: { x: 500, y: 30 } });
    check('a tooltip names the call', /from/.test(await figures.nth(1).locator('.gantt-tip').textContent()));
    await shoot(page, 'timelines');
    await figures.nth(0).getByRole('button', { name: 'Whole' }).click();
    await changed('the whole');
    await page.close();
}

/** Arrivals: sites by how long processes waited in all, each rank with its interval, call by call, who is last; noise is greyed. */
async function arrivals() {
    const page = await share('all.html');
    const section = page.locator('#arrivals');
    const titles = () => section.locator('[data-chart] h4').allTextContents();
    const late = 'MPI_Allreduce at solver.c:120';
    for (const title of ['How far apart processes arrive', `Arrival of each rank: ${late}`, `Call by call: ${late}`, `Who is last: ${late}`]) {
        check(`arrivals have “${title}”`, (await titles()).includes(title));
    }
    const points = (name) => section.locator(`[data-chart="${name}"]`).evaluate((f) =>
        f.ictusCard.chart.getOption().series[0].data.map((d) => [d.row?.rank ?? d.row?.site, Boolean(d.itemStyle?.borderColor), d.value[0], d.value[1]]));
    const sites = new Map((await points('How far apart processes arrive')).map(([site, hollow]) => [site, hollow]));
    check(`noise is hollow: ${[...sites]}`, sites.get('solver.c:120') === false && sites.get('halo.c:77') === true);
    const ranks = await points(`Arrival of each rank: ${late}`);
    check(`rank 4 is the late one: ${ranks}`, ranks.length === 6 && ranks.every(([rank, , , ns]) => (rank === 4 ? ns > 30000 : ns < 15000)));
    const whiskers = await section.locator(`[data-chart="Arrival of each rank: ${late}"]`).evaluate((f) =>
        f.ictusCard.chart.getOption().series[1].data.map(([, low, high]) => low <= high));
    check('each rank has its interval', whiskers.length === 6 && whiskers.every(Boolean));
    const cells = await points(`Call by call: ${late}`);
    check(`all calls are drawn: ${cells.length}`, cells.length === 1800);
    const scale = await section.locator(`[data-chart="Call by call: ${late}"]`).evaluate((f) => f.ictusCard.chart.getOption().visualMap[0]);
    check(`one suspended process does not decide the shades: ${scale.max}`, scale.max > 60e3 && scale.max < 120e3 && /≥/.test(scale.text[0]));
    await section.locator('.controls select').selectOption('1');
    check('another call site', (await titles()).some((t) => t === 'Arrival of each rank: MPI_Allreduce at halo.c:77'));
    check('its note calls it noise', /this may be noise/.test(await section.textContent()));
    await section.locator('.controls select').selectOption('2');
    const once = await section.locator('[data-chart="Who is last: MPI_Bcast at start.c:3"]').textContent();
    check(`one call is the last of the sites, and nothing persists there: ${once}`, /random order/.test(once) && !/Persistence/.test(once));
    check('noise is greyed in the table', (await section.locator('[data-table="Call sites"] tr.muted').count()) === 1);
}

/** An archive with what ictus waits found: shaded waits, the critical path, metrics, bins, the clock's quality. */
async function archives() {
    const page = await open('archive.html');
    const figure = page.locator('#timeline [data-chart]').first();
    const ink = () => figure.locator('canvas').evaluate((c) => c.toDataURL());
    await figure.locator('canvas').scrollIntoViewIfNeeded();
    check('waits and the critical path are explained', /waiting.*critical path/.test(await figure.locator('.gantt-legend').textContent()));
    for (const name of ['waits', 'critical path', 'arrows']) {
        const before = await ink();
        await figure.locator('label', { hasText: name }).locator('input').uncheck();
        await soon(`${name} can be taken away`, page, (old) => document.querySelector('#timeline canvas').toDataURL() !== old, before);
        await figure.locator('label', { hasText: name }).locator('input').check();
    }
    await figure.getByRole('button', { name: 'Next longest wait' }).click();
    const wait = await figure.evaluate((f) => {
        const { waits, view, rowHeight } = f.ictusGantt;
        const [longest] = waits.instances;
        return { x: f.ictusGantt.xAt((longest.from + longest.to) / 2), y: (longest.track + 0.5) * rowHeight, wide: (longest.to - longest.from) / (view.to - view.from) };
    });
    check(`the longest wait is in view: ${wait.wide}`, wait.wide > 0.05 && wait.wide <= 1);
    await figure.locator('canvas').hover({ position: { x: wait.x, y: wait.y } });
    check('a tooltip tells of the wait', /±.*for rank \d+/.test(await figure.locator('.gantt-tip').textContent()));
    const stripes = await figure.evaluate((f) => {
        const { canvas, rowHeight, view, waits } = f.ictusGantt;
        const [longest] = waits.instances;
        const ratio = canvas.width / canvas.clientWidth;
        const [left, right] = [longest.from, longest.to].map((at) => f.ictusGantt.xAt(Math.min(Math.max(at, view.from), view.to)));
        const row = Math.round((longest.track + 0.8) * rowHeight * ratio);
        const { data } = canvas.getContext('2d').getImageData(Math.round(left * ratio), row, Math.round((right - left) * ratio), 1);
        const greys = Array.from({ length: data.length / 4 }, (_x, i) => 0.21 * data[4 * i] + 0.72 * data[4 * i + 1] + 0.07 * data[4 * i + 2]);
        const middle = (Math.min(...greys) + Math.max(...greys)) / 2;
        return { contrast: Math.max(...greys) - Math.min(...greys), edges: greys.filter((g, i) => i > 0 && (g > middle) !== (greys[i - 1] > middle)).length };
    });
    check(`a wait is hatched in greyscale: ${JSON.stringify(stripes)}`, stripes.contrast > 60 && stripes.edges >= 8);
    check('the clock’s quality is told', /Clock quality/.test(await figure.textContent()));
    check('a clock with a bound is not called exact', !/exact.*hard bound/.test(await figure.locator('.facts').textContent()));
    await shoot(page, 'archive');
    await page.close();
    const clean = await open('clean.html');
    check('an archive without violations has a sentence, and no chart of nothing',
        /No violation in archive, among 180 messages/.test(await clean.locator('#traces').textContent()) && (await clean.locator('#traces [data-chart]').count()) === 0);
    await clean.close();
    const other = await open('foreign.html');
    check('metrics have a row', /30 values of 1 metrics?/.test(await other.locator('#timeline').textContent()));
    await shoot(other, 'foreign');
    await other.close();
    const long = await open('long.html');
    check('what is left out is told', /calls shorter than .* are not drawn one by one/.test(await long.locator('#timeline').textContent()));
    check('a sample of messages says so', /of [0-9,]+ messages, taken evenly from the whole run/.test(await long.locator('.gantt-note').textContent()));
    await shoot(long, 'long');
    await long.close();
}

async function hardDays() {
    const hostile = await open('hostile.html');
    check('names never become code', (await hostile.evaluate(() => window.pwned)) === undefined);
    check('names are shown as they are', (await hostile.locator('body').textContent()).includes('<img src=x'));
    check('an unknown type has its table', (await hostile.locator('#type-new').count()) === 1);
    check('skipped lines are told', /1 lines could not be read/.test(await hostile.locator('.doubts').textContent()));
    await hostile.close();
    const without = await share('all.html');
    check('without raw samples there are no shapes to choose from', !(await without.locator('#measurement [data-choice=violin]').isVisible())
        && /holds no raw samples/.test(await without.locator('#measurement .picked').textContent()));
    const heads = await without.locator('[data-table=Measurements] th').allTextContents();
    const cells = await without.locator('[data-table=Measurements] tbody tr.can').first().locator('td').allTextContents();
    check(`shares are percentages: ${cells[heads.indexOf('Level of the interval')]}`, cells[heads.indexOf('Level of the interval')] === '95.4 %');
    const empty = await open('empty.html');
    check('an empty file says so', /no results yet/.test(await empty.locator('main').textContent()));
    await empty.close();
}

async function three() {
    const page = await open('three.html');
    await page.close();
}

const parts = {
    looks: async () => {
        await looks('all.html', ['overview', 'measurement', 'matrix', 'guideline', 'sync', 'barrier', 'overlap', 'rtt', 'drift', 'clock', 'lock', 'traces',
            'waits', 'arrivals', 'compare-waits']);
        // What these share with the page of everything is seen there.
        await looks('traces.html', ['timeline'], [600]);
        await looks('two.html', ['overview', 'measurement', 'files'], [600]);
    },
    filters, closely, saves, themeAndPrint, matrixAndBarriers, waits, waitsCompared, accessible, marksOfLines, hollowMarks, axes, timelines, arrivals, hardDays, three,
    ...(existsSync('archive.html') ? { archives } : {}),
};
// All of them, or those named: node report.mjs timelines axes
for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts)) {
    await parts[name]();
}
await browser.close();
console.log(failures.length ? `${failures.length} failures` : 'all as it should be');
process.exit(failures.length ? 1 : 0);
