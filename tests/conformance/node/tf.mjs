// What the bridge exports in place of TensorFlow.js's modules.
//
// `tf.fooBar(…)` is `vg.foo_bar(…)` for every op, and the arguments go over as they are. What is written out here is
// only what has another form in JavaScript: promises, classes, the engine object, enums with numbers.

import fs from 'node:fs';
import path from 'node:path';

import {Tensor, Variable, addMethods, ask, encode, remoteClass} from './remote.mjs';

// TensorFlow.js's flags, which stay its own but for the one of debug mode.
let environment;

// Makes VariGrad's debug mode follow the flag.
export function follow(flags) {
  environment = flags;
  let debug = false;
  for (const name of ['set', 'reset']) {
    const original = flags[name];
    flags[name] = (...args) => {
      original.apply(flags, args);
      const now = flags.flags.DEBUG === true;
      if (now !== debug) {
        debug = now;
        ask('call', {path: ['enableDebugMode'], args: [debug]});
      }
    };
  }
}

// The function at a path below `vg`.
function remote(...names) {
  const name = names.at(-1);
  return {[name]: (...args) => ask('call', {path: names, args: args.map(encode)})}[name];
}

// The same, for what TensorFlow.js gives a promise of.
function promised(name) {
  return async (...args) => remote(name)(...args);
}

// A namespace of functions.
function namespace(name) {
  return new Proxy({}, {get: (_, key) => typeof key === 'symbol' ? undefined : remote(name, key)});
}

const backend = {
  floatPrecision: () => 32,
  epsilon: () => 1e-7,
  numDataIds: () => remote('memory')().numDataBuffers,
};

const ENGINE = {
  backend,
  get backendName() {
    return remote('getBackend')();
  },
  get registeredVariables() {
    return ask('registeredVariables');
  },
  startScope: () => ask('startScope'),
  endScope: () => ask('endScope'),
  reset: () => ask('reset'),
  isTapeOn: () => ask('isTapeOn'),
  runKernel: (name, inputs, attrs) => ask('runKernel', {name, inputs: encode(inputs), attrs: encode(attrs)}),
  makeTensor: remote('tensor'),
  tidy: remote('tidy'),
  keep: remote('keep'),
  memory: remote('memory'),
  disposeVariables: () => ask('disposeVariables'),
  setBackend: promised('setBackend'),
  profile: promised('profile'),
  time: promised('time'),
  customGrad: remote('customGrad'),
};

const TensorBuffer = remoteClass('TensorBuffer');
const Optimizer = remoteClass('Optimizer');

const MODULES = {
  engine: {ENGINE, Engine: class Engine {}, getOrMakeEngine: () => ENGINE, add: remote('add')},
  tensor: {
    Tensor,
    Variable,
    TensorBuffer,
    getGlobalTensorClass: () => Tensor,
    setTensorTracker() {},
    setOpHandler() {},
    setDeprecationWarningFn() {},
  },
  globals: {
    engine: () => ENGINE,
    backend: () => backend,
    profile: promised('profile'),
    time: promised('time'),
    setBackend: promised('setBackend'),
    ready: async () => {},
    enableDebugMode: () => environment.set('DEBUG', true),
  },
  math: {confusionMatrix: remote('math', 'confusionMatrix')},
  types: {
    Rank: Object.fromEntries([0, 1, 2, 3, 4, 5, 6].map(rank => [`R${rank}`, `R${rank}`])),
    isWebGLData: () => false,
    isWebGPUData: () => false,
  },
  train: {train: namespace('train')},
  'ops/loss_ops_utils': {
    Reduction: {NONE: 'none', MEAN: 'mean', SUM: 'sum', SUM_BY_NONZERO_WEIGHTS: 'sum_by_nonzero_weights'},
  },
  'optimizers/optimizer': {Optimizer},
  'optimizers/optimizer_constructors': {OptimizerConstructors: namespace('train')},
  'optimizers/register_optimizers': {registerOptimizers() {}},
};

// Where `tf` has the functions of modules whose path does not say it.
const NAMESPACES = {
  'ops/axis_util': ['backend_util'],
  'ops/broadcast_util': ['broadcast_util'],
  'ops/concat_util': ['backend_util'],
  'ops/conv_util': ['backend_util'],
  'ops/slice_util': ['backend_util', 'slice_util'],
};

// The export `name` of TensorFlow.js's module at `module` (its path below `dist`, without the extension).
export function provide(module, name) {
  const special = MODULES[module]?.[name];
  if (special !== undefined) {
    return special;
  }
  if (module.startsWith('optimizers/')) {
    return remoteClass(name, Optimizer);
  }
  const [, folder] = module.match(/^ops\/(\w+)\//) ?? [];
  return remote(...NAMESPACES[module] ?? (folder ? [folder] : []), name);
}

// Gives `Tensor`, `Variable` and `TensorBuffer` the methods that TensorFlow.js's have.
export function addTensorMethods(dist) {
  const members = ask('members');
  const chained = fs.readdirSync(path.join(dist, 'public/chained_ops'))
      .filter(file => file.endsWith('.js'))
      .flatMap(file => [...fs.readFileSync(path.join(dist, 'public/chained_ops', file), 'utf8')
          .matchAll(/getGlobalTensorClass\(\)\.prototype\.(\w+) =/g)].map(match => match[1]));
  const own = [
    'array', 'arraySync', 'buffer', 'bufferSync', 'bytes', 'cast', 'clone', 'data', 'dataSync', 'dispose', 'print',
    'variable',
  ];
  add(Tensor, [...own, ...new Set(chained)], members.Tensor);
  add(Variable, ['assign'], members.Variable);
}

function add(kind, names, members) {
  addMethods(kind, names, ask('snake', {names}), members);
}
