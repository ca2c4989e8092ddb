import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { Month, type Entry } from '../parts/month.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { lasting, moment, Moment } from '../parts/time.tsx';
import { ChoiceField, TextField } from '../parts/form/inputs.tsx';
import { allIncidents, colourOf, isOpen, wordOf, type Incident } from './incidents.ts';

/** All incidents: a month at a glance, and a list with filters. */

const linkOf = ({ kind, id }: Incident) => `/incidents/${id}${kind === 'page' ? '?kind=page' : ''}`;

function lasted(incident: Incident): string {
  const { from, to } = incident;
  return lasting((to === null ? Date.now() : Date.parse(to)) - Date.parse(from));
}

export function Page() {
  const { query } = usePlace();
  const mayWrite = useMay('READ_WRITE');
  const incidents = useLoad('incidents', allIncidents);
  useReloadOn(['incident', 'service'], incidents.reload);
  return (
    <>
      <div class="page-head">
        <h1>Incidents</h1>
        {mayWrite && (
          <div class="buttons">
            <a class="button main" href="/incidents/new">
              New incident
            </a>
          </div>
        )}
      </div>
      <Shown of={incidents} what="the incidents">
        {(all) => {
          const asked = (name: string) => query.get(name) ?? '';
          const shown = all.filter(
            (incident) =>
              (asked('state') === '' || isOpen(incident) === (asked('state') === 'open')) &&
              (asked('severity') === '' || incident.severity === asked('severity')) &&
              (asked('of') === '' || incident.kind === asked('of')) &&
              [incident.name, ...incident.services.map(({ name }) => name)].some((text) =>
                text.toLowerCase().includes(asked('q').toLowerCase()),
              ),
          );
          const entries = shown.map((incident): Entry => ({
            id: incident.id,
            title: incident.name,
            href: linkOf(incident),
            from: incident.from,
            to: incident.to,
            colour: colourOf(incident),
            text: `${wordOf(incident.severity)}, since ${moment(incident.from)}, ${
              isOpen(incident) ? 'open' : `resolved after ${lasted(incident)}`
            }`,
          }));
          return (
            <>
              <div class="filter-row" role="search" aria-label="Filter of the incidents">
                <TextField
                  label="Search"
                  type="search"
                  value={asked('q')}
                  onChange={(q) => setQuery({ q })}
                />
                <ChoiceField
                  label="State"
                  value={asked('state')}
                  choices={[
                    { value: '', title: 'All' },
                    { value: 'open', title: 'Open' },
                    { value: 'resolved', title: 'Resolved' },
                  ]}
                  onChange={(state) => setQuery({ state })}
                />
                <ChoiceField
                  label="Severity"
                  value={asked('severity')}
                  choices={[
                    { value: '', title: 'All' },
                    ...['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR', 'MAINTENANCE'].map((value) => ({
                      value,
                      title: wordOf(value),
                    })),
                  ]}
                  onChange={(severity) => setQuery({ severity })}
                />
                <ChoiceField
                  label="Of"
                  value={asked('of')}
                  choices={[
                    { value: '', title: 'All' },
                    { value: 'services', title: 'Services' },
                    { value: 'page', title: 'A whole status page' },
                  ]}
                  onChange={(of) => setQuery({ of })}
                />
              </div>
              <section class="card flush" aria-label="List of incidents">
                {shown.length === 0 ? (
                  <Empty title={all.length === 0 ? 'No incidents' : 'No incident matches'}>
                    Status pages show incidents and their updates to visitors.
                  </Empty>
                ) : (
                  <ul class="rows">
                    {shown.map((incident) => (
                      <li key={incident.id}>
                        <a class="row-name" href={linkOf(incident)}>
                          {incident.name}
                        </a>
                        <Status
                          status={isOpen(incident) ? 'failing' : 'passing'}
                          word={wordOf(incident.status || (isOpen(incident) ? 'OPEN' : 'RESOLVED'))}
                        />
                        <span>{wordOf(incident.severity)}</span>
                        <span class="soft">
                          <Moment at={incident.from} />, {lasted(incident)}
                        </span>
                        <span class="soft">
                          {incident.kind === 'page'
                            ? 'whole status page'
                            : incident.services.map(({ name }) => name).join(', ')}
                        </span>
                      </li>
                    ))}
                  </ul>
                )}
              </section>
              <Month label="Incidents by day" what="incidents" entries={entries} />
            </>
          );
        }}
      </Shown>
    </>
  );
}
