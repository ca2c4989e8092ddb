import type { PageColors } from '../status-pages/statements.ts';

/** The style sheet with the colours of one page. styles/colours.css has the defaults. */

const names = ['accent', 'background', 'card', 'text'] as const;

/** Colours that are not `#rrggbb` are left out: the API accepts no others. */
export function themeCss(colors: PageColors | null): string {
  const lines = (['light', 'dark'] as const).flatMap((theme) =>
    names.flatMap((name) => {
      const color = colors?.[theme][name] ?? '';
      return /^#[0-9a-f]{6}$/i.test(color) ? [`  --${theme}-${name}: ${color};`] : [];
    }),
  );
  return `:root {\n${lines.join('\n')}\n}\n`;
}
