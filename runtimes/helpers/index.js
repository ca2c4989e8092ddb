'use strict';

// The process that runs a check puts its functions here; outside of a run there are none.
const hooks = () => globalThis[Symbol.for('location-agent.hooks')];
// The fixtures of a run put the time that they measured on each API response, in milliseconds.
const measured = Symbol.for('location-agent.responseTime');

exports.markCheckAsDegraded = function markCheckAsDegraded(reason) {
  if (reason !== undefined && typeof reason !== 'string')
    throw new TypeError('markCheckAsDegraded takes a text that says why, or nothing');
  hooks()?.markDegraded(reason);
};

exports.getAPIResponseTime = function getAPIResponseTime(response) {
  const own = response?.[measured];
  if (typeof own === 'number') return own;
  throw new TypeError(
    'getAPIResponseTime takes a response of the request fixture (await request.get(…)) in a check that the agent runs',
  );
};

exports.secret = function secret(value) {
  if (typeof value !== 'string') throw new TypeError('secret takes a text');
  hooks()?.secret(value);
  return value;
};
