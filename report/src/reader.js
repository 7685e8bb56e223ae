// SPDX-License-Identifier: BSD-3-Clause
// A chart by keyboard: arrow keys go from point to point, and a screen reader hears what a tooltip shows.
import { h } from './dom.js';

export class Reader {
    /** @param box holds the chart @param chart () => the ECharts instance @param choose told of Enter */
    constructor(box, chart, choose) {
        this.box = box;
        this.chart = chart;
        this.choose = choose;
        this.at = null;
        this.says = h('p', { class: 'says', 'aria-live': 'polite' });
        box.addEventListener('keydown', (event) => this.key(event));
        box.addEventListener('blur', () => this.leave());
    }

    /** The series that can be walked along, with how many points each has. */
    series() {
        const all = this.chart()?.getOption()?.series ?? [];
        return all.map((s, index) => ({ index, name: s.name, data: s.data ?? [], silent: s.silent }))
            .filter((s) => !s.silent && s.data.length);
    }

    key(event) {
        const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
        const list = this.series();
        if (event.key === 'Escape') {
            this.leave();
        } else if (event.key === 'Enter' && this.at && list[this.at.line]) {
            this.choose({ data: list[this.at.line].data[this.at.point], event: { event } });
        } else if (steps[event.key] && list.length) {
            event.preventDefault();
            this.go(list, steps[event.key]);
        }
    }

    go(list, [lines, points]) {
        const bound = (value, count) => Math.min(Math.max(value, 0), count - 1);
        const { line, point } = this.at ?? { line: 0, point: points > 0 ? -1 : 0 };
        const next = bound(line + lines, list.length);
        this.at = { line: next, point: bound(point + points, list[next].data.length) };
        const series = list[next];
        this.chart().dispatchAction({ type: 'showTip', seriesIndex: series.index, dataIndex: this.at.point });
        const cells = [...this.box.querySelectorAll('.tip strong, .tip tr')].map((e) =>
            (e.cells ? [...e.cells].map((c) => c.textContent).join(' ') : e.textContent));
        this.says.textContent = `${cells.join(', ')} (${this.at.point + 1} of ${series.data.length})`;
    }

    leave() {
        this.at = null;
        this.says.textContent = '';
        this.chart()?.dispatchAction({ type: 'hideTip' });
    }
}
