import { useLoad } from '../base/load.ts';
import { usePlace } from '../base/router.ts';
import { withQuery } from '../base/service.ts';
import { Problem, Shown } from '../parts/notice.tsx';
import { onlyServed, readCheck, readChoices } from './choices.ts';
import type { Body } from './fields/row.ts';
import { checkForms, formOf, rowsOf } from './fields/types.ts';
import { CheckEditor } from './form.tsx';
import { bodyOfCheck, initialBody } from './values.ts';
import { PageHead } from '../parts/page-head.tsx';

/** A new check: of a type (`?type=`), in a group (`?groupId=`), or like another one (`?from=`). */
export function Page() {
  const { query } = usePlace();
  const from = query.get('from');
  const type = query.get('type');
  const groupId = query.get('groupId');
  if (from === null && formOf(type) === undefined) return <ChooseType groupId={groupId} />;
  return <NewCheck key={`${type} ${from} ${groupId}`} type={type} from={from} groupId={groupId} />;
}

function ChooseType({ groupId }: { groupId: string | null }) {
  return (
    <>
      <PageHead trail={[{ href: '/', title: 'Checks' }]} title="New check" />
      <ul class="type-list">
        {checkForms.map(({ type, title, about }) => (
          <li key={type}>
            <a href={withQuery('/checks/new', { type, groupId })}>
              <strong>{title}</strong>
              <span class="soft">{about}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

function NewCheck({
  type,
  from,
  groupId,
}: {
  type: string | null;
  from: string | null;
  groupId: string | null;
}) {
  const loaded = useLoad(`${type} ${from}`, async (signal) => {
    const [choices, check] = await Promise.all([
      readChoices(signal),
      from === null ? null : readCheck(from, signal),
    ]);
    return { choices, check };
  });
  return (
    <Shown of={loaded} what="the form">
      {({ choices, check }) => {
        const form = formOf(check === null ? type : String(check['checkType']));
        if (form === undefined) return <Problem title="This page does not know the type of this check" />;
        const group = Number(groupId);
        const hasGroup = groupId !== null && Number.isInteger(group);
        const hasPlaces = rowsOf(form).some(({ path }) => path === 'privateLocations');
        const initial: Body =
          check === null
            ? {
                ...initialBody(form),
                ...(hasPlaces && !hasGroup ? onlyServed(choices) : {}),
                ...(hasGroup ? { groupId: group } : {}),
                alertChannelSubscriptions: choices.channels.map(({ id }) => ({
                  alertChannelId: id,
                  activated: true,
                })),
              }
            : { ...bodyOfCheck(check), name: `${String(check['name'])} (copy)`.slice(0, 1024) };
        return (
          <>
            <PageHead
              trail={[
                { href: '/', title: 'Checks' },
                { href: withQuery('/checks/new', { groupId }), title: 'New' },
              ]}
              title={`New ${form.title.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())}`}
            >
              <p class="soft about">{form.about}</p>
            </PageHead>
            {check !== null && (
              <p class="note">
                This is a copy of {String(check['name'])}. Secret values are not copied: type them again.
              </p>
            )}
            <CheckEditor form={form} initial={initial} id={null} choices={choices} />
          </>
        );
      }}
    </Shown>
  );
}
