import { useState } from 'preact/hooks';
import { getList, get, send, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { plain } from '../base/outside.ts';
import { usePlace } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { sayFailed } from '../parts/messages.tsx';
import { Empty, Loading, Shown } from '../parts/notice.tsx';
import { pageOf, Paging } from '../parts/paging.tsx';
import { Ago } from '../parts/time.tsx';

type Group = {
  readonly id: string;
  readonly rawErrorMessage: string | null;
  readonly cleanedErrorMessage: string;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly archivedUntilNextEvent: boolean;
  readonly archiveForEver: boolean;
  readonly rootCauseAnalyses: readonly { id: string; status: string; classification: string | null }[];
};
type Analysis = {
  readonly status: string;
  readonly provider: string;
  readonly analysis?: {
    readonly classification: string;
    readonly userImpact: string;
    readonly rootCause: string;
    readonly codeFix: string | null;
    readonly evidence: readonly { description: string }[];
    readonly referenceLinks: readonly { url: string; title: string }[];
  };
};

const limit = 20;

/** Errors by kind, with their root cause analyses. */
export function ErrorGroups({ checkId }: { checkId: string }) {
  const { query } = usePlace();
  const page = pageOf(query);
  const groups = useLoad(`errors ${checkId} ${page}`, (signal) =>
    getList<Group>(withQuery(`/v1/error-groups/checks/${checkId}`, { limit, page }), signal),
  );
  useReloadOn(['run', 'state'], groups.reload, { checkId, everyMs: 3000 });
  return (
    <Shown of={groups} what="the errors">
      {({ entries, total }) =>
        entries.length === 0 ? (
          <div class="card">
            <Empty title="No errors.">Errors of failed runs are collected here by their message.</Empty>
          </div>
        ) : (
          <>
            {entries.map((group) => (
              <ErrorCard key={group.id} group={group} reload={groups.reload} />
            ))}
            <Paging total={total ?? entries.length} limit={limit} />
          </>
        )
      }
    </Shown>
  );
}

function ErrorCard({ group, reload }: { group: Group; reload: () => void }) {
  const mayRun = useMay('READ_RUN');
  const mayWrite = useMay('READ_WRITE');
  const [isBusy, setBusy] = useState(false);
  const act = (work: () => Promise<unknown>) => {
    setBusy(true);
    void work()
      .then(reload, sayFailed)
      .finally(() => setBusy(false));
  };
  const archive = (body: Partial<Pick<Group, 'archivedUntilNextEvent' | 'archiveForEver'>>) =>
    act(() => send('PATCH', `/v1/error-groups/${group.id}`, body));
  const isArchived = group.archivedUntilNextEvent || group.archiveForEver;
  return (
    <section class="card" aria-label="Error">
      <h2 class="reason break">{plain(group.rawErrorMessage ?? group.cleanedErrorMessage)}</h2>
      <p class="soft">
        last seen <Ago at={group.lastSeen} />, first seen <Ago at={group.firstSeen} />
        {group.archiveForEver ? ', archived for good' : isArchived && ', archived until it happens again'}
      </p>
      <div class="buttons">
        {mayRun && (
          <Button
            key="analysis"
            isOff={isBusy}
            onClick={() => act(() => send('POST', `/v1/root-cause-analyses/error-groups/${group.id}`, {}))}
          >
            Find the root cause
          </Button>
        )}
        {mayWrite && (
          <Button
            key="archive"
            isOff={isBusy}
            onClick={() =>
              archive(
                isArchived
                  ? { archivedUntilNextEvent: false, archiveForEver: false }
                  : { archivedUntilNextEvent: true },
              )
            }
          >
            {isArchived ? 'Bring back' : 'Archive until it happens again'}
          </Button>
        )}
        {mayWrite && !group.archiveForEver && (
          <Button key="for good" isOff={isBusy} onClick={() => archive({ archiveForEver: true })}>
            Archive for good
          </Button>
        )}
      </div>
      {group.rootCauseAnalyses.slice(0, 3).map(({ id, classification, status }, at) => (
        <details key={`${id} ${status}`} open={at === 0}>
          <summary>Root cause analysis{classification ? `: ${classification}` : ''}</summary>
          <RootCause id={id} />
        </details>
      ))}
    </section>
  );
}

function RootCause({ id }: { id: string }) {
  const read = useLoad(`analysis ${id}`, (signal) => get<Analysis>(`/v1/root-cause-analyses/${id}`, signal));
  useReloadOn(['run', 'job'], read.reload, { everyMs: 3000 });
  return (
    <Shown of={read} what="the analysis">
      {({ analysis, provider }) =>
        analysis === undefined ? (
          <>
            <Loading what="the analysis" />
            <button type="button" onClick={read.reload}>
              Look again
            </button>
          </>
        ) : (
          <>
            <p class="break">{plain(analysis.rootCause)}</p>
            <p class="break">
              <b>Impact:</b> {plain(analysis.userImpact)}
            </p>
            {analysis.codeFix && <pre class="body">{plain(analysis.codeFix)}</pre>}
            <ul>
              {analysis.evidence.slice(0, 20).map(({ description }, at) => (
                <li key={at} class="break">
                  {plain(description)}
                </li>
              ))}
            </ul>
            <References links={analysis.referenceLinks} />
            <p class="soft">By {provider}</p>
          </>
        )
      }
    </Shown>
  );
}

/** Pages that an analysis refers to. A model may have named them, so only addresses of web pages become links. */
function References({ links }: { links: readonly { url: string; title: string }[] }) {
  if (links.length === 0) return null;
  return (
    <>
      <h3>References</h3>
      <ul>
        {links.slice(0, 20).map(({ url, title }, at) => (
          <li key={at} class="break">
            {isWebAddress(url) ? (
              <a href={url} target="_blank" rel="noreferrer nofollow">
                {plain(title) || url}
              </a>
            ) : (
              `${plain(title)} ${plain(url)}`
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url);
