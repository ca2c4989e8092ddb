import { useMay } from '../base/user.ts';
import { every } from '../base/words.ts';
import { Badge } from '../parts/badge.tsx';
import { Json } from '../parts/json.tsx';
import { TriggerUrl } from '../parts/trigger.tsx';
import { targetOf, typeWords, type Check } from './types.ts';

/** The settings in short, and all of them as JSON. */
export function Settings({ check }: { check: Check }) {
  const mayWrite = useMay('READ_WRITE');
  const places = [...(check.locations ?? []), ...(check.privateLocations ?? [])];
  const facts = [
    ['Type', typeWords[check.checkType] ?? check.checkType],
    ['Target', targetOf(check)],
    ['Description', check.description ?? ''],
    [
      'Runs',
      check.frequency === undefined || check.checkType === 'HEARTBEAT'
        ? ''
        : every({ frequency: check.frequency, frequencyOffset: check.frequencyOffset ?? null }),
    ],
    ['Locations', places.join(', ')],
    ['Tags', check.tags.join(', ')],
    ['State', check.activated ? 'active' : 'paused'],
    ['Alerts', check.muted ? 'muted' : 'sent'],
  ] as const;
  return (
    <>
      {check.checkType !== 'HEARTBEAT' && <TriggerUrl of="check" id={check.id} />}
      <section class="card" aria-label="Settings">
        <div class="card-head">
          <h2>Settings</h2>
          {mayWrite && (
            <a class="button" href={`/checks/${check.id}/edit`}>
              Edit
            </a>
          )}
        </div>
        <dl class="facts">
          {facts
            .filter(([, value]) => value !== '')
            .map(([name, value]) => (
              <div key={name} class="fact">
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
        </dl>
        <h3>Badge</h3>
        <p class="hint">The image needs no key: everyone who has its address sees the state of the check.</p>
        <Badge name={check.name} image={`/v1/badges/checks/${check.id}`} link={`/checks/${check.id}`} />
        <h3>All settings</h3>
        <Json value={check} />
      </section>
    </>
  );
}
