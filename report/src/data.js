// SPDX-License-Identifier: BSD-3-Clause
// The results that the program put into the page: rows of values under shared lists of names.
import { order } from './stats.js';

/** "Open MPI v4.1.4, package: …" is Open MPI 4.1.4, "MPICH Version: 4.0.2 …" is MPICH 4.0.2. */
function shortMpi(text) {
    const found = /^(.*?)\s+(?:version:?\s*)?v?(\d[\w.]*)/i.exec(text);
    return found ? `${found[1]} ${found[2]}` : text.split(/[,\n]/)[0];
}

/** The MPI libraries that a packed file's headers name. */
function librariesOf(file) {
    return file.rows.flatMap((row) => {
        const at = file.shapes[row[0]].indexOf('mpi');
        return at >= 0 && row[1 + at] ? [shortMpi(row[1 + at])] : [];
    });
}

/**
 * {version, files: [{name, labelled, skipped, thinned, shapes: [[name, …], …], rows: [[shape, value, …], …]}]}
 * becomes files with their headers and objects by type; each object knows its file and header.
 */
export function decode(text) {
    const packed = JSON.parse(text);
    const types = new Map();
    const libraries = new Set(packed.files.flatMap(librariesOf));
    const files = packed.files.map((file, index) => {
        const headers = [];
        let header = null;
        for (const row of file.rows) {
            const names = file.shapes[row[0]];
            const object = { $file: index, $labelled: Boolean(file.labelled) };
            for (let i = 0; i < names.length; i++) {
                object[names[i]] = row[i + 1];
            }
            if (object.type === 'header') {
                header = object;
                headers.push(object);
                continue;
            }
            object.$header = header;
            object.file ??= file.name; // a comparison names the file that it is about
            if (header?.mpi && libraries.size > 1) {
                object.mpi = shortMpi(header.mpi);
            }
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

// Sentences about a result, and what follows from other members: they tell no experiments apart.
const never = new Set(['type', 'verdict', 'formula', 'warnings', 'reason', 'unit', 'experiment', 'baseline', 'ran', 'component',
                       'note', 'summary', 'identity', 'finding', 'outcome', 'launch_spread_from']);

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
        all.push({ name, values: order(values), varies: values.size > 1 || somewhereAbsent,
                   everywhere: rows.every((row) => row[name] !== undefined && row[name] !== null) });
    }
    return all;
}

/** Whether one of two members follows from the other: each value of it goes with one value of that only. */
function follows(rows, name, from) {
    const known = new Map();
    return rows.every((row) => {
        const value = known.get(row[from]) ?? row[name];
        known.set(row[from], value);
        return value === row[name];
    });
}

/** The members by which a legend tells series apart; an MPI library or a file, where one says all. */
export function telling(rows, numbers = []) {
    const names = dimensions(rows, numbers).filter((d) => d.varies).map((d) => d.name);
    if (!names.includes('mpi') || !names.includes('file')) {
        return names;
    }
    const both = follows(rows, 'file', 'mpi') && follows(rows, 'mpi', 'file');
    const labelled = rows.some((r) => r.$labelled);
    const spare = both && !labelled ? 'file' : follows(rows, 'mpi', 'file') ? 'mpi' : null;
    return names.filter((n) => n !== spare);
}
