// VariGrad's objects as JavaScript sees them, and the requests that make and use them.

import {exchange} from './channel.mjs';

// What the running spec met: names that VariGrad lacks and errors of an improper class, which no spec may meet; and the
// messages of VariGrad's errors.
export const met = {missing: new Set(), crashes: [], messages: new Set()};

// An error that VariGrad raised. Its message is VariGrad's own and is not compared with TensorFlow.js's.
export class VariGradError extends Error {
  constructor({id, class: kind, message, where, proper}) {
    super(`${kind}: ${message}${where ? ` (${where})` : ''}`);
    this.name = 'VariGradError';
    this.pythonError = id;
    this.proper = proper;
  }
}

// VariGrad has no such function, method or argument. The spec fails, whatever it does with this.
export class MissingError extends Error {
  constructor(what) {
    super(`no ${what}`);
    this.name = 'MissingError';
  }
}

const functions = []; // passed to Python, by number
const thrown = []; // errors that they threw, by number
const promises = []; // that they returned, by number
let objects = new Map(); // Python's objects, by number
let dataIds = new Map();

// Forgets what belongs to the spec that has ended; Python has forgotten it too.
export function endSpec() {
  functions.length = thrown.length = promises.length = 0;
  met.missing.clear();
  met.messages.clear();
  met.crashes.length = 0;
}

export function endFile() {
  endSpec();
  objects = new Map();
  dataIds = new Map();
}

// Requests

export function ask(what, args = {}) {
  const response = exchange({do: what, with: args, nested: what === 'method'}, callFunction);
  if ('value' in response) {
    const value = decode(response.value);
    return response.promised ? Promise.resolve(value) : value;
  }
  const error = failure(response);
  if (response.promised) {
    return Promise.reject(error);
  }
  throw error;
}

function failure(response) {
  if ('thrown' in response) {
    return thrown[response.thrown];
  }
  if ('missing' in response) {
    return missing(response.missing);
  }
  const error = new VariGradError(response.error);
  met.messages.add(error.message);
  if (!error.proper) {
    met.crashes.push(error.message);
  }
  return error;
}

export function missing(what) {
  met.missing.add(what);
  return new MissingError(what);
}

function callFunction(number, args) {
  try {
    return {value: encode(functions[number](...args.map(decode)))};
  } catch (error) {
    if (error instanceof VariGradError) {
      return {error: error.pythonError};
    }
    thrown.push(error);
    return {thrown: thrown.length - 1, message: String(error)};
  }
}

// Values on the wire; `values.py` says what there is.

export function encode(value) {
  switch (typeof value) {
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) {
        return value;
      }
      return {$: 'number', name: Object.is(value, -0) ? '-0' : String(value)};
    case 'string':
    case 'boolean':
      return value;
    case 'undefined':
      return {$: 'undefined'};
    case 'function':
      if (value.pythonObject !== undefined) {
        return {$: 'remote', id: value.pythonObject};
      }
      functions.push(value);
      return {$: 'function', id: functions.length - 1};
    case 'object':
      break;
    default:
      throw new TypeError(`a ${typeof value} cannot go to Python`);
  }
  if (value === null) {
    return null;
  }
  if (Array.isArray(value)) {
    return Array.from(value, encode);
  }
  if (value.pythonObject !== undefined) {
    return {$: 'remote', id: value.pythonObject};
  }
  if (ArrayBuffer.isView(value)) {
    const dtype = value.constructor.name.replace('ClampedArray', 'Array').replace('Array', '').toLowerCase();
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
    return {$: 'array', dtype, bytes};
  }
  if (typeof value.then === 'function') {
    promises.push(value);
    return {$: 'promise', id: promises.length - 1};
  }
  return {$: 'object', items: Object.entries(value).map(([key, item]) => [key, encode(item)])};
}

const TYPED_ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  uint8: Uint8Array,
};

export function decode(value) {
  if (Array.isArray(value)) {
    return value.map(decode);
  }
  if (value === null || typeof value !== 'object') {
    return value;
  }
  switch (value.$) {
    case 'number':
      return Number(value.name);
    case 'object':
      return Object.fromEntries(value.items.map(([key, item]) => [key, decode(item)]));
    case 'tuple':
      return namedTuple(value.items.map(([key, item]) => [key, decode(item)]));
    case 'array': {
      const bytes = Uint8Array.from(Buffer.from(value.bytes, 'base64'));
      return new TYPED_ARRAYS[value.dtype](bytes.buffer);
    }
    case 'promise':
      return promises[value.id];
    case 'function':
      return known(value.id, () => remoteFunction(value.id));
    case 'tensor':
      return known(value.id, () => makeTensor(value));
    case 'remote':
      return known(value.id, () => makeObject(value.id, classOf(value.classes)));
    default:
      throw new TypeError(`no such kind of wire value: ${value.$}`);
  }
}

