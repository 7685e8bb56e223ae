// SPDX-License-Identifier: BSD-3-Clause
// Who waited where, for whom, and how sure that is: severities, causes, the critical path (docs/waits.md).
import { axis, below, ChartCard } from '../chart.js';
import { arrange, h, panels, select } from '../dom.js';
import * as format from '../format.js';
import { barOption, dotOption, sideLabels, tipTable } from '../lines.js';
import { groupBy } from '../stats.js';
import { DataTable } from '../table.js';
import { inkOn } from '../ink.js';

export const types = ['waits', 'wait-total', 'wait-site', 'wait-rank', 'wait-state', 'wait-pair', 'wait-instance', 'wait-cause',
                      'critical-path', 'collective-site', 'collective-together'];

const most = 20;
const mostRanks = 128;
const least = 0.001; // smaller shares would only be a dot at 0
// Shown apart from the total: completions are not waits, possible waits enter no sum, and wrong order is part of another state.
const beside = new Set(['wrong-order', 'late-receiver-possible', 'barrier-completion', 'nxn-completion']);

/** Whether a wait's sign is certain at 95 %; where it is not, it is drawn grey and hollow. */
const decided = (row) => row.wait_low_s > 0 && row.kind !== 'at-most';

const plusMinus = (row) => (Number.isFinite(row.wait_high_s)
    ? `${format.seconds(row.wait_low_s, 3)} – ${format.seconds(row.wait_high_s, 3)}` : 'not known');

/** Whether some rank has several locations: its threads, or the streams of its GPU. */
const hasThreads = (rows) => new Set(rows.map((r) => `${r.rank} ${r.location}`)).size > new Set(rows.map((r) => r.rank)).size;

/** How to name who a row is about: by its rank, by its thread where a rank has several, and by its location where threads share a name. */
function whoOf(rows) {
    const nameOf = (r) => `rank ${r.rank}${r.thread ? ` ${r.thread}` : ''}`;
    const shared = new Set([...groupBy(rows, nameOf)].filter(([, list]) => hasThreads(list)).map(([name]) => name));
    return (r) => (shared.has(nameOf(r)) ? `${nameOf(r)} (location ${r.location})` : nameOf(r));
}

const greyed = (certain) => (row, colours) =>
    (certain(row) ? { colour: colours.accent, symbol: 'circle' } : { colour: colours.muted, symbol: 'emptyCircle' });

function fact(label, value, detail, tone = '') {
    return h('div', { class: `fact ${tone}` }, h('span', { class: 'label' }, label), h('b', {}, value),
        detail ? h('span', { class: 'detail' }, detail) : null);
}

const sources = { 'one-clock': 'all locations read one clock', archive: 'as the archive says', messages: 'bounded by messages both ways',
                  unknown: 'not known: no message goes both ways' };

function facts(whole) {
    const of = (s) => format.percent(whole.rank_time_s > 0 ? s / whole.rank_time_s : 0);
    const left = Object.entries(whole.left_out ?? {}).filter(([, n]) => n > 0).map(([name, n]) => `${format.number(n)} ${name.replaceAll('_', ' ')}`);
    const exact = whole.sigma_source === 'one-clock' || (whole.sigma_source === 'archive' && whole.clock_sigma_ns === 0);
    return h('div', { class: 'facts' },
        fact('Waiting', of(whole.wait_s), Number.isFinite(whole.wait_high_s)
            ? `${format.seconds(whole.wait_s)}; 95 %: ${of(whole.wait_low_s)} to ${of(whole.wait_high_s)}` : `${format.seconds(whole.wait_s)}; its error is not known`),
        fact('Decidable', format.percent(whole.decidable), 'of the waiting time is certainly waiting', whole.decidable < 0.95 ? 'bad' : 'good'),
        fact('Clock quality', exact ? 'exact' : whole.sigma_source === 'unknown' ? 'not known' : `± ${format.nanoseconds(1.96 * whole.clock_sigma_ns, 3)}`,
            sources[whole.sigma_source], exact ? 'good' : whole.sigma_source === 'unknown' ? 'bad' : ''),
        fact('Program', format.seconds(whole.wall_s), `${format.number(whole.locations)} locations, ${format.seconds(whole.rank_time_s)} together`),
        left.length ? fact('Left out', left[0], left.slice(1).join(', '), 'bad') : null);
}

