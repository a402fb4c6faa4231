// Module hooks: TensorFlow.js's own spec files, unchanged, import the bridge where they ask for the library.
//
// `@tensorflow/tfjs-core/dist` holds ES modules without file extensions, which browsers' bundlers read; `resolve` finds
// their files. `load` gives those that make up the library (`index`, `engine`, `tensor`, every op) a source that takes
// its exports from the bridge. All else there (`test_util`, `jasmine_util`, `util`, `environment` …) stays as it is.

import fs from 'node:fs';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';

import {isReplaced} from './replaced.mjs';

const COMMON_JS = 'commonjs-package:';

let dist;
let bridge;
let selfTest;
let requirePackage;

export function initialize(data) {
  ({dist, bridge, selfTest} = data);
  requirePackage = createRequire(dist);
}

export function resolve(specifier, context, next) {
  // The self-test imports the library as if it were one of its spec files.
  const parent = context.parentURL?.startsWith(selfTest) ? `${dist}self_test.js` : context.parentURL;
  if (!parent?.startsWith(dist) || specifier.includes(':')) {
    return next(specifier, context);
  }
  if (!specifier.startsWith('.')) {
    return {url: COMMON_JS + specifier, format: 'module', shortCircuit: true};
  }
  const base = new URL(specifier, parent).href.replace(/\/$/, '');
  const url = [`${base}.js`, `${base}/index.js`].find(candidate => fs.existsSync(fileURLToPath(candidate)));
  return url ? {url, format: 'module', shortCircuit: true} : next(specifier, context);
}

export function load(url, context, next) {
  if (url.startsWith(COMMON_JS)) {
    return {source: commonJs(url.slice(COMMON_JS.length)), format: 'module', shortCircuit: true};
  }
  if (url.startsWith(selfTest)) {
    return {source: fs.readFileSync(fileURLToPath(url), 'utf8'), format: 'module', shortCircuit: true};
  }
  if (!url.startsWith(dist)) {
    return next(url, context);
  }
  const name = url.slice(dist.length).replace(/\.js$/, '');
  let source = fs.readFileSync(fileURLToPath(url), 'utf8');
  if (isReplaced(name, fileURLToPath(dist))) {
    source = replacement(name, source);
  }
  return {source, format: 'module', shortCircuit: true};
}

// An ES module with all that a CommonJS package exports, under its own names.
function commonJs(name) {
  const names = Object.keys(requirePackage(name)).filter(key => /^[A-Za-z_$][\w$]*$/.test(key) && key !== 'default');
  return `const exported = globalThis.require(${JSON.stringify(name)});
export default exported;
${names.map(key => `export const ${key} = exported.${key};`).join('\n')}`;
}

function replacement(name, source) {
  const lines = [`import {provide} from ${JSON.stringify(bridge)};`];
  for (const exported of exportedNames(source)) {
    const local = `provided_${exported}`;
    lines.push(`const ${local} = provide(${JSON.stringify(name)}, ${JSON.stringify(exported)});`);
    lines.push(`export {${local} as ${exported}};`);
  }
  return lines.join('\n');
}

function exportedNames(source) {
  const declared = source.matchAll(/^export (?:async )?(?:const|let|var|function\*?|class) (\w+)/gm);
  const listed = source.matchAll(/^export \{([^}]*)\}/gm);
  return [
    ...[...declared].map(match => match[1]),
    ...[...listed].flatMap(match => match[1].split(',').map(item => item.trim().split(' as ').at(-1))).filter(Boolean),
  ];
}
