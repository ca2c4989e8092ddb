import type { ShownLocation } from '../page-data.ts';
import { byId, element } from './base/element.ts';
import { ago } from './base/words.ts';

/** Draws the locations with their agents. */
export function drawLocations(locations: readonly ShownLocation[]): void {
  const words = 'No locations yet. POST /v1/private-locations creates one.';
  const cell = element('td', { class: 'empty', attributes: { colspan: '5' } }, words);
  const rows = locations.length > 0 ? locations.map(rowOf) : [element('tr', {}, cell)];
  byId('locations').replaceChildren(...rows);
}

function rowOf({ name, slugName, agentCount, runningAgents, keyCount, lastSeen }: ShownLocation) {
  const colour = agentCount > 0 ? 'passed' : 'idle';
  const agents = agentCount === 1 ? '1 agent' : `${agentCount} agents`;
  const versions = runningAgents.map(({ version, count }) => `${version} × ${count}`).join(', ');
  return element(
    'tr',
    {},
    element('td', {}, element('span', { class: `status ${colour}` }, agents)),
    element('td', {}, element('b', {}, name), element('div', { class: 'soft' }, slugName)),
    element('td', { class: 'wide soft' }, versions),
    element('td', { class: 'num' }, String(keyCount)),
    element('td', { class: 'num soft' }, ago(lastSeen)),
  );
}