// An object that can be taken apart like an array too, as Python's named tuples can: TensorFlow.js returns now the one,
// now the other.
function namedTuple(items) {
  const tuple = Object.fromEntries(items);
  const values = items.map(([, item]) => item);
  const hidden = {length: values.length, [Symbol.iterator]: () => values.values(), ...values};
  for (const key of Reflect.ownKeys(hidden)) {
    if (!(key in tuple)) {
      Object.defineProperty(tuple, key, {value: hidden[key], enumerable: false});
    }
  }
  return tuple;
}

function known(id, make) {
  if (!objects.has(id)) {
    objects.set(id, make());
  }
  return objects.get(id);
}

function remoteFunction(id) {
  const call = (...args) => ask('invoke', {of: id, args: args.map(encode)});
  call.pythonObject = id;
  return call;
}

// Classes

const MAKING = Symbol('made by the bridge');

// An object of VariGrad other than a tensor. What it lacks itself, it asks Python for.
export class RemoteObject {
  constructor(...args) {
    if (args[0] === MAKING) {
      this.pythonObject = args[1];
      return asProxy(this);
    }
    const made = ask('new', {name: new.target.name, args: args.map(encode)});
    return made;
  }
}

function asProxy(target) {
  return new Proxy(target, {
    get(object, name, receiver) {
      if (typeof name === 'symbol' || name in object || name === 'then' || name === 'toJSON' ||
          name.startsWith('asymmetric') || name.startsWith('jasmine')) {
        return Reflect.get(object, name, receiver);
      }
      const value = ask('get', {of: object.pythonObject, name});
      if (typeof value !== 'function') {
        return value;
      }
      return (...args) => ask('method', {of: object.pythonObject, name, args: args.map(encode)});
    },
    set(object, name, value) {
      ask('set', {of: object.pythonObject, name, value: encode(value)});
      return true;
    },
  });
}

function makeObject(id, kind) {
  return new kind(MAKING, id);
}

const classes = new Map();

// The class of an object, given the names of its Python classes from itself to the base.
function classOf(names) {
  return names.reduceRight((base, name) => remoteClass(name, base), RemoteObject);
}

export function remoteClass(name, base = RemoteObject) {
  if (!classes.has(name)) {
    const made = {[name]: class extends base {}}[name];
    // `tf.Foo.fromConfig(tf.Foo, config)` names the class twice; Python's class methods know theirs.
    made.fromConfig = (cls, config) => ask('static', {cls: cls.name, name: 'fromConfig', args: [encode(config)]});
    Object.defineProperty(made, 'className', {
      get: () => ask('static', {cls: name, name: 'className', args: []}),
      set(value) {
        Object.defineProperty(this, 'className', {value, writable: true});
      },
    });
    classes.set(name, made);
  }
  return classes.get(name);
}

export class Tensor {
  constructor(key, {id, shape, dtype}) {
    if (key !== MAKING) {
      throw missing('vg.Tensor to construct; tensors are made by functions');
    }
    Object.defineProperty(this, 'pythonObject', {value: id});
    this.id = id;
    this.shape = shape;
    this.dtype = dtype;
  }

  get rankType() {
    return String(this.rank);
  }

  get isDisposed() {
    return ask('isDisposed', {of: this.pythonObject});
  }

  // One object for one piece of memory, which tensors may share.
  get dataId() {
    const id = ask('dataId', {of: this.pythonObject});
    if (!dataIds.has(id)) {
      dataIds.set(id, {id});
    }
    return dataIds.get(id);
  }

  toString(verbose) {
    return ask('method', {of: this.pythonObject, name: 'toString', args: [encode(verbose)]});
  }
}

export class Variable extends Tensor {
  constructor(key, ...rest) {
    if (key === MAKING) {
      super(key, ...rest);
    } else {
      return ask('call', {path: ['variable'], args: [key, ...rest].map(encode)});
    }
  }
}

for (const name of ['name', 'trainable']) {
  property(Variable, name, true);
}
for (const name of ['rank', 'size', 'strides']) {
  property(Tensor, name, false);
}

function property(kind, name, writable) {
  Object.defineProperty(kind.prototype, name, {
    get() {
      return ask('get', {of: this.pythonObject, name});
    },
    set: !writable ? undefined : function(value) {
      ask('set', {of: this.pythonObject, name, value: encode(value)});
    },
    configurable: true,
  });
}

// Gives a class the methods of TensorFlow.js's that VariGrad has too; to ask for another is to find it missing.
export function addMethods(kind, names, pythonNames, members) {
  names.forEach((name, i) => {
    if (Object.hasOwn(kind.prototype, name)) {
      return;
    }
    const has = members.includes(pythonNames[i]);
    Object.defineProperty(kind.prototype, name, {
      get() {
        if (!has) {
          missing(`${kind.name}.${pythonNames[i]}`);
        }
        return method;
      },
      configurable: true,
    });
    function method(...args) {
      return ask('method', {of: this.pythonObject, name, args: args.map(encode)});
    }
  });
}

function makeTensor(value) {
  return new (value.variable ? Variable : Tensor)(MAKING, value);
}

// A value in a TensorBuffer comes and goes by `get` and `set`; `values` is a copy of all.
remoteClass('TensorBuffer');
