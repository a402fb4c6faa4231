// Runs spec files under jasmine, one after the other, as Python asks for them, and reports each spec to it.

import {createRequire, register} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

import {MissingError, VariGradError, ask, endFile, endSpec, met} from './remote.mjs';
import {addTensorMethods, follow} from './tf.mjs';

const ASYNC_TIMEOUT_MS = 10000;
const ENVIRONMENT = 'varigrad';

const dist = path.join(process.env.VARIGRAD_NODE_MODULES, '@tensorflow/tfjs-core/dist/');
const distUrl = pathToFileURL(dist).href;
const selfTestUrl = new URL('../selftest/', import.meta.url).href;

globalThis.require = createRequire(dist); // two modules of TensorFlow.js's call it as browsers' bundlers let them
register('./hooks.mjs', {
  parentURL: import.meta.url,
  data: {dist: distUrl, bridge: new URL('./tf.mjs', import.meta.url).href, selfTest: selfTestUrl},
});

addTensorMethods(dist);
const {Environment, setEnvironmentGlobal} = await import(`${distUrl}environment.js`);
const flags = new Environment(globalThis);
setEnvironmentGlobal(flags);
follow(flags);
await import(`${distUrl}index.js`);
const {setTestEnvs} = await import(`${distUrl}jasmine_util.js`);
setTestEnvs([{name: ENVIRONMENT, backendName: 'numpy', isDataSync: true}]);

const jasmineRequire = globalThis.require('jasmine-core/lib/jasmine-core/jasmine.js');

for (let job = ask('nextJob'); job !== null; job = ask('nextJob')) {
  await runFile(job);
  resetFlags();
  endFile();
}
process.exit(0);

// No flag that a file has set, such as debug mode, reaches the next one.
function resetFlags() {
  try {
    flags.reset();
  } catch (error) {
    if (!(error instanceof MissingError)) {
      throw error;
    }
  }
}

// A job names a file below `dist`; the specs already run, by index (by a process that died); the full names of those
// excluded, or true for all; and a pattern for the names of those wanted.
async function runFile({file, done, excluded, only}) {
  const jasmine = jasmineRequire.core(jasmineRequire);
  const env = jasmine.getEnv({suppressLoadErrors: true});
  Object.assign(globalThis, jasmineRequire.interface(jasmine, env));
  jasmine.DEFAULT_TIMEOUT_INTERVAL = ASYNC_TIMEOUT_MS;

  try {
    await import(file.startsWith('selftest/') ? new URL(file, new URL('..', selfTestUrl)).href : `${distUrl}${file}`);
  } catch (error) {
    tell({event: 'unloadable', file, reason: String(error?.stack ?? error)});
    return;
  }

  const specs = allSpecs(env.topSuite());
  const index = new Map(specs.map((spec, i) => [spec.id, i]));
  const wanted = specs.map((spec, i) => {
    const name = nameOf(spec);
    return !done.includes(i) && excluded !== true && !excluded.includes(name) && new RegExp(only).test(name);
  });
  tell({event: 'loaded', file, specs: specs.map(nameOf)});

  env.configure({random: false, specFilter: spec => wanted[index.get(spec.id)]});
  env.beforeEach(() => {
    jasmine.addMatchers(matchers(jasmine));
    jasmine.addAsyncMatchers(asyncMatchers(jasmine));
  });
  env.addReporter({
    specStarted: spec => {
      if (wanted[index.get(spec.id)]) {
        ask('specStarted', {event: {event: 'started', file, index: index.get(spec.id)}});
      }
    },
    specDone: spec => {
      if (wanted[index.get(spec.id)]) {
        const outcome = outcomeOf(spec);
        endSpec();
        ask('specDone', {event: {event: 'done', file, index: index.get(spec.id), ...outcome}});
      }
    },
    suiteDone: suite => {
      for (const {message} of suite.failedExpectations) {
        tell({event: 'suite failed', file, suite: suite.fullName, reason: message});
      }
    },
  });
  await new Promise(resolve => env.execute(null, resolve));
  tell({event: 'finished', file});
}

// The full name, without the environment that TensorFlow.js's `describeWithFlags` writes into it.
function nameOf(spec) {
  return spec.getFullName().replaceAll(` ${ENVIRONMENT} {}`, '');
}

function tell(event) {
  ask('event', {event});
}

function allSpecs(suite) {
  return suite.children.flatMap(child => child.children ? allSpecs(child) : [child]);
}

function outcomeOf({status, failedExpectations}) {
  const failures = failedExpectations.map(({message, stack}) => ({message, at: lineOf(stack)}));
  if (met.missing.size) {
    return {status: 'missing', missing: [...met.missing], failures};
  }
  if (met.crashes.length) {
    return {status: 'failed', failures: met.crashes.map(message => ({message: `improper error: ${message}`}))};
  }
  return {status, failures};
}

// The line of the spec file in a stack trace.
function lineOf(stack) {
  return stack?.match(/_test\.js:(\d+)/)?.[1];
}

// Message texts are VariGrad's own and are not compared: an error of VariGrad's satisfies whatever message a spec asks
// for, and so does its message, where a spec has caught it.
function matchers(jasmine) {
  return {
    toBe: utils => comparingMessages(jasmine.matchers.toBe(utils)),
    toEqual: utils => comparingMessages(jasmine.matchers.toEqual(utils)),
    toMatch: utils => comparingMessages(jasmine.matchers.toMatch(utils)),
    toThrowError: utils => {
      const original = jasmine.matchers.toThrowError(utils);
      return {
        compare(f, ...expected) {
          const error = errorOf(f);
          if (error instanceof VariGradError) {
            return {pass: error.proper, message: `Got ${error.name}: ${error.message}`};
          }
          if (error instanceof MissingError) {
            return {pass: false, message: error.message};
          }
          return original.compare(() => {
            if (error !== undefined) {
              throw error;
            }
          }, ...expected);
        },
      };
    },
  };
}

function comparingMessages(original) {
  return {
    compare: (actual, expected) => met.messages.has(actual) ? {pass: true} : original.compare(actual, expected),
  };
}

function asyncMatchers(jasmine) {
  return {
    toBeRejectedWithError: utils => {
      const original = jasmine.asyncMatchers.toBeRejectedWithError(utils);
      return {
        async compare(promise, ...expected) {
          try {
            await promise;
          } catch (error) {
            if (error instanceof VariGradError) {
              return {pass: error.proper, message: `Got ${error.name}: ${error.message}`};
            }
          }
          return original.compare(promise, ...expected);
        },
      };
    },
  };
}

function errorOf(f) {
  try {
    f();
  } catch (error) {
    return error;
  }
  return undefined;
}
