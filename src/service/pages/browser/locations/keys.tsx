import { useState } from 'preact/hooks';
import { send } from '../base/service.ts';
import { useMay, useUser } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/copy.tsx';
import { sayFailed } from '../parts/messages.tsx';
import { Ago } from '../parts/time.tsx';
import { composeFile, dockerRun, helmLines } from './install.ts';
import { locationsPath, type Agent, type Location, type LocationKey } from './types.ts';
import { removeEntry } from '../parts/removal.tsx';

/** Keys of a location: create, rotate, delete; and the commands that start agents with them. */

type NewKey = LocationKey & { readonly rawKey: string };

export function Keys({
  location,
  agents,
  reload,
}: {
  location: Location;
  agents: readonly Agent[];
  reload: () => void;
}) {
  const mayChange = useMay('ADMIN');
  const [created, setCreated] = useState<NewKey | null>(null);
  const [isBusy, setBusy] = useState(false);
  const path = `${locationsPath}/${location.id}/keys`;
  const create = async () => {
    setBusy(true);
    try {
      setCreated(await send<NewKey>('POST', path, {}));
      reload();
    } catch (error) {
      sayFailed(error);
    }
    setBusy(false);
  };
  const remove = async (key: LocationKey) => {
    const text = 'The service refuses agents that use it from now on.';
    if (!(await removeEntry({ path: `${path}/${key.id}`, name: `the key ${key.maskedKey}`, text }))) return;
    if (created?.id === key.id) setCreated(null);
    reload();
  };
  const { keys } = location;
  return (
    <>
      {created && (
        <section class="card once" aria-labelledby="new-key">
          <h2 id="new-key">The new key</h2>
          <p class="note warn">Copy it now: it is shown this once, and the service keeps only its hash.</p>
          <Copy text={created.rawKey} label="Key of the location" isSecret />
          <button type="button" onClick={() => setCreated(null)}>
            I have stored it
          </button>
        </section>
      )}
      <section class="card" aria-labelledby="keys">
        <h2 id="keys">Keys</h2>
        {keys.length === 0 && <p class="soft">No key yet. Agents need one to join this location.</p>}
        <ul class="plain-list">
          {keys.map((key) => (
            <li key={key.id} class="line">
              <code>{key.maskedKey}</code>
              <span class="soft">
                created <Ago at={key.created_at} />
              </span>
              {mayChange && (
                <button type="button" class="danger" onClick={() => void remove(key)}>
                  Delete key {key.maskedKey}
                </button>
              )}
            </li>
          ))}
        </ul>
        {keys.length === 2 && <Rotation keys={keys} agents={agents} />}
        {mayChange && keys.length < 2 && (
          <div class="buttons">
            <Button class="main" isOff={isBusy} onClick={() => void create()}>
              {keys.length === 0 ? 'Create key' : 'Rotate: create a new key'}
            </Button>
          </div>
        )}
      </section>
      <Install location={location} rawKey={created?.rawKey ?? null} />
    </>
  );
}

/** The second key exists: which agents may still use the first one. */
function Rotation({ keys, agents }: { keys: readonly LocationKey[]; agents: readonly Agent[] }) {
  const [old, fresh] = [...keys].sort((a, b) => a.created_at.localeCompare(b.created_at));
  if (old === undefined || fresh === undefined) return null;
  const connected = agents.filter((agent) => agent.connected);
  const before = connected.filter(({ since }) => since < fresh.created_at);
  return (
    <div class="note">
      <p>
        Rotation: restart each agent with the key <code>{fresh.maskedKey}</code>, then delete{' '}
        <code>{old.maskedKey}</code>.
      </p>
      <p>
        {before.length === 0
          ? connected.length === 0
            ? 'No agent is connected.'
            : `All ${connected.length} connected agents have started since the new key was created.`
          : `${before.length} of ${connected.length} connected agents started before the new key was created, so they use the old one: ${before
              .slice(0, 5)
              .map(({ hostname }) => hostname)
              .join(', ')}${before.length > 5 ? ', …' : ''}.`}
      </p>
    </div>
  );
}

const isLocal = (address: string) => /^https?:\/\/(localhost|127\.|\[::1\])/.test(address);

function Install({ location: { slugName }, rawKey }: { location: Location; rawKey: string | null }) {
  const user = useUser();
  if (!user) return null;
  const { serviceUrl, agentImage } = user;
  const to = { origin: serviceUrl, key: rawKey ?? 'pl_…', slug: slugName, image: agentImage };
  return (
    <section class="card" aria-labelledby="install">
      <h2 id="install">Start an agent</h2>
      {rawKey === null && (
        <p class="soft">
          Put the key in the place of <code>pl_…</code>.
        </p>
      )}
      {isLocal(serviceUrl) && (
        <p class="note warn">
          {serviceUrl} is an address of this machine. Use the name by which the agent reaches the service.
        </p>
      )}
      <h3>Docker</h3>
      <Copy text={dockerRun(to)} label="docker run" />
      <h3>Docker Compose</h3>
      <Copy text={composeFile(to)} label="compose file" />
      <h3>Kubernetes with Helm</h3>
      {!agentImage.includes('/') && (
        <p class="soft">
          {agentImage} has no registry in its name. If your cluster cannot pull it, push it to your registry
          and set <code>SERVICE_AGENT_IMAGE</code> of the service to the full name.
        </p>
      )}
      <Copy text={helmLines(to)} label="helm install" />
    </section>
  );
}
