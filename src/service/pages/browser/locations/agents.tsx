import { bytes } from '../base/words.ts';
import { Empty } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Ago, lasting } from '../parts/time.tsx';
import type { Condition, LocationLoad } from './types.ts';
import { AgentWarnings } from './warnings.tsx';

/** The agents of a location and its lanes now. */

const gibibytes = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
const slotsOf = (slots: { readonly [lane: string]: number }) =>
  Object.entries(slots)
    .filter(([, count]) => count > 0)
    .map(([lane, count]) => `${lane} ${count}`)
    .join(', ') || 'none';

/** Results that the service has not got from the agent yet. */
function Outbox({ condition }: { condition: Condition | null }) {
  if (condition === null) return <span class="soft">not reported</span>;
  const { results, bytes: size, oldestSeconds } = condition.outbox;
  if (results === 0) return <>empty</>;
  return (
    <>
      {results} {results === 1 ? 'result' : 'results'}, {bytes(size)}
      <div class="soft">the oldest waits {lasting(oldestSeconds * 1000)}</div>
    </>
  );
}

export function Agents({ load }: { load: LocationLoad }) {
  return (
    <>
      <AgentWarnings agents={load.agents} />
      <section class="card flush" aria-labelledby="agents">
        <h2 id="agents" class="card-title">
          Agents
        </h2>
        {load.agents.length === 0 ? (
          <Empty title="No agent has joined yet">
            <a href="?tab=keys">Keys and installation</a>
          </Empty>
        ) : (
          <table class="stacked" aria-label="Agents">
            <thead>
              <tr>
                <th scope="col">Host</th>
                <th scope="col">State</th>
                <th scope="col">Version</th>
                <th scope="col">Slots by lane</th>
                <th scope="col">Running</th>
                <th scope="col">Outbox</th>
                <th scope="col">Last contact</th>
              </tr>
            </thead>
            <tbody>
              {load.agents.map((agent) => (
                <tr key={agent.id}>
                  <td data-title="Host">
                    {agent.hostname || agent.id}
                    <div class="soft">
                      {[
                        agent.platform,
                        agent.cores > 0 ? `${agent.cores} cores` : '',
                        agent.memoryBytes > 0 ? gibibytes(agent.memoryBytes) : '',
                      ]
                        .filter((part) => part !== '')
                        .join(' · ')}
                    </div>
                  </td>
                  <td data-title="State">
                    {agent.connected ? (
                      <Status status="up" word="connected" />
                    ) : (
                      <Status status="missed" word="away" />
                    )}
                    <div class="soft">
                      started <Ago at={agent.since} />
                    </div>
                  </td>
                  <td data-title="Version">{agent.version}</td>
                  <td data-title="Slots by lane">
                    {slotsOf(agent.slots)}
                    <div class="soft">{agent.checkTypes.join(', ')}</div>
                  </td>
                  <td data-title="Running">{agent.running}</td>
                  <td data-title="Outbox">
                    <Outbox condition={agent.condition} />
                  </td>
                  <td data-title="Last contact">
                    <Ago at={agent.lastSeen} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <section class="card flush" aria-labelledby="lanes">
        <h2 id="lanes" class="card-title">
          Lanes now
        </h2>
        <table class="stacked" aria-labelledby="lanes">
          <thead>
            <tr>
              <th scope="col">Lane</th>
              <th scope="col">Slots</th>
              <th scope="col">Running</th>
              <th scope="col">Waiting</th>
              <th scope="col">Oldest wait</th>
            </tr>
          </thead>
          <tbody>
            {load.queues.map(({ lane, slots, running, queued, oldestSeconds }) => (
              <tr key={lane}>
                <td data-title="Lane">{lane}</td>
                <td data-title="Slots">{slots}</td>
                <td data-title="Running">{running}</td>
                <td data-title="Waiting">{queued}</td>
                <td data-title="Oldest wait">{queued === 0 ? '–' : lasting(oldestSeconds * 1000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}
