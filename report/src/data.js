// SPDX-License-Identifier: BSD-3-Clause
// The results that the program put into the page: rows of values under shared lists of names.
import { order } from './stats.js';

/**
 * {version, files: [{name, skipped, thinned, shapes: [[name, …], …], rows: [[shape, value, …], …]}]}
 * becomes files with their headers and objects by type; each object knows its file and header.
 */
export function decode(text) {
    const packed = JSON.parse(text);
    const types = new Map();
    const files = packed.files.map((file, index) => {
        const headers = [];
        let header = null;
        for (const row of file.rows) {
            const names = file.shapes[row[0]];
            const object = { $file: index };
            for (let i = 0; i < names.length; i++) {
                object[names[i]] = row[i + 1];
            }
            if (object.type === 'header') {
                header = object;
                headers.push(object);
                continue;
            }
            object.$header = header;
            object.file = file.name;
            if (object.proven === false) {
                object.algorithm += ' (unproven)';
            }
            const list = types.get(object.type);
            if (list) {
                list.push(object);
            } else {
                types.set(object.type, [object]);
            }
        }
        return { name: file.name, skipped: file.skipped, thinned: file.thinned, headers };
    });
    return { version: packed.version, files, types };
}

const never = new Set(['type', 'verdict', 'formula', 'warnings', 'reason', 'unit', 'experiment', 'method', 'baseline', 'ran', 'component']);

/**
 * The members that tell experiments apart: all that are text, and the given numbers; with their
 * values, those with more than one value only.
 */
export function dimensions(rows, numbers = []) {
    const found = new Map();
    for (const row of rows) {
        for (const name in row) {
            const value = row[name];
            const counts =
                name[0] !== '$' &&
                !never.has(name) &&
                (typeof value === 'string' || (typeof value === 'number' && numbers.includes(name)));
            if (counts) {
                const values = found.get(name);
                if (values) {
                    values.add(value);
                } else {
                    found.set(name, new Set([value]));
                }
            }
        }
    }
    const all = [];
    for (const [name, values] of found) {
        const somewhereAbsent = values.size === 1 && rows.some((row) => row[name] === undefined);
        all.push({ name, values: order(values), varies: values.size > 1 || somewhereAbsent });
    }
    return all;
}
