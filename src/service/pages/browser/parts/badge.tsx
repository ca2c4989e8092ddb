import { Copy } from './copy.tsx';

/** A badge, and the lines that show it in other pages. */

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

export function Badge({
  name,
  image,
  link,
}: {
  /** Of what it shows. */
  name: string;
  /** Path of the image. */
  image: string;
  /** Where a click leads, as a path; absent = nowhere. */
  link?: string;
}) {
  const source = location.origin + image;
  const alt = `Status of ${name}`;
  const picture = `<img src="${escaped(source)}" alt="${escaped(alt)}">`;
  const markdown = `![${alt.replaceAll(/[[\]\\]/g, '\\$&')}](${source})`;
  const to = link === undefined ? null : location.origin + link;
  return (
    <>
      <p>
        <img src={image} alt={`Badge: ${alt}`} />
      </p>
      <p class="as-text-title">HTML</p>
      <Copy
        label="HTML of the badge"
        text={to === null ? picture : `<a href="${escaped(to)}">${picture}</a>`}
      />
      <p class="as-text-title">Markdown</p>
      <Copy label="Markdown of the badge" text={to === null ? markdown : `[${markdown}](${to})`} />
    </>
  );
}