function totals(rows) {
    const shown = rows.filter((r) => !beside.has(r.state));
    const several = new Set(shown.map((r) => r.file)).size > 1;
    return shown.length === 0 ? null : new ChartCard({
        title: 'Waiting time by state', height: 100 + 26 * shown.length, wide: true,
        note: 'With 95 % intervals. Grey and hollow: the clocks are too uncertain to tell whether anybody waited.',
        option: (colours, width) => dotOption(colours, {
            rows: shown, largestFirst: true, key: (r) => (several ? `${format.waitState(r.state)}, ${r.file}` : format.waitState(r.state)), y: (r) => r.wait_s, low: (r) => r.wait_low_s,
            high: (r) => r.wait_high_s, yName: 'waiting time of all ranks', yFormat: format.seconds, within: [0], look: greyed(decided),
            tip: (r) => [['95 % interval', plusMinus(r)], ['waits', format.number(r.n)], ['of all time', format.percent(r.share)],
                         ['decidable', format.percent(r.decidable)]] }, width),
        csv: () => [['file', 'state', 'n', 'wait_s', 'wait_low_s', 'wait_high_s', 'share', 'decidable'],
                    ...shown.map((r) => [r.file, r.state, r.n, r.wait_s, r.wait_low_s, r.wait_high_s, r.share, r.decidable])],
    });
}

/** Sites by ranks for one state, or for all of them: the darker, the longer; grey where the sign is not certain. */
function severity(rows, state) {
    const chosen = rows.filter((r) => (state === 'all' ? !beside.has(r.state) : r.state === state));
    const nameOf = (r) => (state === 'all' ? `${format.waitState(r.state)}: ${r.site}` : r.site);
    const sums = [...groupBy(chosen, nameOf)].map(([name, list]) => [name, list.reduce((s, r) => s + r.wait_s, 0)]).sort((a, b) => b[1] - a[1]);
    const names = sums.slice(0, most).map(([name]) => name);
    const ranks = [...new Set(chosen.map((r) => r.rank))].sort((a, b) => a - b).slice(0, mostRanks);
    const cells = [...groupBy(chosen.filter((r) => names.includes(nameOf(r)) && ranks.includes(r.rank)), (r) => `${nameOf(r)}\n${r.rank}`).values()]
        .map((list) => ({ name: nameOf(list[0]), rank: list[0].rank, list, wait_s: list.reduce((s, r) => s + r.wait_s, 0), sure: list.some(decided) }));
    const high = Math.max(...cells.map((c) => c.wait_s), 1e-12);
    return !cells.length ? null : new ChartCard({
        title: `Severity by call site and rank: ${state === 'all' ? 'all states' : format.waitState(state)}`, height: 130 + 26 * names.length, wide: true,
        note: `Waiting time; grey with “?” is undecidable.${sums.length > most ? ` The ${most} longest of ${sums.length} sites.` : ''}${
            ranks.length === mostRanks ? ` The first ${mostRanks} ranks.` : ''}`,
        option: (colours, width) => ({
            legend: { show: false }, grid: { top: 14, bottom: 66 },
            tooltip: { trigger: 'item', formatter: ({ data: { cell } }) => tipTable(`rank ${cell.rank}: ${cell.name}`, [
                ['waiting', format.seconds(cell.wait_s)], ...cell.list.map((r) => [format.waitState(r.state), `${plusMinus(r)} (${format.number(r.n)} waits)`]),
                ['sign', cell.sure ? 'certain at 95 %' : 'undecidable']]) },
            xAxis: axis(colours, { type: 'category', name: 'rank', ...below, data: ranks.map(String) }),
            yAxis: axis(colours, { type: 'category', name: 'call site', data: names, inverse: true, axisLabel: sideLabels(names, width) }),
            visualMap: { min: 0, max: high, orient: 'horizontal', left: 'center', bottom: 0, itemWidth: 12, itemHeight: 120, calculable: false,
                         inRange: { color: colours.heat }, textStyle: { color: colours.muted }, text: [format.seconds(high, 3), '0'] },
            series: [{ type: 'heatmap', label: { show: width / ranks.length > 60, fontSize: 11 },
                itemStyle: { borderColor: colours.card, borderWidth: 1 },
                data: cells.map((cell) => ({ cell, value: [ranks.indexOf(cell.rank), names.indexOf(cell.name), cell.wait_s],
                    visualMap: cell.sure, itemStyle: cell.sure ? {} : { color: colours.line },
                    label: { formatter: cell.sure ? format.seconds(cell.wait_s, 2) : '?',
                             color: cell.sure ? inkOn(colours, cell.wait_s / high) : colours.text } })) }],
        }),
        csv: () => [['state', 'site', 'rank', 'n', 'wait_s', 'wait_low_s', 'wait_high_s', 'decidable'],
                    ...chosen.map((r) => [r.state, r.site, r.rank, r.n, r.wait_s, r.wait_low_s, r.wait_high_s, r.decidable])],
    });
}

