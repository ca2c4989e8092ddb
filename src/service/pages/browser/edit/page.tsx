import { useLoad } from '../base/load.ts';
import type { PageProps } from '../base/page.ts';
import { Problem, Shown } from '../parts/notice.tsx';
import { readCheck, readChoices } from './choices.ts';
import { formOf } from './fields/types.ts';
import { CheckEditor } from './form.tsx';
import { bodyOfCheck } from './values.ts';
import { PageHead } from '../parts/page-head.tsx';

/** Changes a check. */
export function Page({ params: { id = '' } }: PageProps) {
  const loaded = useLoad(id, async (signal) => {
    const [check, choices] = await Promise.all([readCheck(id, signal), readChoices(signal)]);
    return { check, choices };
  });
  return (
    <Shown of={loaded} what="the check">
      {({ check, choices }) => {
        const form = formOf(String(check['checkType']));
        const name = String(check['name']);
        if (form === undefined) return <Problem title="This page does not know the type of this check" />;
        return (
          <>
            <PageHead
              trail={[
                { href: '/', title: 'Checks' },
                { href: `/checks/${id}`, title: name },
              ]}
              title={`Edit ${name}`}
            />
            <CheckEditor key={id} form={form} initial={bodyOfCheck(check)} id={id} choices={choices} />
          </>
        );
      }}
    </Shown>
  );
}
