// SPDX-License-Identifier: BSD-3-Clause
// The page: overview on top, one section for each type of result that the files hold.
import './style.css';
import { printAll } from './chart.js';
import { decode } from './data.js';
import { h, segmented } from './dom.js';
import { overview } from './overview.js';
import * as arrivals from './pages/arrivals.js';
import * as barrier from './pages/barrier.js';
import * as compare from './pages/compare.js';
import * as compareWaits from './pages/compare_waits.js';
import * as guideline from './pages/guideline.js';
import * as lock from './pages/lock.js';
import * as matrix from './pages/matrix.js';
import * as measurement from './pages/measurement.js';
import * as network from './pages/network.js';
import * as overlap from './pages/overlap.js';
import * as sync from './pages/sync.js';
import * as timeline from './pages/timeline.js';
import * as traces from './pages/traces.js';
import * as waits from './pages/waits.js';
import { DataTable, plainColumns } from './table.js';
import { setPrinting, setTheme, wishedTheme } from './theme.js';

const sections = [
    ['measurement', 'Operations', 'How long an operation takes, with every process starting together.', measurement.build],
    ['timeline', 'Timelines', 'What each process did when, and the messages between them.', timeline.build],
    ['compare', 'Comparison', 'The experiments of one file against those of another.', compare.build],
    ['compare-waits', 'Waits compared', 'How much longer or shorter processes waited than in the runs of another file.', compareWaits.build],
    ['matrix', 'Algorithms and common starts', 'The same operation, algorithm by algorithm, under each way to start.', matrix.build],
    ['guideline', 'Performance guidelines', 'Collectives that are slower than others that could take their place.', guideline.build],
    ['sync', 'Clock synchronisation', 'How accurate, how long it stays so, and how costly.', sync.build],
    ['barrier', 'Barriers', 'How far apart processes leave a barrier.', barrier.build],
    ['overlap', 'Overlap', 'What a nonblocking collective costs, and how much of that is hidden behind computation.', overlap.build],
    ['arrivals', 'Arrivals', 'When processes come to the collectives of an application.', arrivals.build],
    ['rtt', 'Round trips', 'How long an exchange takes, and how many are needed for a good minimum.', network.buildRtt],
    ['drift', 'Drift', 'How clocks wander, and for how long a straight line describes them.', network.buildDrift],
    ['clock', 'Time sources', 'What this job can read the time from.', network.buildClocks],
    ['lock', 'Network clock', 'A clock locked to a reference over the network.', lock.build],
];

function section(id, title, intro, content, count) {
    return {
        id, title, count,
        element: h('section', { id, class: 'section' }, h('h2', {}, title), h('p', { class: 'intro' }, intro), content),
    };
}

function allSections(data) {
    const rest = new Map(data.types);
    const list = [];
    for (const [type, title, intro, build] of sections) {
        const rows = rest.get(type);
        if (rows) {
            list.push(section(type, title, intro, build(rows, data), rows.length));
            rest.delete(type);
        }
        if (type === 'measurement' && rows && new Set(rows.map((r) => r.$file)).size > 1) {
            list.push(section('files', 'Files against each other', 'Ratios of medians for experiments that several files hold.',
                compare.buildFromFiles(rows, data.files)));
        }
    }
    if (waits.types.some((type) => rest.has(type))) {
        list.push(section('waits', 'Waits', 'Who waited for whom, who caused it, and how sure that is.', waits.build(rest),
            waits.types.reduce((sum, type) => sum + (rest.get(type)?.length ?? 0), 0)));
        waits.types.forEach((type) => rest.delete(type));
    }
    const checks = [...(rest.get('check') || []), ...(rest.get('correct') || [])];
    if (checks.length) {
        list.push(section('traces', 'Traces', 'Events that contradict each other in time, and what was done about it.',
            traces.build(checks), checks.length));
        rest.delete('check');
        rest.delete('correct');
    }
    for (const [type, rows] of rest) {
        list.push(section(`type-${type}`, type, 'The page has no chart for these; the table shows all that the file holds.',
            new DataTable({ name: type, columns: plainColumns(rows), rows }).element, rows.length));
    }
    return list;
}

function topBar(data, list) {
    const names = data.files.map((f) => f.name);
    const links = list.map((s) => h('a', { href: `#${s.id}` }, s.title));
    const spy = new IntersectionObserver((entries) => {
        for (const entry of entries.filter((e) => e.isIntersecting)) {
            links.forEach((link) => link.classList.toggle('here', link.hash === `#${entry.target.id}`));
        }
    }, { rootMargin: '-30% 0px -60% 0px' });
    list.forEach((s) => spy.observe(s.element));
    return h('header', { class: 'top' },
        h('div', { class: 'brand' }, h('h1', {}, 'ictus'),
            h('span', { class: 'files', title: names.join(', ') },
                names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', '))),
        h('nav', { 'aria-label': 'sections', class: links.length > 5 ? 'many' : '' }, links),
        h('div', { class: 'tools' },
            segmented('theme', [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']], wishedTheme(), setTheme),
            h('button', { type: 'button', onclick: () => window.print() }, 'Print')));
}

function start() {
    const app = document.getElementById('app');
    let data = null;
    try {
        data = decode(document.getElementById('ictus-results').textContent);
    } catch (error) {
        app.replaceChildren(h('p', { class: 'loading' }, `The results in this page cannot be read: ${error.message}`));
        return;
    }
    const list = allSections(data);
    app.replaceChildren(
        topBar(data, list),
        h('main', {}, overview(data), list.length ? list.map((s) => s.element)
            : h('p', { class: 'message' }, 'The files hold no results yet.')),
        h('footer', {}, `Made by ictus ${data.version}. This page needs no network.`));
    document.title = `ictus: ${data.files.map((f) => f.name).join(', ')}`;
    window.addEventListener('beforeprint', () => { setPrinting(true); printAll(true); });
    window.addEventListener('afterprint', () => { setPrinting(false); printAll(false); });
    requestAnimationFrame(() => { document.documentElement.dataset.ready = String(Math.round(performance.now())); });
}

start();
