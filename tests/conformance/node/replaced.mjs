// Which of TensorFlow.js's modules the bridge takes the place of.

import fs from 'node:fs';
import path from 'node:path';

// The library beside its ops.
const CORE = new Set([
  'engine', 'globals', 'gradients', 'kernel_registry', 'math', 'register_all_gradients', 'tensor', 'train',
  'types', 'ops/axis_util', 'ops/broadcast_util', 'ops/concat_util', 'ops/conv_util', 'ops/loss_ops_utils',
  'ops/slice_util',
]);

// Exported by TensorFlow.js beside its ops, but no ops: what JavaScript needs for itself.
const NOT_OPS = new Set(['ops/operation', 'ops/browser']);

let ops;

// The modules from which `ops/ops.js` collects the ops.
function opModules(dist) {
  if (ops === undefined) {
    const source = fs.readFileSync(path.join(dist, 'ops/ops.js'), 'utf8');
    ops = new Set([...source.matchAll(/ from '\.\/(\S+)';/g)].map(match => `ops/${match[1]}`));
    ops.add('ops/confusion_matrix'); // collected by `math.js`
    for (const name of fs.readdirSync(path.join(dist, 'ops/fused'))) {
      ops.add(`ops/fused/${name.replace(/\.js$/, '')}`);
    }
    ops.delete('ops/fused_ops');
  }
  return ops;
}

export function isReplaced(name, dist) {
  if (name.endsWith('_test') || NOT_OPS.has(name)) {
    return false;
  }
  return CORE.has(name) || opModules(dist).has(name) || name.startsWith('public/chained_ops/') ||
      name.startsWith('optimizers/');
}