/** Shares with their intervals: of the causes, or of ranks on the critical path. */
function shares({ title, note, rows, key, tip, csv, wide = false }) {
    const shown = rows.filter((r, i) => i === 0 || (r.share_high ?? r.share) >= least).slice(0, most);
    return shown.length === 0 ? null : new ChartCard({
        title, note: `${note}${rows.length > shown.length ? ` The ${shown.length} largest of ${rows.length}.` : ''}`, height: 90 + 24 * shown.length, wide,
        option: (colours, width) => dotOption(colours, {
            rows: shown, largestFirst: true, key, y: (r) => r.share, low: (r) => r.share_low, high: (r) => r.share_high, yName: 'share (%)',
            yFormat: (v) => format.percent(v), within: [0], look: greyed((r) => !Number.isFinite(r.share_low) || r.share_low > 0), tip }, width),
        csv: () => csv(rows),
    });
}

function causes(rows) {
    const sorted = [...rows].sort((a, b) => b.share - a.share);
    const who = whoOf(sorted);
    return shares({
        title: 'Who caused the waiting', note: 'Share of all waiting, directly and through others’ waits, with 95 % intervals.', rows: sorted, wide: true,
        key: (r) => `${who(r)}: ${r.site}`,
        tip: (r) => [['directly', format.seconds(r.direct_s)], ['through others', format.seconds(r.indirect_s)],
                     ['95 % interval', `${format.percent(r.share_low)} – ${format.percent(r.share_high)}`],
                     ...(r.draws ? [['first cause', `in ${r.first_draws} of ${r.draws} error histories`]] : [])],
        csv: (all) => [['rank', 'location', 'site', 'direct_s', 'indirect_s', 'share', 'share_low', 'share_high'],
                       ...all.map((r) => [r.rank, r.location, r.site, r.direct_s, r.indirect_s, r.share, r.share_low, r.share_high])],
    });
}

function criticalCards(rows) {
    const ranks = rows.filter((r) => r.of === 'rank').sort((a, b) => b.share - a.share);
    const who = whoOf(ranks);
    const sites = rows.filter((r) => r.of === 'site').sort((a, b) => b.time_s - a.time_s)
        .filter((r, i) => i === 0 || !(r.share < least)).slice(0, most);
    return [
        shares({ title: 'Critical path by rank', note: 'How the time of the program is shared out among the ranks, with 95 % intervals.', rows: ranks,
            key: who, tip: (r) => [['time', format.seconds(r.time_s)]],
            csv: (all) => [['rank', 'location', 'time_s', 'share', 'share_low', 'share_high'],
                           ...all.map((r) => [r.rank, r.location, r.time_s, r.share, r.share_low, r.share_high])] }),
        !sites.length ? null : new ChartCard({
            title: 'Critical path by call site', height: 110 + 24 * sites.length,
            note: 'Imbalance is the time by which the path spends longer here than a rank does on average.',
            option: (colours, width) => barOption(colours, {
                names: sites.map((r) => r.site), flat: true, stacked: true, yName: 'time on the path', yFormat: format.seconds,
                series: [['like the average rank', (r) => r.time_s - r.imbalance_s, colours.series[0]], ['imbalance', (r) => r.imbalance_s, colours.series[1]]]
                    .map(([name, of, colour]) => ({ name, colour, values: sites.map(of) })) }, width),
            csv: () => [['site', 'time_s', 'share', 'imbalance_s'], ...sites.map((r) => [r.site, r.time_s, r.share, r.imbalance_s])] }),
    ];
}

function collectives(rows) {
    const shown = [...rows].sort((a, b) => b.time_s - a.time_s).slice(0, most);
    return shown.length === 0 ? null : new ChartCard({
        title: 'Collectives: waiting for the last one or moving data', height: 110 + 26 * shown.length, wide: true,
        note: 'Skew is the time spent waiting for the last process to arrive. The verdict follows the name; it is undecidable where the interval is too wide.',
        option: (colours, width) => barOption(colours, {
            names: shown.map((r) => `${r.site} (${r.verdict})`), flat: true, stacked: true, yName: 'time of all ranks', yFormat: format.seconds,
            series: [['skew', 'skew_s', colours.series[1]], ['transfer', 'transfer_s', colours.series[0]]]
                .map(([name, member, colour]) => ({ name, colour, values: shown.map((r) => r[member]) })) }, width),
        csv: () => [['site', 'calls', 'time_s', 'skew_s', 'transfer_s', 'skew_share', 'skew_low', 'skew_high', 'verdict'],
                    ...shown.map((r) => [r.site, r.calls, r.time_s, r.skew_s, r.transfer_s, r.skew_share, r.skew_low, r.skew_high, r.verdict])],
    });
}

function tables(of) {
    const causers = of('wait-cause');
    const place = !hasThreads(causers) ? ['rank'] : causers.some((r) => r.thread) ? ['rank', 'thread'] : ['rank', 'location'];
    const table = (name, rows, columns, muted) => (!rows.length ? null : new DataTable({ name, rows, columns, muted }).element);
    return [
        table('Collectives after the last arrival, and together', of('collective-together'),
            ['call', 'site', 'bytes', 'ranks', 'calls', 'program_s', 'together_s', 'ratio', 'ratio_low', 'ratio_high', 'replayed_s', 'replayed_ratio', 'launches'],
            (r) => r.ratio === null),
        table('The longest waits', of('wait-instance'), ['state', 'rank', 'site', 'wait_s', 'sigma_s', 'from_s', 'causer_rank', 'causer_call', 'cause_s'],
            (r) => r.wait_s <= 1.96 * r.sigma_s),
        table('Causes', causers, [...place, 'site', 'direct_s', 'indirect_s', 'share', 'share_low', 'share_high', 'first_draws', 'draws'],
            (r) => r.share_low <= 0),
        table('Sites', of('wait-site'), ['state', 'site', 'n', 'wait_s', 'wait_low_s', 'wait_high_s', 'share', 'decidable', 'kind'], (r) => !decided(r)),
    ];
}

/** One analysed archive. */
function analysis(byType, file) {
    const of = (type) => (byType.get(type) ?? []).filter((r) => r.$file === file);
    const [whole] = of('waits');
    const cells = of('wait-state');
    const states = [...new Set(cells.map((r) => r.state))];
    const holder = panels();
    let card = null;
    const show = (state) => {
        card?.dispose();
        card = severity(cells, state);
        arrange(holder, card ? [card.element] : []);
    };
    show('all');
    const cards = [causes(of('wait-cause')), ...criticalCards(of('critical-path')), collectives(of('collective-site'))];
    return h('div', {}, whole ? [h('h3', {}, whole.archive), facts(whole)] : null,
        states.length ? h('div', { class: 'controls' },
            select('State', [['all', 'all'], ...states.map((s) => [s, format.waitState(s)])], 'all', show)) : null,
        holder, panels(cards), tables(of));
}

/** @param byType the rows of each type, several of which a file of `ictus waits` holds */
export function build(byType) {
    const all = totals(byType.get('wait-total') ?? []);
    const files = new Set(types.flatMap((t) => byType.get(t) ?? []).map((r) => r.$file));
    return h('div', {}, panels([all]), [...files].map((file) => analysis(byType, file)));
}
